//! Requests in order of sectors, with the searches that elevators make: the neighbours, the lowest.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::request::BlockRequest;

/// Requests sorted by first sector; of equal ones the older first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sorted {
    tree: BTreeMap<(u64, u64), BlockRequest>,
}

fn key(request: &BlockRequest) -> (u64, u64) {
    (request.sector, request.seq)
}

impl Sorted {
    pub(crate) fn new() -> Sorted {
        Sorted::default()
    }

    pub(crate) fn len(&self) -> usize {
        self.tree.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tree.is_empty()
    }

    pub(crate) fn insert(&mut self, request: BlockRequest) {
        let before = self.tree.insert(key(&request), request);
        assert!(before.is_none(), "a request is inserted once: {request:?}");
    }

    /// Takes out a request that is in it. Its length may have changed meanwhile, its first sector not.
    pub(crate) fn remove(&mut self, request: &BlockRequest) -> BlockRequest {
        self.tree.remove(&key(request)).expect("the request is in the tree")
    }

    /// Replaces a request by what it has grown to, wherever that belongs.
    pub(crate) fn replace(&mut self, before: &BlockRequest, after: BlockRequest) {
        self.remove(before);
        self.insert(after);
    }

    /// The lowest.
    pub(crate) fn first(&self) -> Option<&BlockRequest> {
        self.tree.first_key_value().map(|(_, request)| request)
    }

    /// The one after `request`, which need not be in it.
    pub(crate) fn successor(&self, request: &BlockRequest) -> Option<&BlockRequest> {
        self.tree.range((Bound::Excluded(key(request)), Bound::Unbounded)).next().map(|(_, request)| request)
    }

    /// The one before `request`, which need not be in it.
    pub(crate) fn predecessor(&self, request: &BlockRequest) -> Option<&BlockRequest> {
        self.tree.range(..key(request)).next_back().map(|(_, request)| request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::request;

    #[test]
    fn neighbours_are_found_from_any_position() {
        let mut sorted = Sorted::new();
        for (seq, sector) in [(0, 100), (1, 50), (2, 100), (3, 300)] {
            sorted.insert(BlockRequest { seq, ..request(seq as u32, sector) });
        }
        let tag = |found: Option<&BlockRequest>| found.map(|request| request.tag);
        assert_eq!(tag(sorted.first()), Some(1));
        let of = BlockRequest { seq: 0, ..request(0, 100) };
        assert_eq!((tag(sorted.successor(&of)), tag(sorted.predecessor(&of))), (Some(2), Some(1)));
        sorted.remove(&of);
        assert_eq!((sorted.len(), tag(sorted.successor(&of))), (3, Some(2)));
    }
}
