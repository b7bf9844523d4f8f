//! The requests of a priority class, sorted and in order of arrival, per direction (struct
//! dd_per_prio).

use crate::fifo::Fifo;
use crate::sorted::{Key, Sorted};

#[derive(Debug)]
pub(super) struct Class {
    pub(super) sorted: [Sorted; 2],
    pub(super) fifo: [Fifo; 2],
    /// First sector of the last dispatch.
    pub(super) latest: [u64; 2],
    /// 6.1: the request that continues the batch.
    pub(super) next: [Option<u32>; 2],
    /// 6.1: head insertions of this class; 6.12: class 0 has all.
    pub(super) head: Fifo,
    /// Held or in flight.
    pub(super) pending: u64,
}

impl Class {
    pub(super) fn new() -> Class {
        Class {
            sorted: Default::default(),
            fifo: [Fifo::new(0), Fifo::new(0)],
            latest: [0; 2],
            next: [None; 2],
            head: Fifo::new(0),
            pending: 0,
        }
    }

    pub(super) fn successor(&self, dir: usize, key: Key) -> Option<u32> {
        self.sorted[dir].after(key).map(|(_, tag)| tag)
    }

    /// The first at or above the last one's start.
    pub(super) fn going_up(&self, dir: usize) -> Option<u32> {
        self.sorted[dir].at_or_above(self.latest[dir]).map(|(_, tag)| tag)
    }

    #[inline]
    pub(super) fn remove_sorted(&mut self, dir: usize, key: Key, tag: u32) {
        if self.next[dir] == Some(tag) {
            self.next[dir] = self.successor(dir, key);
        }
        self.sorted[dir].remove(key);
        self.fifo[dir].remove(tag);
    }
}
