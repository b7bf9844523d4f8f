//! Threads that compute endlessly: competition for CPUs only.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use crate::cpu::clock::{compute, is_virtual};
use crate::cpu::load::{beside, for_each_cpu};
use crate::cpu::{Failure, Report};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// 0: one per online CPU.
    pub threads: u32,
}

/// Between checks of `stop`: some tens of microseconds.
const ROUND: u64 = 20_000;
/// In virtual time, where a spin takes a nanosecond: 10 ms.
const VIRTUAL_ROUNDS: u64 = 500;

/// Runs until `stop`; [`Failure::Refused`] if no thread can be created.
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
    // At least once: on a busy machine, a thread may start after the end.
    loop {
        if is_virtual() {
            compute(VIRTUAL_ROUNDS * ROUND);
            rounds += VIRTUAL_ROUNDS;
        } else {
            for _ in 0..ROUND {
                x = black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
            }
            rounds += 1;
        }
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
