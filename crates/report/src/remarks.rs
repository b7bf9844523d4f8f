//! Deduplicated warnings, most severe first.
//!
//! Reasons that affect a deciding metric are listed in full. One line counts secondary percentiles
//! with too few requests, of which a short trial has a dozen, so that they do not hide serious
//! warnings.

use experiment::analysis::{Comparison, Verdict};
use experiment::reason::Reason;
use experiment::results::{InvalidReason, Trial};

use super::invalid::{self, InvalidGroup};
use super::view::{MetricView, WorkloadView};
use super::words::{self, listed};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remark {
    /// `oltp, kyber and bfq`; the workload only if there are several.
    pub(crate) about: String,
    pub(crate) text: String,
    /// Whether it invalidates the comparison.
    pub(crate) invalid: bool,
}

/// Invalid ones first. Omits what the groups in `shown` explain.
pub(crate) fn remarks(
    workloads: &[WorkloadView<'_>],
    all_metrics: bool,
    shown: &[InvalidGroup<'_>],
) -> Vec<Remark> {
    merged(workloads, |workload| sentences(workload, all_metrics, shown))
}

/// Merges equal sentences about several variants and workloads.
pub(crate) fn merged<'a>(
    workloads: &[WorkloadView<'a>],
    sentences: impl Fn(&WorkloadView<'a>) -> Vec<Sentence<'a>>,
) -> Vec<Remark> {
    let mut found: Vec<Found> = Vec::new();
    for workload in workloads {
        for Sentence { variant, text, alike, invalid } in sentences(workload) {
            let known = found.iter_mut().find(|f| {
                f.workloads == [workload.name] && f.alike == alike && f.invalid == invalid
            });
            match known {
                Some(known) if known.variants.contains(&variant) => {}
                Some(known) => known.variants.push(variant),
                None => found.push(Found {
                    workloads: vec![workload.name],
                    variants: vec![variant],
                    text,
                    alike,
                    invalid,
                }),
            }
        }
    }
    let mut merged: Vec<Found> = Vec::new();
    for one in found {
        match merged
            .iter_mut()
            .find(|m| m.text == one.text && m.invalid == one.invalid && m.variants == one.variants)
        {
            Some(known) => known.workloads.extend(one.workloads),
            None => merged.push(one),
        }
    }
    merged.sort_by_key(|remark| !remark.invalid);
    merged.into_iter().map(|remark| remark.remark(workloads)).collect()
}

pub(crate) struct Sentence<'a> {
    pub(crate) variant: &'a str,
    pub(crate) text: String,
    /// The sentence without its example, the key for merging: twenty variants that never reached
    /// the device are one remark.
    pub(crate) alike: String,
    pub(crate) invalid: bool,
}

impl<'a> Sentence<'a> {
    pub(crate) fn plain(variant: &'a str, text: String, invalid: bool) -> Sentence<'a> {
        Sentence { variant, alike: text.clone(), text, invalid }
    }
}

struct Found<'a> {
    workloads: Vec<&'a str>,
    variants: Vec<&'a str>,
    text: String,
    alike: String,
    invalid: bool,
}

impl Found<'_> {
    fn remark(self, all: &[WorkloadView<'_>]) -> Remark {
        let compared = |workload: &&str| {
            let of = all.iter().find(|view| view.name == *workload);
            let rows = of
                .and_then(|view| view.metrics.first())
                .map(|metric| metric.rows.as_slice())
                .unwrap_or_default();
            rows.iter()
                .filter(|row| row.comparison.is_some())
                .map(|row| row.variant)
                .collect::<Vec<_>>()
        };
        let all_of = |compared: Vec<&str>| {
            compared.len() == self.variants.len()
                && compared.iter().all(|variant| self.variants.contains(variant))
        };
        let every = self.variants.len() > 1
            && self.workloads.iter().all(|workload| all_of(compared(workload)));
        let clean = |names: &[&str]| {
            listed(&names.iter().map(|name| words::clean(name)).collect::<Vec<_>>())
        };
        let variants = if every { "every variant".to_string() } else { clean(&self.variants) };
        let about = if all.len() > 1 {
            format!("{}, {variants}", clean(&self.workloads))
        } else {
            variants
        };
        Remark { about, text: self.text, invalid: self.invalid }
    }
}

fn sentences<'a>(
    workload: &WorkloadView<'a>,
    all_metrics: bool,
    shown: &[InvalidGroup<'_>],
) -> Vec<Sentence<'a>> {
    let mut found = Vec::new();
    for metric in workload.metrics.iter().filter(|metric| all_metrics || metric.primary) {
        for comparison in metric.rows.iter().filter_map(|row| row.comparison) {
            let invalid = comparison.verdict == Verdict::Invalid;
            let repeated = |reason: &Reason| {
                !invalid
                    && shown.iter().any(|group| {
                        group.workload == workload.name && reason.is_about(group.reason)
                    })
            };
            if invalid && comparison.reasons.is_empty() {
                found.push(Sentence::plain(
                    &comparison.variant,
                    "there is no valid evidence".to_string(),
                    invalid,
                ));
            }
            for reason in comparison.reasons.iter().filter(|reason| !repeated(reason)) {
                let prefix =
                    if metric.primary { String::new() } else { format!("{}: ", metric.label) };
                let clean = |text: String| prefix.clone() + &words::clean(&text);
                let (text, alike) = (clean(reason.to_string()), clean(reason.without_example()));
                found.push(Sentence { variant: &comparison.variant, text, alike, invalid });
            }
        }
    }
    found
}

/// Separates groups that affect only secondary percentiles.
pub(crate) fn invalid<'a>(
    trials: &'a [Trial],
    workloads: &[WorkloadView<'_>],
) -> (Vec<InvalidGroup<'a>>, Vec<InvalidGroup<'a>>) {
    invalid::groups(trials).into_iter().partition(|group| {
        let InvalidReason::TooFewIos { metric, .. } = group.reason else { return true };
        let of_group = workloads.iter().filter(|workload| workload.name == group.workload);
        of_group.flat_map(|workload| &workload.metrics).any(|m| m.primary && m.name == metric)
    })
}

/// Whether an invalid comparison on a deciding metric already explains these trials.
pub(crate) fn is_in_a_comparison(group: &InvalidGroup<'_>, workloads: &[WorkloadView<'_>]) -> bool {
    let of_group = workloads.iter().filter(|workload| workload.name == group.workload);
    let mut comparisons = of_group
        .flat_map(|workload| workload.metrics.iter().filter(|metric| metric.primary))
        .flat_map(|metric| metric.rows.iter().filter_map(|row| row.comparison));
    comparisons.any(|comparison| {
        let tells = |reason: &Reason| reason.is_about(group.reason);
        comparison.variant == group.variant
            && comparison.verdict == Verdict::Invalid
            && comparison.reasons.iter().any(tells)
    })
}

