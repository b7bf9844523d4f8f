//! Waiting for an event instead of for a time.

use std::thread;
use std::time::{Duration, Instant};

/// Waits until `holds`.
///
/// # Panics
/// With the sentence `what` after two minutes: nothing that a test waits for takes a hundredth of
/// that, and a test that never ends says nothing.
#[track_caller]
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(120), "waited two minutes until {what}");
        thread::sleep(Duration::from_millis(2));
    }
}
