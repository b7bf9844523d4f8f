//! The last n numbers.

/// The last n numbers; n is an argument of each push, because thousands of rings share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Ring {
    values: Vec<u32>,
    /// Position of the oldest in a full ring.
    oldest: usize,
}

impl Ring {
    pub(super) fn len(&self) -> u64 {
        self.values.len() as u64
    }

    /// Adds a number; returns the one it replaced.
    pub(super) fn push(&mut self, value: u32, window: usize) -> Option<u32> {
        if self.values.len() < window {
            self.values.push(value);
            return None;
        }
        let gone = std::mem::replace(&mut self.values[self.oldest], value);
        self.oldest = if self.oldest + 1 == self.values.len() { 0 } else { self.oldest + 1 };
        Some(gone)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let (young, old) = self.values.split_at(self.oldest.min(self.values.len()));
        old.iter().chain(young).copied()
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Distances {
    ring: Ring,
    sum: u64,
}

impl Distances {
    pub(super) fn push(&mut self, distance: u64, window: usize) {
        let distance = u32::try_from(distance).unwrap_or(u32::MAX);
        let gone = self.ring.push(distance, window).unwrap_or(0);
        self.sum = self.sum + u64::from(distance) - u64::from(gone);
    }

    /// The sum and count, for a mean as a fraction.
    pub(super) fn sum_and_count(&self) -> (u64, u64) {
        (self.sum, self.ring.len())
    }

    pub(super) fn resize(&self, window: usize) -> Distances {
        let mut new = Distances::default();
        self.ring.iter().for_each(|distance| new.push(u64::from(distance), window));
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_ring_gives_back_the_oldest() {
        let mut ring = Ring::default();
        let gone: Vec<_> = (0..7).map(|value| ring.push(value, 3)).collect();
        assert_eq!(gone, [None, None, None, Some(0), Some(1), Some(2), Some(3)]);
        assert_eq!(ring.iter().collect::<Vec<_>>(), [4, 5, 6]);
    }

    #[test]
    fn distances_keep_the_sum_of_what_is_in_the_window() {
        let mut distances = Distances::default();
        (1..=10).for_each(|distance| distances.push(distance, 4));
        assert_eq!(distances.sum_and_count(), (7 + 8 + 9 + 10, 4));
        assert_eq!(distances.resize(2).sum_and_count(), (9 + 10, 2));
        assert_eq!(distances.resize(100).sum_and_count(), (34, 4));
    }
}
