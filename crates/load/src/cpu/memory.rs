//! Threads that stream through memory: competition for caches and memory bandwidth.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use crate::cpu::load::{beside, for_each_cpu};
use crate::cpu::report::no_memory;
use crate::cpu::{Failure, Report};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// 0: one per online CPU.
    pub threads: u32,
    /// Per thread; should exceed the caches.
    pub size: u64,
}

/// Numbers between checks of `stop`: some tens of microseconds.
const ROUND: usize = 32_768;

/// Runs until `stop`; [`Failure::Refused`] without memory or threads.
pub fn run(spec: &Spec, stop: &AtomicBool) -> Result<Report, Failure> {
    let len = usize::try_from(spec.size / 8).unwrap_or(usize::MAX).max(1);
    beside(
        for_each_cpu(spec.threads),
        stop,
        |_| one(len, stop),
        |rounds, seconds| {
            // Each number is read once and written once.
            let bytes: u64 = rounds.iter().sum::<u64>() * 16;
            vec![("mb_per_s", bytes as f64 / 1e6 / seconds)]
        },
    )
}

/// Returns the count of numbers read and written.
fn one(len: usize, stop: &AtomicBool) -> Result<u64, Failure> {
    let mut memory: Vec<u64> = Vec::new();
    memory.try_reserve_exact(len).map_err(|_| no_memory())?;
    let mut done = 0;
    // Filled in rounds too, because this allocates the pages.
    while memory.len() < len && !stop.load(Ordering::Relaxed) {
        memory.resize((memory.len() + ROUND).min(len), 1);
    }
    while !stop.load(Ordering::Relaxed) {
        for round in memory.chunks_mut(ROUND) {
            for number in round.iter_mut() {
                *number = number.wrapping_add(1);
            }
            done += black_box(round).len() as u64;
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::load::stopped_after;

    #[test]
    fn it_streams_until_it_is_told_to_end() {
        let report = stopped_after(50, |stop| run(&Spec { threads: 2, size: 1 << 20 }, stop));
        assert!(report.counters["mb_per_s"] > 0.0, "{report:?}");
    }

    #[test]
    fn memory_that_there_is_not_is_refused() {
        let refused = run(&Spec { threads: 1, size: u64::MAX }, &AtomicBool::new(false));
        assert!(matches!(refused, Err(Failure::Refused { .. })), "{refused:?}");
    }
}
