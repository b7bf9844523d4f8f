//! The block layer around an elevator, without I/O: tags, depth, merging, splitting and counters.
//!
//! The only caller of an [`Elevator`]. Whoever drives it (the simulator's event loop, a law, a benchmark) hands pieces of I/O
//! over, asks what the device shall get, and says what the device has finished.

use crate::kind::{Build, ElevatorKind, Origin};
use crate::request::{BlockRequest, Finished, Priority};
use crate::scheduler::{Disk, Elevator, InsertAt};
use crate::vocabulary::{Op, Time};

/// A piece of I/O that is handed to the block layer (the kernel's bio).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The caller's name for it; comes back when it is done.
    pub cookie: u64,
    /// The process (I/O context) that asks; dense, from 0.
    pub process: u32,
    /// Direction.
    pub op: Op,
    /// First sector, absolute.
    pub sector: u64,
    /// Length in sectors, never 0; may exceed what one request can hold.
    pub nr_sectors: u32,
    /// Whether somebody waits for it.
    pub sync: bool,
    /// Metadata of a file system.
    pub meta: bool,
    /// The process's I/O priority.
    pub priority: Priority,
    /// When its result is worthless; None: never.
    pub deadline: Option<Time>,
}

/// The bounds of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Requests that can exist at once: per direction for legacy Linux, in all for blk-mq. The rest waits outside.
    pub nr_requests: u32,
    /// Requests that the device takes at once.
    pub queue_depth: u32,
    /// Sectors of the largest request; larger pieces are split, merges stop there.
    pub max_sectors: u32,
    /// Whether pieces are merged at all.
    pub merge: bool,
}

impl Limits {
    /// What the kernel of this scheduler would set up for a device of this depth: legacy Linux 128 requests in each direction;
    /// blk-mq twice the depth, at most 256, with a scheduler, and the depth without. 512 KiB a request.
    pub fn usual(kind: &ElevatorKind, queue_depth: u32) -> Limits {
        let nr_requests = match kind.origin {
            Origin::LegacyLinux => 128,
            Origin::BlkMq if kind.name == "none" => queue_depth,
            Origin::BlkMq | Origin::Literature => 2 * queue_depth.min(128),
        };
        Limits { nr_requests, queue_depth, max_sectors: 1024, merge: true }
    }
}

/// What a queue has counted since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Pieces handed over.
    pub submitted: u64,
    /// Parts that pieces were split into beyond the first.
    pub splits: u64,
    /// Requests inserted into the elevator.
    pub inserted: u64,
    /// Pieces (or parts) that joined a request at its end.
    pub back_merges: u64,
    /// Pieces (or parts) that joined a request at its start.
    pub front_merges: u64,
    /// Requests that were taken into a neighbour.
    pub coalesced: u64,
    /// Requests that the elevator gave to the device.
    pub dispatched: u64,
    /// Requests that the device has finished.
    pub completed: u64,
    /// Pieces of which every part is done.
    pub done: u64,
    /// Pieces that had to wait for a free request.
    pub waited: u64,
}

/// What became of a piece when it was handed over; for traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// It became a request of its own.
    Inserted(BlockRequest),
    /// It joined this request, shown as it is now.
    Merged(BlockRequest),
    /// All requests are in use; it waits.
    Waiting,
}

/// A queue with its elevator.
#[derive(Debug)]
pub struct Queue {
    elevator: Box<dyn Elevator>,
    limits: Limits,
    counters: Counters,
    // TODO: replaced by the real thing
    slots: Vec<Option<(BlockRequest, u64, Time)>>,
    in_flight: u32,
    waiting: std::collections::VecDeque<Piece>,
}

