//! The limit of the predicted occupancy in the device: of all requests on a disk; on flash, of its
//! reads and of its writes, so that writes in the device do not hold reads back.
//!
//! It is the target of the strictest class with a completion in the last second, so that the
//! request issued last completes within it. An empty window takes any request.

use crate::algorithm::occupancy::settings::{Key, Settings};

/// Target classes: real-time, synchronous, asynchronous.
pub(super) const TARGETS: usize = 3;
const SECOND: u64 = 1_000_000_000;

#[derive(Debug, Clone)]
pub(super) struct Window {
    ruling: usize,
    /// Last completion of each class; 0: none.
    last: [u64; TARGETS],
}

impl Window {
    pub(super) fn new() -> Window {
        Window { ruling: 1, last: [0; TARGETS] }
    }

    /// In nanoseconds of occupancy.
    #[inline]
    pub(super) fn size(&self, settings: &Settings, targets: &[u64; TARGETS]) -> u64 {
        if settings.on(Key::Window) { targets[self.ruling] } else { u64::MAX >> 1 }
    }

    pub(super) fn completed(&mut self, now: u64, class: usize) {
        self.last[class] = now.max(1);
        let recent = |last: u64| last != 0 && now.saturating_sub(last) <= SECOND;
        self.ruling = (0..class).find(|of| recent(self.last[*of])).unwrap_or(class);
    }
}
