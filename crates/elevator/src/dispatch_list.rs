//! The second stage of Linux 2.6.20's queue: requests that the elevator has chosen, in dispatch
//! order.
//!
//! Source: Linux 2.6.20 block/elevator.c; confirmed.

use std::collections::VecDeque;

use crate::request::Extent;

#[derive(Debug, Clone, Default)]
pub(crate) struct DispatchList {
    list: VecDeque<Extent>,
    /// Start of the circular order: the end last appended or dispatched.
    end_sector: u64,
    /// Head insertions; nothing is sorted in before them (the soft barrier).
    heads: usize,
}

impl DispatchList {
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// elv_dispatch_add_tail.
    pub(crate) fn add_tail(&mut self, request: Extent) {
        self.end_sector = request.end;
        self.list.push_back(request);
    }

    pub(crate) fn add_head(&mut self, request: Extent) {
        self.list.push_front(request);
        self.heads += 1;
    }

    /// elv_dispatch_sort: circular ascending order from the boundary.
    pub(crate) fn add_sorted(&mut self, request: Extent) {
        if self.list.is_empty() {
            return self.list.push_back(request);
        }
        let place = |sector: u64| (sector < self.end_sector, sector);
        let before = self
            .list
            .range(self.heads..)
            .rposition(|other| place(other.sector) <= place(request.sector));
        let at = self.heads + before.map_or(0, |at| at + 1);
        self.list.insert(at, request);
    }

    pub(crate) fn replace(&mut self, after: Extent) {
        let held = self.list.iter_mut().find(|held| held.tag == after.tag);
        *held.expect("the request is in the dispatch list") = after;
    }

    pub(crate) fn remove(&mut self, tag: u32) {
        let at = self
            .list
            .iter()
            .position(|held| held.tag == tag)
            .expect("the request is in the dispatch list");
        self.list.remove(at);
        self.heads -= usize::from(at < self.heads);
    }

    pub(crate) fn last_end(&self) -> Option<u64> {
        self.list.back().map(|last| last.end)
    }

    /// Dispatches a request and moves the boundary to its end.
    pub(crate) fn pop(&mut self) -> Option<u32> {
        let Extent { tag, end, .. } = self.list.pop_front()?;
        self.end_sector = end;
        self.heads = self.heads.saturating_sub(1);
        Some(tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::request;

    #[test]
    fn sorted_insertion_is_circular_from_the_boundary() {
        let mut list = DispatchList::default();
        list.add_tail((&request(0, 1000)).into());
        list.pop();
        for (tag, sector) in [(1, 900), (2, 3000), (3, 2000), (4, 100), (5, 1008)] {
            list.add_sorted((&request(tag, sector)).into());
        }
        let order: Vec<u64> =
            std::iter::from_fn(|| list.list.pop_front()).map(|request| request.sector).collect();
        assert_eq!(order, [1008, 2000, 3000, 100, 900]);
    }
}
