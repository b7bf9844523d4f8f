//! The window: a limit of predicted occupancy in flight, adjusted by completion delays.
//!
//! The strictest class with a completion in the last second rules. After 16 of its completions and
//! 4 targets: if more than a tenth exceeded the target, the window shrinks; if nine tenths took
//! less than 0.8 targets and the window has held a request back, it grows, doubling until it first
//! was too large, then by a quarter of the minimum window. A target missed for a second at the
//! minimum window is doubled.

use crate::algorithm::occupancy::settings::{Key, Settings};

/// Target classes: real-time, synchronous, asynchronous.
pub(super) const TARGETS: usize = 3;
const SECOND: u64 = 1_000_000_000;
/// Completions between window changes.
const SAMPLES: u32 = 16;

#[derive(Debug, Clone, Copy, Default)]
struct Delays {
    nr: u32,
    /// Completions beyond 0.8, 1, 1⅓ and 2 targets.
    above: [u32; 4],
    since: u64,
    /// Last completion; 0: none.
    last: u64,
    /// log2 of the target's relaxation.
    relaxed: u32,
    /// Since when the target is missed at the minimum window; 0: it is not.
    missed_since: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Window {
    /// In nanoseconds of occupancy; 0: not set yet.
    window: u64,
    ruling: usize,
    doubling: bool,
    /// Whether it has held a request back since its last change.
    pub(super) blocked: bool,
    of: [Delays; TARGETS],
}

impl Window {
    pub(super) fn new() -> Window {
        Window {
            window: 0,
            ruling: 1,
            doubling: true,
            blocked: false,
            of: [Delays::default(); TARGETS],
        }
    }

    /// Whether a real-time request completed in the last second.
    pub(super) fn is_real_time(&self) -> bool {
        self.ruling == 0
    }

    /// `target` is the ruling class's.
    #[inline]
    pub(super) fn size(&self, settings: &Settings, targets: &[u64; TARGETS]) -> u64 {
        if self.window == 0 || !settings.on(Key::Steering) {
            targets[self.ruling]
        } else {
            self.window
        }
    }

    /// `delay` from issue. `least` is the minimum window.
    pub(super) fn completed(
        &mut self,
        now: u64,
        class: usize,
        delay: u64,
        targets: &[u64; TARGETS],
        least: u64,
    ) {
        let target = targets[class] << self.of[class].relaxed;
        let of = &mut self.of[class];
        if of.last == 0 || now.saturating_sub(of.last) > SECOND {
            (of.nr, of.above, of.since) = (0, [0; 4], now);
        }
        of.last = now.max(1);
        of.nr += 1;
        for (count, percent) in of.above.iter_mut().zip([80, 100, 133, 200]) {
            *count += u32::from(delay / 4 * 100 > target / 4 * percent);
        }
        let (nr, above, since) = (of.nr, of.above, of.since);
        let ruling = (0..TARGETS)
            .find(|of| self.of[*of].last != 0 && now.saturating_sub(self.of[*of].last) <= SECOND);
        let ruling = ruling.unwrap_or(class);
        if ruling != self.ruling {
            self.doubling = ruling > self.ruling;
            let target = targets[ruling];
            self.window = if self.doubling { self.window } else { self.window.min(target) };
            self.ruling = ruling;
        }
        if nr < SAMPLES || now - since < 4 * target {
            return;
        }
        if class == self.ruling {
            self.steer(now, class, target, least, nr, above);
        }
        let of = &mut self.of[class];
        (of.nr, of.above, of.since) = (0, [0; 4], now);
    }

    fn steer(&mut self, now: u64, class: usize, target: u64, least: u64, nr: u32, above: [u32; 4]) {
        let exceeds = |count: u32| u64::from(count) * 10 > u64::from(nr);
        let window = if self.window == 0 { target } else { self.window };
        let of = &mut self.of[class];
        let missed = exceeds(above[1]);
        if missed && window <= least {
            if of.missed_since == 0 {
                of.missed_since = now.max(1);
            } else if now.saturating_sub(of.missed_since) > SECOND {
                of.relaxed = (of.relaxed + 1).min(10);
                of.missed_since = 0;
            }
        } else {
            of.missed_since = 0;
        }
        self.window = if exceeds(above[3]) {
            window / 2
        } else if exceeds(above[2]) {
            window / 8 * 5
        } else if missed {
            window / 8 * 7
        } else if !exceeds(above[0]) && self.blocked {
            if of.relaxed > 0 && window > 4 * least {
                of.relaxed -= 1;
            }
            if self.doubling { window.saturating_mul(2) } else { window.saturating_add(least / 4) }
        } else {
            window
        };
        self.doubling &= !missed;
        self.blocked = false;
        self.window = self.window.max(least.max(1)).min(100 * SECOND);
    }

    #[cfg(test)]
    pub(super) fn set(&mut self, window: u64) {
        (self.window, self.doubling) = (window, false);
    }
}
