//! A process's think times, and how long waiting for its next request pays.
//!
//! A histogram with 16 edges, 16 µs and doublings, halved every 64 samples. The value of waiting
//! until an edge is the time saved by arrivals before it, minus the time spent until they arrive,
//! and until the edge for the others.

const FIRST_NS: u64 = 16_000;
const EDGES: usize = 16;
const MAX_SAMPLES: u16 = 64;
/// Samples before a process's own are used.
const MIN_SAMPLES: u16 = 4;

/// Counts of think times up to each edge, and beyond.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Thinks {
    counts: [u16; EDGES + 1],
    nr: u16,
}

impl Thinks {
    pub(super) fn add(&mut self, ns: u64) {
        let units = ns.saturating_sub(1) / FIRST_NS;
        let edge = ((u64::BITS - units.leading_zeros()) as usize).min(EDGES);
        self.counts[edge] += 1;
        self.nr += 1;
        if self.nr >= MAX_SAMPLES {
            self.counts.iter_mut().for_each(|count| *count /= 2);
            self.nr = self.counts.iter().sum();
        }
    }

    pub(super) fn is_known(&self) -> bool {
        self.nr >= MIN_SAMPLES
    }

    /// How long to wait from the last completion, at `elapsed` after it; None: waiting does not
    /// pay.
    pub(super) fn best_wait(&self, elapsed: u64, gain: u64) -> Option<u64> {
        let first = (0..EDGES).find(|edge| FIRST_NS << edge > elapsed)?;
        let total: u64 = self.counts[first..].iter().map(|count| u64::from(*count)).sum();
        let (mut hits, mut spent) = (0, 0);
        let mut best = None;
        let mut most = 0;
        for (edge, count) in self.counts.iter().enumerate().take(EDGES).skip(first) {
            let until = FIRST_NS << edge;
            let count = u64::from(*count);
            if count == 0 {
                continue;
            }
            let middle = (until - until / 4).max(elapsed);
            hits += count;
            spent += count * (middle - elapsed);
            let cost = spent + (total - hits) * (until - elapsed);
            let value = (hits * gain).saturating_sub(cost);
            if value > most {
                (most, best) = (value, Some(until));
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn bimodal() -> Thinks {
        let mut thinks = Thinks::default();
        for nr in 0..50 {
            thinks.add(if nr % 5 == 4 { 100 * MS } else { MS });
        }
        thinks
    }

    #[test]
    fn a_wait_covers_the_short_pauses_if_what_it_saves_is_longer() {
        assert_eq!(bimodal().best_wait(0, 8 * MS), Some(1_024_000), "0.8 · 8 ms against 1 ms");
        assert_eq!(bimodal().best_wait(0, 10_000), None, "flash: 0.8 · 10 µs against 1 ms");
    }

    #[test]
    fn after_the_edge_only_the_long_pauses_are_left() {
        assert_eq!(bimodal().best_wait(1_024_000, 8 * MS), None);
        assert_eq!(bimodal().best_wait(500_000, 8 * MS), Some(1_024_000));
        assert_eq!(bimodal().best_wait(u64::MAX, 8 * MS), None, "beyond all edges");
    }

    #[test]
    fn old_pauses_are_forgotten() {
        let mut thinks = bimodal();
        (0..500).for_each(|_| thinks.add(2 * MS));
        assert_eq!(thinks.best_wait(0, 8 * MS), Some(2_048_000));
        assert!(
            Thinks::default().best_wait(0, u64::MAX / 128).is_none()
                && !Thinks::default().is_known()
        );
    }
}
