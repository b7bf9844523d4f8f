//! The rows of metrics.

use super::Counts::{
    BestEffort, Deadlines, Frames, Messages, Reads, Requests, Transactions, Trims, Writes,
};
use super::Direction::{Descriptive, HigherIsBetter, LowerIsBetter};
use super::{Direction, Metric};

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

/// A row of a CPU workload's times: the statistic, prefix of the names, label, noun, and meaning.
macro_rules! latency {
    (max, $prefix:literal, $label:literal, $noun:literal, $time:literal) => {
        row(concat!($prefix, "_max_us"), concat!($label, " max"), concat!("longest ", $noun),
            "µs", LowerIsBetter,
            concat!("the longest ", $time))
    };
    (p50, $($names:literal),*) => {
        latency!("p50", "p50", "median", 50.0, "median ", $($names),*)
    };
    (p99, $($names:literal),*) => {
        latency!("p99", "p99", "p99", 99.0, "99th percentile of the ", $($names),*)
    };
    (p999, $($names:literal),*) => {
        latency!("p999", "p99.9", "p99.9", 99.9, "99.9th percentile of the ", $($names),*)
    };
    ($in_name:literal, $in_label:literal, $in_noun:literal, $percent:literal, $of:literal,
     $prefix:literal, $label:literal, $noun:literal, $time:literal) => {
        percentile(concat!($prefix, "_", $in_name, "_us"), concat!($label, " ", $in_label),
            concat!($in_noun, " ", $noun), $percent, concat!($of, $time))
    };
}

/// Rows that rustfmt leaves alone, a line or two each.
macro_rules! table {
    ($($row:expr;)*) => { &[$($row),*] };
}

