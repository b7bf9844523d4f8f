//! The two pages of batches of ADIOS: the front one is served while the back one is filled.

use std::collections::VecDeque;

pub(super) const KINDS: usize = 2;

/// Lists of tags; the first non-empty one is served.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// Tags by operation; in elevator order, synchronous requests first.
    pub(super) lists: [VecDeque<u32>; KINDS],
    pub(super) counts: [u64; KINDS],
    /// Whether the second list is served in order of sectors.
    pub(super) elevator: bool,
    /// Whether it is served in descending order.
    pub(super) down: bool,
}

impl Page {
    pub(super) fn is_empty(&self) -> bool {
        self.lists.iter().all(VecDeque::is_empty)
    }

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
