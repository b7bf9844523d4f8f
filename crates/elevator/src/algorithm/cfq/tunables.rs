//! The tunables; meanings and defaults are in the table of [`super`].

use crate::clock::Clock;
use crate::kind::{Evidence, Role, Tunable};

const UINT_MAX: u64 = u32::MAX as u64;

const fn tunable(name: &'static str, unit: &'static str, min: u64, help: &'static str) -> Tunable {
    Tunable {
        name,
        unit,
        min,
        max: UINT_MAX,
        evidence: Evidence::Confirmed,
        help,
        role: Role::Knob,
    }
}

const fn slip(name: &'static str, help: &'static str) -> Tunable {
    Tunable {
        name,
        unit: "switch",
        min: 0,
        max: 1,
        evidence: Evidence::Derived,
        help,
        role: Role::Reading,
    }
}

pub(super) const ROWS: &[Tunable] = &[
    tunable("quantum", "requests", 1, "requests moved to the dispatch list in one round"),
    tunable(
        "fifo_expire_sync",
        "ms",
        1,
        "age from which a synchronous request is taken out of order",
    ),
    tunable(
        "fifo_expire_async",
        "ms",
        1,
        "age from which an asynchronous request is taken out of order",
    ),
    tunable("back_seek_max", "KiB", 0, "longest backward seek"),
    tunable(
        "back_seek_penalty",
        "factor",
        1,
        "factor by which a backward distance counts more than a forward one",
    ),
    tunable("slice_sync", "ms", 1, "slice of a process at priority 4"),
    tunable("slice_async", "ms", 1, "slice of the shared queue of priority 4"),
    tunable(
        "slice_async_rq",
        "requests",
        1,
        "scale of the number of requests that end an async slice",
    ),
    tunable(
        "slice_idle",
        "ms",
        0,
        "time to idle for the next request of the process whose slice it is; 0: none",
    ),
    slip(
        "preempt_slip",
        "1: only a queue that is waited for preempts, as in the source; 0: any queue",
    ),
    slip(
        "new_queue_slip",
        "1: new queues are placed as the source's code does; 0: first, as its comment says",
    ),
];

/// Times in jiffies.
#[derive(Debug, Clone)]
pub(super) struct Tunables {
    pub(super) quantum: u64,
    pub(super) fifo_expire_sync: u64,
    pub(super) fifo_expire_async: u64,
    pub(super) back_seek_max_kib: u64,
    pub(super) back_seek_penalty: u64,
    pub(super) slice_sync: u64,
    pub(super) slice_async: u64,
    pub(super) slice_async_rq: u64,
    pub(super) slice_idle: u64,
    pub(super) preempt_slip: bool,
    pub(super) new_queue_slip: bool,
}

impl Tunables {
    /// The defaults at this HZ.
    pub(super) fn new(clock: Clock) -> Tunables {
        let hz = clock.hz();
        Tunables {
            quantum: 4,
            fifo_expire_sync: hz / 8,
            fifo_expire_async: hz / 4,
            back_seek_max_kib: 16 * 1024,
            back_seek_penalty: 2,
            slice_sync: hz / 10,
            slice_async: (hz / 25).max(1),
            slice_async_rq: 2,
            slice_idle: (hz / 125).max(1),
            preempt_slip: true,
            new_queue_slip: true,
        }
    }

    pub(super) fn get(&self, clock: Clock, tunable: &str) -> u64 {
        let ms = |jiffies| clock.to_ms(jiffies);
        match tunable {
            "quantum" => self.quantum,
            "fifo_expire_sync" => ms(self.fifo_expire_sync),
            "fifo_expire_async" => ms(self.fifo_expire_async),
            "back_seek_max" => self.back_seek_max_kib,
            "back_seek_penalty" => self.back_seek_penalty,
            "slice_sync" => ms(self.slice_sync),
            "slice_async" => ms(self.slice_async),
            "slice_async_rq" => self.slice_async_rq,
            "slice_idle" => ms(self.slice_idle),
            "preempt_slip" => u64::from(self.preempt_slip),
            "new_queue_slip" => u64::from(self.new_queue_slip),
            _ => unreachable!("cfq has no tunable {tunable}"),
        }
    }

    pub(super) fn set(&mut self, clock: Clock, tunable: &str, value: u64) {
        let jiffies = clock.from_ms(value);
        match tunable {
            "quantum" => self.quantum = value,
            "fifo_expire_sync" => self.fifo_expire_sync = jiffies,
            "fifo_expire_async" => self.fifo_expire_async = jiffies,
            "back_seek_max" => self.back_seek_max_kib = value,
            "back_seek_penalty" => self.back_seek_penalty = value,
            "slice_sync" => self.slice_sync = jiffies,
            "slice_async" => self.slice_async = jiffies,
            "slice_async_rq" => self.slice_async_rq = value,
            "slice_idle" => self.slice_idle = jiffies,
            "preempt_slip" => self.preempt_slip = value != 0,
            "new_queue_slip" => self.new_queue_slip = value != 0,
            _ => unreachable!("cfq has no tunable {tunable}"),
        }
    }
}
