//! Threads that compute without end: competition for a processor and for nothing else.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::Report;

/// How many threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// From 1.
    pub threads: u32,
}

/// Between two looks at whether it is to end: some tens of microseconds.
const ROUND: u64 = 20_000;

/// Spins until `stop` is set.
pub fn run(order: &Order, stop: &AtomicBool) -> Report {
    let began = Instant::now();
    let rounds: u64 = thread::scope(|scope| {
        let threads: Vec<_> = (0..order.threads).map(|_| scope.spawn(|| one(stop))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a spinner does not panic")).sum()
    });
    let took = began.elapsed();
    let rate = rounds as f64 * ROUND as f64 / took.as_secs_f64().max(1e-9);
    Report {
        window_ns: u64::try_from(took.as_nanos()).unwrap_or(u64::MAX),
        counters: BTreeMap::from([("spins_per_s".to_string(), rate)]),
        ..Report::default()
    }
}

fn one(stop: &AtomicBool) -> u64 {
    let mut rounds = 0;
    let mut x = 1u64;
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..ROUND {
            x = black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
        rounds += 1;
    }
    rounds
}
