//! The results file, and the caller's knowledge of tunables and device.

use experiment::results::{End, Header, Note, Results, Trial, UNCONFIRMED};

use crate::actuator::ActuatorPath;
use crate::number::span_ms;

/// Absent for external data.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    pub header: &'a Header,
    /// Includes invalid trials.
    pub trials: &'a [Trial],
    pub notes: &'a [Note],
    /// `None` if interrupted.
    pub end: Option<&'a End>,
    pub unit_of: UnitOf,
    /// Paths of traced trials.
    pub actuator: &'a [ActuatorPath],
}

/// The unit of a scheduler's tunable; empty if none.
pub type UnitOf = fn(&str, &str) -> &'static str;

impl<'a> Evidence<'a> {
    /// Only in the CPU arena do CPU scheduler counters explain a verdict.
    pub(crate) fn of_cpus(&self) -> Option<&Evidence<'a>> {
        Some(self).filter(|evidence| evidence.header.plan.arena.is_cpu())
    }

    /// Mark and explanation of a scheduler that is not confirmed in its source.
    pub(crate) fn unconfirmed(&self, variant: &str) -> Option<(&'a str, &'a str)> {
        self.header.environment.get(UNCONFIRMED)?.get(variant)?.split_once(' ')
    }

    /// The time of that many rounds, in milliseconds, by the pace of this experiment.
    pub(crate) fn time_of(&self, rounds: u32) -> Option<u64> {
        let measured = self.trials.iter().map(|trial| trial.round).max()? + 1;
        let per_round = self.end?.at_ms / u64::from(measured);
        Some(per_round * u64::from(rounds)).filter(|ms| *ms > 0)
    }

    /// Labels simulated time.
    pub(crate) fn span(&self, ms: u64) -> String {
        let simulated = if self.header.plan.arena.is_virtual() { " of simulated time" } else { "" };
        format!("{}{simulated}", span_ms(ms))
    }

    /// Without tunable units and traces.
    pub fn of(results: &'a Results) -> Evidence<'a> {
        let Results { header, trials, notes, end, .. } = results;
        Evidence { header, trials, notes, end: end.as_ref(), unit_of: |_, _| "", actuator: &[] }
    }
}
