//! Tags ordered by first sector, where no two requests start at the same sector.
//!
//! Legacy Linux schedulers never keep two such requests in a tree: the older one is dispatched at
//! once. With the sector as key and the tag as value, a run of keys takes a few cache lines.

use crate::ordered::Ordered;

#[derive(Debug, Clone, Default)]
pub(crate) struct Starts {
    tree: Ordered<u64>,
}

impl Starts {
    pub(crate) fn len(&self) -> usize {
        self.tree.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tree.is_empty()
    }

    pub(crate) fn insert(&mut self, sector: u64, tag: u32) {
        let new = self.tree.insert(sector, tag);
        assert!(new, "one request starts at sector {sector}");
    }

    pub(crate) fn remove(&mut self, sector: u64) {
        self.tree.remove(sector).expect("a request starts at the sector");
    }

    pub(crate) fn tag_at(&self, sector: u64) -> Option<u32> {
        self.tree.get(sector)
    }

    pub(crate) fn first(&self) -> Option<u32> {
        self.tree.first().map(|(_, tag)| tag)
    }

    pub(crate) fn above(&self, sector: u64) -> Option<u32> {
        self.tree.above(sector).map(|(_, tag)| tag)
    }

    /// The lowest, with its start.
    pub(crate) fn at_or_above(&self, sector: u64) -> Option<(u64, u32)> {
        self.tree.at_or_after(sector)
    }

    /// The higher of two.
    pub(crate) fn nearest(&self, sector: u64) -> Option<u64> {
        let around = [self.tree.at_or_after(sector), self.tree.below(sector)];
        around
            .into_iter()
            .flatten()
            .map(|(start, _)| start)
            .min_by_key(|start| start.abs_diff(sector))
    }

    pub(crate) fn below(&self, sector: u64) -> Option<u32> {
        self.tree.below(sector).map(|(_, tag)| tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_found_strictly_above_and_below() {
        let mut starts = Starts::default();
        [(100, 0), (50, 1), (300, 2)]
            .into_iter()
            .for_each(|(sector, tag)| starts.insert(sector, tag));
        assert_eq!((starts.first(), starts.len()), (Some(1), 3));
        assert_eq!([100, 299, 300].map(|at| starts.above(at)), [Some(2), Some(2), None]);
        assert_eq!([100, 101, 50].map(|at| starts.below(at)), [Some(1), Some(0), None]);
        assert_eq!([100, 101].map(|at| starts.at_or_above(at)), [Some((100, 0)), Some((300, 2))]);
        assert_eq!(
            [0, 74, 75, 76, 200, 900].map(|at| starts.nearest(at).unwrap()),
            [50, 50, 100, 100, 300, 300]
        );
        starts.remove(100);
        assert_eq!((starts.tag_at(100), starts.tag_at(300)), (None, Some(2)));
    }
}
