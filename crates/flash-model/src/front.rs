//! The host side of a flash device: command queues served in turn.
//!
//! The device works on at most `command_slots` commands. A completion makes room for the next
//! non-empty queue (NVMe's round-robin arbitration with a burst of one), so a read does not wait
//! for all writes of other queues. MQSim bounds fetched commands likewise, at 512 per queue.
//! Departures: flushes are taken at once, and fetching takes no time.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use crate::types::{Inside, Op};

#[derive(Debug, Clone)]
pub(crate) struct Front {
    slots: u32,
    taken: u32,
    waiting: u32,
    queues: Vec<Line>,
    next: usize,
}

#[derive(Debug, Clone, Default)]
struct Line {
    open: u32,
    waiting: VecDeque<(Op, Inside)>,
}

impl Front {
    pub(crate) fn new(slots: u32) -> Front {
        Front { slots, taken: 0, waiting: 0, queues: vec![Line::default()], next: 0 }
    }

    pub(crate) fn resize(&mut self, queues: u32) {
        assert!(
            self.taken + self.waiting == 0,
            "the number of queues is said before the first command"
        );
        self.queues = vec![Line::default(); queues as usize];
    }

    pub(crate) fn open(&self, queue: u32) -> u32 {
        self.queues[queue as usize].open
    }

    pub(crate) fn arrive(&mut self, op: Op, inside: Inside) {
        let line = &mut self.queues[inside.queue as usize];
        line.open += 1;
        line.waiting.push_back((op, inside));
        self.waiting += 1;
    }

    pub(crate) fn done(&mut self, queue: u32) {
        self.queues[queue as usize].open -= 1;
        self.taken -= 1;
    }

    pub(crate) fn take(&mut self) -> Option<(Op, Inside)> {
        if self.waiting == 0 || self.taken == self.slots {
            return None;
        }
        loop {
            let command = self.queues[self.next].waiting.pop_front();
            self.next = (self.next + 1) % self.queues.len();
            if let Some(command) = command {
                self.taken += 1;
                self.waiting -= 1;
                return Some(command);
            }
        }
    }
}
