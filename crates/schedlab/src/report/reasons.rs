//! Void reasons and verdicts in words.
//!
//! A void reason is data; here it becomes the sentence that a reader gets, the same in every renderer.

use std::collections::BTreeSet;

use experiment::record::{Trial, VoidReason};
use experiment::study::Verdict;

use super::number;

/// A void reason as one sentence without a full stop.
pub(crate) fn sentence(reason: &VoidReason) -> String {
    match reason {
        VoidReason::NotInEffect { attribute, wanted, found } => {
            format!("{attribute} was not in effect: {wanted} was written and accepted, but {found} was read back")
        }
        VoidReason::WriteFailed { attribute, wanted, error } => {
            format!("{attribute} could not be set to {wanted}: {error}")
        }
        VoidReason::ChangedMeanwhile { attribute, wanted, found } => {
            format!("{attribute} was changed by somebody else during the trial: {wanted} was set, {found} was found")
        }
        VoidReason::NeverReached { issued_bytes, device_bytes } => format!(
            "the I/O never reached the device: the workload moved {}, the device counted {}",
            number::bytes(*issued_bytes),
            number::bytes(*device_bytes)
        ),
        VoidReason::DeviceErrors { count, first } => {
            format!("the device reported {} errors, the first: {first}", number::count(*count))
        }
        VoidReason::DeviceVanished { detail } => format!("the device vanished: {detail}"),
        VoidReason::ForeignIo { share, limit } => format!(
            "others used the device: {} of all bytes that it moved (allowed: {})",
            number::percent(*share),
            number::percent(*limit)
        ),
        VoidReason::Steal { share, limit } => format!(
            "the hypervisor took {} of the processor time away (allowed: {})",
            number::percent(*share),
            number::percent(*limit)
        ),
        VoidReason::Throttled { events } => {
            format!("the processor was throttled {} times by heat or power", number::count(*events))
        }
        VoidReason::TooFewIos { metric, count, needed } => {
            format!("too few requests for {metric}: {}, and it takes {}", number::count(*count), number::count(*needed))
        }
        VoidReason::Interrupted { by } => format!("cut off by {by}"),
        VoidReason::Foreign { text } => text.clone(),
    }
}

/// Whether the reason concerns this metric: most reasons void the whole trial, a few only one metric.
pub(crate) fn concerns(reason: &VoidReason, metric: &str) -> bool {
    match reason {
        VoidReason::TooFewIos { metric: only, .. } => only == metric,
        _ => true,
    }
}

/// Whether the trial is no evidence for this metric.
pub(crate) fn is_void(trial: &Trial, metric: &str) -> bool {
    trial.observation.voids.iter().any(|reason| concerns(reason, metric))
}

/// The same kind of reason in trials of the same arm and workload, told once.
pub(crate) struct VoidGroup {
    /// The workload.
    pub(crate) workload: String,
    /// The arm.
    pub(crate) arm: String,
    /// Numbers of the blocks, counted from 1, as `3, 7–9`.
    pub(crate) blocks: String,
    /// How many trials.
    pub(crate) count: usize,
    /// The first one's reason.
    pub(crate) reason: String,
}

/// All void reasons of a record, alike ones together, in order of first appearance.
pub(crate) fn groups(trials: &[Trial]) -> Vec<VoidGroup> {
    type Key<'a> = (&'a str, &'a str, std::mem::Discriminant<VoidReason>, Option<&'a str>);
    let mut found: Vec<(Key<'_>, &VoidReason, BTreeSet<u32>)> = Vec::new();
    for trial in trials {
        for reason in &trial.observation.voids {
            let metric = match reason {
                VoidReason::TooFewIos { metric, .. } => Some(metric.as_str()),
                _ => None,
            };
            let key = (trial.workload.as_str(), trial.arm.as_str(), std::mem::discriminant(reason), metric);
            match found.iter_mut().find(|(other, ..)| *other == key) {
                Some((.., blocks)) => {
                    blocks.insert(trial.block + 1);
                }
                None => found.push((key, reason, BTreeSet::from([trial.block + 1]))),
            }
        }
    }
    found
        .into_iter()
        .map(|((workload, arm, ..), reason, blocks)| VoidGroup {
            workload: workload.into(),
            arm: arm.into(),
            count: blocks.len(),
            blocks: ranges(&blocks),
            reason: sentence(reason),
        })
        .collect()
}

/// Numbers with neighbours joined: `1–3, 7`.
fn ranges(numbers: &BTreeSet<u32>) -> String {
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => spans.push((number, number)),
        }
    }
    let words: Vec<String> =
        spans.iter().map(|(a, b)| if a == b { a.to_string() } else { format!("{a}–{b}") }).collect();
    words.join(", ")
}

/// The word of a verdict.
pub(crate) fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Void => "void",
    }
}

/// A sign that goes with the word, for those who do not see the colour.
pub(crate) fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "▲",
        Verdict::Worse => "▼",
        Verdict::Equivalent => "=",
        Verdict::Inconclusive => "?",
        Verdict::Void => "✕",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::Lab;

    #[test]
    fn neighbouring_blocks_are_joined() {
        assert_eq!(ranges(&BTreeSet::from([1, 2, 3, 7, 9, 10])), "1–3, 7, 9–10");
        assert_eq!(ranges(&BTreeSet::new()), "");
    }

    #[test]
    fn alike_reasons_are_told_once_and_a_metric_of_its_own_is_told_apart() {
        let mut lab = Lab::typical();
        let few = |metric: &str| VoidReason::TooFewIos { metric: metric.into(), count: 5, needed: 1000 };
        for trial in &mut lab.trials {
            trial.observation.voids.clear();
            if trial.workload == "oltp" && trial.arm == "bfq" {
                trial.observation.voids = vec![few("latency_p99_us"), few("latency_p999_us")];
            }
        }
        let groups = groups(&lab.trials);
        assert_eq!(groups.len(), 2);
        assert_eq!((groups[0].count, groups[0].blocks.as_str()), (14, "1–14"));
        let trial = lab.trials.iter().find(|t| t.arm == "bfq" && t.workload == "oltp").expect("it was measured");
        assert!(is_void(trial, "latency_p99_us") && !is_void(trial, "iops"));
    }
}
