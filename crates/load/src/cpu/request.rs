//! Requests to a server: workers that answer requests which arrive at random moments.
//!
//! Arrivals do not wait for answers (an open loop): a response is timed from the moment of arrival,
//! so that a request also counts the time for which it finds no worker. Workers take requests in
//! their order of arrival. Intervals and computing times are exponential, and the same for the same
//! seed. A request that no worker has taken when the time is over counts with its wait until then.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::thread::set_current_timer_slack;
use serde::{Deserialize, Serialize};
use sim::Stream;

use crate::cpu::clock::{compute, now_ns, sleep_until};
use crate::cpu::counted::{Counted, OWN};
use crate::cpu::latency::{Latencies, Names, report};
use crate::cpu::load::on_threads;
use crate::cpu::{Failure, Report};

const NAMES: Names = Names {
    prefix: "response",
    events: "requests",
    percentiles: &[("p50", 0.5), ("p99", 0.99), ("p999", 0.999)],
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    pub workers: u32,
    /// Requests per second, on average.
    pub rate: u32,
    /// Computing time of a request, on average.
    pub work_ns: u64,
    pub seed: u64,
    pub duration_ns: u64,
}

/// Longest computing time as a multiple of the mean: e^-20 of all would take longer.
const LONGEST: u64 = 20;

/// The requests that no worker has taken.
struct Arrivals {
    intervals: Stream,
    work: Stream,
    interval_ns: u64,
    work_ns: u64,
    /// Since the start.
    last_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Request {
    /// Since the start.
    arrival_ns: u64,
    work_ns: u64,
}

impl Arrivals {
    fn new(spec: &Spec) -> Arrivals {
        Arrivals {
            intervals: sim::stream(spec.seed, "request intervals"),
            work: sim::stream(spec.seed, "request work"),
            interval_ns: 1_000_000_000 / u64::from(spec.rate.max(1)),
            work_ns: spec.work_ns,
            last_ns: 0,
        }
    }

    fn take(&mut self) -> Request {
        self.last_ns += self.intervals.exponential(self.interval_ns);
        let work_ns = computing_time(&mut self.work, self.work_ns);
        Request { arrival_ns: self.last_ns, work_ns }
    }
}

/// Exponential.
pub(crate) fn computing_time(stream: &mut Stream, mean_ns: u64) -> u64 {
    stream.exponential(mean_ns).min(LONGEST * mean_ns)
}

/// [`Failure::Refused`] if no thread can be created.
pub fn run(spec: &Spec, stop: &AtomicBool) -> Result<Report, Failure> {
    let arrivals = Mutex::new(Arrivals::new(spec));
    let began = now_ns();
    let seen = on_threads(spec.workers, stop, |_| Ok(worker(spec, &arrivals, began, stop)))?;
    let window_ns = now_ns() - began;
    let unserved: u64 = seen.iter().map(|(.., unserved)| unserved).sum();
    let seen = seen.into_iter().map(|(latencies, counted, _)| (latencies, counted)).collect();
    let mut report = report(&NAMES, window_ns, seen);
    let arrived = report.counters["requests"];
    report.counters.insert("unserved".to_string(), unserved as f64);
    if arrived > 0.0 {
        let rate = (arrived - unserved as f64) / (window_ns as f64 / 1e9);
        report.metrics.insert("requests_per_s".to_string(), rate);
    }
    Ok(report)
}

/// Returns response times, counters, and the number of requests that were not served.
fn worker(
    spec: &Spec,
    arrivals: &Mutex<Arrivals>,
    began: u64,
    stop: &AtomicBool,
) -> (Latencies, Counted, u64) {
    // Fails only without timer slack.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let (mut latencies, mut unserved) = (Latencies::new(), 0);
    let before = Counted::read(OWN);
    while !stop.load(Ordering::Relaxed) {
        let request = arrivals.lock().unwrap_or_else(PoisonError::into_inner).take();
        if request.arrival_ns >= spec.duration_ns {
            break;
        }
        let arrival = began + request.arrival_ns;
        sleep_until(arrival);
        if now_ns() - began >= spec.duration_ns {
            unserved += 1;
        } else {
            compute(request.work_ns);
        }
        latencies.record(now_ns().saturating_sub(arrival));
    }
    (latencies, Counted::read(OWN).since(&before), unserved)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_seed_gives_the_same_requests_at_the_stated_rate() {
        let spec = Spec { workers: 1, rate: 1000, work_ns: 200_000, seed: 7, duration_ns: 0 };
        let requests = |seed| {
            let mut arrivals = Arrivals::new(&Spec { seed, ..spec });
            (0..10_000).map(|_| arrivals.take()).collect::<Vec<_>>()
        };
        let first = requests(7);
        assert_eq!(first, requests(7));
        assert_ne!(first, requests(8));
        let took_ns = first.last().unwrap().arrival_ns as f64;
        // The standard error of 10,000 exponential intervals is 1 %.
        assert!((took_ns / 1e10 - 1.0).abs() < 0.05, "{took_ns}");
        let work: u64 = first.iter().map(|request| request.work_ns).sum();
        assert!((work as f64 / 2e9 - 1.0).abs() < 0.05, "{work}");
    }

    #[test]
    fn every_request_that_arrives_counts_even_if_no_worker_takes_it() {
        // One worker, asked for 50 times what it can do.
        let spec =
            Spec { workers: 1, rate: 10_000, work_ns: 5 * MS, seed: 1, duration_ns: 100 * MS };
        let report = run(&spec, &AtomicBool::new(false)).unwrap();
        let mut arrivals = Arrivals::new(&spec);
        let arrived =
            std::iter::repeat_with(|| arrivals.take()).take_while(|it| it.arrival_ns < 100 * MS);
        let arrived = arrived.count() as f64;
        assert_eq!(report.counters["requests"], arrived, "{report:?}");
        assert!(report.counters["unserved"] > 0.5 * arrived, "{report:?}");
        assert!(report.metrics["response_p50_us"] > 20_000.0, "waits count: {report:?}");
        assert_eq!(report.counts["response_p99_us"] as f64, arrived);
    }

    #[test]
    fn a_stop_ends_every_worker() {
        let spec = Spec { workers: 4, rate: 1, work_ns: MS, seed: 1, duration_ns: u64::MAX };
        let report = run(&spec, &AtomicBool::new(true)).unwrap();
        assert!(report.metrics.is_empty(), "{report:?}");
    }
}
