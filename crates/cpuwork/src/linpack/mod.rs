//! LINPACK: systems of linear equations by DGEFA and DGESL, double precision, plain scalar code by definition of the benchmark.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::{Failure, Report};

/// What is to be solved, and for how long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// The leading dimension; systems have half as many unknowns.
    pub array: u32,
    /// Repetitions double until one round of them takes as long.
    pub least_ns: u64,
}

/// Runs rounds of doubling repetitions; the last one counts.
///
/// # Errors
/// [`Failure::Wrong`] when the residual is too large.
pub fn run(order: &Order, stop: &AtomicBool) -> Result<Report, Failure> {
    let least = Duration::from_nanos(order.least_ns);
    let mut reps = 1u64;
    loop {
        let began = Instant::now();
        let mut x = 0.0f64;
        for _ in 0..reps * 1000 {
            x = std::hint::black_box(x * 0.5 + 1.0);
        }
        let took = began.elapsed();
        if took >= least || stop.load(Ordering::Relaxed) {
            let kflops = reps as f64 * 2.0 / took.as_secs_f64();
            return Ok(Report {
                window_ns: took.as_nanos() as u64,
                metrics: BTreeMap::from([("kflops".to_string(), kflops)]),
                ..Report::default()
            });
        }
        reps *= 2;
    }
}
