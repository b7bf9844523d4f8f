//! Wraps an arena to add the objective to its trials' metrics.

use std::time::Duration;

use anyhow::Result;
use experiment::plan::Variant;
use experiment::results::{Environment, InvalidReason, Observation};

use super::objective::Objective;
use crate::arena::{Arena, TrialSpec, Upcoming, VariantIndex};
use crate::trace_file::TraceFile;

pub struct Scored<'a> {
    pub inner: &'a mut dyn Arena,
    pub objective: &'a Objective,
}

impl Arena for Scored<'_> {
    fn capture(&mut self) -> Result<Environment> {
        self.inner.capture()
    }

    fn admit(&mut self, variant: &Variant) -> Result<VariantIndex> {
        self.inner.admit(variant)
    }

    fn try_out(&mut self) -> Result<()> {
        self.inner.try_out()
    }

    fn trace(&mut self, files: TraceFile) {
        self.inner.trace(files);
    }

    fn apply(&mut self, variant: VariantIndex) -> Result<Vec<InvalidReason>> {
        self.inner.apply(variant)
    }

    fn measure(&mut self, trial: &TrialSpec) -> Result<Observation> {
        let mut observation = self.inner.measure(trial)?;
        self.objective.complete(&mut observation);
        Ok(observation)
    }

    fn one_seed_a_round(&self) -> bool {
        self.inner.one_seed_a_round()
    }

    fn preconditions(&self) -> bool {
        self.inner.preconditions()
    }

    fn announce(&mut self, upcoming: &Upcoming<'_>) -> Result<()> {
        self.inner.announce(upcoming)
    }

    fn elapsed(&self) -> Duration {
        self.inner.elapsed()
    }

    fn finish(&mut self) -> Result<Vec<String>> {
        self.inner.finish()
    }
}
