//! What a report shows beside the analysis: the results file, and what the caller knows of the
//! tunables and of the device.

use experiment::results::{End, Header, Note, Results, Trial, UNCONFIRMED};

use crate::actuator::ActuatorPath;
use crate::number::span_ms;

/// What a report shows of the results file. An analysis of foreign data has none.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// Plan, machine and command.
    pub header: &'a Header,
    /// Every trial, invalid ones included.
    pub trials: &'a [Trial],
    /// What happened between trials.
    pub notes: &'a [Note],
    /// How the experiment ended; `None` when it was cut off.
    pub end: Option<&'a End>,
    /// The unit of a tunable of a scheduler, for the axes of response curves; empty where it has
    /// none.
    pub unit_of: UnitOf,
    /// Where the actuator was, for trials that were traced.
    pub actuator: &'a [ActuatorPath],
}

/// Returns the unit of a tunable, given the names of the scheduler and of the tunable.
pub type UnitOf = fn(&str, &str) -> &'static str;

impl<'a> Evidence<'a> {
    /// The same, where its trials are of the CPU arena: only there do the counters of the CPU
    /// scheduler explain a verdict.
    pub(crate) fn of_cpus(&self) -> Option<&Evidence<'a>> {
        Some(self).filter(|evidence| evidence.header.plan.arena.is_cpu())
    }

    /// How sure it is that this variant's scheduler is its source's, where that is not confirmed:
    /// the mark, and words.
    pub(crate) fn unconfirmed(&self, variant: &str) -> Option<(&'a str, &'a str)> {
        self.header.environment.get(UNCONFIRMED)?.get(variant)?.split_once(' ')
    }

    /// A span of the experiment's time in words: simulated time is none that anybody waited for.
    pub(crate) fn span(&self, ms: u64) -> String {
        let simulated = if self.header.plan.arena.is_virtual() { " of simulated time" } else { "" };
        format!("{}{simulated}", span_ms(ms))
    }

    /// What a results file shows, without units of tunables and without traces.
    pub fn of(results: &'a Results) -> Evidence<'a> {
        let Results { header, trials, notes, end, .. } = results;
        Evidence { header, trials, notes, end: end.as_ref(), unit_of: |_, _| "", actuator: &[] }
    }
}
