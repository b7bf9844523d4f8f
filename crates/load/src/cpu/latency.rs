//! Latencies of many threads as metrics: median, 99th percentile, maximum.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use crate::cpu::Report;
use crate::cpu::counted::Counted;

/// Longer latencies are clamped.
const LONGEST_NS: u64 = 60_000_000_000;

/// In nanoseconds, with three significant digits.
#[derive(Debug, Clone)]
pub(crate) struct Latencies(Histogram<u32>);

impl Latencies {
    pub(crate) fn new() -> Latencies {
        Latencies(
            Histogram::new_with_bounds(1, LONGEST_NS, 3)
                .expect("the bounds are those of every histogram here"),
        )
    }

    pub(crate) fn record(&mut self, ns: u64) {
        self.0.saturating_record(ns.max(1));
    }
}

/// Names of a workload's figures.
pub(crate) struct Names {
    /// Of the metrics: `PREFIX_p50_us`, `PREFIX_max_us`.
    pub(crate) prefix: &'static str,
    /// The counter of events.
    pub(crate) events: &'static str,
    pub(crate) percentiles: &'static [(&'static str, f64)],
}

pub(crate) const P50_P99: &[(&str, f64)] = &[("p50", 0.5), ("p99", 0.99)];

/// Reports percentiles, the maximum, and the sum of counters.
pub(crate) fn report(names: &Names, window_ns: u64, threads: Vec<(Latencies, Counted)>) -> Report {
    let Names { prefix, events, percentiles } = names;
    let counters = Counted::together(threads.iter().map(|(_, counted)| *counted));
    let mut all = Latencies::new().0;
    for (latencies, _) in threads {
        all.add(latencies.0).expect("the bounds are those of every histogram here");
    }
    let mut report = Report { window_ns, counters, ..Report::default() };
    report.counters.insert((*events).to_string(), all.len() as f64);
    if all.is_empty() {
        return report;
    }
    let us = |ns: u64| ns as f64 / 1e3;
    let percentiles =
        percentiles.iter().map(|(name, quantile)| (*name, us(all.value_at_quantile(*quantile))));
    report.counts =
        percentiles.clone().map(|(name, _)| (format!("{prefix}_{name}_us"), all.len())).collect();
    let figures = percentiles.chain([("max", us(all.max()))]);
    report.metrics = figures
        .map(|(name, value)| (format!("{prefix}_{name}_us"), value))
        .collect::<BTreeMap<_, _>>();
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: Names = Names { prefix: "wakeup", events: "wakeups", percentiles: P50_P99 };

    #[test]
    fn percentiles_rest_on_every_latency_of_every_thread() {
        let (mut one, mut other) = (Latencies::new(), Latencies::new());
        (1..=50).for_each(|us| one.record(us * 1000));
        (51..=100).for_each(|us| other.record(us * 1000));
        let report =
            report(&NAMES, 7, vec![(one, Counted::default()), (other, Counted::default())]);
        let of = |name: &str| report.metrics[name];
        let near = |value: f64, wanted: f64| (value / wanted - 1.0).abs() < 0.002;
        assert!(near(of("wakeup_p50_us"), 50.0) && near(of("wakeup_p99_us"), 99.0), "{report:?}");
        assert!(near(of("wakeup_max_us"), 100.0));
        assert_eq!((report.counts["wakeup_p99_us"], report.counters["wakeups"]), (100, 100.0));
        assert!(!report.counts.contains_key("wakeup_max_us"), "a maximum rests on one");
        assert_eq!(report.counters["task_threads"], 2.0);
    }

    #[test]
    fn without_a_latency_there_is_no_metric() {
        let report = report(&NAMES, 7, vec![(Latencies::new(), Counted::default())]);
        assert!(report.metrics.is_empty() && report.counters["wakeups"] == 0.0);
    }
}
