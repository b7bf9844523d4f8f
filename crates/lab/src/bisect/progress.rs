//! Progress of a bisection: phases and trials of each experiment, with the experiment's number.

use std::time::Duration;

use crate::progress::{Progress, Step};

#[derive(Debug)]
pub(super) struct StepProgress<'a> {
    pub(super) shown: &'a dyn Progress,
    /// For every message: `3 of about 8 · step 32`.
    pub(super) prefix: String,
    /// Completed experiments, and the expected total.
    pub(super) done: u32,
    pub(super) total: u32,
    /// Mean wall-clock time of an experiment so far.
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

    /// Messages about programs, restored settings and rates would repeat for each experiment; they
    /// are in its results file.
    fn say(&self, _: &str) {}

    fn remark(&self, _: &str) {}

    fn clear(&self) {}
}
