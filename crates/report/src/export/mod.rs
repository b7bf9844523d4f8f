//! Exports for services that track numbers over time.
//!
//! One row of [`FORMATS`] per format. A mail has the comparison; the others have each workload's
//! deciding metric per variant: the geometric mean of the valid trials with Student's 95 % interval
//! on the logarithms, which describes the value, not a comparison. OpenMetrics also has verdicts;
//! OpenTelemetry has trials as spans. Each format escapes names.

mod bencher;
mod benchmark_action;
mod lkml;
pub(crate) mod openmetrics;
mod otlp;
mod series;

use experiment::metric::Direction;

use series::{Series, series};

pub use series::Exported;

#[derive(Debug)]
pub struct Format {
    pub name: &'static str,
    pub help: &'static str,
    render: fn(&Exported<'_>, &[Series]) -> crate::Result<String>,
}

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

/// `None` if there is no such format.
pub fn export(format: &str, exported: &Exported<'_>) -> crate::Result<Option<String>> {
    let Some(format) = FORMATS.iter().find(|row| row.name == format) else { return Ok(None) };
    Ok(Some(crate::words::escape_file((format.render)(exported, &series(exported.results))?)))
}

#[cfg(test)]
mod tests;