pub(crate) fn thin_percentiles(workloads: &[WorkloadView<'_>]) -> Option<String> {
    let few = InvalidReason::TooFewIos { metric: String::new(), count: 0, needed: 0 };
    let thin = |comparison: &Comparison| {
        comparison.verdict == Verdict::Invalid
            && comparison.reasons.iter().any(|reason| reason.is_about(&few))
    };
    let is_thin = |metric: &&MetricView<'_>| {
        !metric.primary && metric.rows.iter().filter_map(|r| r.comparison).any(thin)
    };
    match workloads.iter().flat_map(|workload| &workload.metrics).filter(is_thin).count() {
        0 => None,
        1 => Some("1 percentile that does not decide is invalid: too few requests (use a longer --trial-time)".into()),
        n => Some(format!("{n} percentiles that do not decide are invalid: too few requests (use a longer --trial-time)")),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::fixture::Lab;
    use crate::view;
    use experiment::reason::{Cause, Example};

    fn left_out(count: usize, total: u32, variant: &str, reason: InvalidReason) -> Reason {
        let example =
            Example { round: Some(0), variant: variant.to_owned(), cause: Cause::Invalid(reason) };
        Reason::LeftOut { count, total, rounds: true, example }
    }

    pub(crate) fn with_thin_percentiles() -> Lab {
        let mut lab = Lab::typical();
        let few = |metric: &str| InvalidReason::TooFewIos {
            metric: metric.into(),
            count: 5,
            needed: 1000,
        };
        for trial in lab.trials.iter_mut().filter(|trial| trial.workload == "oltp") {
            trial.observation.invalid.extend([few("latency_p99_us"), few("latency_p999_us")]);
        }
        let percentile = |metric: &str| metric.starts_with("latency_p99");
        for comparison in lab
            .analysis
            .comparisons
            .iter_mut()
            .filter(|j| j.workload == "oltp" && percentile(&j.metric))
        {
            comparison.verdict = Verdict::Invalid;
            comparison.reasons = vec![left_out(14, 14, &comparison.variant, few(""))];
        }
        lab
    }

    #[test]
    fn percentiles_that_do_not_decide_are_counted_in_one_line() {
        let lab = with_thin_percentiles();
        let views = view::workloads(&lab.analysis, Some(&lab.evidence()));
        let (loud, quiet) = invalid(&lab.trials, &views);
        assert_eq!(
            (loud.len(), quiet.len()),
            (1, 8),
            "a setting that was changed; four variants, two percentiles"
        );
        let said = thin_percentiles(&views).expect("two percentiles are invalid");
        assert!(said.starts_with("2 percentiles that do not decide"), "{said}");
        assert!(remarks(&views, false, &loud).iter().all(|remark| !remark.invalid));
        assert_eq!(remarks(&views, true, &loud).iter().filter(|remark| remark.invalid).count(), 2);
    }

    #[test]
    fn a_percentile_that_decides_stays_loud() {
        let mut lab = with_thin_percentiles();
        for comparison in lab.analysis.comparisons.iter_mut().filter(|j| j.workload == "oltp") {
            comparison.primary = comparison.metric == "latency_p99_us";
        }
        let views = view::workloads(&lab.analysis, Some(&lab.evidence()));
        let (loud, quiet) = invalid(&lab.trials, &views);
        assert_eq!((loud.len(), quiet.len()), (5, 4));
        let remarks = remarks(&views, false, &loud);
        let first = remarks.first().expect("there is a remark");
        assert!(first.invalid && first.about == "oltp, every variant", "{first:?}");
        assert!(loud.iter().any(|group| is_in_a_comparison(group, &views)));
    }

    #[test]
    fn the_same_sentence_about_several_variants_and_workloads_is_one_remark() {
        let mut lab = Lab::typical();
        for comparison in lab.analysis.comparisons.iter_mut().filter(|j| j.primary) {
            comparison.reasons = vec!["three is too few".into()];
        }
        let views = view::workloads(&lab.analysis, None);
        let all = Remark {
            about: "oltp, seqread and mixed, every variant".into(),
            text: "three is too few".into(),
            invalid: false,
        };
        assert_eq!(remarks(&views, false, &[]), [all]);
        let alone = remarks(&views[..1], false, &[]);
        assert_eq!(alone[0].about, "every variant");
    }

    #[test]
    fn reasons_that_differ_in_their_example_only_are_one_remark_with_the_first_example() {
        let mut lab = Lab::typical();
        for (comparison, moved) in lab
            .analysis
            .comparisons
            .iter_mut()
            .filter(|j| j.primary && j.workload == "oltp")
            .zip(1..)
        {
            comparison.verdict = Verdict::Invalid;
            let reason = InvalidReason::NeverReached {
                issued_bytes: 9_000_000,
                device_bytes: moved * 1_000_000,
            };
            comparison.reasons = vec![left_out(3, 3, &comparison.variant, reason)];
        }
        let views = view::workloads(&lab.analysis, Some(&lab.evidence()));
        let found = remarks(&views[..1], false, &[]);
        assert_eq!((found.len(), found[0].about.as_str()), (1, "every variant"), "{found:?}");
        assert!(
            found[0].text.contains("(first in round 1, mq-deadline: the device moved 1.0 MB"),
            "{}",
            found[0].text
        );
        let no_io = || InvalidReason::NeverReached { issued_bytes: 9, device_bytes: 1 };
        assert_ne!(
            left_out(2, 3, "x", no_io()).without_example(),
            left_out(3, 3, "x", no_io()).without_example()
        );
    }

    #[test]
    fn a_reason_of_a_group_of_invalid_trials_is_not_repeated() {
        let mut lab = Lab::typical();
        let comparison = lab
            .analysis
            .comparisons
            .iter_mut()
            .find(|j| j.primary && j.invalid_rounds > 0)
            .expect("one round is invalid");
        let (attribute, wanted, found) = ("scheduler".into(), "none".into(), "bfq".into());
        let reason = InvalidReason::ChangedMeanwhile { attribute, wanted, found };
        comparison.reasons = vec![left_out(1, 14, &comparison.variant, reason)];
        let views = view::workloads(&lab.analysis, Some(&lab.evidence()));
        let (loud, _) = invalid(&lab.trials, &views);
        assert_eq!(remarks(&views, false, &[]).len(), 1);
        assert!(remarks(&views, false, &loud).is_empty());
    }
}
