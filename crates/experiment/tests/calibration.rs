//! The promises of the statistics, counted. Print the tables with
//! `cargo test -p experiment --test calibration -- --nocapture`.
//!
//! Rules that are known to be wrong are counted too: a calibration that does not catch them would prove nothing.

use experiment::calibration::{Calibration, Promise, calibrate, promises_of};
use experiment::stats::{fixed, sequence};

#[test]
fn every_promise_is_kept_under_every_kind_of_noise() {
    let report = calibrate(&Calibration::default());
    println!("{report}");
    assert!(report.experiments >= 10_000);
    assert!(report.broken().is_empty(), "broken promises: {:#?}", report.broken());
    for block_sd in [0.01, 0.02] {
        let share = report.mix_share(block_sd);
        assert!(share < 0.85, "the sequential design takes {share:.2} of the fixed design's blocks at sd {block_sd}");
    }
}

fn broken(rule: fn(usize, f64) -> Option<f64>) -> Vec<Promise> {
    let calibration = Calibration { experiments: 1_000, rule, ..Calibration::default() };
    promises_of(&calibration).into_iter().filter(|promise| !promise.kept()).collect()
}

#[test]
fn students_interval_looked_at_after_every_block_is_caught() {
    let broken = broken(|n, alpha| Some(fixed::critical(n as f64 - 1.0, alpha)));
    let worst = broken.iter().map(|promise| promise.found).fold(0.0, f64::max);
    assert!(worst > 0.3, "peeking should alarm falsely in over 30 % of the experiments, found {worst}");
}

#[test]
fn a_sequence_that_does_not_divide_its_level_among_the_arms_is_caught() {
    // Undoes the division by up to three arms.
    let broken = broken(|n, alpha| sequence::critical_t(n, (alpha * 3.0).min(0.05)));
    assert!(broken.iter().any(|promise| promise.what.contains("any arm called")), "{broken:#?}");
}
