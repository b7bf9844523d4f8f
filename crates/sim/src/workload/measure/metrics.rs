//! From totals to metrics and latency curves.
//!
//! The metric names are part of the results format. MB is 10⁶ bytes. A metric without data (no
//! read, no time, no CPU) is absent rather than 0.

use std::collections::BTreeMap;

use super::measured::{Measured, OpTotals};

/// Every name that [`metrics`](super::metrics) can report for a group of clients.
pub static METRIC_NAMES: &[&str] = &[
    "throughput_mb_per_s",
    "read_mb_per_s",
    "write_mb_per_s",
    "iops",
    "read_iops",
    "write_iops",
    "latency_mean_us",
    "latency_p50_us",
    "latency_p99_us",
    "latency_p999_us",
    "read_latency_mean_us",
    "read_latency_p99_us",
    "write_latency_mean_us",
    "write_latency_p99_us",
    "cpu_us_per_io",
    "best_effort_iops",
    "arrival_wait_max_us",
    "deadline_misses",
    "deadline_miss_percent",
    "tardiness_mean_us",
    "tardiness_max_us",
];

/// The percentiles of a latency curve.
pub static PERCENTILES: &[f64] =
    &[1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.99, 100.0];

/// Latency percentiles of one kind of request.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// `all`, `read` or `write`.
    pub op: &'static str,
    /// Number of requests.
    pub count: u64,
    /// (percentile, latency in ns) at [`PERCENTILES`], ascending.
    pub points: Vec<(f64, u64)>,
}

/// Requests needed for ten beyond the percentile: 1000 for the 99th, 10,000 for the 99.9th.
pub fn needed_for(percentile: f64) -> u64 {
    assert!((0.0..100.0).contains(&percentile), "percentile {percentile} is not in 0 to 100");
    // 100 - 99.9 is not exactly 0.1: without the allowance the result would be 10,001.
    (1000.0 / (100.0 - percentile) - 1e-6).ceil() as u64
}

pub(super) fn of_clients(measured: &Measured) -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    let seconds = measured.window_ns as f64 / 1e9;
    if measured.window_ns == 0 || measured.ios() == 0 {
        return found;
    }
    let mut put = |name: &'static str, value: f64| {
        debug_assert!(METRIC_NAMES.contains(&name), "{name} is missing in METRIC_NAMES");
        found.insert(name.to_owned(), value);
    };
    let (reads, writes) = (&measured.reads, &measured.writes);
    let all = both(measured);
    let rate = measured.sum_of_rates.unwrap_or(all.bytes as f64 / seconds);
    put("throughput_mb_per_s", rate / 1e6);
    put("iops", all.count as f64 / seconds);
    put("latency_mean_us", all.mean_ns().unwrap_or(0.0) / 1e3);
    put("latency_p50_us", percentile_us(&all, 50.0));
    put("latency_p99_us", percentile_us(&all, 99.0));
    put("latency_p999_us", percentile_us(&all, 99.9));
    if measured.cpu_ns > 0 {
        put("cpu_us_per_io", measured.cpu_ns as f64 / 1e3 / all.count as f64);
    }
    let late = &measured.deadlines;
    if late.count > 0 {
        let count = late.count as f64;
        put("deadline_misses", late.missed as f64);
        put("deadline_miss_percent", 100.0 * late.missed as f64 / count);
        put("tardiness_mean_us", late.tardiness_sum_ns as f64 / count / 1e3);
        put("tardiness_max_us", late.tardiness_max_ns as f64 / 1e3);
        if late.best_effort > 0 {
            put("best_effort_iops", late.best_effort as f64 / seconds);
        }
    }
    if let Some(waited_ns) = late.arrival_wait_max_ns {
        put("arrival_wait_max_us", waited_ns as f64 / 1e3);
    }
    if reads.count > 0 {
        put("read_mb_per_s", reads.bytes as f64 / seconds / 1e6);
        put("read_iops", reads.count as f64 / seconds);
        put("read_latency_mean_us", reads.mean_ns().unwrap_or(0.0) / 1e3);
        put("read_latency_p99_us", percentile_us(reads, 99.0));
    }
    if writes.count > 0 {
        put("write_mb_per_s", writes.bytes as f64 / seconds / 1e6);
        put("write_iops", writes.count as f64 / seconds);
        put("write_latency_mean_us", writes.mean_ns().unwrap_or(0.0) / 1e3);
        put("write_latency_p99_us", percentile_us(writes, 99.0));
    }
    found
}

