//! Sentences on how the verdicts were reached.
//!
//! They follow from the comparisons, not only from the criteria: a plan may request anytime-valid
//! intervals, and a table without rounds still gets Welch's.

use std::collections::BTreeMap;

use experiment::analysis::{Analysis, Comparison};
use experiment::plan::{ArenaFacts, Method};
use experiment::results::{OWN_CPU, Trial, UNCONFIRMED};

use super::evidence::Evidence;
use super::{number, repeats, words};

/// Claims nothing about external data that cannot be checked.
pub(crate) fn method(analysis: &Analysis) -> [&'static str; 3] {
    let verdicts = match analysis.criteria.method {
        Method::ThreeSigma => {
            "A variant is better or worse when the baseline lies wholly outside of its interval, inconclusive when not, and invalid \
             when something invalidated the evidence; outliers are kept."
        }
        Method::Spending | Method::Anytime | Method::Fixed => {
            "A variant is better or worse when its interval lies wholly beyond the margin, equivalent when wholly inside it, \
             inconclusive when neither, and invalid when something invalidated the evidence; outliers are kept."
        }
    };
    if analysis.arena == "foreign" {
        return [
            "These values were measured elsewhere: whether the order was random, and whether every setting was in effect, \
             cannot be checked here.",
            "The effect is the ratio to the baseline, round by round where the table has rounds, with an interval; the margin \
             is a difference that is of no interest.",
            verdicts,
        ];
    }
    [
        "Each round runs every variant once, in random order, and compares it with the baseline of the same round, so that \
         drift affects all variants alike.",
        "The effect is the mean of these comparisons, with an interval; the margin below which a difference is of no interest \
         was fixed before the first trial.",
        verdicts,
    ]
}

/// A sentence without a full stop.
pub(crate) fn rules(analysis: &Analysis) -> String {
    let (margin, level) =
        (number::percent(analysis.criteria.margin), number::percent(1.0 - analysis.criteria.alpha));
    let compared: Vec<&Comparison> =
        analysis.comparisons.iter().filter(|comparison| comparison.ratio.is_some()).collect();
    if !compared.is_empty() && !compared.iter().any(|comparison| number::has_interval(comparison)) {
        return "no interval: there are too few observations for one, so nothing can be concluded"
            .into();
    }
    if let Some(pooled) = &analysis.pooled {
        return format!("{}; margin ±{margin}", repeats::rules(pooled, &level));
    }
    let together = format!("at {level} for all variants of a metric together");
    let unpaired = |comparison: &&Comparison| comparison.log_ratios.is_empty();
    let in_rounds = match analysis.criteria.method {
        Method::ThreeSigma => {
            return "intervals are three standard deviations, the rule of older studies: they have no error rate and \
                    no margin"
                .into();
        }
        Method::Spending => {
            format!(
                "the experiment looked at the result after every round, to stop for a variant once it was decided; the intervals allow \
                 for it: they hold {together} and for all looks together"
            )
        }
        Method::Anytime => format!("intervals hold {together}, whenever they are looked at"),
        Method::Fixed => format!(
            "intervals (Student's t) hold {together}, for a number of rounds fixed beforehand"
        ),
    };
    let without = format!(
        "intervals (Welch's) hold {together}, for a number of observations fixed beforehand"
    );
    match compared.iter().copied().filter(|comparison| unpaired(comparison)).count() {
        0 => format!("{in_rounds}; margin ±{margin}"),
        all if all == compared.len() => format!("without rounds, {without}; margin ±{margin}"),
        _ => format!("{in_rounds}; where there are no rounds, {without}; margin ±{margin}"),
    }
}

/// schedlab's CPU time while it measured programs; `None` if the workload was its own.
pub(crate) fn overhead(trials: &[Trial]) -> Option<String> {
    let mut shares: Vec<f64> = trials
        .iter()
        .filter_map(|trial| trial.observation.counters.get(OWN_CPU))
        .copied()
        .collect();
    shares.sort_by(f64::total_cmp);
    let (median, most) = (*shares.get(shares.len() / 2)?, *shares.last()?);
    Some(format!(
        "Overhead: schedlab itself used {:.2} % of one CPU while programs were measured (median; at most {:.2} %).",
        median * 100.0,
        most * 100.0
    ))
}

