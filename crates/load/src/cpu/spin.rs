//! Threads that compute without end: competition for a CPU and for nothing else.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use crate::cpu::load::{beside, for_each_cpu};
use crate::cpu::{Failure, Report};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// 0 for one for each CPU that is online.
    pub threads: u32,
}

/// Between two looks at whether it is to end: some tens of microseconds.
const ROUND: u64 = 20_000;

/// Spins until `stop` is set.
///
/// # Errors
/// [`Failure::Refused`] when no thread can be made.
pub fn run(spec: &Spec, stop: &AtomicBool) -> Result<Report, Failure> {
    beside(
        for_each_cpu(spec.threads),
        stop,
        |_| Ok(one(stop)),
        |rounds, seconds| {
            vec![("spins_per_s", rounds.iter().sum::<u64>() as f64 * ROUND as f64 / seconds)]
        },
    )
}

fn one(stop: &AtomicBool) -> u64 {
    let mut rounds = 0;
    let mut x = 1u64;
    // One at least: on a busy machine a thread may begin after the end.
    loop {
        for _ in 0..ROUND {
            x = black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
        rounds += 1;
        if stop.load(Ordering::Relaxed) {
            return rounds;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::load::stopped_after;

    #[test]
    fn it_spins_until_it_is_told_to_end() {
        let report = stopped_after(20, |stop| run(&Spec { threads: 2 }, stop));
        assert!(report.counters["spins_per_s"] > 0.0 && report.metrics.is_empty(), "{report:?}");
    }
}