/// Curves of all requests, and of reads and writes if there are both.
pub fn latency_curves(measured: &Measured) -> Vec<Curve> {
    let kinds = [("read", &measured.reads), ("write", &measured.writes)];
    let present: Vec<_> = kinds.into_iter().filter(|(_, totals)| totals.count > 0).collect();
    let mut curves = Vec::new();
    if !present.is_empty() {
        curves.push(curve("all", &both(measured)));
    }
    curves.extend(present.into_iter().map(|(op, totals)| curve(op, totals)));
    curves
}

fn both(measured: &Measured) -> OpTotals {
    let mut all = measured.reads.clone();
    all.add(&measured.writes);
    all
}

fn curve(op: &'static str, totals: &OpTotals) -> Curve {
    let at = |&percentile: &f64| (percentile, totals.latency.value_at_quantile(percentile / 100.0));
    Curve { op, count: totals.count, points: PERCENTILES.iter().map(at).collect() }
}

fn percentile_us(totals: &OpTotals, percentile: f64) -> f64 {
    totals.latency.value_at_quantile(percentile / 100.0) as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(latencies_ns: impl IntoIterator<Item = u64>) -> OpTotals {
        let mut totals = OpTotals::default();
        for ns in latencies_ns {
            totals.count += 1;
            totals.bytes += 4096;
            totals.latency_sum_ns += ns;
            totals.latency.record(ns).unwrap();
        }
        totals
    }

    #[test]
    fn ten_requests_beyond_a_percentile_are_needed() {
        assert_eq!(
            [50.0, 90.0, 99.0, 99.9, 99.99].map(needed_for),
            [20, 100, 1_000, 10_000, 100_000]
        );
    }

    #[test]
    fn rates_refer_to_the_window_and_latencies_to_the_requests() {
        let mut measured =
            Measured { window_ns: 2_000_000_000, cpu_ns: 3_000_000, ..Measured::default() };
        measured.reads = totals((1..=1000).map(|i| i * 1000));
        measured.writes = totals([5_000_000; 500]);
        let metrics = of_clients(&measured);
        assert_eq!(metrics["iops"], 750.0);
        assert_eq!(metrics["read_iops"], 500.0);
        assert_eq!(metrics["throughput_mb_per_s"], 1500.0 * 4096.0 / 2.0 / 1e6);
        assert_eq!(metrics["read_latency_mean_us"], 500.5);
        assert_eq!(metrics["cpu_us_per_io"], 2.0);
        assert!((metrics["read_latency_p99_us"] / 990.0 - 1.0).abs() < 0.002);
        assert!(
            (metrics["latency_p50_us"] / 750.0 - 1.0).abs() < 0.002,
            "{}",
            metrics["latency_p50_us"]
        );
    }

    #[test]
    fn what_has_no_evidence_is_absent() {
        assert!(of_clients(&Measured::default()).is_empty());
        let measured = Measured { window_ns: 1, reads: totals([7]), ..Measured::default() };
        assert!(!of_clients(&measured).keys().any(|name| name.starts_with("write")));
        let curves = latency_curves(&measured);
        assert_eq!(curves.iter().map(|curve| curve.op).collect::<Vec<_>>(), ["all", "read"]);
    }

    #[test]
    fn curves_ascend_in_both_coordinates() {
        let measured = Measured {
            window_ns: 1,
            reads: totals((1..5000).map(|i| i * i)),
            ..Measured::default()
        };
        for pair in latency_curves(&measured)[0].points.windows(2) {
            assert!(pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1, "{pair:?}");
        }
    }
}
