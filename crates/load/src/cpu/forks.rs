//! Short-lived processes, which exit before a scheduler has learned anything about them.
//!
//! Each thread forks a process, waits for its exit, and forks the next. The kernel kills a process
//! when its parent thread exits.

use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use crate::cpu::clock::{SLICE_NS, now_ns, sleep_until};
use crate::cpu::load::{beside, for_each_cpu};
use crate::cpu::sys::{fork_computing, wait};
use crate::cpu::{Failure, Report};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// Concurrent; 0: one per online CPU.
    pub processes: u32,
    /// Forks per second; 0: unlimited.
    pub rate: u32,
    pub work_ns: u64,
}

/// Runs until `stop`; [`Failure::Refused`] if fork fails.
pub fn run(spec: &Spec, stop: &AtomicBool) -> Result<Report, Failure> {
    let (began, processes) = (now_ns(), for_each_cpu(spec.processes));
    // Threads share the rate, and start one after the other.
    let interval = u64::from(processes) * 1_000_000_000 / u64::from(spec.rate.max(1));
    let first = |at: u32| began + interval * u64::from(at) / u64::from(processes);
    let one =
        |at: u32| storm(first(at), if spec.rate == 0 { 0 } else { interval }, spec.work_ns, stop);
    beside(processes, stop, one, |forks, seconds| {
        vec![("forks_per_s", forks.iter().sum::<u64>() as f64 / seconds)]
    })
}

/// Returns the number of processes.
fn storm(first: u64, interval: u64, work_ns: u64, stop: &AtomicBool) -> Result<u64, Failure> {
    let (mut forks, mut moment) = (0, first);
    while !stop.load(Ordering::Relaxed) {
        let now = now_ns();
        if interval != 0 && now < moment {
            sleep_until(moment.min(now + SLICE_NS));
            continue;
        }
        moment += interval;
        let forked = fork_computing(work_ns);
        let child = forked.map_err(|cause| Failure::Refused {
            what: "fork (is there a limit of processes?)",
            cause,
        })?;
        wait(child);
        forks += 1;
    }
    Ok(forks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::load::stopped_after;

    /// Children of this thread only, because other tests fork as well.
    fn children_of_this_thread() -> String {
        std::fs::read_to_string("/proc/thread-self/children").unwrap_or_default()
    }

    #[test]
    fn it_forks_until_it_is_stopped_and_leaves_no_process() {
        let report =
            stopped_after(60, |stop| run(&Spec { processes: 3, rate: 0, work_ns: 50_000 }, stop));
        assert!(report.counters["forks_per_s"] > 20.0, "{report:?}");
        let left = std::thread::spawn(|| {
            let report =
                stopped_after(20, |stop| run(&Spec { processes: 1, rate: 0, work_ns: 0 }, stop));
            (report, children_of_this_thread())
        });
        assert_eq!(left.join().unwrap().1, "");
    }

    #[test]
    fn a_rate_is_not_exceeded() {
        let report =
            stopped_after(200, |stop| run(&Spec { processes: 2, rate: 50, work_ns: 0 }, stop));
        let rate = report.counters["forks_per_s"];
        assert!(rate > 0.0 && rate <= 60.0, "{report:?}");
    }
}