/// Lists variants whose schedulers are not confirmed in their sources: their results describe the
/// model, not necessarily the scheduler.
pub(crate) fn unconfirmed(evidence: &Evidence<'_>) -> Option<String> {
    let variants = evidence.header.environment.get(UNCONFIRMED)?;
    let mut by_mark: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for (variant, said) in variants {
        by_mark.entry(said.split_once(' ')?).or_default().push(words::clean(variant));
    }
    let of = |((mark, said), variants): ((&str, &str), Vec<String>)| {
        format!("[{}] {}: {}", words::clean(mark), words::clean(said), words::listed(&variants))
    };
    let all: Vec<String> = by_mark.into_iter().map(of).collect();
    (!all.is_empty()).then(|| {
        format!(
            "Evidence that a simulated scheduler is its source's: {}; all others: confirmed.",
            all.join("; ")
        )
    })
}

/// `None` if this machine's own kernel was measured.
pub(crate) fn kernel(analysis: &Analysis, evidence: &Evidence<'_>) -> Option<String> {
    let facts =
        evidence.header.environment.get("kernel").filter(|_| {
            ArenaFacts::find(&analysis.arena).is_some_and(ArenaFacts::chooses_kernel)
        })?;
    Some(format!("Linux {} ({}).", facts.get("release")?, facts.get("build")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Lab;

    #[test]
    fn overhead_is_reported_where_programs_were_measured() {
        let lab = Lab::typical();
        let mut trials = lab.trials.clone();
        assert_eq!(overhead(&trials), None);
        for (trial, share) in trials.iter_mut().zip([0.004, 0.001, 0.002]) {
            trial.observation.counters.insert(OWN_CPU.to_owned(), share);
        }
        assert!(
            overhead(&trials).unwrap().contains(
                "0.20 % of one CPU while programs were measured (median; at most 0.40 %)"
            )
        );
    }

    #[test]
    fn a_scheduler_that_is_not_confirmed_is_marked_wherever_its_name_stands() {
        let mut lab = Lab::typical();
        assert_eq!(unconfirmed(&lab.evidence()), None);
        let facts = [("bfq".to_owned(), "R recalled, not confirmed".to_owned())];
        lab.header.environment.insert(UNCONFIRMED.to_owned(), facts.into());
        let said = "[R] recalled, not";
        let options = crate::terminal::Options {
            colour: false,
            width: 200,
            verbose: false,
            offered: Vec::new(),
        };
        let terminal = crate::terminal::render(&lab.analysis, Some(&lab.evidence()), &[], &options);
        let page = crate::page::Page::of(&lab.analysis, Some(&lab.evidence()));
        let (html, markdown) = (
            crate::html::render(&page).expect("a page"),
            crate::markdown::render(&page).expect("a page"),
        );
        for text in [&terminal, &html] {
            assert!(
                text.replace('\n', " ").contains(said)
                    && text.contains("bfq [R]")
                    && !text.contains("kyber [R]"),
                "{text}"
            );
        }
        assert!(
            markdown.contains("recalled, not confirmed: bfq") && markdown.contains("bfq \\[R\\]"),
            "{markdown}"
        );
    }

    #[test]
    fn what_is_said_of_the_intervals_is_what_was_done() {
        let mut analysis = Lab::typical().analysis;
        analysis.criteria.planned = Some(24);
        let said = rules(&analysis);
        assert!(
            said.contains("after every round, to stop") && !said.contains("24"),
            "one number of rounds a run: {said}"
        );
        assert!(
            said.contains(
                "at 95 % for all variants of a metric together and for all looks together; margin ±1 %"
            ),
            "{said}"
        );
        analysis.criteria.method = Method::Anytime;
        assert!(rules(&analysis).contains("whenever they are looked at; margin ±1 %"));
        analysis.criteria.method = Method::Fixed;
        assert!(
            rules(&analysis).contains("Student's t")
                && rules(&analysis).contains("fixed beforehand")
        );
        analysis.criteria.method = Method::ThreeSigma;
        assert!(
            rules(&analysis).contains("no error rate")
                && method(&analysis)[2].contains("outside of its interval")
        );
        analysis.criteria.method = Method::Anytime;
        analysis.comparisons[0].log_ratios.clear();
        assert!(
            rules(&analysis).contains("where there are no rounds")
                && rules(&analysis).contains("whenever")
        );
        analysis.comparisons.iter_mut().for_each(|comparison| comparison.log_ratios.clear());
        assert!(
            rules(&analysis).starts_with("without rounds")
                && !rules(&analysis).contains("whenever")
        );
        analysis
            .comparisons
            .iter_mut()
            .for_each(|comparison| (comparison.low, comparison.high) = (None, None));
        assert!(rules(&analysis).starts_with("no interval"));
    }
}
