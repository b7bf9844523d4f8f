//! The direction of a foreign metric, from the words and units of its name.
//!
//! A wrong direction would recommend the slowest variant. Words of failure (`errors`, `misses`) are
//! costs regardless of other words. `A per TIME`, `A/s` and rates (`iops`, `bandwidth`) are gains;
//! time units and words of waiting (`ms`, `latency`) are costs. Names with both, with neither, or
//! of a spread (`stddev`) have no direction, and the caller asks.

/// The direction in which a metric improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Throughput, rates.
    HigherIsBetter,
    /// Latency, cost.
    LowerIsBetter,
    /// Such as a count of anticipations: summarised, never compared.
    Descriptive,
}

/// Costs in any unit.
const FAILURES: &[&str] = &[
    "error",
    "errors",
    "miss",
    "misses",
    "failure",
    "failures",
    "failed",
    "fault",
    "faults",
    "timeouts",
    "drops",
    "dropped",
    "retries",
    "retransmits",
    "violations",
    "stalls",
];
const RATES: &[&str] = &[
    "iops",
    "tps",
    "qps",
    "rps",
    "ops",
    "fps",
    "bw",
    "bandwidth",
    "throughput",
    "tput",
    "goodput",
    "speed",
    "flops",
    "kflops",
    "mflops",
    "gflops",
    "tflops",
    "mips",
    "mbps",
    "kbps",
    "gbps",
    "mibps",
    "kibps",
    "gibps",
    "hits",
];
const COSTS: &[&str] = &[
    "lat",
    "clat",
    "slat",
    "latency",
    "latencies",
    "time",
    "times",
    "runtime",
    "walltime",
    "exectime",
    "cputime",
    "systime",
    "usertime",
    "realtime",
    "duration",
    "elapsed",
    "wall",
    "wait",
    "waits",
    "await",
    "delay",
    "delays",
    "idle",
    "overhead",
    "jitter",
    "rtt",
    "slowdown",
    "tardiness",
];
/// Time units with other meanings.
const TIMES_AMONG_OTHERS: &[&str] = &["minute", "hour", "s", "min", "h"];
/// Unambiguous time units.
const TIMES_ALONE: &[&str] = &[
    "ns",
    "us",
    "µs",
    "μs",
    "ms",
    "nsec",
    "usec",
    "msec",
    "nsecs",
    "usecs",
    "msecs",
    "nanoseconds",
    "microseconds",
    "milliseconds",
    "second",
    "seconds",
    "sec",
    "secs",
    "minutes",
    "hours",
];
/// Rates when followed by a time unit (`mb_s`, `ops_ms`).
const COUNTED: &[&str] = &[
    "b",
    "kb",
    "mb",
    "gb",
    "tb",
    "kib",
    "mib",
    "gib",
    "kbit",
    "mbit",
    "gbit",
    "byte",
    "bytes",
    "op",
    "ops",
    "kops",
    "mops",
    "io",
    "ios",
    "request",
    "requests",
    "req",
    "reqs",
    "tx",
    "txn",
    "transaction",
    "transactions",
    "query",
    "queries",
    "row",
    "rows",
    "frame",
    "frames",
    "message",
    "messages",
    "msg",
    "msgs",
    "packet",
    "packets",
    "item",
    "items",
    "read",
    "reads",
    "write",
    "writes",
    "file",
    "files",
    "event",
    "events",
    "call",
    "calls",
    "iteration",
    "iterations",
    "record",
    "records",
    "page",
    "pages",
    "round",
    "rounds",
];
const SPREADS: &[&str] =
    &["stddev", "stdev", "std", "sd", "dev", "variance", "var", "cv", "error%"];

