//! The two pages of batches of ADIOS: the front one is served, the back one is filled meanwhile.

use std::collections::VecDeque;

/// Kinds of operation: reads, writes.
pub(super) const KINDS: usize = 2;

/// A batch: lists of tags, the first one that is not empty is served.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// By kind of operation; with the order of the elevator synchronous requests, then the others.
    pub(super) lists: [VecDeque<u32>; KINDS],
    /// Requests of each kind.
    pub(super) counts: [u64; KINDS],
    /// Whether the second list is served in order of sectors.
    pub(super) elevator: bool,
    /// Whether it is served from its highest sector down.
    pub(super) down: bool,
}

impl Page {
    pub(super) fn is_empty(&self) -> bool {
        self.lists.iter().all(VecDeque::is_empty)
    }

    /// The next request of the batch.
    pub(super) fn pop(&mut self) -> Option<u32> {
        if let Some(tag) = self.lists[0].pop_front() {
            return Some(tag);
        }
        if self.elevator && self.down {
            self.lists[1].pop_back()
        } else {
            self.lists[1].pop_front()
        }
    }
}
