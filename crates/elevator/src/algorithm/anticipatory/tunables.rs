//! The tunables of all members: those of 2.6.20, and switches for its oddities.

use crate::clock::Clock;
use crate::kind::{Evidence, Role, Tunable};

use super::trees::{ASYNC, SYNC};

pub(crate) const MAX_MS: u64 = i32::MAX as u64;

pub(crate) const fn ms(name: &'static str, help: &'static str) -> Tunable {
    Tunable {
        name,
        unit: "ms",
        min: 0,
        max: MAX_MS,
        evidence: Evidence::Confirmed,
        help,
        role: Role::Knob,
    }
}

pub(crate) const fn switch(name: &'static str, evidence: Evidence, help: &'static str) -> Tunable {
    Tunable { name, unit: "switch", min: 0, max: 1, evidence, help, role: Role::Knob }
}

pub(crate) const READ_EXPIRE: Tunable =
    ms("read_expire", "a synchronous request is old after this time (HZ/8)");
pub(crate) const WRITE_EXPIRE: Tunable =
    ms("write_expire", "an asynchronous request is old after this time (HZ/4)");
pub(crate) const READ_BATCH_EXPIRE: Tunable = ms(
    "read_batch_expire",
    "how long synchronous requests are served while asynchronous ones wait (HZ/2)",
);
pub(crate) const WRITE_BATCH_EXPIRE: Tunable = ms(
    "write_batch_expire",
    "how long a batch of asynchronous requests should take the device (HZ/8)",
);
pub(crate) const ANTIC_EXPIRE: Tunable = ms(
    "antic_expire",
    "how long to wait for the process served last; 0: never wait (HZ/150, at least a tick)",
);
pub(crate) const DRAIN: Tunable = switch(
    "drain",
    Evidence::Confirmed,
    "batch deadline when a batch begins by draining the device: 0 = left as it was (2.6.20), 1 = set (later kernels)",
)
.with_role(Role::Reading);
pub(crate) const FRONT_MERGE: Tunable = switch(
    "front_merge",
    Evidence::Confirmed,
    "front merges look in the tree of: 0 = the direction, so that reads find nothing (2.6.20), 1 = the request's class",
)
.with_role(Role::Reading);
pub(crate) const FIRST_WRITE: Tunable = switch(
    "first_write",
    Evidence::Confirmed,
    "a batch of writes begins: 0 = where the one before stopped (2.6.20's code), 1 = at the oldest (its documentation)",
)
.with_role(Role::Reading);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Age limit per class, in jiffies.
    pub(crate) fifo_expire: [u64; 2],
    /// Batch duration per class, in jiffies.
    pub(crate) batch_expire: [u64; 2],
    pub(crate) drain: bool,
    pub(crate) front_merge: bool,
    pub(crate) first_write: bool,
}

/// In jiffies.
pub(crate) fn default_antic_expire(clock: Clock) -> u64 {
    (clock.hz() / 150).max(1)
}

impl Settings {
    pub(crate) fn new(clock: Clock) -> Settings {
        let hz = clock.hz();
        let mut settings = Settings {
            fifo_expire: [0; 2],
            batch_expire: [0; 2],
            drain: false,
            front_merge: false,
            first_write: false,
        };
        (settings.fifo_expire[SYNC], settings.fifo_expire[ASYNC]) = (hz / 8, hz / 4);
        (settings.batch_expire[SYNC], settings.batch_expire[ASYNC]) = (hz / 2, hz / 8);
        settings
    }

    pub(crate) fn get(&self, clock: Clock, tunable: &str) -> Option<u64> {
        Some(match tunable {
            "read_expire" => clock.to_ms(self.fifo_expire[SYNC]),
            "write_expire" => clock.to_ms(self.fifo_expire[ASYNC]),
            "read_batch_expire" => clock.to_ms(self.batch_expire[SYNC]),
            "write_batch_expire" => clock.to_ms(self.batch_expire[ASYNC]),
            "drain" => u64::from(self.drain),
            "front_merge" => u64::from(self.front_merge),
            "first_write" => u64::from(self.first_write),
            _ => return None,
        })
    }

    pub(crate) fn set(&mut self, clock: Clock, tunable: &str, value: u64) -> bool {
        match tunable {
            "read_expire" => self.fifo_expire[SYNC] = clock.from_ms(value),
            "write_expire" => self.fifo_expire[ASYNC] = clock.from_ms(value),
            "read_batch_expire" => self.batch_expire[SYNC] = clock.from_ms(value),
            "write_batch_expire" => self.batch_expire[ASYNC] = clock.from_ms(value),
            "drain" => self.drain = value != 0,
            "front_merge" => self.front_merge = value != 0,
            "first_write" => self.first_write = value != 0,
            _ => return false,
        }
        true
    }
}
