//! Groups of trials that are invalid for the same reason. `InvalidReason`'s `Display` words the
//! reasons.

use std::collections::BTreeSet;

use experiment::results::{InvalidReason, Trial};

pub(crate) fn is_invalid(trial: &Trial, metric: &str) -> bool {
    trial.observation.invalid.iter().any(|reason| reason.applies_to(metric))
}

/// Trials of one variant and workload with the same kind of reason.
pub(crate) struct InvalidGroup<'a> {
    pub(crate) workload: &'a str,
    pub(crate) variant: &'a str,
    /// Counted from 1: `3, 7–9`.
    pub(crate) rounds: String,
    pub(crate) count: usize,
    /// The first trial's reason.
    pub(crate) reason: &'a InvalidReason,
}

/// In order of first appearance.
pub(crate) fn groups(trials: &[Trial]) -> Vec<InvalidGroup<'_>> {
    type Key<'a> = (&'a str, &'a str, std::mem::Discriminant<InvalidReason>, Option<&'a str>);
    let mut found: Vec<(Key<'_>, &InvalidReason, BTreeSet<u32>)> = Vec::new();
    for trial in trials {
        for reason in &trial.observation.invalid {
            let metric = match reason {
                InvalidReason::TooFewIos { metric, .. } => Some(metric.as_str()),
                _ => None,
            };
            let key = (
                trial.workload.as_str(),
                trial.variant.as_str(),
                std::mem::discriminant(reason),
                metric,
            );
            match found.iter_mut().find(|(other, ..)| *other == key) {
                Some((.., rounds)) => {
                    rounds.insert(trial.round + 1);
                }
                None => found.push((key, reason, BTreeSet::from([trial.round + 1]))),
            }
        }
    }
    found
        .into_iter()
        .map(|((workload, variant, ..), reason, rounds)| InvalidGroup {
            workload,
            variant,
            count: rounds.len(),
            rounds: ranges(&rounds),
            reason,
        })
        .collect()
}

/// `1–3, 7`.
fn ranges(numbers: &BTreeSet<u32>) -> String {
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => spans.push((number, number)),
        }
    }
    let words: Vec<String> = spans
        .iter()
        .map(|(a, b)| if a == b { a.to_string() } else { format!("{a}–{b}") })
        .collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Lab;

    #[test]
    fn neighbouring_rounds_are_joined() {
        assert_eq!(ranges(&BTreeSet::from([1, 2, 3, 7, 9, 10])), "1–3, 7, 9–10");
        assert_eq!(ranges(&BTreeSet::new()), "");
    }

    #[test]
    fn like_reasons_are_one_group_and_each_metric_has_its_own() {
        let mut lab = Lab::typical();
        let few = |metric: &str| InvalidReason::TooFewIos {
            metric: metric.into(),
            count: 5,
            needed: 1000,
        };
        for trial in &mut lab.trials {
            trial.observation.invalid.clear();
            if trial.workload == "oltp" && trial.variant == "bfq" {
                trial.observation.invalid = vec![few("latency_p99_us"), few("latency_p999_us")];
            }
        }
        let groups = groups(&lab.trials);
        assert_eq!(groups.len(), 2);
        assert_eq!((groups[0].count, groups[0].rounds.as_str()), (14, "1–14"));
        let trial = lab
            .trials
            .iter()
            .find(|t| t.variant == "bfq" && t.workload == "oltp")
            .expect("it was measured");
        assert!(is_invalid(trial, "latency_p99_us") && !is_invalid(trial, "iops"));
    }
}
