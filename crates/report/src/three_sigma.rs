//! The three-sigma rule of older studies beside the verdicts: its claim on the same values, and its error rate.
//!
//! It is shown so that a reader who knows the rule sees where it agrees. The advice follows from the verdicts alone.

use experiment::study::{Judgement, OlderClaim, Study, Verdict};

use super::evidence::Evidence;
use super::view::{MetricView, WorkloadView};
use super::words;

/// The column's head.
pub(crate) const HEAD: &str = "three-sigma rule";

/// The rule and its error rate; docs/src/explanation/verdicts.md has the figures.
pub(crate) const ERRORS: &str = "The three-sigma rule (an arm differs when its mean lies outside the baseline's mean ± 3 standard \
    deviations of single values) is shown for comparison: it calls two identical arms different in 20 % of cases with two values \
    each, in 7 % with three and in 1 % with five, and it misses most effects below three deviations, however many values there are.";

/// Whether the study has the rule's claims: it has none where the rule is the method itself.
pub(crate) fn is_there(study: &Study) -> bool {
    study.judgements.iter().any(|judgement| judgement.three_sigma.is_some())
}

/// Whether a terminal shows them: always for the CPU arena and for foreign tables, where the rule was used; for devices only when
/// everything is requested.
pub(crate) fn is_shown(study: &Study, evidence: Option<&Evidence<'_>>, verbose: bool) -> bool {
    let of_cpus = evidence.and_then(Evidence::of_cpus).is_some();
    is_there(study) && (verbose || of_cpus || study.arena == "foreign")
}

/// A row of the appendix: what the rule would have claimed of an arm on a deciding metric.
pub(crate) struct OlderRow<'a> {
    pub(crate) metric: String,
    pub(crate) judgement: &'a Judgement,
}

impl OlderRow<'_> {
    /// Workload, metric, arm, verdict, the rule's claim, and that the two disagree.
    pub(crate) fn cells(&self) -> [String; 6] {
        let of = self.judgement;
        let (verdict, disagrees) = (super::verdict::word(of.verdict).to_owned(), dissent(of).map(|_| "they disagree"));
        let claim = claim(of).to_owned();
        let disagrees = disagrees.unwrap_or_default().to_owned();
        [words::clean(&of.workload), self.metric.clone(), words::clean(&of.arm), verdict, claim, disagrees]
    }
}

/// The rows of the appendix; none where the rule is the method itself.
pub(crate) fn rows<'a>(workloads: &[WorkloadView<'a>]) -> Vec<OlderRow<'a>> {
    let deciding = workloads.iter().flat_map(|workload| &workload.metrics).filter(|metric| metric.primary);
    let row = |metric: &MetricView<'a>| {
        let label = metric.label.clone();
        let judged: Vec<&'a Judgement> = metric.rows.iter().filter_map(|row| row.judgement).collect();
        let known = judged.into_iter().filter(|judgement| judgement.three_sigma.is_some());
        known.map(move |judgement| OlderRow { metric: label.clone(), judgement }).collect::<Vec<_>>()
    };
    deciding.flat_map(row).collect()
}

/// A judgement's claim in words; empty where there is none.
pub(crate) fn claim(judgement: &Judgement) -> &'static str {
    judgement.three_sigma.map(words).unwrap_or_default()
}

fn words(claim: OlderClaim) -> &'static str {
    match claim {
        OlderClaim::Better => "better",
        OlderClaim::Worse => "worse",
        OlderClaim::NoDifference => "no difference",
        OlderClaim::NotEnough => "not enough",
    }
}

/// All claims about a metric in one line, for where a column has no room; none where there are no claims.
pub(crate) fn line(metric: &MetricView<'_>) -> Option<String> {
    let kinds = [OlderClaim::Better, OlderClaim::Worse, OlderClaim::NoDifference, OlderClaim::NotEnough];
    let of = |kind: OlderClaim| -> Vec<String> {
        let judged = metric.rows.iter().filter_map(|row| row.judgement);
        judged.filter(|j| j.three_sigma == Some(kind)).map(|j| words::clean(&j.arm)).collect()
    };
    let parts: Vec<String> = kinds
        .into_iter()
        .map(|kind| (words(kind), of(kind)))
        .filter(|(_, arms)| !arms.is_empty())
        .map(|(words, arms)| format!("{words}: {}", arms.join(", ")))
        .collect();
    (!parts.is_empty()).then(|| format!("{HEAD}: {}", parts.join("; ")))
}

