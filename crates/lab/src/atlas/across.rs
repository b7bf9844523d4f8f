//! The progress of many experiments as one.

use std::time::{Duration, Instant};

use experiment::results::Trial;

use crate::progress::{Progress, Step};

#[derive(Debug)]
pub(super) struct Across<'a> {
    pub(super) shown: &'a dyn Progress,
    /// Start of the first experiment; experiments completed since, and the total including this
    /// one.
    pub(super) began: Instant,
    pub(super) done: usize,
    pub(super) of: usize,
    pub(super) name: String,
}

impl Progress for Across<'_> {
    fn trial(&self, step: &Step<'_>) {
        let share = (self.done as f64 + step.share) / self.of.max(1) as f64;
        let elapsed = self.began.elapsed();
        let left = (share > 0.0).then(|| elapsed.mul_f64((1.0 - share) / share));
        // Too early to extrapolate.
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

    fn shows_standing(&self) -> bool {
        false
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
