//! Progress of a bisection: each phase and trial of an experiment is shown with the experiment's
//! number among all.

use std::time::Duration;

use crate::progress::{Progress, Step};

/// Shows an experiment as a part of the whole.
#[derive(Debug)]
pub(super) struct StepProgress<'a> {
    pub(super) shown: &'a dyn Progress,
    /// In front of every message: `3 of about 8 · step 32`.
    pub(super) prefix: String,
    /// Experiments that are done, and those that will probably be.
    pub(super) done: u32,
    pub(super) total: u32,
    /// Mean real time of an experiment so far.
    pub(super) each: Option<Duration>,
}

impl Progress for StepProgress<'_> {
    fn trial(&self, step: &Step<'_>) {
        let total = f64::from(self.total.max(self.done + 1));
        let later = self.each.map(|each| each * self.total.saturating_sub(self.done + 1));
        let workload = format!("{} · {}", self.prefix, step.workload);
        self.shown.trial(&Step {
            share: (f64::from(self.done) + step.share) / total,
            left: later.map(|later| later + step.left.unwrap_or_default()),
            workload: &workload,
            ..*step
        });
    }

    fn prepare(&self, what: &str, done: u64, total: u64) {
        self.shown.prepare(&format!("{} · {what}", self.prefix), done, total);
    }

    fn phase(&self, what: &str) {
        self.shown.prepare(&format!("{} · {what}", self.prefix), 0, 0);
    }

    /// What an experiment says of itself (programs, restored settings, requests a second) is in its
    /// results file; here it would be repeated for each.
    fn say(&self, _: &str) {}

    fn remark(&self, _: &str) {}

    fn clear(&self) {}
}
