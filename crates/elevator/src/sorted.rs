//! Tags ordered by position, with the searches elevators need: next up or down, and neighbours.
//!
//! Only tags: nodes with whole requests would be half as fast. Where no two requests start at the
//! same sector, `starts.rs` is faster still.

use crate::ordered::Ordered;
use crate::request::BlockRequest;

/// Position (sector or cylinder), then rank, older first.
pub(crate) type Key = (u64, u64);

pub(crate) type Placed = (u64, u32);

pub(crate) fn by_sector(request: &BlockRequest) -> Key {
    (request.sector, request.seq)
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Sorted {
    /// In one number, for a single comparison.
    tree: Ordered<u128>,
}

fn number((place, rank): Key) -> u128 {
    u128::from(place) << 64 | u128::from(rank)
}

impl Sorted {
    pub(crate) fn len(&self) -> usize {
        self.tree.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tree.is_empty()
    }

    pub(crate) fn insert(&mut self, key: Key, tag: u32) {
        let new = self.tree.insert(number(key), tag);
        assert!(new, "of two requests one is the older: {key:?}");
    }

    pub(crate) fn remove(&mut self, key: Key) -> u32 {
        self.tree.remove(number(key)).expect("a request is removed from where it was put")
    }

    pub(crate) fn first(&self) -> Option<Placed> {
        self.tree.first().map(placed)
    }

    pub(crate) fn at_or_above(&self, place: u64) -> Option<Placed> {
        self.tree.at_or_after(number((place, 0))).map(placed)
    }

    /// The youngest at a place.
    pub(crate) fn at_or_below(&self, place: u64) -> Option<Placed> {
        self.tree.at_or_below(number((place, u64::MAX))).map(placed)
    }

    /// `key` need not be present.
    pub(crate) fn after(&self, key: Key) -> Option<Placed> {
        self.tree.above(number(key)).map(placed)
    }

    /// `key` need not be present.
    pub(crate) fn before(&self, key: Key) -> Option<Placed> {
        self.tree.below(number(key)).map(placed)
    }
}

fn placed(key: (u128, u32)) -> Placed {
    let (number, tag) = key;
    ((number >> 64) as u64, tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_found_from_any_position() {
        let mut sorted = Sorted::default();
        for (tag, place) in [(0, 100), (1, 50), (2, 100), (3, 300)] {
            sorted.insert((place, tag.into()), tag);
        }
        let tag = |found: Option<Placed>| found.map(|(_, tag)| tag);
        assert_eq!((sorted.first(), sorted.len()), (Some((50, 1)), 4));
        let above = [50, 51, 100, 101, 301].map(|at| tag(sorted.at_or_above(at)));
        assert_eq!(above, [Some(1), Some(0), Some(0), Some(3), None]);
        assert_eq!(
            [49, 50, 100, 400].map(|at| tag(sorted.at_or_below(at))),
            [None, Some(1), Some(2), Some(3)]
        );
        assert_eq!([sorted.after((100, 0)), sorted.before((100, 0))].map(tag), [Some(2), Some(1)]);
        assert_eq!(sorted.remove((100, 0)), 0);
        assert_eq!((sorted.len(), sorted.at_or_above(100)), (3, Some((100, 2))));
    }
}
