//! Wake-up latency: the time from waking a thread until it runs.
//!
//! After the idea of schbench. A worker requests work and sleeps; its messenger records the time
//! and wakes it; the worker reads the clock, computes for a while, and requests again. With more
//! workers than CPUs, latency includes run-queue wait.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;

use rustix::thread::futex;
use serde::{Deserialize, Serialize};

use crate::cpu::clock::{SLICE_NS, compute, now_ns, timespec};
use crate::cpu::counted::{Counted, OWN};
use crate::cpu::latency::{Latencies, Names, P50_P99, report};
use crate::cpu::report::no_thread;
use crate::cpu::{Failure, Report};

const NAMES: Names = Names { prefix: "wakeup", events: "wakeups", percentiles: P50_P99 };

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// Threads that wake workers.
    pub messengers: u32,
    /// Workers per messenger.
    pub workers: u32,
    /// Computing time after a wake-up.
    pub work_ns: u64,
    pub duration_ns: u64,
}

/// A worker sleeps while it is `ASKED`.
const WORKING: u32 = 0;
const ASKED: u32 = 1;
const OVER: u32 = 2;

/// State shared by a worker and its messenger.
#[derive(Debug, Default)]
struct Worker {
    state: AtomicU32,
    woken_ns: AtomicU64,
}

#[derive(Debug, Default)]
struct Team {
    /// Requests, on which the messenger sleeps.
    asked: AtomicU32,
    workers: Vec<Worker>,
}

/// Runs until its time is over or `stop`; [`Failure::Refused`] if no thread can be created.
pub fn run(spec: &Spec, stop: &AtomicBool) -> Result<Report, Failure> {
    let team = || Team {
        asked: AtomicU32::new(0),
        workers: (0..spec.workers).map(|_| Worker::default()).collect(),
    };
    let teams: Vec<Team> = (0..spec.messengers).map(|_| team()).collect();
    let began = now_ns();
    let end = began.saturating_add(spec.duration_ns);
    let seen = thread::scope(|scope| {
        let mut messengers = Vec::new();
        let mut workers = Vec::new();
        let made: Result<(), Failure> = teams.iter().try_for_each(|team| {
            let new = || thread::Builder::new();
            messengers.push(
                new().spawn_scoped(scope, move || messenger(team, end, stop)).map_err(no_thread)?,
            );
            team.workers.iter().try_for_each(|own| {
                let work = move || worker(team, own, spec.work_ns);
                workers.push(new().spawn_scoped(scope, work).map_err(no_thread)?);
                Ok(())
            })
        });
        // Messengers end their workers.
        made.inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
        let counted: Vec<Counted> = messengers
            .into_iter()
            .map(|thread| thread.join().expect("a messenger does not panic"))
            .collect();
        let mut seen: Vec<(Latencies, Counted)> = workers
            .into_iter()
            .map(|thread| thread.join().expect("a worker does not panic"))
            .collect();
        seen.extend(counted.into_iter().map(|counted| (Latencies::new(), counted)));
        Ok(seen)
    })?;
    Ok(report(&NAMES, now_ns() - began, seen))
}

/// Wakes requesting workers, and finally ends all.
fn messenger(team: &Team, end: u64, stop: &AtomicBool) -> Counted {
    let before = Counted::read(OWN);
    loop {
        let asked = team.asked.load(Ordering::Acquire);
        let over = now_ns() >= end || stop.load(Ordering::Relaxed);
        let next = if over { OVER } else { WORKING };
        for worker in &team.workers {
            if over || worker.state.load(Ordering::Acquire) == ASKED {
                worker.woken_ns.store(now_ns(), Ordering::Relaxed);
                worker.state.store(next, Ordering::Release);
                wake(&worker.state);
            }
        }
        if over {
            return Counted::read(OWN).since(&before);
        }
        sleep(&team.asked, asked);
    }
}

/// Requests work, sleeps, reads the clock and computes.
fn worker(team: &Team, own: &Worker, work_ns: u64) -> (Latencies, Counted) {
    let mut latencies = Latencies::new();
    let before = Counted::read(OWN);
    // If the run has ended before, the state no longer changes.
    while own.state.compare_exchange(WORKING, ASKED, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
        team.asked.fetch_add(1, Ordering::AcqRel);
        wake(&team.asked);
        while own.state.load(Ordering::Acquire) == ASKED {
            sleep(&own.state, ASKED);
        }
        let now = now_ns();
        if own.state.load(Ordering::Acquire) == OVER {
            break;
        }
        latencies.record(now.saturating_sub(own.woken_ns.load(Ordering::Relaxed)));
        compute(work_ns);
    }
    (latencies, Counted::read(OWN).since(&before))
}

fn wake(word: &AtomicU32) {
    futex::wake(word, futex::Flags::PRIVATE, 1)
        .expect("the word is there as long as the threads are");
}

/// Returns when woken, if the word differs, or after a timeout; the caller checks the word.
fn sleep(word: &AtomicU32, while_it_is: u32) {
    let _ = futex::wait(word, futex::Flags::PRIVATE, while_it_is, Some(&timespec(SLICE_NS)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wake_up_is_a_positive_latency_that_is_counted() {
        let spec = Spec { messengers: 2, workers: 3, work_ns: 10_000, duration_ns: 60_000_000 };
        let report = run(&spec, &AtomicBool::new(false)).unwrap();
        assert!(
            report.counters["wakeups"] >= 6.0,
            "each worker is woken at least once: {report:?}"
        );
        assert_eq!(report.counts["wakeup_p99_us"] as f64, report.counters["wakeups"]);
        assert!(
            report.metrics.len() == 3 && report.metrics.values().all(|us| *us > 0.0),
            "{report:?}"
        );
        assert!(report.metrics["wakeup_p50_us"] <= report.metrics["wakeup_p99_us"]);
        assert!(
            report.counters.get("task_voluntary_switches").is_none_or(|n| *n > 0.0),
            "{report:?}"
        );
    }

    #[test]
    fn a_stop_ends_every_thread() {
        let spec = Spec { messengers: 1, workers: 4, work_ns: 0, duration_ns: u64::MAX };
        let report = run(&spec, &AtomicBool::new(true)).unwrap();
        assert!(report.window_ns < 10_000_000_000, "{report:?}");
    }
}
