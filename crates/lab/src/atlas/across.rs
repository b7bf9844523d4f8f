//! The progress of many experiments as one.

use std::time::{Duration, Instant};

use experiment::results::Trial;

use crate::progress::{Progress, Step};

/// Shows the trials of one experiment as a part of many.
#[derive(Debug)]
pub(super) struct Across<'a> {
    pub(super) shown: &'a dyn Progress,
    /// When the first of them began, and the experiments done since and to do, this one included.
    pub(super) began: Instant,
    pub(super) done: usize,
    pub(super) of: usize,
    /// What this one is called.
    pub(super) name: String,
}

impl Progress for Across<'_> {
    fn trial(&self, step: &Step<'_>) {
        let share = (self.done as f64 + step.share) / self.of.max(1) as f64;
        let elapsed = self.began.elapsed();
        let left = (share > 0.0).then(|| elapsed.mul_f64((1.0 - share) / share));
        // Less than a second of work says nothing about an hour's.
        let left = left.filter(|_| elapsed >= Duration::from_secs(1));
        let workload = format!("{} of {} · {}", self.done + 1, self.of, self.name);
        self.shown.trial(&Step {
            share,
            elapsed,
            simulated: false,
            left,
            workload: &workload,
            standing: "",
            ..*step
        });
    }

    fn measured(&self, trial: &Trial, metric: &str) {
        self.shown.measured(trial, metric);
    }

    fn prepare(&self, what: &str, done: u64, total: u64) {
        self.shown.prepare(what, done, total);
    }

    fn phase(&self, what: &str) {
        self.shown.phase(what);
    }

    fn say(&self, text: &str) {
        self.shown.say(text);
    }

    fn remark(&self, _text: &str) {}

    fn clear(&self) {}
}
