//! Waiting for an event instead of a fixed time.

use std::thread;
use std::time::{Duration, Instant};

/// Waits until `holds` returns true.
///
/// # Panics
/// With the message `what` after two minutes, 100 times what any test needs.
#[track_caller]
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(120), "waited two minutes until {what}");
        thread::sleep(Duration::from_millis(2));
    }
}