impl Queue {
    /// A queue for a scheduler, with default tunables. `build.nr_tags` and `build.queue_depth` are set from `limits`.
    pub fn new(kind: &ElevatorKind, build: &Build, limits: Limits) -> Queue {
        let pools = if kind.origin == Origin::LegacyLinux { 2 } else { 1 };
        let nr_tags = limits.nr_requests * pools;
        let build = Build { nr_tags, queue_depth: limits.queue_depth, ..build.clone() };
        Queue {
            elevator: (kind.build)(&build),
            limits,
            counters: Counters::default(),
            slots: vec![None; nr_tags as usize],
            in_flight: 0,
            waiting: std::collections::VecDeque::new(),
        }
    }

    /// Hands a piece over. What became of it (of its parts, if it was split) is told to `seen` in order.
    pub fn submit(&mut self, now: Time, piece: Piece, seen: &mut dyn FnMut(Entry)) {
        self.counters.submitted += 1;
        let entry = self.admit(now, piece);
        seen(entry);
    }

    /// The request that the device shall get now, if it has room for one and the elevator gives one.
    pub fn dispatch(&mut self, now: Time, disk: &dyn Disk) -> Option<BlockRequest> {
        if self.in_flight == self.limits.queue_depth {
            return None;
        }
        let request = self.elevator.dispatch(now, disk)?;
        self.in_flight += 1;
        self.counters.dispatched += 1;
        self.slots[request.tag as usize].as_mut().expect("dispatched requests exist").2 = now;
        Some(request)
    }

    /// Hears that the device has finished the request with this tag. The cookies of pieces that are done with it are appended to
    /// `done`; what became of pieces that waited for a free request is told to `seen`.
    pub fn complete(&mut self, now: Time, tag: u32, done: &mut Vec<u64>, seen: &mut dyn FnMut(Entry)) -> Finished {
        let (request, cookie, issued) = self.slots[tag as usize].take().expect("the tag is in flight");
        self.in_flight -= 1;
        self.counters.completed += 1;
        self.counters.done += 1;
        let finished = Finished { request, issued };
        self.elevator.complete(now, &finished);
        done.push(cookie);
        if let Some(piece) = self.waiting.pop_front() {
            seen(self.admit(now, piece));
        }
        finished
    }

    /// When [`Queue::on_timer`] is due.
    pub fn next_timer(&self) -> Option<Time> {
        self.elevator.next_timer()
    }

    /// The elevator's timer is due. Ask for dispatches afterwards.
    pub fn on_timer(&mut self, now: Time) {
        self.elevator.on_timer(now);
    }

    /// A process has ended.
    pub fn exited(&mut self, now: Time, process: u32) {
        self.elevator.exited(now, process);
    }

    /// Requests that the device has.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Requests that the elevator holds.
    pub fn held(&self) -> usize {
        self.elevator.len()
    }

    /// Pieces that wait for a free request.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Whether nothing is waiting, held or in flight.
    pub fn is_idle(&self) -> bool {
        self.in_flight == 0 && self.held() == 0 && self.waiting.is_empty()
    }

    /// What was counted since it was made.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Its bounds.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The scheduler.
    pub fn elevator(&self) -> &dyn Elevator {
        self.elevator.as_ref()
    }

    /// The scheduler, to set tunables and promise flows something.
    pub fn elevator_mut(&mut self) -> &mut dyn Elevator {
        self.elevator.as_mut()
    }

    fn admit(&mut self, now: Time, piece: Piece) -> Entry {
        let Some(tag) = self.slots.iter().position(Option::is_none) else {
            self.counters.waited += 1;
            self.waiting.push_back(piece);
            return Entry::Waiting;
        };
        let request = BlockRequest {
            tag: tag as u32,
            seq: self.counters.inserted,
            process: piece.process,
            op: piece.op,
            sector: piece.sector,
            nr_sectors: piece.nr_sectors,
            sync: piece.sync,
            meta: piece.meta,
            priority: piece.priority,
            allocated: now,
            deadline: piece.deadline,
        };
        self.slots[tag] = Some((request, piece.cookie, now));
        self.counters.inserted += 1;
        self.elevator.insert(now, request, InsertAt::Sorted);
        Entry::Inserted(request)
    }
}
