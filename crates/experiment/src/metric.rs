//! The metrics that a trial can report: one row each, with unit and the direction that is good.
//!
//! A verdict needs the direction; a reader needs the unit. Both stand here once, and every report reads them from here.

/// Which way a metric improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Throughput, rates: more is better.
    HigherIsBetter,
    /// Latency, cost: less is better.
    LowerIsBetter,
    /// Describes what happened, as a count of anticipations does; summarised, never judged.
    Descriptive,
}

/// A row of [`METRICS`].
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// The name in records, plans and reports; ends with the unit where it has one.
    pub name: &'static str,
    /// The unit as printed.
    pub unit: &'static str,
    /// Which way is better.
    pub direction: Direction,
    /// The percentile of latency that this is, if it is one: it needs enough I/Os to exist.
    pub percentile: Option<f64>,
    /// One line of meaning.
    pub help: &'static str,
}

use Direction::{Descriptive, HigherIsBetter, LowerIsBetter};

const fn row(name: &'static str, unit: &'static str, direction: Direction, help: &'static str) -> Metric {
    Metric { name, unit, direction, percentile: None, help }
}

const fn percentile(name: &'static str, percentile: f64, help: &'static str) -> Metric {
    Metric { name, unit: "µs", direction: LowerIsBetter, percentile: Some(percentile), help }
}

/// Every metric that schedlab's own arenas report. MB is 10^6 bytes. From `fairness_jain` on they need eyes inside of the disk
/// or the scheduler, so only arenas that have them report them.
pub static METRICS: &[Metric] = &[
    row("throughput_mb_per_s", "MB/s", HigherIsBetter, "bytes moved per second, reads and writes together"),
    row("read_mb_per_s", "MB/s", HigherIsBetter, "bytes read per second"),
    row("write_mb_per_s", "MB/s", HigherIsBetter, "bytes written per second"),
    row("iops", "IO/s", HigherIsBetter, "requests completed per second, reads and writes together"),
    row("read_iops", "IO/s", HigherIsBetter, "reads completed per second"),
    row("write_iops", "IO/s", HigherIsBetter, "writes completed per second"),
    row("latency_mean_us", "µs", LowerIsBetter, "mean time from a client's call to its result"),
    percentile("latency_p50_us", 50.0, "median latency of a request"),
    percentile("latency_p99_us", 99.0, "99th percentile of latency"),
    percentile("latency_p999_us", 99.9, "99.9th percentile of latency"),
    row("read_latency_mean_us", "µs", LowerIsBetter, "mean latency of a read"),
    percentile("read_latency_p99_us", 99.0, "99th percentile of read latency"),
    row("write_latency_mean_us", "µs", LowerIsBetter, "mean latency of a write"),
    percentile("write_latency_p99_us", 99.0, "99th percentile of write latency"),
    row("cpu_us_per_io", "µs", LowerIsBetter, "CPU time of schedlab's clients per request, user and system"),
    row("deadline_misses", "requests", LowerIsBetter, "requests that completed after their deadline"),
    row("deadline_miss_percent", "%", LowerIsBetter, "part of the requests with a deadline that completed after it"),
    row("tardiness_mean_us", "µs", LowerIsBetter, "mean time from deadline to completion, 0 for those in time"),
    row("tardiness_max_us", "µs", LowerIsBetter, "the longest time from a deadline to its request's completion"),
    row("best_effort_iops", "IO/s", HigherIsBetter, "requests without a deadline, beside some with one, per second"),
    row(
        "arrival_wait_max_us",
        "µs",
        LowerIsBetter,
        "the longest time that a request of an open loop waited for its client to have room (iodepth)",
    ),
    row(
        "fairness_jain",
        "of 1",
        HigherIsBetter,
        "Jain's index of the clients' bytes: 1 all equal, 1/n one has everything",
    ),
    row("longest_wait_ms", "ms", LowerIsBetter, "the longest that any request took: starvation shows here"),
    row("device_busy_share", "of 1", Descriptive, "share of the time in which the device had a request"),
    row("device_idle_share", "of 1", Descriptive, "share of the time in which the device had none"),
    row(
        "deceptive_idle_ms",
        "ms",
        Descriptive,
        "time in which the device had nothing to do although requests were waiting in the scheduler",
    ),
    row("seek_distance_cylinders", "cylinders", LowerIsBetter, "mean movement of the arm per request"),
    row("seek_ms", "ms", LowerIsBetter, "mean time of moving the arm and switching heads per request"),
    row("rotation_ms", "ms", LowerIsBetter, "mean wait for the sector to come round per request"),
    row("device_cache_hits", "requests", Descriptive, "reads served from the device's own memory"),
    row("merges", "requests", Descriptive, "pieces of I/O that joined a request, and requests that joined each other"),
    row("write_amplification", "times", LowerIsBetter, "bytes that flash memory programmed per byte written"),
    row(
        "anticipations",
        "waits",
        Descriptive,
        "times that the scheduler let the device idle for a process's next request",
    ),
    row("anticipation_successes", "waits", Descriptive, "those that ended with a request worth waiting for"),
    row("anticipation_failures", "waits", Descriptive, "those that ended by their timer"),
    row("success_wait_mean_ms", "ms", Descriptive, "mean wait of the successful ones, from the completion before"),
    row("success_wait_total_ms", "ms", Descriptive, "all waiting of the successful ones"),
    row("failure_wait_total_ms", "ms", Descriptive, "all waiting of the failed ones"),
    row("false_idle_ms", "ms", Descriptive, "failed waiting per anticipation, successful or not"),
    row("false_idle_per_success_ms", "ms", Descriptive, "failed waiting per successful anticipation"),
    row("tps", "tx/s", HigherIsBetter, "transactions completed per second"),
    row("wall_s", "s", LowerIsBetter, "time from the start of a program to its end"),
    row("wall_synced_s", "s", LowerIsBetter, "the same until what it has written is on the device"),
    row(
        "reported_tps",
        "tx/s",
        HigherIsBetter,
        "transactions per second as the program itself prints them, with its own rounding",
    ),
    row("startup_ms", "ms", LowerIsBetter, "time from the cold start of a program until it is ready"),
    row("trim_iops", "IO/s", HigherIsBetter, "trims completed per second"),
    row("trim_latency_mean_us", "µs", LowerIsBetter, "mean latency of a trim"),
    percentile("trim_latency_p99_us", 99.0, "99th percentile of trim latency"),
    row("startup_max_ms", "ms", LowerIsBetter, "the longest cold start of a trial"),
    row("kflops", "kflop/s", HigherIsBetter, "thousands of floating-point operations per second"),
    row("messages_per_s", "1/s", HigherIsBetter, "messages between processes or threads that were received per second"),
    percentile("wakeup_p50_us", 50.0, "median time from waking a thread until it runs"),
    percentile("wakeup_p99_us", 99.0, "99th percentile of the time from waking a thread until it runs"),
    row("wakeup_max_us", "µs", LowerIsBetter, "the longest time from waking a thread until it runs"),
    percentile(
        "timer_latency_p50_us",
        50.0,
        "median time from the moment that a sleep was to end until the thread runs",
    ),
    percentile(
        "timer_latency_p99_us",
        99.0,
        "99th percentile of the time from the end of a sleep until the thread runs",
    ),
    row("timer_latency_max_us", "µs", LowerIsBetter, "the longest time from the end of a sleep until the thread runs"),
    row(
        "latency_violations",
        "requests",
        LowerIsBetter,
        "requests inside their flow's arrival curve that exceeded its latency bound",
    ),
    row("schedulable_streams", "streams", HigherIsBetter, "the largest number of streams without a missed deadline"),
    row("share_percent", "%", HigherIsBetter, "part of the bytes that a flow moved"),
    row(
        "share_error_percent",
        "points",
        LowerIsBetter,
        "largest distance of a flow's part of the bytes to that of its weight",
    ),
    row("share_error_1s_percent", "points", LowerIsBetter, "the same over the worst second"),
    row("slowdown", "times", LowerIsBetter, "a flow's throughput alone by its throughput beside the others"),
    row("slowdown_max", "times", LowerIsBetter, "the largest slowdown of a flow"),
    row("slowdown_jain", "of 1", HigherIsBetter, "Jain's index of the flows' slowdowns: 1 all equal"),
    row(
        "insulation_min",
        "of 1",
        HigherIsBetter,
        "the smallest part of its share of its throughput alone that a flow had",
    ),
    row("objective", "of its kind", HigherIsBetter, "the expression of `tune --objective`, where more is better"),
    row("objective_cost", "of its kind", LowerIsBetter, "the expression of `tune --objective`, where less is better"),
];

