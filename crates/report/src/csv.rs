//! trials.csv, comparisons.csv and sweep.csv, for spreadsheets, R and pandas.
//!
//! Long form, one row per trial and metric, as plotting libraries and `schedlab analyze` expect.
//! Invalid rows are included and marked. An apostrophe precedes external names that a spreadsheet
//! would evaluate (`=1+1`, `@SUM(A1)`, `-x`), but never numbers; `schedlab analyze` removes it, R
//! and pandas do not.

use ::text::for_spreadsheet;
use experiment::reason::Reason;

use super::page::Page;
use super::verdict;

/// A failed trial, without metrics, has one row without a value.
pub(crate) fn trials(page: &Page<'_>) -> crate::Result<String> {
    let mut table = Table::new();
    table.row([
        "sequence",
        "workload",
        "round",
        "position",
        "variant",
        "started_ms",
        "duration_ns",
        "metric",
        "value",
        "invalid",
        "invalid_reasons",
    ])?;
    for trial in page.evidence.iter().flat_map(|evidence| evidence.trials) {
        let mut row = |metric: &str, value: String| {
            let invalid: Vec<String> = (trial.observation.invalid.iter())
                .filter(|reason| metric.is_empty() || reason.applies_to(metric))
                .map(ToString::to_string)
                .collect();
            table.row([
                trial.sequence.to_string().as_str(),
                trial.workload.as_str(),
                &trial.round.to_string(),
                &trial.position.to_string(),
                &trial.variant,
                &trial.started_ms.to_string(),
                &trial.observation.duration_ns.to_string(),
                metric,
                &value,
                truth(!invalid.is_empty()),
                &invalid.join("; "),
            ])
        };
        if trial.observation.metrics.is_empty() {
            row("", String::new())?;
        }
        for (metric, value) in &trial.observation.metrics {
            row(metric, value.to_string())?;
        }
    }
    table.finish()
}

/// Open interval ends are empty.
pub(crate) fn comparisons(page: &Page<'_>) -> crate::Result<String> {
    let mut table = Table::new();
    table.row([
        "workload",
        "metric",
        "primary",
        "variant",
        "baseline",
        "ratio",
        "low",
        "high",
        "verdict",
        "rounds",
        "invalid_rounds",
        "confidence",
        "more_rounds",
        "reasons",
        "variant_mean",
        "baseline_mean",
    ])?;
    let text = |value: Option<f64>| value.map_or_else(String::new, |v| v.to_string());
    for comparison in &page.analysis.comparisons {
        table.row([
            comparison.workload.as_str(),
            &comparison.metric,
            truth(comparison.primary),
            &comparison.variant,
            &comparison.baseline,
            &text(comparison.ratio),
            &text(comparison.low),
            &text(comparison.high),
            verdict::word(comparison.verdict),
            &comparison.rounds.to_string(),
            &comparison.invalid_rounds.to_string(),
            &comparison.confidence.to_string(),
            &comparison.more_rounds.map_or_else(String::new, |n| n.to_string()),
            &comparison.reasons.iter().map(Reason::to_string).collect::<Vec<_>>().join("; "),
            &text(comparison.variant_mean),
            &text(comparison.baseline_mean),
        ])?;
    }
    table.finish()
}

/// One row per tunable and value, on the deciding metric.
pub(crate) fn sweep(page: &Page<'_>) -> crate::Result<String> {
    let mut table = Table::new();
    table.row([
        "workload",
        "metric",
        "scheduler",
        "tunable",
        "default",
        "value",
        "variant",
        "at_default",
        "at_value",
        "ratio",
        "low",
        "high",
        "verdict",
        "rounds",
        "more_rounds",
    ])?;
    let text = |value: Option<f64>| value.map_or_else(String::new, |v| v.to_string());
    for response in &page.analysis.responses {
        for point in &response.points {
            table.row([
                response.workload.as_str(),
                &response.metric,
                &response.scheduler,
                &response.tunable,
                response.default.as_deref().unwrap_or_default(),
                &point.value,
                &point.variant,
                &text(point.at_default),
                &text(point.at_value),
                &text(point.ratio),
                &text(point.low),
                &text(point.high),
                verdict::word(point.verdict),
                &point.rounds.to_string(),
                &point.more_rounds.map_or_else(String::new, |n| n.to_string()),
            ])?;
        }
    }
    table.finish()
}