/// In words, that the rule and the verdict disagree. That the rule sees nothing where nothing was shown is no disagreement.
pub(crate) fn dissent(judgement: &Judgement) -> Option<String> {
    let (claim, verdict) = (judgement.three_sigma?, judgement.verdict);
    let evidence = match (claim, verdict) {
        (OlderClaim::NotEnough, _)
        | (OlderClaim::Better, Verdict::Better)
        | (OlderClaim::Worse, Verdict::Worse)
        | (OlderClaim::NoDifference, Verdict::Equivalent | Verdict::Inconclusive | Verdict::Void) => return None,
        (_, Verdict::Better) => "says better",
        (_, Verdict::Worse) => "says worse",
        (_, Verdict::Void) => "is void",
        (_, Verdict::Equivalent | Verdict::Inconclusive) => "does not",
    };
    let seen = if claim == OlderClaim::NoDifference { "seen" } else { "said" };
    Some(format!("the {HEAD} would have {seen} {}; the evidence {evidence}", words(claim)))
}

#[cfg(test)]
mod tests {
    use experiment::stats::three_sigma::false_alarms;

    use super::*;
    use crate::fixture::{self, Lab};

    #[test]
    fn the_rule_disagrees_where_it_claims_what_the_evidence_does_not_or_misses_what_it_shows() {
        let said = |claim, verdict| {
            dissent(&Judgement { three_sigma: Some(claim), verdict, ..fixture::judgement("nice=-20") })
        };
        use OlderClaim::{Better, NoDifference, NotEnough, Worse};
        let text = |claim, verdict| said(claim, verdict).expect("they disagree");
        assert_eq!(
            text(Better, Verdict::Inconclusive),
            "the three-sigma rule would have said better; the evidence does not"
        );
        assert!(text(Worse, Verdict::Equivalent).ends_with("said worse; the evidence does not"));
        assert!(text(Better, Verdict::Worse).ends_with("said better; the evidence says worse"));
        assert!(text(Better, Verdict::Void).ends_with("the evidence is void"));
        assert!(text(NoDifference, Verdict::Better).ends_with("seen no difference; the evidence says better"));
        for verdict in [Verdict::Equivalent, Verdict::Inconclusive, Verdict::Void] {
            assert_eq!(said(NoDifference, verdict), None);
        }
        assert_eq!((said(Better, Verdict::Better), said(Worse, Verdict::Worse)), (None, None));
        assert_eq!(said(NotEnough, Verdict::Better), None);
        assert_eq!(dissent(&fixture::judgement("kyber")), None, "an older study.json has no claims");
    }

    #[test]
    fn the_error_rates_in_the_text_are_those_of_the_rule() {
        for (n, told) in [(2, "in 20 % of cases with two"), (3, "in 7 % with three"), (5, "in 1 % with five")] {
            assert!(ERRORS.contains(told), "{told}");
            let percent: f64 = told.split(' ').nth(1).unwrap().parse().unwrap();
            assert!((false_alarms(n) * 100.0 - percent).abs() < 0.6, "{n}: {}", false_alarms(n));
        }
    }

    #[test]
    fn a_terminal_shows_it_for_cpus_and_tables_always_and_for_devices_on_demand() {
        let mut lab = Lab::typical();
        let shown = |lab: &Lab, verbose| is_shown(&lab.study, Some(&lab.evidence()), verbose);
        assert_eq!((shown(&lab, false), shown(&lab, true)), (false, true));
        lab.header.plan.arena = experiment::plan::ArenaKind::Cpu;
        assert!(shown(&lab, false));
        lab.study.arena = "foreign".into();
        assert!(is_shown(&lab.study, None, false));
        lab.study.judgements.iter_mut().for_each(|judgement| judgement.three_sigma = None);
        assert!(!shown(&lab, true), "the rule itself was the method: nothing twice");
    }
}
