//! The metrics of a trial, one row each, with unit and direction; the only source for every report.

mod table;
mod unit;

pub use crate::direction::Direction;
use crate::direction::by_words;
pub use table::METRICS;
pub use unit::unit_of;

/// A row of [`METRICS`].
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// The name in results, plans and reports; ends with the unit if any.
    pub name: &'static str,
    /// The name in tables and plots.
    pub label: &'static str,
    /// The counted quantity, for sentences.
    pub noun: &'static str,
    /// The unit as printed.
    pub unit: &'static str,
    /// Which way is better.
    pub direction: Direction,
    /// A latency percentile, which requires enough requests.
    pub percentile: Option<f64>,
    /// The events behind the value; `None` if it is not a sum, mean or extreme of events, or
    /// nothing counts them.
    pub counts: Option<Counts>,
    /// One line of meaning.
    pub help: &'static str,
}

/// The events behind a metric's value, reported as a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// Reads and writes.
    Requests,
    /// Reads.
    Reads,
    /// Writes.
    Writes,
    /// Trims.
    Trims,
    /// Requests without a deadline, in a workload with deadlines.
    BestEffort,
    /// Requests with a deadline.
    Deadlines,
    /// Transactions of a program.
    Transactions,
    /// Messages between programs.
    Messages,
    /// Frames computed.
    Frames,
}

impl Counts {
    /// The events in words.
    pub fn words(self) -> &'static str {
        match self {
            Counts::Requests => "requests",
            Counts::Reads => "reads",
            Counts::Writes => "writes",
            Counts::Trims => "trims",
            Counts::BestEffort => "requests without a deadline",
            Counts::Deadlines => "deadlines",
            Counts::Transactions => "transactions",
            Counts::Messages => "messages",
            Counts::Frames => "frames",
        }
    }

    /// The rate metric that counts them.
    pub fn rate(self) -> &'static str {
        match self {
            // Of deadlines without those of best effort.
            Counts::Requests | Counts::Deadlines => "iops",
            Counts::Reads => "read_iops",
            Counts::Writes => "write_iops",
            Counts::Trims => "trim_iops",
            Counts::BestEffort => "best_effort_iops",
            Counts::Transactions => "tps",
            Counts::Messages => "messages_per_s",
            Counts::Frames => "frames_per_s",
        }
    }
}

impl Metric {
    /// Returns the minimum events: ten beyond a percentile, otherwise [`FLOOR`].
    pub fn floor(&self) -> u64 {
        // 100 - 99.9 is not exactly 0.1: without the allowance the result would be 10,001.
        let beyond =
            self.percentile.map_or(0.0, |percentile| (1000.0 / (100.0 - percentile) - 1e-6).ceil());
        FLOOR.max(beyond as u64)
    }

    const fn with_counts(self, counts: Counts) -> Metric {
        Metric { counts: Some(counts), ..self }
    }
}

/// Minimum events of a rate or mean: one event is 1 %, and random arrivals vary by 10 %.
pub const FLOOR: u64 = 100;

impl Metric {
    /// The bound from a trial without completions: 0 for a rate, the trial's length for a latency.
    /// `None` if meaningless.
    pub fn starved_value(&self, window_ns: u64) -> Option<f64> {
        self.counts?;
        match self.direction {
            Direction::HigherIsBetter if self.unit.ends_with("/s") => Some(0.0),
            Direction::LowerIsBetter if self.name.contains("latency") => {
                Some(window_ns as f64 / 1e3)
            }
            _ => None,
        }
    }
}

impl Metric {
    /// The value assumed for 0 on a log scale: half an event, for metrics that count undesired
    /// events, and half of one in `events` for their share. `None` for other metrics.
    pub fn half_an_event(&self, events: u64) -> Option<f64> {
        self.counts?;
        match (self.direction, self.unit) {
            (Direction::LowerIsBetter, "requests") => Some(0.5),
            (Direction::LowerIsBetter, "%") if events > 0 => Some(50.0 / events as f64),
            _ => None,
        }
    }
}

/// Finds a metric; a program with several jobs reports `JOB.METRIC` for each.
pub fn find(name: &str) -> Option<&'static Metric> {
    let own = name.rsplit_once('.').map_or(name, |(_, metric)| metric);
    METRICS.iter().find(|metric| metric.name == own)
}

/// The label of one of schedlab's metrics.
pub fn label_of(name: &str) -> Option<String> {
    let label = find(name)?.label;
    Some(
        name.rsplit_once('.').map_or_else(|| label.to_owned(), |(job, _)| format!("{job}.{label}")),
    )
}

/// The noun of one of schedlab's metrics.
pub fn noun_of(name: &str) -> Option<String> {
    let noun = find(name)?.noun;
    Some(
        name.rsplit_once('.')
            .map_or_else(|| noun.to_owned(), |(job, _)| format!("{noun} of {job}")),
    )
}

/// The direction from the table, or from the words of the name.
pub fn direction_of(name: &str) -> Option<Direction> {
    find(name).map(|metric| metric.direction).or_else(|| by_words(name))
}

/// The direction of a foreign column; one named like a descriptive metric is something else, and
/// needs an explicit direction.
pub fn direction_of_column(name: &str) -> Option<Direction> {
    find(name)
        .map(|metric| metric.direction)
        .filter(|own| *own != Direction::Descriptive)
        .or_else(|| by_words(name))
}

#[cfg(test)]
mod tests {
    use Direction::{Descriptive, HigherIsBetter, LowerIsBetter};

    use super::*;

    #[test]
    fn names_are_unique_and_every_row_has_a_unit_and_a_meaning() {
        for (i, metric) in METRICS.iter().enumerate() {
            assert!(
                METRICS[..i].iter().all(|other| other.name != metric.name),
                "{} stands twice",
                metric.name
            );
            assert!(!metric.unit.is_empty() && !metric.help.is_empty(), "{}", metric.name);
        }
    }

    #[test]
    fn what_a_metric_counts_is_reported_by_a_rate_of_the_table() {
        for metric in METRICS {
            let Some(counts) = metric.counts else { continue };
            let rate = find(counts.rate()).expect("a row");
            // Deadlines are requests, too.
            let counts = if counts == Counts::Deadlines { Counts::Requests } else { counts };
            assert_eq!(rate.counts, Some(counts), "{}: {} counts itself", metric.name, rate.name);
            assert!(metric.floor() >= FLOOR);
        }
        let floor = |name: &str| find(name).expect("a row").floor();
        assert_eq!(
            ["iops", "latency_p50_us", "latency_p99_us", "latency_p999_us"].map(floor),
            [100, 100, 1000, 10_000]
        );
    }

    #[test]
    fn the_direction_is_that_of_the_table_else_of_the_words_else_unknown() {
        assert_eq!(direction_of("kflops"), Some(HigherIsBetter));
        assert_eq!(direction_of("logger.latency_p99_us"), Some(LowerIsBetter));
        assert_eq!(direction_of("buffered_disk_reads_mb_per_s"), Some(HigherIsBetter));
        assert_eq!(direction_of("deceptive_idle_ms"), Some(Descriptive));
        assert_eq!(direction_of_column("deceptive_idle_ms"), Some(LowerIsBetter));
        assert_eq!(direction_of("score"), None);
    }
}
