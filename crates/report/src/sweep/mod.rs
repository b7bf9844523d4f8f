//! Sweeps: a table of values before and after, and one line per tunable.
//!
//! If every variant is a point of the sweep, the table replaces the usual one, which would repeat
//! it.

use experiment::analysis::{Analysis, Comparison, Verdict};
use experiment::plan::Method;
use experiment::sweep::{Effect, Point, Response};

use super::number;
use super::view::MetricView;
use super::words;

#[derive(Debug, Clone)]
pub(crate) struct SweepRow<'a> {
    pub(crate) tunable: String,
    /// The baseline's value; `?` if unknown.
    pub(crate) default: String,
    pub(crate) tried: String,
    /// The metric at the default, without unit.
    pub(crate) before: String,
    /// The metric at the tried value, without unit.
    pub(crate) after: String,
    pub(crate) comparison: &'a Comparison,
}

#[derive(Debug)]
pub(crate) struct SweepView<'a> {
    pub(crate) responses: Vec<&'a Response>,
    pub(crate) rows: Vec<SweepRow<'a>>,
    /// Tunable, and its effect.
    pub(crate) lines: Vec<(String, String)>,
    /// Whether every variant of the metric is in the sweep.
    pub(crate) complete: bool,
}

/// `None` if the experiment is not a sweep or the metric is secondary.
pub(crate) fn of<'a>(
    analysis: &'a Analysis,
    workload: &str,
    metric: &MetricView<'a>,
) -> Option<SweepView<'a>> {
    let wanted =
        |response: &&Response| response.workload == workload && response.metric == metric.name;
    let responses: Vec<&Response> = analysis.responses.iter().filter(wanted).collect();
    if responses.is_empty() {
        return None;
    }
    let mut rows = Vec::new();
    for response in &responses {
        rows.extend(response.points.iter().filter_map(|point| row(response, point, metric)));
    }
    let compared = metric.rows.iter().filter(|row| row.comparison.is_some()).count();
    let lines = responses
        .iter()
        .map(|response| (words::clean(&response.tunable), line(analysis, response, metric)));
    Some(SweepView { lines: lines.collect(), complete: rows.len() == compared, rows, responses })
}

pub(crate) fn comparison<'a>(metric: &MetricView<'a>, point: &Point) -> Option<&'a Comparison> {
    metric.rows.iter().find(|row| row.variant == point.variant)?.comparison
}

fn row<'a>(response: &Response, point: &Point, metric: &MetricView<'a>) -> Option<SweepRow<'a>> {
    let value =
        |value: Option<f64>| value.map_or_else(|| "-".into(), |value| metric.scale.bare(value));
    Some(SweepRow {
        tunable: words::clean(&response.tunable),
        default: response.default.as_deref().map_or_else(|| "unset".into(), words::clean),
        tried: words::clean(&point.value),
        before: value(point.at_default),
        after: value(point.at_value),
        comparison: comparison(metric, point)?,
    })
}

fn line(analysis: &Analysis, response: &Response, metric: &MetricView<'_>) -> String {
    let effect_of = |variant: &str| {
        let point = response.points.iter().find(|point| point.variant == variant);
        point.map_or_else(String::new, |point| {
            let effect = comparison(metric, point).map(number::effect).unwrap_or_default();
            format!(
                "{}={}: {}",
                words::clean(&response.tunable),
                words::clean(&point.value),
                effect.replace("  ", " ")
            )
        })
    };
    let all = response.points.len();
    let (mut text, named) = match &response.effect {
        Effect::Helps { variant } => (effect_of(variant), Some(variant)),
        Effect::Hurts { variant } => {
            (format!("no value is better; {}", effect_of(variant)), Some(variant))
        }
        Effect::Open { more_rounds: Some(more) } => {
            let rounds = words::counted((*more).into(), "more round");
            (format!("inconclusive: about {rounds} would probably decide it"), None)
        }
        Effect::Open { more_rounds: None } => ("inconclusive".to_owned(), None),
        Effect::Nothing => (nothing(analysis, response), None),
        Effect::Invalid => ("no valid evidence".to_owned(), None),
    };
    let kinds = [
        (Verdict::Better, "better too"),
        (
            Verdict::Worse,
            if matches!(response.effect, Effect::Hurts { .. }) { "worse too" } else { "worse" },
        ),
        (Verdict::Equivalent, "equivalent"),
        (Verdict::Inconclusive, "inconclusive"),
        (Verdict::Invalid, "invalid"),
    ];
    for (verdict, word) in kinds {
        let of = |point: &&Point| point.verdict == verdict && named != Some(&point.variant);
        let values: Vec<String> =
            response.points.iter().filter(of).map(|point| words::clean(&point.value)).collect();
        if !values.is_empty() && values.len() < all {
            text += &format!("; {word}: {}", values.join(", "));
        }
    }
    text
}

/// Counts compared values only.
fn nothing(analysis: &Analysis, response: &Response) -> String {
    let equivalent =
        response.points.iter().filter(|point| point.verdict == Verdict::Equivalent).count();
    let within = match analysis.criteria.method {
        Method::ThreeSigma => String::new(),
        Method::Spending | Method::Anytime | Method::Fixed => {
            format!(" within {}", number::percent(analysis.criteria.margin))
        }
    };
    match (equivalent, response.points.len()) {
        (1, 1) => format!("makes no relevant difference (equivalent{within})"),
        (2, 2) => format!("no value makes a relevant difference (both equivalent{within})"),
        (n, all) if n == all => {
            format!("no value makes a relevant difference (all {n} equivalent{within})")
        }
        _ => format!(
            "no relevant difference was found{}",
            within.replace(" within", ": equivalent within")
        ),
    }
}

#[cfg(test)]
pub(crate) mod tests;
