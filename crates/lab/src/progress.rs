//! Progress reports of long operations; the caller decides how to show them.

use std::fmt;
use std::time::Duration;

use experiment::results::Trial;

pub trait Progress: fmt::Debug + Sync {
    fn trial(&self, step: &Step<'_>);

    /// `metric` is the workload's primary metric.
    fn measured(&self, _trial: &Trial, _metric: &str) {}

    /// Whether the standing of a step is shown; estimating it takes a while.
    fn shows_standing(&self) -> bool {
        true
    }

    /// A variant is no longer measured on a workload.
    fn decided(&self, _workload: &str, _variant: &str) {}

    /// Progress before the first trial: `done` of `total` units.
    fn prepare(&self, what: &str, done: u64, total: u64);

    fn phase(&self, what: &str);

    fn say(&self, text: &str);

    /// A message that is suppressed in quiet mode.
    fn remark(&self, text: &str);

    /// Whether a user at a terminal can read and interrupt.
    fn is_interactive(&self) -> bool {
        false
    }

    /// The operation has ended or hands the terminal to another program.
    fn clear(&self);
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn trial(&self, _: &Step<'_>) {}
    fn shows_standing(&self) -> bool {
        false
    }
    fn prepare(&self, _: &str, _: u64, _: u64) {}
    fn phase(&self, _: &str) {}
    fn say(&self, _: &str) {}
    fn remark(&self, _: &str) {}
    fn clear(&self) {}
}

#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// Completed share, 0 to 1.
    pub share: f64,
    /// Time spent in all sessions, by the arena's clock.
    pub elapsed: Duration,
    /// Whether `elapsed` is virtual.
    pub simulated: bool,
    /// Upper bound, in wall-clock time.
    pub left: Option<Duration>,
    /// The workload and further details.
    pub workload: &'a str,
    pub variant: &'a str,
    pub round: u32,
    /// Verdicts and the leading effect; may be empty.
    pub standing: &'a str,
}

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
