//! What a long operation reports to the program around it, which decides how to show it.

use std::fmt;
use std::time::Duration;

/// Receives the progress of an experiment.
pub trait Progress: fmt::Debug + Sync {
    /// A trial begins; `share` of the experiment (0 to 1) is done, and it goes on for `left` at most.
    fn trial(&self, share: f64, left: Option<Duration>, workload: &str, arm: &str, block: u32);

    /// A step before the first trial: `done` of `total` units.
    fn prepare(&self, what: &str, done: u64, total: u64);

    /// A part of a longer operation begins.
    fn phase(&self, what: &str);

    /// A message for the user.
    fn say(&self, text: &str);

    /// A message that may be left out where the user asked for quiet.
    fn remark(&self, text: &str);

    /// The operation has ended, or hands the terminal to another program.
    fn clear(&self);
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
