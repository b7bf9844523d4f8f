//! What a long operation reports to the program around it, which decides how to show it.

use std::fmt;
use std::time::Duration;

use experiment::results::Trial;

/// Receives the progress of an experiment.
pub trait Progress: fmt::Debug + Sync {
    /// A trial begins.
    fn trial(&self, step: &Step<'_>);

    /// A trial is measured and kept; `metric` decides for its workload.
    fn measured(&self, _trial: &Trial, _metric: &str) {}

    /// A variant is not measured any more on a workload.
    fn decided(&self, _workload: &str, _variant: &str) {}

    /// A step before the first trial: `done` of `total` units.
    fn prepare(&self, what: &str, done: u64, total: u64);

    /// A part of a longer operation begins.
    fn phase(&self, what: &str);

    /// A message for the user.
    fn say(&self, text: &str);

    /// A message that may be left out where the user asked for quiet.
    fn remark(&self, text: &str);

    /// Whether a user at a terminal reads this and can interrupt.
    fn is_interactive(&self) -> bool {
        false
    }

    /// The operation has ended, or hands the terminal to another program.
    fn clear(&self);
}

/// Shows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn trial(&self, _: &Step<'_>) {}
    fn prepare(&self, _: &str, _: u64, _: u64) {}
    fn phase(&self, _: &str) {}
    fn say(&self, _: &str) {}
    fn remark(&self, _: &str) {}
    fn clear(&self) {}
}

/// A trial that begins, and how far the experiment is.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// The share of the experiment that is done, 0 to 1.
    pub share: f64,
    /// The time that it has taken, all sessions together, by the arena's clock.
    pub elapsed: Duration,
    /// Whether that time is simulated.
    pub simulated: bool,
    /// The user's time until its end, at most.
    pub left: Option<Duration>,
    /// The workload, and what else is of interest.
    pub workload: &'a str,
    pub variant: &'a str,
    pub round: u32,
    /// What is known so far: verdicts, and the leading effect; may be empty.
    pub standing: &'a str,
}

/// Reports the building of a kernel to a [`Progress`].
#[derive(Debug)]
pub struct BuildProgress<'a> {
    shown: &'a dyn Progress,
    phase: String,
}

impl BuildProgress<'_> {
    pub fn new(shown: &dyn Progress) -> BuildProgress<'_> {
        BuildProgress { shown, phase: String::new() }
    }
}

impl guest::Progress for BuildProgress<'_> {
    fn phase(&mut self, what: &str) {
        what.clone_into(&mut self.phase);
        self.shown.phase(what);
    }

    fn step(&mut self, done: u64, total: u64, left: Option<Duration>) {
        let of = if total == 0 { String::new() } else { format!(" of about {total}") };
        let left = left.map_or_else(String::new, |left| format!(" · {} s left", left.as_secs()));
        self.shown.prepare(&format!("{} · {done}{of}{left}", self.phase), done, total);
    }

    fn say(&mut self, text: &str) {
        self.shown.remark(text);
    }
}
