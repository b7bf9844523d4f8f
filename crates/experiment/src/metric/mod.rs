//! The metrics that a trial can report: one row each, with unit and the direction that is good.
//!
//! A verdict needs the direction; a reader needs the unit. Both stand here once, and every report
//! reads them from here.

mod table;
mod unit;

pub use crate::direction::Direction;
use crate::direction::by_words;
pub use table::METRICS;
pub use unit::unit_of;

/// A row of [`METRICS`].
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// The name in results files, plans and reports; ends with the unit where it has one.
    pub name: &'static str,
    /// The name in tables and plots.
    pub label: &'static str,
    /// What it counts, in a sentence.
    pub noun: &'static str,
    /// The unit as printed.
    pub unit: &'static str,
    /// Which way is better.
    pub direction: Direction,
    /// The percentile of latency that this is, if it is one: it needs enough I/Os to exist.
    pub percentile: Option<f64>,
    /// The events that a value rests on; none where a value is no sum, mean or extreme of events,
    /// or nothing counts them.
    pub counts: Option<Counts>,
    /// One line of meaning.
    pub help: &'static str,
}

/// The events that a value of a metric rests on, and the rate by which a trial reports their
/// number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// Requests of either direction.
    Requests,
    /// Reads.
    Reads,
    /// Writes.
    Writes,
    /// Trims.
    Trims,
    /// Requests without a deadline, beside some with one.
    BestEffort,
    /// Transactions of a program.
    Transactions,
    /// Messages between programs.
    Messages,
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
            Counts::Transactions => "transactions",
            Counts::Messages => "messages",
        }
    }

    /// The metric that reports them per second.
    pub fn rate(self) -> &'static str {
        match self {
            Counts::Requests => "iops",
            Counts::Reads => "read_iops",
            Counts::Writes => "write_iops",
            Counts::Trims => "trim_iops",
            Counts::BestEffort => "best_effort_iops",
            Counts::Transactions => "tps",
            Counts::Messages => "messages_per_s",
        }
    }
}

impl Metric {
    /// The fewest events of a trial whose value says something: a percentile needs ten beyond it,
    /// everything else [`FLOOR`].
    pub fn floor(&self) -> u64 {
        // 100 - 99.9 is not exactly 0.1: without the allowance the answer would be 10 001.
        let beyond =
            self.percentile.map_or(0.0, |percentile| (1000.0 / (100.0 - percentile) - 1e-6).ceil());
        FLOOR.max(beyond as u64)
    }

    const fn of(self, counts: Counts) -> Metric {
        Metric { counts: Some(counts), ..self }
    }
}

/// The fewest events for a rate or a mean: one more or less is 1 % of a hundred, and as many at
/// random times vary by 10 %.
pub const FLOOR: u64 = 100;

impl Metric {
    /// The bound that a trial in which no request completed sets: a rate is 0, a latency at least
    /// as long as the trial. None for a metric that means nothing then.
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

/// The row of a metric, if it is one of schedlab's own. A program with several jobs reports
/// `JOB.METRIC` of each.
pub fn find(name: &str) -> Option<&'static Metric> {
    let own = name.rsplit_once('.').map_or(name, |(_, metric)| metric);
    METRICS.iter().find(|metric| metric.name == own)
}

/// The name of a metric in tables and plots; none if it is not schedlab's own.
pub fn label_of(name: &str) -> Option<String> {
    let label = find(name)?.label;
    Some(
        name.rsplit_once('.').map_or_else(|| label.to_owned(), |(job, _)| format!("{job}.{label}")),
    )
}

/// What a metric counts, in a sentence; none if it is not schedlab's own.
pub fn noun_of(name: &str) -> Option<String> {
    let noun = find(name)?.noun;
    Some(
        name.rsplit_once('.')
            .map_or_else(|| noun.to_owned(), |(job, _)| format!("{noun} of {job}")),
    )
}

/// The direction of any metric, foreign ones included: from the table, else from the words of its
/// name; none if they tell none.
pub fn direction_of(name: &str) -> Option<Direction> {
    find(name).map(|metric| metric.direction).or_else(|| by_words(name))
}

/// The direction that a column of a table of somebody else has: one that is called like a metric of
/// ours that only describes is another thing, and is named in order to be compared.
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
