//! The answer, short: what to use, in the first line, and one line for each workload.
//!
//! The study's own sentences name every arm, interval and doubt. Above a table that shows the same they would repeat it, so the
//! first screen has this short form. It decides nothing: arm and verdicts are the study's.

use experiment::plan::Method;
use experiment::reason::Reason;
use experiment::study::{Judgement, Study, Verdict};

use super::evidence::Evidence;
use super::number;
use super::view::{MetricView, WorkloadView};
use super::words::{self, listed};

/// What to do, in one line.
pub(crate) fn headline(study: &Study, workloads: &[WorkloadView<'_>]) -> String {
    let deciding: Vec<(&WorkloadView<'_>, &MetricView<'_>)> =
        workloads.iter().filter_map(|workload| Some((workload, deciding(workload)?))).collect();
    let baseline = deciding.iter().find_map(|(_, metric)| metric.baseline);
    let (Some(arm), Some(baseline)) = (study.recommendation.arm.as_deref(), baseline) else {
        return words::clean(&study.recommendation.sentence);
    };
    if arm == baseline {
        return keep(study, arm, &deciding);
    }
    if let [(workload, metric)] = deciding[..] {
        let place = words::name_of(workload.name).map(|place| format!(" for {place}")).unwrap_or_default();
        let gain = judgement(metric, arm).map(number::effect).unwrap_or_default();
        let (arm, baseline) = (words::clean(arm), words::clean(baseline));
        return format!("Use {arm}{place}: {} {gain} against {baseline}.", metric.label);
    }
    let named = |wanted: Verdict| -> Vec<String> {
        let has = |metric: &MetricView<'_>| judgement(metric, arm).is_some_and(|j| j.verdict == wanted);
        deciding.iter().filter(|(_, metric)| has(metric)).map(|(workload, _)| words::clean(workload.name)).collect()
    };
    let states = [
        (format!("better than {} for", words::clean(baseline)), Verdict::Better),
        ("equivalent for".into(), Verdict::Equivalent),
        ("inconclusive for".into(), Verdict::Inconclusive),
    ];
    let parts: Vec<String> = states
        .into_iter()
        .map(|(state, verdict)| (state, named(verdict)))
        .filter(|(_, names)| !names.is_empty())
        .map(|(state, names)| format!("{state} {}", listed(&names)))
        .collect();
    if parts.is_empty() {
        return words::clean(&study.recommendation.sentence);
    }
    format!("Use {}: {}.", words::clean(arm), parts.join(", "))
}

/// What to do for each workload: its name and a few words. Empty where the headline says everything: for a single workload, and
/// when every workload keeps the baseline.
pub(crate) fn lines(study: &Study, workloads: &[WorkloadView<'_>]) -> Vec<(String, String)> {
    let baseline = workloads.iter().filter_map(deciding).find_map(|metric| metric.baseline);
    let all_keep = baseline.is_some() && study.recommendation.arm.as_deref() == baseline;
    if workloads.len() < 2 || all_keep {
        return Vec::new();
    }
    workloads.iter().filter_map(|workload| Some((words::clean(workload.name), line(workload)?))).collect()
}

fn line(workload: &WorkloadView<'_>) -> Option<String> {
    let (advice, metric) = (workload.advice?, deciding(workload)?);
    let Some(arm) = advice.arm.as_deref() else { return Some(words::clean(&advice.why)) };
    let name = words::clean(arm);
    Some(match judgement(metric, arm) {
        Some(judgement) => format!("{name}: {} {}", metric.label, number::effect(judgement)),
        None if metric.baseline != Some(arm) => words::clean(&advice.why),
        None => format!("{name}: nothing was shown to be better{}", undecided(&[(workload, metric)])),
    })
}

fn keep(study: &Study, arm: &str, deciding: &[(&WorkloadView<'_>, &MetricView<'_>)]) -> String {
    let by = match study.criteria.method {
        Method::ThreeSigma => " by the three-sigma rule".into(),
        _ if study.criteria.margin == 0.0 => String::new(),
        _ => format!(" by more than {}", number::percent(study.criteria.margin)),
    };
    format!("Keep {}: nothing was shown to be better{by}{}.", words::clean(arm), undecided(deciding))
}

/// How many comparisons are inconclusive or void: keeping the baseline for want of evidence differs from equivalence.
fn undecided(deciding: &[(&WorkloadView<'_>, &MetricView<'_>)]) -> String {
    let all: Vec<&Judgement> =
        deciding.iter().flat_map(|(_, metric)| metric.rows.iter().filter_map(|row| row.judgement)).collect();
    let count = |verdict: Verdict| all.iter().filter(|judgement| judgement.verdict == verdict).count();
    let (open, void, all) = (count(Verdict::Inconclusive), count(Verdict::Void), all.len());
    let clause = |count: usize, what: &str| match count {
        1 if all == 1 => format!("; the comparison is {what}"),
        2 if all == 2 => format!("; both comparisons are {what}"),
        count if count == all => format!("; all {count} comparisons are {what}"),
        1 => format!("; 1 of {all} comparisons is {what}"),
        count => format!("; {count} of {all} comparisons are {what}"),
    };
    match (open, void) {
        (0, 0) => String::new(),
        (open, 0) => clause(open, "inconclusive"),
        (0, void) => clause(void, "void"),
        (open, void) => format!("; of {all} comparisons {open} are inconclusive and {void} void"),
    }
}

/// How to decide what is inconclusive on a deciding metric: how many blocks are probably needed, and how to measure them. `None` where
/// everything is decided.
pub(crate) fn next(evidence: Option<&Evidence<'_>>, workloads: &[WorkloadView<'_>]) -> Option<String> {
    let deciding = workloads.iter().filter_map(deciding);
    let judged = deciding.flat_map(|metric| metric.rows.iter().filter_map(|row| row.judgement));
    let open: Vec<&Judgement> = judged.filter(|judgement| judgement.verdict == Verdict::Inconclusive).collect();
    if open.is_empty() {
        return None;
    }
    if open.iter().all(|judgement| judgement.reasons.contains(&Reason::CpuTimeOmitted)) {
        return Some("Next: repeat the command without cpu_percent=0, so that requests cost CPU time.".into());
    }
    let these = if open.len() == 1 { "comparison" } else { "comparisons" };
    // A budget that is spent cannot be added to without leaving its rule: a new plan looks with bounds of its own.
    if let Some(blocks) = open.iter().filter_map(|judgement| judgement.new_plan_blocks).max() {
        let about = words::counted(blocks.into(), "block");
        return Some(format!(
            "Next: a new run of about {about} (--blocks {blocks}) would probably decide the inconclusive {these}."
        ));
    }
    let Some(more) = open.iter().filter_map(|judgement| judgement.more_blocks).max() else {
        return Some(match evidence {
            Some(_) => "Next: too few blocks to estimate how many more are needed; repeat the command with --out DIR --resume and a larger --budget.".into(),
            None => "Next: too few values to estimate how many more are needed; add measurements to the table and study it again.".into(),
        });
    };
    let blocks = words::counted(more.into(), "more block");
    let decided = format!("about {blocks} would probably decide the inconclusive {these}");
    Some(match evidence {
        Some(_) => format!("Next: {decided}; repeat the command with --out DIR --resume and a larger --budget."),
        None => format!("Next: {decided}; add them to the table and study it again."),
    })
}

fn deciding<'v, 'a>(workload: &'v WorkloadView<'a>) -> Option<&'v MetricView<'a>> {
    workload.metrics.iter().find(|metric| metric.primary)
}

fn judgement<'a>(metric: &MetricView<'a>, arm: &str) -> Option<&'a Judgement> {
    metric.rows.iter().find(|row| row.arm == arm)?.judgement
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Lab;
    use crate::view;

    fn said(lab: &Lab) -> (String, Vec<(String, String)>) {
        let views = view::workloads(&lab.study, Some(&lab.evidence()));
        (headline(&lab.study, &views), lines(&lab.study, &views))
    }

    #[test]
    fn several_workloads_have_a_line_each_below_one_for_all() {
        let (headline, lines) = said(&Lab::typical());
        assert_eq!(headline, "Use mq-deadline: better than none for oltp and mixed, equivalent for seqread.");
        assert_eq!(lines[0], ("oltp".into(), "mq-deadline: IOPS +11.1 %  [+10.3, +11.9]".into()));
        let open = "none: nothing was shown to be better; 1 of 3 comparisons is inconclusive";
        assert_eq!(lines[1], ("seqread".into(), open.into()));
        assert_eq!(lines[2].1, "bfq: read latency p99 ÷10.8  [÷11.2, ÷10.4]");
    }

    #[test]
    fn one_workload_is_one_line() {
        let mut lab = Lab::typical();
        lab.study.judgements.retain(|judgement| judgement.workload == "oltp");
        lab.study.summaries.retain(|summary| summary.workload == "oltp");
        let (headline, lines) = said(&lab);
        assert_eq!(headline, "Use mq-deadline for oltp: IOPS +11.1 %  [+10.3, +11.9] against none.");
        assert!(lines.is_empty());
    }

    #[test]
    fn keeping_the_baseline_says_how_much_is_open_and_void() {
        let mut lab = Lab::typical();
        lab.study.recommendation.arm = Some("none".into());
        for judgement in &mut lab.study.judgements {
            judgement.verdict = if judgement.arm == "bfq" { Verdict::Void } else { Verdict::Inconclusive };
        }
        let text = "Keep none: nothing was shown to be better by more than 1 %; of 9 comparisons 6 are inconclusive and 3 void.";
        let (headline, lines) = said(&lab);
        assert_eq!(headline, text);
        assert!(lines.is_empty(), "the headline says it for every workload: {lines:?}");
    }

    #[test]
    fn what_is_inconclusive_has_a_next_step_and_what_is_decided_has_none() {
        let mut lab = Lab::typical();
        let said = |lab: &Lab| {
            let views = view::workloads(&lab.study, None);
            [Some(&lab.evidence()), None].map(|evidence| next(evidence, &views))
        };
        let [Some(measured), Some(table)] = said(&lab) else { panic!("two comparisons are inconclusive") };
        assert!(measured.contains("about 23 more blocks") && measured.contains("--resume"), "{measured}");
        assert!(table.contains("about 23 more blocks") && table.contains("add them to the table"), "{table}");
        lab.study.judgements.iter_mut().for_each(|judgement| judgement.new_plan_blocks = Some(40));
        assert!(said(&lab)[0].as_ref().is_some_and(|text| text.contains("a new run of about 40 blocks (--blocks 40)")));
        lab.study.judgements.iter_mut().for_each(|judgement| judgement.new_plan_blocks = None);
        lab.study.judgements.iter_mut().for_each(|judgement| judgement.more_blocks = None);
        assert!(said(&lab).into_iter().all(|text| text.is_some_and(|text| text.contains("too few"))));
        let omitted = experiment::reason::Reason::CpuTimeOmitted;
        lab.study.judgements.iter_mut().for_each(|judgement| judgement.reasons.push(omitted.clone()));
        assert!(said(&lab).into_iter().all(|text| text.is_some_and(|text| text.contains("without cpu_percent=0"))));
        lab.study.judgements.iter_mut().for_each(|judgement| judgement.verdict = Verdict::Equivalent);
        assert_eq!(said(&lab), [None, None]);
    }

    #[test]
    fn without_a_choice_the_study_speaks_for_itself() {
        let mut lab = Lab::typical();
        lab.study.recommendation.arm = None;
        lab.study.recommendation.sentence = "No advice: nothing was measured.".into();
        assert_eq!(said(&lab).0, "No advice: nothing was measured.");
        lab.study.recommendation.arm = Some("an arm that no judgement knows".into());
        assert_eq!(said(&lab).0, "No advice: nothing was measured.");
    }
}
