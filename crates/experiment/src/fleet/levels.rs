//! Compares two groups of machines: each variant's values under another kernel, firmware or drive.
//!
//! The unit is the machine. If enough machines are in both groups, their own ratios are compared,
//! which cancels differences between machines. Otherwise Welch's interval compares the groups,
//! regardless of the reason for their difference.

use std::collections::BTreeMap;

use serde::Serialize;

use super::outliers::Far;
use super::{MIN_MACHINES, Outlier, Ratios, ratios};
use crate::compare;
use crate::comparison::Verdict;
use crate::metric::Direction;
use crate::plan::Criteria;
use crate::stats::fixed::{paired_t, welch};
use crate::stats::holm::step_down;
use crate::stats::repeats::Repeat;
use crate::stats::{Interval, Moments};

/// One mean logarithm per result, by machine and group.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct VariantLevels {
    /// The variant.
    pub variant: String,
    /// Machine, mean logarithm.
    pub first: Vec<(String, f64)>,
    /// Machine, mean logarithm.
    pub second: Vec<(String, f64)>,
}

/// One variant in the second group against the first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LevelComparison {
    /// The variant.
    pub variant: String,
    /// The verdict; invalid with fewer than [`MIN_MACHINES`] machines in either group.
    pub verdict: Verdict,
    /// Second / first.
    pub ratio: Option<Ratios>,
    /// Confidence, corrected for the number of variants.
    pub confidence: f64,
    /// Machines of the first group that count.
    pub first_machines: usize,
    /// Machines of the second group that count.
    pub second_machines: usize,
    /// The same machines are in both groups, and their ratios are compared.
    pub paired: bool,
    /// Omitted machines.
    pub outliers: Vec<Outlier>,
}

enum Evidence {
    Pairs(Moments),
    Groups(Moments, Moments),
}

struct Case<'a> {
    variant: &'a str,
    evidence: Evidence,
    outliers: Vec<Outlier>,
}

impl<'a> Case<'a> {
    fn of(of: &'a VariantLevels) -> Case<'a> {
        let (first, second) = (by_machine(&of.first), by_machine(&of.second));
        let both: Vec<(String, f64)> = first
            .iter()
            .filter_map(|(name, log)| Some((name.clone(), second.get(name)? - log)))
            .collect();
        let mut outliers = Vec::new();
        // At least half of the smaller group, so that the pairs are not a few odd machines of two
        // large groups.
        let evidence =
            if both.len() >= MIN_MACHINES && 2 * both.len() >= first.len().min(second.len()) {
                Evidence::Pairs(without_far(both, &mut outliers))
            } else {
                let mut of = |group: BTreeMap<String, f64>| {
                    without_far(group.into_iter().collect(), &mut outliers)
                };
                let first = of(first);
                Evidence::Groups(first, of(second))
            };
        Case { variant: &of.variant, evidence, outliers }
    }

    fn is_invalid(&self) -> bool {
        match &self.evidence {
            Evidence::Pairs(moments) => moments.n < MIN_MACHINES,
            Evidence::Groups(first, second) => first.n.min(second.n) < MIN_MACHINES,
        }
    }

    fn mean(&self) -> f64 {
        match &self.evidence {
            Evidence::Pairs(moments) => moments.mean,
            Evidence::Groups(first, second) => second.mean - first.mean,
        }
    }

    fn interval(&self, alpha: f64) -> Interval {
        match &self.evidence {
            Evidence::Pairs(moments) => paired_t(moments, alpha),
            Evidence::Groups(first, second) => welch(second, first, alpha),
        }
    }
}

fn by_machine(of: &[(String, f64)]) -> BTreeMap<String, f64> {
    let mut all: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (machine, log) in of.iter().filter(|(_, log)| log.is_finite()) {
        all.entry(machine.clone()).or_default().push(*log);
    }
    all.into_iter()
        .map(|(machine, mut logs)| {
            logs.sort_by(f64::total_cmp);
            (machine, Moments::of(&logs).mean)
        })
        .collect()
}

/// Removes far machines; `outliers` receives them, with their ratio to the group's median.
fn without_far(of: Vec<(String, f64)>, outliers: &mut Vec<Outlier>) -> Moments {
    let logs: Vec<f64> = of.iter().map(|(_, log)| *log).collect();
    let repeats: Vec<Repeat> =
        logs.iter().map(|log| Repeat { mean: *log, variance: None, degrees: 0.0 }).collect();
    let far = Far::of(&repeats);
    for (at, (machine, log)) in of.into_iter().enumerate().filter(|(at, _)| far.is_left_out[*at]) {
        outliers.push(Outlier {
            machine,
            ratio: (log - far.centre).exp(),
            distance: far.distance[at],
        });
    }
    far.counted(&logs)
}

/// Compares the variants of one metric of one workload.
pub fn compare_levels(
    family: &[VariantLevels],
    direction: Direction,
    criteria: &Criteria,
) -> Vec<LevelComparison> {
    let cases: Vec<Case<'_>> = family.iter().map(Case::of).collect();
    let margin = criteria.margin.ln_1p();
    let (m, alpha) = (cases.len(), criteria.alpha);
    let at = |i: usize, level: f64| cases[i].interval(level);
    let differ = step_down(m, alpha, |i, level| {
        !cases[i].is_invalid() && compare::differs(&at(i, level), margin)
    });
    let equal = step_down(m, alpha, |i, level| {
        !cases[i].is_invalid() && compare::equivalent(&at(i, level), margin)
    });
    let one = |(i, case): (usize, &Case<'_>)| {
        let level = differ.decided_at[i]
            .or(equal.decided_at[i])
            .unwrap_or(differ.current.min(equal.current));
        let interval = at(i, level);
        let (first_machines, second_machines, paired) = match &case.evidence {
            Evidence::Pairs(moments) => (moments.n, moments.n, true),
            Evidence::Groups(first, second) => (first.n, second.n, false),
        };
        LevelComparison {
            variant: case.variant.to_owned(),
            verdict: match (case.is_invalid(), differ.decided_at[i], equal.decided_at[i]) {
                (true, ..) => Verdict::Invalid,
                (_, Some(_), _)
                    if (interval.low > 0.0) == (direction == Direction::HigherIsBetter) =>
                {
                    Verdict::Better
                }
                (_, Some(_), _) => Verdict::Worse,
                (_, None, Some(_)) => Verdict::Equivalent,
                (_, None, None) => Verdict::Inconclusive,
            },
            ratio: (!case.is_invalid()).then(|| ratios(case.mean(), interval)),
            confidence: 1.0 - level,
            first_machines,
            second_machines,
            paired,
            outliers: case.outliers.clone(),
        }
    };
    cases.iter().enumerate().map(one).collect()
}
