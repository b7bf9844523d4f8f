//! The metrics that a trial can report: one row each, with unit and the direction that is good.
//!
//! A verdict needs the direction; a reader needs the unit. Both stand here once, and every report
//! reads them from here.

mod unit;

pub use crate::direction::Direction;
use crate::direction::by_words;
pub use unit::unit_of;

/// A row of [`METRICS`].
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// The name in records, plans and reports; ends with the unit where it has one.
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

use Counts::{BestEffort, Messages, Reads, Requests, Transactions, Trims, Writes};
use Direction::{Descriptive, HigherIsBetter, LowerIsBetter};

const fn row(
    name: &'static str,
    label: &'static str,
    noun: &'static str,
    unit: &'static str,
    direction: Direction,
    help: &'static str,
) -> Metric {
    Metric { name, label, noun, unit, direction, percentile: None, counts: None, help }
}

const fn percentile(
    name: &'static str,
    label: &'static str,
    noun: &'static str,
    percentile: f64,
    help: &'static str,
) -> Metric {
    Metric { percentile: Some(percentile), ..row(name, label, noun, "µs", LowerIsBetter, help) }
}

/// Every metric that schedlab's own arenas report. MB is 10^6 bytes. From `fairness_jain` on they
/// need eyes inside of the disk or the scheduler, so only arenas that have them report them.
pub static METRICS: &[Metric] = &[
    row(
        "throughput_mb_per_s",
        "throughput",
        "MB/s",
        "MB/s",
        HigherIsBetter,
        "bytes moved per second, reads and writes together",
    )
    .of(Requests),
    row("read_mb_per_s", "read throughput", "MB/s read", "MB/s", HigherIsBetter, "bytes read per second").of(Reads),
    row("write_mb_per_s", "write throughput", "MB/s written", "MB/s", HigherIsBetter, "bytes written per second")
        .of(Writes),
    row("iops", "IOPS", "IO/s", "IO/s", HigherIsBetter, "requests completed per second, reads and writes together")
        .of(Requests),
    row("read_iops", "read IOPS", "reads/s", "IO/s", HigherIsBetter, "reads completed per second").of(Reads),
    row("write_iops", "write IOPS", "writes/s", "IO/s", HigherIsBetter, "writes completed per second").of(Writes),
    row(
        "latency_mean_us",
        "mean latency",
        "mean latency",
        "µs",
        LowerIsBetter,
        "mean time from a client's call to its result",
    )
    .of(Requests),
    percentile("latency_p50_us", "latency p50", "median latency", 50.0, "median latency of a request").of(Requests),
    percentile("latency_p99_us", "latency p99", "p99 latency", 99.0, "99th percentile of latency").of(Requests),
    percentile("latency_p999_us", "latency p99.9", "p99.9 latency", 99.9, "99.9th percentile of latency").of(Requests),
    row(
        "read_latency_mean_us",
        "mean read latency",
        "mean read latency",
        "µs",
        LowerIsBetter,
        "mean latency of a read",
    )
    .of(Reads),
    percentile("read_latency_p99_us", "read latency p99", "p99 read latency", 99.0, "99th percentile of read latency")
        .of(Reads),
    row(
        "write_latency_mean_us",
        "mean write latency",
        "mean write latency",
        "µs",
        LowerIsBetter,
        "mean latency of a write",
    )
    .of(Writes),
    percentile(
        "write_latency_p99_us",
        "write latency p99",
        "p99 write latency",
        99.0,
        "99th percentile of write latency",
    )
    .of(Writes),
    row(
        "cpu_us_per_io",
        "CPU time per I/O",
        "CPU time per request",
        "µs",
        LowerIsBetter,
        "CPU time of schedlab's clients per request, user and system",
    )
    .of(Requests),
    row(
        "deadline_misses",
        "deadline misses",
        "missed deadlines",
        "requests",
        LowerIsBetter,
        "requests that completed after their deadline",
    )
    .of(Requests),
    row(
        "deadline_miss_percent",
        "deadline miss percent",
        "share of missed deadlines",
        "%",
        LowerIsBetter,
        "part of the requests with a deadline that completed after it",
    )
    .of(Requests),
    row(
        "tardiness_mean_us",
        "tardiness mean",
        "mean tardiness",
        "µs",
        LowerIsBetter,
        "mean time from deadline to completion, 0 for those in time",
    )
    .of(Requests),
    row(
        "tardiness_max_us",
        "tardiness max",
        "longest tardiness",
        "µs",
        LowerIsBetter,
        "the longest time from a deadline to its request's completion",
    )
    .of(Requests),
    row(
        "best_effort_iops",
        "best effort IOPS",
        "IO/s without a deadline",
        "IO/s",
        HigherIsBetter,
        "requests without a deadline, beside some with one, per second",
    )
    .of(BestEffort),
    row(
        "arrival_wait_max_us",
        "arrival wait max",
        "longest wait of an arrival",
        "µs",
        LowerIsBetter,
        "the longest time that a request of an open loop waited for its client to have room (iodepth)",
    )
    .of(Requests),
    row(
        "fairness_jain",
        "fairness jain",
        "fairness",
        "of 1",
        HigherIsBetter,
        "Jain's index of the clients' bytes: 1 all equal, 1/n one has everything",
    )
    .of(Requests),
    row(
        "longest_wait_ms",
        "longest wait",
        "longest wait",
        "ms",
        LowerIsBetter,
        "the longest that any request took: starvation shows here",
    )
    .of(Requests),
    row(
        "device_busy_share",
        "device busy share",
        "device busy share",
        "of 1",
        Descriptive,
        "share of the time in which the device had a request",
    ),
    row(
        "device_idle_share",
        "device idle share",
        "device idle share",
        "of 1",
        Descriptive,
        "share of the time in which the device had none",
    ),
    row(
        "deceptive_idle_ms",
        "deceptive idle",
        "deceptive idle ms",
        "ms",
        Descriptive,
        "time in which the device had nothing to do although requests were waiting in the scheduler",
    ),
    row(
        "seek_distance_cylinders",
        "seek distance cylinders",
        "seek distance",
        "cylinders",
        LowerIsBetter,
        "mean movement of the arm per request",
    )
    .of(Requests),
    row(
        "seek_ms",
        "seek",
        "seek time",
        "ms",
        LowerIsBetter,
        "mean time of moving the arm and switching heads per request",
    )
    .of(Requests),
    row(
        "rotation_ms",
        "rotation",
        "rotational wait",
        "ms",
        LowerIsBetter,
        "mean wait for the sector to come round per request",
    )
    .of(Requests),
    row(
        "device_cache_hits",
        "device cache hits",
        "device cache hits",
        "requests",
        Descriptive,
        "reads served from the device's own memory",
    ),
    row(
        "merges",
        "merges",
        "merges",
        "requests",
        Descriptive,
        "pieces of I/O that joined a request, and requests that joined each other",
    ),
    row(
        "write_amplification",
        "write amplification",
        "write amplification",
        "times",
        LowerIsBetter,
        "bytes that flash memory programmed per byte written",
    )
    .of(Writes),
    row(
        "anticipations",
        "anticipations",
        "anticipations",
        "waits",
        Descriptive,
        "times that the scheduler let the device idle for a process's next request",
    ),
    row(
        "anticipation_successes",
        "anticipation successes",
        "anticipation successes",
        "waits",
        Descriptive,
        "those that ended with a request worth waiting for",
    ),
    row(
        "anticipation_failures",
        "anticipation failures",
        "anticipation failures",
        "waits",
        Descriptive,
        "those that ended by their timer",
    ),
    row(
        "success_wait_mean_ms",
        "success wait mean",
        "success wait mean ms",
        "ms",
        Descriptive,
        "mean wait of the successful ones, from the completion before",
    ),
    row(
        "success_wait_total_ms",
        "success wait total",
        "success wait total ms",
        "ms",
        Descriptive,
        "all waiting of the successful ones",
    ),
    row(
        "failure_wait_total_ms",
        "failure wait total",
        "failure wait total ms",
        "ms",
        Descriptive,
        "all waiting of the failed ones",
    ),
    row(
        "false_idle_ms",
        "false idle",
        "false idle ms",
        "ms",
        Descriptive,
        "failed waiting per anticipation, successful or not",
    ),
    row(
        "false_idle_per_success_ms",
        "false idle per success",
        "failed waiting for each success",
        "ms",
        Descriptive,
        "failed waiting per successful anticipation",
    ),
    row("tps", "tps", "transactions/s", "tx/s", HigherIsBetter, "transactions completed per second").of(Transactions),
    row("wall_s", "wall time", "time", "s", LowerIsBetter, "time from the start of a program to its end"),
    row(
        "wall_synced_s",
        "wall time synced",
        "time until all is written",
        "s",
        LowerIsBetter,
        "the same until what it has written is on the device",
    ),
    row(
        "reported_tps",
        "reported tps",
        "reported transactions/s",
        "tx/s",
        HigherIsBetter,
        "transactions per second as the program itself prints them, with its own rounding",
    )
    .of(Transactions),
    row(
        "startup_ms",
        "startup",
        "start-up time",
        "ms",
        LowerIsBetter,
        "time from the cold start of a program until it is ready",
    ),
    row("trim_iops", "trim IOPS", "trims/s", "IO/s", HigherIsBetter, "trims completed per second").of(Trims),
    row(
        "trim_latency_mean_us",
        "trim mean latency",
        "mean trim latency",
        "µs",
        LowerIsBetter,
        "mean latency of a trim",
    )
    .of(Trims),
    percentile("trim_latency_p99_us", "trim latency p99", "p99 trim latency", 99.0, "99th percentile of trim latency")
        .of(Trims),
    row("startup_max_ms", "startup max", "longest start-up", "ms", LowerIsBetter, "the longest cold start of a trial"),
    row("kflops", "kflops", "KFLOPS", "kflop/s", HigherIsBetter, "thousands of floating-point operations per second"),
    row(
        "messages_per_s",
        "messages per s",
        "messages/s",
        "1/s",
        HigherIsBetter,
        "messages between processes or threads that were received per second",
    )
    .of(Messages),
    percentile(
        "wakeup_p50_us",
        "wakeup p50",
        "median wake-up latency",
        50.0,
        "median time from waking a thread until it runs",
    ),
    percentile(
        "wakeup_p99_us",
        "wakeup p99",
        "p99 wake-up latency",
        99.0,
        "99th percentile of the time from waking a thread until it runs",
    ),
    row(
        "wakeup_max_us",
        "wakeup max",
        "longest wake-up latency",
        "µs",
        LowerIsBetter,
        "the longest time from waking a thread until it runs",
    ),
    percentile(
        "timer_latency_p50_us",
        "timer latency p50",
        "median timer latency",
        50.0,
        "median time from the moment that a sleep was to end until the thread runs",
    ),
    percentile(
        "timer_latency_p99_us",
        "timer latency p99",
        "p99 timer latency",
        99.0,
        "99th percentile of the time from the end of a sleep until the thread runs",
    ),
    row(
        "timer_latency_max_us",
        "timer latency max",
        "longest timer latency",
        "µs",
        LowerIsBetter,
        "the longest time from the end of a sleep until the thread runs",
    ),
    row(
        "latency_violations",
        "latency violations",
        "violated latency bounds",
        "requests",
        LowerIsBetter,
        "requests inside their flow's arrival curve that exceeded its latency bound",
    )
    .of(Requests),
    row(
        "schedulable_streams",
        "schedulable streams",
        "schedulable streams",
        "streams",
        HigherIsBetter,
        "the largest number of streams without a missed deadline",
    ),
    row(
        "share_percent",
        "share percent",
        "share of the bytes",
        "%",
        HigherIsBetter,
        "part of the bytes that a flow moved",
    )
    .of(Requests),
    row(
        "share_error_percent",
        "share error percent",
        "share error",
        "points",
        LowerIsBetter,
        "largest distance of a flow's part of the bytes to that of its weight",
    )
    .of(Requests),
    row(
        "share_error_1s_percent",
        "share error 1s percent",
        "share error of the worst second",
        "points",
        LowerIsBetter,
        "the same over the worst second",
    ),
    row(
        "slowdown",
        "slowdown",
        "slowdown",
        "times",
        LowerIsBetter,
        "a flow's throughput alone by its throughput beside the others",
    )
    .of(Requests),
    row("slowdown_max", "slowdown max", "largest slowdown", "times", LowerIsBetter, "the largest slowdown of a flow")
        .of(Requests),
    row(
        "slowdown_jain",
        "slowdown jain",
        "evenness of slowdowns",
        "of 1",
        HigherIsBetter,
        "Jain's index of the flows' slowdowns: 1 all equal",
    )
    .of(Requests),
    row(
        "insulation_min",
        "insulation min",
        "insulation",
        "of 1",
        HigherIsBetter,
        "the smallest part of its share of its throughput alone that a flow had",
    )
    .of(Requests),
    row(
        "objective",
        "objective",
        "objective",
        "of its kind",
        HigherIsBetter,
        "the expression of `tune --objective`, where more is better",
    ),
    row(
        "objective_cost",
        "objective cost",
        "objective cost",
        "of its kind",
        LowerIsBetter,
        "the expression of `tune --objective`, where less is better",
    ),
];

/// The row of a metric, if it is one of schedlab's own. A program with several jobs reports
/// `JOB.METRIC` of each.
pub fn find(name: &str) -> Option<&'static Metric> {
    let own = name.rsplit_once('.').map_or(name, |(_, metric)| metric);
    METRICS.iter().find(|metric| metric.name == own)
}

/// The direction of any metric, foreign ones included: from the table, else from the words of its
/// name; none if they tell none.
pub fn direction_of(name: &str) -> Option<Direction> {
    find(name).map(|metric| metric.direction).or_else(|| by_words(name))
}

/// The direction that a column of a table of somebody else has: one that is called like a metric of
/// ours that only describes is another thing, and is named in order to be judged.
pub fn direction_of_column(name: &str) -> Option<Direction> {
    find(name)
        .map(|metric| metric.direction)
        .filter(|own| *own != Descriptive)
        .or_else(|| by_words(name))
}

#[cfg(test)]
mod tests {
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