/// The row of a metric, if it is one of schedlab's own. A program with several jobs reports `JOB.METRIC` of each.
pub fn find(name: &str) -> Option<&'static Metric> {
    let own = name.rsplit_once('.').map_or(name, |(_, metric)| metric);
    METRICS.iter().find(|metric| metric.name == own)
}

/// The direction of any metric, foreign ones included: from the table, else from the words of its name, else
/// higher-is-better with `false` as the second value, so that the caller can say that it guessed.
pub fn direction_of(name: &str) -> (Direction, bool) {
    if let Some(metric) = find(name) {
        return (metric.direction, true);
    }
    direction_by_words(name)
}

/// The direction that the words of a name tell: of a column that is called like a metric of ours that only describes, and is
/// another thing.
pub(crate) fn direction_by_words(name: &str) -> (Direction, bool) {
    let lower = name.to_ascii_lowercase();
    let costs = ["latency", "time", "delay", "idle", "duration", "wait", "overhead", "elapsed"];
    let rates = ["per_s", "iops", "tps", "throughput", "flops", "mb_s", "rate", "bandwidth"];
    if rates.iter().any(|word| lower.contains(word)) {
        (HigherIsBetter, true)
    } else if costs.iter().any(|word| lower.contains(word)) {
        (LowerIsBetter, true)
    } else {
        (HigherIsBetter, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_row_has_a_unit_and_a_meaning() {
        for (i, metric) in METRICS.iter().enumerate() {
            assert!(METRICS[..i].iter().all(|other| other.name != metric.name), "{} stands twice", metric.name);
            assert!(!metric.unit.is_empty() && !metric.help.is_empty(), "{}", metric.name);
        }
    }

    #[test]
    fn foreign_metrics_get_their_direction_from_their_words_and_a_guess_is_admitted() {
        assert_eq!(direction_of("buffered_disk_reads_mb_per_s"), (HigherIsBetter, true));
        assert_eq!(direction_of("latency_average_ms"), (LowerIsBetter, true));
        assert_eq!(direction_of("logger.latency_p99_us"), (LowerIsBetter, true));
        assert_eq!(direction_of("kflops"), (HigherIsBetter, true));
        assert_eq!(direction_of("deceptive_idle_ms"), (Descriptive, true));
        assert_eq!(direction_by_words("deceptive_idle_ms"), (LowerIsBetter, true));
        assert_eq!(direction_of("score"), (HigherIsBetter, false));
    }
}
