//! The host's side of a flash device: queues of commands, from which the device takes one after
//! another in turn.
//!
//! Problem: a read that waits behind writes in the same queue waits for all of them, and for as
//! many of each other queue.
//!
//! Approach: the device works on so many commands at once (`command_slots`); the others stay in
//! their queues, in order of arrival. A command that is done makes room for the first one of the
//! next queue that has any (NVMe's round-robin arbitration with a burst of one). MQSim bounds what
//! it has fetched in the same way, 512 commands of each queue.
//!
//! Departures: a flush is taken at once. Taking a command costs no time.

use std::collections::VecDeque;

use super::types::Inside;
use elevator::Op;

/// The queues in use.
#[derive(Debug, Clone)]
pub(super) struct Front {
    slots: u32,
    taken: u32,
    waiting: u32,
    queues: Vec<Line>,
    next: usize,
}

#[derive(Debug, Clone, Default)]
struct Line {
    /// Commands that the host has open in it.
    open: u32,
    waiting: VecDeque<(Op, Inside)>,
}

impl Front {
    pub(super) fn new(slots: u32) -> Front {
        Front { slots, taken: 0, waiting: 0, queues: vec![Line::default()], next: 0 }
    }

    /// The host uses this many queues.
    pub(super) fn resize(&mut self, queues: u32) {
        assert!(
            self.taken + self.waiting == 0,
            "the number of queues is said before the first command"
        );
        self.queues = vec![Line::default(); queues as usize];
    }

    /// Commands that the host has open in a queue.
    pub(super) fn open(&self, queue: u32) -> u32 {
        self.queues[queue as usize].open
    }

    /// A command has come.
    pub(super) fn arrive(&mut self, op: Op, inside: Inside) {
        let line = &mut self.queues[inside.queue as usize];
        line.open += 1;
        line.waiting.push_back((op, inside));
        self.waiting += 1;
    }

    /// A command of this queue is done.
    pub(super) fn done(&mut self, queue: u32) {
        self.queues[queue as usize].open -= 1;
        self.taken -= 1;
    }

    /// The next command, if there is room for one.
    pub(super) fn take(&mut self) -> Option<(Op, Inside)> {
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