/// The implied direction; `None` without one, or if two conflict.
pub fn by_words(name: &str) -> Option<Direction> {
    let words = words(name);
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    if has(SPREADS) {
        return None;
    }
    if has(FAILURES) {
        return Some(Direction::LowerIsBetter);
    }
    let pairs = || words.windows(2).map(|pair| [pair[0].as_str(), pair[1].as_str()]);
    let per = words.iter().position(|word| word == "per");
    let is_time = |word: &str| TIMES_ALONE.contains(&word) || TIMES_AMONG_OTHERS.contains(&word);
    let of_time = |word: &String| is_time(word);
    let per_time = per.is_some_and(|at| words.get(at + 1).is_some_and(of_time));
    let counted_by_time = pairs().any(|[what, unit]| COUNTED.contains(&what) && is_time(unit));
    // `ns per op`: a time per operation.
    let time_per = per.is_some_and(|at| at > 0 && of_time(&words[at - 1]))
        || pairs().any(|[a, b]| {
            TIMES_ALONE.contains(&a)
                && ["op", "io", "request", "transaction", "query", "iteration"].contains(&b)
        });
    let rate = per_time || counted_by_time || has(RATES);
    let unit_of_rate = per_time || counted_by_time;
    let cost = has(COSTS) || time_per || (!unit_of_rate && has(TIMES_ALONE));
    let percentile = words.iter().any(|word| {
        word.strip_prefix('p')
            .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit()))
    });
    match (rate, cost) {
        (true, false) => Some(Direction::HigherIsBetter),
        (false, true) => Some(Direction::LowerIsBetter),
        // Bare percentiles are of latency.
        (false, false) if percentile => Some(Direction::LowerIsBetter),
        _ => None,
    }
}

/// Split at other characters than letters and digits, and before a capital after a lower-case
/// letter; a slash is `per`. `%` is kept.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    let mut end = |word: &mut String| {
        if !word.is_empty() {
            words.push(std::mem::take(word).to_lowercase());
        }
    };
    for c in name.chars() {
        let begins = c.is_uppercase() && before.is_lowercase() && !is_of_a_unit(&word, c);
        if c == '/' {
            end(&mut word);
            word.push_str("per");
            end(&mut word);
        } else if !c.is_alphanumeric() || begins {
            end(&mut word);
        }
        if c.is_alphanumeric() {
            word.push(c);
        }
        before = c;
    }
    end(&mut word);
    words
}

/// Whether a capital continues a unit, as in MiB or KiBps.
fn is_of_a_unit(word: &str, next: char) -> bool {
    next == 'B' && ["Ki", "Mi", "Gi", "Ti", "k"].contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{HigherIsBetter, LowerIsBetter};

    #[test]
    fn costs_are_known_by_their_words_and_units() {
        for name in [
            "p99_us",
            "lat",
            "clat_ns_mean",
            "seconds",
            "errors",
            "wall_ms",
            "latency_average_ms",
            "time",
            "duration",
            "elapsed",
            "wall",
            "misses",
            "LatencyMs",
            "clat_ns.percentile",
            "ns_per_op",
            "ns/op",
            "errors_per_second",
            "miss_rate_ops",
            "real_time",
            "p99",
            "logger.latency_p99_us",
            "deceptive_idle_ms",
            "Total time: [sec]",
            "us_per_io",
        ] {
            assert_eq!(by_words(name), Some(LowerIsBetter), "{name}");
        }
    }

    #[test]
    fn gains_are_known_by_their_words_and_units() {
        for name in [
            "bytes_per_second",
            "MB/s",
            "iops",
            "tps",
            "ops",
            "buffered_disk_reads_mb_per_s",
            "throughput_kbit_per_s",
            "MiB/s",
            "mb_s",
            "requests_s",
            "tx/s",
            "kflops",
            "bw_mean",
            "relative_throughput_to_cfq",
            "tps_excluding_connections",
            "IOPS",
            "ops/ms",
            "Numbers Per Second",
            "p99_throughput",
            "wkB/s",
            "Throughput_Mbps",
        ] {
            assert_eq!(by_words(name), Some(HigherIsBetter), "{name}");
        }
    }

    #[test]
    fn a_name_that_says_nothing_or_both_has_no_direction() {
        for name in [
            "score",
            "x",
            "value",
            "latency_iops",
            "bw_stddev",
            "latency_sd",
            "rate",
            "widgets_s",
            "context_switches",
            "",
            "µ",
        ] {
            assert_eq!(by_words(name), None, "{name}");
        }
    }
}
