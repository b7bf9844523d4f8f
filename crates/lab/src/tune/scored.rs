//! An arena whose trials carry the objective beside their metrics.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use experiment::plan::{Arm, Plan};
use experiment::record::{Environment, Observation, VoidReason};

use super::objective::Objective;
use crate::arena::{Arena, TrialOrder, Upcoming};
use crate::trace_file::Format;

/// Another arena, with the objective.
pub struct Scored<'a> {
    /// Where trials take place.
    pub inner: &'a mut dyn Arena,
    /// What is added to them.
    pub objective: &'a Objective,
}

impl Arena for Scored<'_> {
    fn capture(&mut self) -> Result<Environment> {
        self.inner.capture()
    }

    fn admit(&mut self, arm: &Arm) -> Result<()> {
        self.inner.admit(arm)
    }

    fn rehearse(&mut self, plan: &Plan) -> Result<()> {
        self.inner.rehearse(plan)
    }

    fn trace(&mut self, format: Format, dir: &Path) -> Result<()> {
        self.inner.trace(format, dir)
    }

    fn apply(&mut self, arm: &Arm) -> Result<Vec<VoidReason>> {
        self.inner.apply(arm)
    }

    fn measure(&mut self, order: &TrialOrder<'_>) -> Result<Observation> {
        let mut observation = self.inner.measure(order)?;
        self.objective.complete(&mut observation);
        Ok(observation)
    }

    fn one_seed_a_block(&self) -> bool {
        self.inner.one_seed_a_block()
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