fn truth(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

/// Escapes every cell for spreadsheets.
pub(crate) struct Table(::csv::Writer<Vec<u8>>);

impl Table {
    pub(crate) fn new() -> Table {
        Table(::csv::Writer::from_writer(Vec::new()))
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [&str; N]) -> crate::Result<()> {
        Ok(self
            .0
            .write_record(cells.map(for_spreadsheet).each_ref().map(|cell| cell.as_bytes()))?)
    }

    pub(crate) fn finish(self) -> crate::Result<String> {
        let bytes = self.0.into_inner().map_err(|error| ::csv::Error::from(error.into_error()))?;
        Ok(String::from_utf8(bytes).expect("CSV of UTF-8 fields is UTF-8"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Lab;

    #[test]
    fn every_trial_and_metric_has_its_row_and_invalid_ones_say_why() {
        let lab = Lab::typical().renamed("kyber", "kyber, \"tuned\"\nby hand");
        let text = trials(&Page::of(&lab.analysis, Some(&lab.evidence()))).expect("CSV is written");
        let mut reader = ::csv::Reader::from_reader(text.as_bytes());
        let rows: Vec<::csv::StringRecord> =
            reader.records().collect::<Result<_, _>>().expect("the CSV can be read");
        let wanted: usize = lab.trials.iter().map(|trial| trial.observation.metrics.len()).sum();
        assert_eq!(rows.len(), wanted);
        let invalid: Vec<_> = rows.iter().filter(|row| &row[9] == "true").collect();
        assert_eq!(invalid.len(), 6, "one invalid trial of six metrics");
        assert!(invalid.iter().all(|row| &row[4] == "kyber, \"tuned\"\nby hand"
            && row[10].contains("another program changed it")));
    }

    #[test]
    fn a_trial_that_measured_nothing_still_has_a_row() {
        let mut lab = Lab::typical();
        lab.trials.truncate(1);
        lab.trials[0].observation.metrics.clear();
        let text = trials(&Page::of(&lab.analysis, Some(&lab.evidence()))).expect("CSV is written");
        assert_eq!(text.lines().count(), 2);
    }

    #[test]
    fn an_open_interval_is_an_empty_field_and_not_a_number() {
        let mut lab = Lab::typical();
        lab.analysis.comparisons.truncate(1);
        lab.analysis.comparisons[0].high = None;
        let text = comparisons(&Page::of(&lab.analysis, None)).expect("CSV is written");
        let mut reader = ::csv::Reader::from_reader(text.as_bytes());
        let row = reader.records().next().expect("a row").expect("the CSV can be read");
        assert_eq!((&row[7], &row[8]), ("", "better"));
    }

    #[test]
    fn no_name_is_a_formula_and_numbers_stay_numbers() {
        let mut lab =
            Lab::typical().renamed("kyber", "=HYPERLINK(\"http://a\")").renamed("bfq", "@b");
        lab.trials[0].observation.metrics.insert("-delta".into(), -3.25);
        for text in [
            trials(&Page::of(&lab.analysis, Some(&lab.evidence()))),
            comparisons(&Page::of(&lab.analysis, None)),
        ] {
            let text = text.expect("CSV is written");
            let mut reader = ::csv::Reader::from_reader(text.as_bytes());
            let rows: Vec<::csv::StringRecord> =
                reader.records().collect::<Result<_, _>>().expect("the CSV can be read");
            let cells = || rows.iter().flatten();
            assert!(
                cells().any(|cell| cell == "'=HYPERLINK(\"http://a\")")
                    && cells().any(|cell| cell == "'@b")
            );
            let is_formula =
                |cell: &str| cell.starts_with(['=', '@', '+', '-']) && cell.parse::<f64>().is_err();
            assert!(!cells().any(is_formula), "{text}");
        }
        let text = trials(&Page::of(&lab.analysis, Some(&lab.evidence()))).expect("CSV is written");
        assert!(text.contains(",'-delta,-3.25,"), "{text}");
    }
}
