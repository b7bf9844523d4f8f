//! Pooled repeats: results, differences between them, and a prediction.

use experiment::analysis::Analysis;
use experiment::notation;
use experiment::pool::{Effect, Pooled};

use super::table::Table;
use super::{number, view, words};

/// `Over 3 repeats: use bfq.`
pub(crate) fn led(analysis: &Analysis, answer: String) -> String {
    let Some(pooled) = &analysis.pooled else { return answer };
    format!("{}: {}", raised(&pooled.to_string()), lowered(&answer))
}

fn raised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn lowered(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// `None` if everything is decided.
pub(crate) fn next(analysis: &Analysis, pooled: &Pooled) -> Option<String> {
    let open = |effect: &&Effect| {
        let of =
            analysis.comparisons.iter().find(|j| is_of(effect, &j.workload, &j.metric, &j.variant));
        of.is_some_and(|j| j.primary && j.verdict == experiment::analysis::Verdict::Inconclusive)
    };
    let open: Vec<&Effect> = pooled.effects.iter().filter(open).collect();
    if open.is_empty() {
        return None;
    }
    let these = if open.len() == 1 { "comparison" } else { "comparisons" };
    Some(match open.iter().filter_map(|effect| effect.more_repeats).max() {
        Some(more) => format!(
            "Next: about {} would probably decide the inconclusive {these}; measure on other days and pool again.",
            words::counted(more.into(), "more repeat")
        ),
        None => format!(
            "Next: measure on other days and pool again; the number of repeats that the inconclusive {these} need is unknown."
        ),
    })
}

fn is_of(effect: &Effect, workload: &str, metric: &str, variant: &str) -> bool {
    effect.workload == workload && effect.metric == metric && effect.variant == variant
}

/// One row per variant.
pub(crate) fn table(analysis: &Analysis, workload: &str) -> Option<Table> {
    let pooled = analysis.pooled.as_ref()?;
    let primary = analysis.comparisons.iter().find(|j| j.primary && j.workload == workload)?;
    let of = |effect: &&Effect| effect.workload == workload && effect.metric == primary.metric;
    let rows = pooled
        .effects
        .iter()
        .filter(of)
        .map(|effect| (words::clean(&effect.variant), cells(effect)))
        .collect();
    let place = words::name_of(workload).map(|place| format!("{place}: ")).unwrap_or_default();
    let mut head: Vec<String> = pooled.repeats.iter().map(|name| words::clean(name)).collect();
    head.extend(["sd between\nrepeats", "share of\nvariance", "next\nrepeat"].map(str::to_owned));
    let title = format!("{place}{}, change in each repeat", view::label(&primary.metric));
    Some(Table { title, head, rows, detail: false })
}

fn cells(effect: &Effect) -> Vec<String> {
    let missing = || "-".to_owned();
    let mut cells: Vec<String> = effect
        .ratios
        .iter()
        .map(|ratio| ratio.map_or_else(|| "invalid".to_owned(), notation::change))
        .collect();
    cells.push(
        effect
            .between_percent
            .map_or_else(missing, |percent| format!("{} %", number::significant(percent))),
    );
    cells.push(effect.between_share.map_or_else(missing, number::percent));
    let next = effect.next_low.zip(effect.next_high);
    cells.push(next.map_or_else(missing, |(low, high)| notation::range(low, high)));
    cells
}

/// A sentence without a full stop.
pub(crate) fn rules(pooled: &Pooled, level: &str) -> String {
    format!(
        "intervals (Student's t over the means of {} repeats) hold at {level} for all variants of a metric together, for the effect on \
         any day like these and a number of repeats fixed beforehand",
        pooled.repeats.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Lab;
    use experiment::analysis::Verdict;

    fn pooled() -> Lab {
        let mut lab = Lab::typical();
        let effect = |j: &experiment::analysis::Comparison| Effect {
            workload: j.workload.clone(),
            metric: j.metric.clone(),
            variant: j.variant.clone(),
            ratios: vec![Some(1.12), Some(1.04), None],
            between_percent: Some(4.2),
            between_share: Some(0.83),
            next_low: Some(0.98),
            next_high: Some(1.2),
            more_repeats: Some(3),
        };
        let effects = lab.analysis.comparisons.iter().map(effect).collect();
        let repeats = ["repeat-1", "repeat-2", "repeat-3"].map(str::to_owned).to_vec();
        lab.analysis.pooled = Some(Pooled { repeats, planned: Some(4), effects });
        lab
    }

    #[test]
    fn the_first_line_says_over_how_many_repeats() {
        let lab = pooled();
        let options = crate::terminal::Options {
            colour: false,
            width: 120,
            verbose: false,
            offered: Vec::new(),
        };
        let text = crate::terminal::render(&lab.analysis, None, &[], &options);
        assert!(
            text.starts_with("Over 3 of 4 repeats: use mq-deadline on SAMSUNG MZ7LH960 (/dev/sdb): better than none"),
            "{text}"
        );
        for words in [
            "repeat-1",
            "+12.0 %",
            "invalid",
            "4.20 %",
            "83 %",
            "-2 to +20 %",
            "Student's t over the means of 3 repeats",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        for (name, text) in crate::files(&lab.analysis, None).expect("a report") {
            let says =
                matches!(name, "report.html" | "report.md").then_some("Over 3 of 4 repeats: use");
            assert!(text.contains(says.unwrap_or_default()), "{name}");
        }
    }

    #[test]
    fn what_is_open_needs_other_days_and_not_more_rounds() {
        let mut lab = pooled();
        lab.analysis.comparisons.iter_mut().for_each(|j| j.verdict = Verdict::Inconclusive);
        let said = next(&lab.analysis, lab.analysis.pooled.as_ref().expect("a pool"))
            .expect("something is open");
        assert!(said.contains("about 3 more repeats") && !said.contains("round"), "{said}");
        lab.analysis.comparisons.iter_mut().for_each(|j| j.verdict = Verdict::Better);
        assert_eq!(next(&lab.analysis, lab.analysis.pooled.as_ref().expect("a pool")), None);
    }
}
