//! A results file in the formats of services that follow numbers over time.
//!
//! One row of [`FORMATS`] a format. A mail gets the comparison; the others get the metric that decides for each workload, for every
//! variant: the geometric mean of the trials that count, with Student's 95 % interval on the
//! logarithms. That interval is of the value, not of a comparison: verdicts are in the analysis,
//! and only OpenMetrics, which has labels, holds those too. OpenTelemetry's spans are the trials
//! themselves. Names come from plans: each format escapes them by its own rules.

mod bencher;
mod benchmark_action;
mod lkml;
pub(crate) mod openmetrics;
mod otlp;
mod series;

use experiment::metric::Direction;

use series::{Series, series};

pub use series::Exported;

/// A format.
#[derive(Debug)]
pub struct Format {
    /// The name that the user writes.
    pub name: &'static str,
    /// What it is, as help shows it.
    pub help: &'static str,
    render: fn(&Exported<'_>, &[Series]) -> crate::Result<String>,
}

/// Every format.
pub static FORMATS: &[Format] = &[
    Format {
        name: "bencher",
        help: "Bencher Metric Format, JSON",
        render: |_, series| bencher::render(series),
    },
    Format {
        name: "customBiggerIsBetter",
        help: "JSON for github-action-benchmark's tool of this name: metrics of which more is better",
        render: |_, series| benchmark_action::render(series, Direction::HigherIsBetter),
    },
    Format {
        name: "customSmallerIsBetter",
        help: "the same for metrics of which less is better",
        render: |_, series| benchmark_action::render(series, Direction::LowerIsBetter),
    },
    Format {
        name: "lkml",
        help: "plain text for a mailing list, in lines of 72 columns",
        render: |exported, _| Ok(lkml::render(exported)),
    },
    Format {
        name: "openmetrics",
        help: "OpenMetrics text, which node_exporter's textfile collector reads too",
        render: |exported, series| Ok(openmetrics::render(exported, series)),
    },
    Format {
        name: "otlp",
        help: "spans of OpenTelemetry, experiment over rounds over trials: the body of a POST of JSON to /v1/traces",
        render: |exported, _| otlp::render(exported),
    },
];

/// The results file in the format of this name; none for a name that is no format.
///
/// # Errors
/// When JSON cannot be written, which no input should cause.
pub fn export(format: &str, exported: &Exported<'_>) -> crate::Result<Option<String>> {
    let Some(format) = FORMATS.iter().find(|row| row.name == format) else { return Ok(None) };
    Ok(Some(crate::words::escape_file((format.render)(exported, &series(exported.results))?)))
}

#[cfg(test)]
mod tests;
