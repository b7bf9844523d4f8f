//! The evidence of a gate: each variant's log values of the primary metric, now and then.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::metric::Direction;
use crate::plan::Criteria;
use crate::results::Results;
use crate::samples::{Sample, of_trials};
use crate::stats::Moments;

/// The compared quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Rounds of equal seed in virtual time, as pairs.
    Rounds,
    /// Values, as two groups.
    Values,
    /// Ratios to the baseline, as two groups.
    Ratios,
}

/// The user's choices.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// Compare only this variant.
    pub variant: Option<String>,
    /// Compare ratios to the baseline.
    pub ratios: bool,
}

/// A variant's values in one results file.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Level {
    /// Valid values.
    pub n: usize,
    /// Invalid values.
    pub invalid: usize,
    /// Geometric mean, if there are values.
    pub mean: Option<f64>,
}

pub(super) struct Case {
    pub(super) workload: String,
    pub(super) metric: String,
    pub(super) variant: String,
    pub(super) direction: Direction,
    pub(super) basis: Basis,
    /// Log values, or log ratios to the baseline.
    pub(super) now: Vec<f64>,
    pub(super) then: Vec<f64>,
    /// log(now / then) of rounds valid in both; for [`Basis::Rounds`].
    pub(super) pairs: Vec<f64>,
    pub(super) level_now: Level,
    pub(super) level_then: Level,
    pub(super) invalid: bool,
}

/// Log values by round; `None` for invalid trials.
struct Variant(BTreeMap<u32, Option<f64>>);

impl Variant {
    fn of(samples: &[Sample], workload: &str, metric: &str, variant: &str) -> Variant {
        let mine = |sample: &&Sample| {
            sample.workload == workload && sample.metric == metric && sample.variant == variant
        };
        let value = |sample: &Sample| (sample.round.unwrap_or_default(), sample.log());
        Variant(samples.iter().filter(mine).map(value).collect())
    }

    fn values(&self) -> Vec<f64> {
        self.0.values().flatten().copied().collect()
    }

    fn minus(&self, other: &Variant) -> Vec<f64> {
        let both = |(round, mine): (&u32, &Option<f64>)| Some((*mine)? - (*other.0.get(round)?)?);
        self.0.iter().filter_map(both).collect()
    }

    fn level(&self) -> Level {
        let values = self.values();
        let mean = (!values.is_empty()).then(|| Moments::of(&values).mean.exp());
        Level { n: values.len(), invalid: self.0.len() - values.len(), mean }
    }
}

pub(super) fn cases(now: &Results, then: &Results, choice: &Choice) -> Vec<Case> {
    let plan = &now.header.plan;
    let named = |workload: &crate::plan::WorkloadSpec| {
        Some((workload.name.clone(), workload.primary.clone()?))
    };
    let primary: BTreeMap<String, String> = plan.workloads.iter().filter_map(named).collect();
    let samples = [now, then].map(|results| of_trials(&results.trials, &primary));
    let baseline = plan.baseline();
    let mut cases = Vec::new();
    for (workload, metric) in
        plan.workloads.iter().filter_map(|spec| Some((&spec.name, spec.primary.as_ref()?)))
    {
        let variant_of =
            |name: &str| [0, 1].map(|i: usize| Variant::of(&samples[i], workload, metric, name));
        let base = variant_of(baseline);
        for variant in plan
            .variants
            .iter()
            .filter(|variant| choice.variant.as_ref().is_none_or(|name| *name == variant.name))
        {
            if choice.ratios && variant.name == baseline {
                continue;
            }
            let [mine_now, mine_then] = variant_of(&variant.name);
            let (basis, new, old) = if choice.ratios {
                (Basis::Ratios, mine_now.minus(&base[0]), mine_then.minus(&base[1]))
            } else if plan.arena.is_virtual() {
                (Basis::Rounds, mine_now.values(), mine_then.values())
            } else {
                (Basis::Values, mine_now.values(), mine_then.values())
            };
            let (level_now, level_then) = (mine_now.level(), mine_then.level());
            let pairs = mine_now.minus(&mine_then);
            let nothing = if basis == Basis::Rounds {
                pairs.is_empty()
            } else {
                new.is_empty() || old.is_empty()
            };
            cases.push(Case {
                workload: workload.clone(),
                metric: metric.clone(),
                variant: variant.name.clone(),
                direction: plan.direction_of(metric),
                basis,
                now: new,
                then: old,
                pairs,
                level_now,
                level_then,
                invalid: nothing
                    || too_invalid(&level_now, &plan.criteria)
                    || too_invalid(&level_then, &plan.criteria),
            });
        }
    }
    cases
}

fn too_invalid(level: &Level, criteria: &Criteria) -> bool {
    let all = level.n + level.invalid;
    level.n == 0 || level.invalid as f64 / all as f64 > criteria.max_invalid_share
}