/// Every metric of schedlab's arenas. MB is 10^6 bytes. From `fairness_jain` on, metrics are
/// reported only by arenas that can instrument the device or the scheduler.
pub static METRICS: &[Metric] = table! {
    row("throughput_mb_per_s", "throughput", "MB/s", "MB/s", HigherIsBetter,
        "bytes moved per second, reads and writes together").with_counts(Requests);
    row("read_mb_per_s", "read throughput", "MB/s read", "MB/s", HigherIsBetter,
        "bytes read per second").with_counts(Reads);
    row("write_mb_per_s", "write throughput", "MB/s written", "MB/s", HigherIsBetter,
        "bytes written per second").with_counts(Writes);
    row("iops", "IOPS", "IO/s", "IO/s", HigherIsBetter,
        "requests completed per second, reads and writes together").with_counts(Requests);
    row("read_iops", "read IOPS", "reads/s", "IO/s", HigherIsBetter,
        "reads completed per second").with_counts(Reads);
    row("write_iops", "write IOPS", "writes/s", "IO/s", HigherIsBetter,
        "writes completed per second").with_counts(Writes);
    row("latency_mean_us", "mean latency", "mean latency", "µs", LowerIsBetter,
        "mean time from a client's call to its result").with_counts(Requests);
    percentile("latency_p50_us", "latency p50", "median latency", 50.0,
        "median latency of a request").with_counts(Requests);
    percentile("latency_p99_us", "latency p99", "p99 latency", 99.0,
        "99th percentile of latency").with_counts(Requests);
    percentile("latency_p999_us", "latency p99.9", "p99.9 latency", 99.9,
        "99.9th percentile of latency").with_counts(Requests);
    row("read_latency_mean_us", "mean read latency", "mean read latency", "µs", LowerIsBetter,
        "mean latency of a read").with_counts(Reads);
    percentile("read_latency_p99_us", "read latency p99", "p99 read latency", 99.0,
        "99th percentile of read latency").with_counts(Reads);
    row("write_latency_mean_us", "mean write latency", "mean write latency", "µs", LowerIsBetter,
        "mean latency of a write").with_counts(Writes);
    percentile("write_latency_p99_us", "write latency p99", "p99 write latency", 99.0,
        "99th percentile of write latency").with_counts(Writes);
    row("cpu_us_per_io", "CPU time per I/O", "CPU time per request", "µs", LowerIsBetter,
        "CPU time of schedlab's clients per request, user and system").with_counts(Requests);
    row("deadline_misses", "deadline misses", "missed deadlines", "requests", LowerIsBetter,
        "requests that completed after their deadline").with_counts(Deadlines);
    row("deadline_miss_percent", "deadline miss percent", "share of missed deadlines", "%",
        LowerIsBetter,
        "part of the requests with a deadline that completed after it").with_counts(Deadlines);
    row("tardiness_mean_us", "tardiness mean", "mean tardiness", "µs", LowerIsBetter,
        "mean time from deadline to completion, 0 for those in time").with_counts(Deadlines);
    row("tardiness_max_us", "tardiness max", "longest tardiness", "µs", LowerIsBetter,
        "the longest time from a deadline to its request's completion").with_counts(Requests);
    row("best_effort_iops", "best effort IOPS", "IO/s without a deadline", "IO/s", HigherIsBetter,
        "requests without a deadline completed per second, when others have deadlines")
        .with_counts(BestEffort);
    row("arrival_wait_max_us", "arrival wait max", "longest wait of an arrival", "µs",
        LowerIsBetter,
        "the longest time that a request of an open loop waited for its client to have room (iodepth)")
        .with_counts(Requests);
    row("fairness_jain", "fairness jain", "fairness", "of 1", HigherIsBetter,
        "Jain's index of the clients' bytes: 1 all equal, 1/n one has everything")
        .with_counts(Requests);
    row("longest_wait_ms", "longest wait", "longest wait", "ms", LowerIsBetter,
        "the longest that any request took: starvation shows here").with_counts(Requests);
    row("device_busy_share", "device busy share", "device busy share", "of 1", Descriptive,
        "share of the time in which the device had a request");
    row("device_idle_share", "device idle share", "device idle share", "of 1", Descriptive,
        "share of the time in which the device had none");
    row("deceptive_idle_ms", "deceptive idle", "deceptive idle ms", "ms", Descriptive,
        "time in which the device had nothing to do although requests were waiting in the scheduler");
    row("seek_distance_cylinders", "seek distance cylinders", "seek distance", "cylinders",
        LowerIsBetter, "mean movement of the actuator per request").with_counts(Requests);
    row("seek_ms", "seek", "seek time", "ms", LowerIsBetter,
        "mean time of moving the actuator and switching heads per request").with_counts(Requests);
    row("rotation_ms", "rotation", "rotational wait", "ms", LowerIsBetter,
        "mean wait for the sector to come round per request").with_counts(Requests);
    row("device_cache_hits", "device cache hits", "device cache hits", "requests", Descriptive,
        "reads served from the device's own memory");
    row("merges", "merges", "merges", "requests", Descriptive,
        "bios that joined a request, and requests that joined each other");
    row("write_amplification", "write amplification", "write amplification", "times", LowerIsBetter,
        "bytes that flash memory programmed per byte written").with_counts(Writes);
    row("anticipations", "anticipations", "anticipations", "waits", Descriptive,
        "times that the scheduler let the device idle for a process's next request");
    row("anticipation_successes", "anticipation successes", "anticipation successes", "waits",
        Descriptive,
        "those that ended with a request worth waiting for");
    row("anticipation_failures", "anticipation failures", "anticipation failures", "waits",
        Descriptive,
        "those that ended by their timer");
    row("success_wait_mean_ms", "success wait mean", "success wait mean ms", "ms", Descriptive,
        "mean wait of the successful ones, from the completion before");
    row("success_wait_total_ms", "success wait total", "success wait total ms", "ms", Descriptive,
        "all waiting of the successful ones");
    row("failure_wait_total_ms", "failure wait total", "failure wait total ms", "ms", Descriptive,
        "all waiting of the failed ones");
    row("false_idle_ms", "false idle", "false idle ms", "ms", Descriptive,
        "failed waiting per anticipation, successful or not");
    row("false_idle_per_success_ms", "false idle per success", "failed waiting for each success", "ms",
        Descriptive,
        "failed waiting per successful anticipation");
    row("tps", "tps", "transactions/s", "tx/s", HigherIsBetter,
        "transactions completed per second").with_counts(Transactions);
    row("wall_s", "wall time", "time", "s", LowerIsBetter,
        "time from the start of a program to its end");
    row("cpu_s", "CPU time", "CPU time", "s", LowerIsBetter,
        "user and system time of a program and of what it has waited for");
    row("memory_mib", "peak memory", "peak memory", "MiB", LowerIsBetter,
        "largest resident memory of a program's processes; not below what schedlab itself holds");
    row("wall_synced_s", "wall time synced", "time until all is written", "s", LowerIsBetter,
        "the same until what it has written is on the device");
    row("reported_tps", "reported tps", "reported transactions/s", "tx/s", HigherIsBetter,
        "transactions per second as the program itself prints them, with its own rounding")
        .with_counts(Transactions);
    row("startup_ms", "startup", "start-up time", "ms", LowerIsBetter,
        "time from the cold start of a program until it is ready");
    row("trim_iops", "trim IOPS", "trims/s", "IO/s", HigherIsBetter,
        "trims completed per second").with_counts(Trims);
    row("trim_latency_mean_us", "trim mean latency", "mean trim latency", "µs", LowerIsBetter,
        "mean latency of a trim").with_counts(Trims);
    percentile("trim_latency_p99_us", "trim latency p99", "p99 trim latency", 99.0,
        "99th percentile of trim latency").with_counts(Trims);
    row("startup_max_ms", "startup max", "longest start-up", "ms", LowerIsBetter,
        "the longest cold start of a trial");
    row("kflops", "kflops", "KFLOPS", "kflop/s", HigherIsBetter,
        "thousands of floating-point operations per second");
    row("messages_per_s", "messages per s", "messages/s", "1/s", HigherIsBetter,
        "messages between processes or threads that were received per second")
        .with_counts(Messages);
    latency!(p50, "wakeup", "wakeup", "wake-up latency", "time from waking a thread until it runs");
    latency!(p99, "wakeup", "wakeup", "wake-up latency", "time from waking a thread until it runs");
    latency!(max, "wakeup", "wakeup", "wake-up latency", "time from waking a thread until it runs");
    latency!(p50, "timer_latency", "timer latency", "timer latency",
        "time from the end of a sleep until the thread runs");
    latency!(p99, "timer_latency", "timer latency", "timer latency",
        "time from the end of a sleep until the thread runs");
    latency!(max, "timer_latency", "timer latency", "timer latency",
        "time from the end of a sleep until the thread runs");
    latency!(p50, "response", "response", "response time",
        "time from a request's arrival to its answer");
    latency!(p99, "response", "response", "response time",
        "time from a request's arrival to its answer");
    latency!(p999, "response", "response", "response time",
        "time from a request's arrival to its answer");
    latency!(max, "response", "response", "response time",
        "time from a request's arrival to its answer");
    row("requests_per_s", "requests per second", "requests per second", "requests/s",
        HigherIsBetter, "requests answered per second");
    latency!(p50, "frame", "frame time", "frame time",
        "time from the moment of a frame until it is computed");
    latency!(p99, "frame", "frame time", "frame time",
        "time from the moment of a frame until it is computed");
    latency!(max, "frame", "frame time", "frame time",
        "time from the moment of a frame until it is computed");
    row("frames_per_s", "frames per second", "frames per second", "frames/s", HigherIsBetter,
        "frames computed per second").with_counts(Frames);
    row("missed_frames_percent", "missed frames percent", "share of missed frames", "%",
        LowerIsBetter, "part of the frames whose moment passed while an earlier one was computed")
        .with_counts(Frames);
    row("files_per_s", "files per second", "files per second", "files/s", HigherIsBetter,
        "files compiled per second");
    latency!(p50, "file", "file time", "file time",
        "time to compile a file, with its reads and writes");
    latency!(max, "file", "file time", "file time",
        "time to compile a file, with its reads and writes");
    row("latency_violations", "latency violations", "violated latency bounds", "requests",
        LowerIsBetter, "requests inside their flow's arrival curve that exceeded its latency bound")
        .with_counts(Requests);
    row("schedulable_streams", "schedulable streams", "schedulable streams", "streams",
        HigherIsBetter, "the largest number of streams without a missed deadline");
    row("share_percent", "share percent", "share of the bytes", "%", HigherIsBetter,
        "share of the bytes that a flow moved").with_counts(Requests);
    row("share_error_percent", "share error percent", "share error", "points", LowerIsBetter,
        "largest difference between a flow's share of the bytes and its share by weight")
        .with_counts(Requests);
    row("share_error_1s_percent", "share error 1s percent", "share error of the worst second", "points",
        LowerIsBetter, "the same over the worst second");
    row("slowdown", "slowdown", "slowdown", "times", LowerIsBetter,
        "a flow's throughput alone by its throughput beside the others").with_counts(Requests);
    row("slowdown_max", "slowdown max", "largest slowdown", "times", LowerIsBetter,
        "the largest slowdown of a flow").with_counts(Requests);
    row("slowdown_jain", "slowdown jain", "evenness of slowdowns", "of 1", HigherIsBetter,
        "Jain's index of the flows' slowdowns: 1 all equal").with_counts(Requests);
    row("insulation_min", "insulation min", "insulation", "of 1", HigherIsBetter,
        "the smallest part of its share of its throughput alone that a flow had")
        .with_counts(Requests);
    row("objective", "objective", "objective", "of its kind", HigherIsBetter,
        "the expression of `tune --objective`, where more is better");
    row("objective_cost", "objective cost", "objective cost", "of its kind", LowerIsBetter,
        "the expression of `tune --objective`, where less is better");
};
