//! anticipatory: batches of reads and of writes in one-way order, and a short wait for the process
//! served last. Otherwise a synchronous reader issues its next request just after the scheduler has
//! sent the actuator away (deceptive idleness).
//!
//! After a synchronous request the device stays idle for a few milliseconds if the process is
//! likely to issue a close request; decaying means track its think times and seek distances.
//! `anticipatory/` is shared with antic-95 and wpcas. The rule in this file: wait for
//! `antic_expire`, unless the mean think time exceeds it.
//!
//! Source: Linux 2.6.20 block/as-iosched.c, block/elevator.c; confirmed, and checked a second time.
//!
//! Parameters (ms; ticks in brackets where they are not whole milliseconds):
//!
//! | name | definition | HZ 1000 | HZ 300 | HZ 250 | HZ 100 |
//! |---|---|---|---|---|---|
//! | read_expire | HZ/8 | 125 | 123.3 (37) | 124 (31) | 120 (12) |
//! | write_expire | HZ/4 | 250 | 250 | 248 (62) | 250 |
//! | read_batch_expire | HZ/2 | 500 | 500 | 500 | 500 |
//! | write_batch_expire | HZ/8 | 125 | 123.3 | 124 | 120 |
//! | antic_expire | HZ/150, at least 1 tick | 6 | 6.67 (2) | 4 (1) | 10 (1) |
//! | longest think time counted, fixed | HZ/50 − 1 tick | 19 | 16.7 (5) | 16 (4) | 10 (1) |
//! | writes in the first batch, fixed | a tenth of write_batch_expire's ticks, at least 2 | 12 | 3 | 3 | 2 |
//! | back seek, fixed | 1,048,576 sectors, counted twice | | | | |
//!
//! Switches, each 0 for the behaviour of 2.6.20: `drain`, `front_merge`, `first_write` (see
//! `anticipatory/tunables.rs`). With `drain` 0 a queueing device gets hardly any writes while reads
//! wait; later kernels behave as with 1. Departures: see `anticipatory/machine.rs`.

use crate::clock::Clock;
use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin};
use crate::scheduler::Elevator;

pub(super) mod arm;
mod dispatching;
pub(super) mod history;
pub(super) mod machine;
pub(super) mod rule;
#[cfg(test)]
pub(super) mod testing;
#[cfg(test)]
mod tests;
pub(super) mod timing;
mod trees;
pub(super) mod tunables;
mod waiting;

use machine::Machine;
use rule::{Outlook, Rule, thinks_too_long};
use timing::Period;

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "anticipatory",
    origin: Origin::LegacyLinux,
    help: "batches of reads and writes; waits a few ms for the next read of the process served last",
    source: "Linux 2.6.20 block/as-iosched.c",
    evidence: Evidence::Confirmed,
    // It bounds seeks to old requests, not latency, and the FIFO breaks sector order.
    guarantees: &[Guarantee::IdlesWithTimer],
    tunables: &[
        tunables::READ_EXPIRE,
        tunables::WRITE_EXPIRE,
        tunables::READ_BATCH_EXPIRE,
        tunables::WRITE_BATCH_EXPIRE,
        tunables::ANTIC_EXPIRE,
        tunables::DRAIN,
        tunables::FRONT_MERGE,
        tunables::FIRST_WRITE,
    ],
    build,
};

fn build(build: &Build) -> Box<dyn Elevator> {
    Box::new(Machine::new(build, MeanThinkTime::new(build)))
}

#[derive(Debug)]
struct MeanThinkTime {
    /// In jiffies.
    antic_expire: u64,
}

impl MeanThinkTime {
    fn new(build: &Build) -> MeanThinkTime {
        MeanThinkTime { antic_expire: tunables::default_antic_expire(Clock::new(build.hz)) }
    }
}

impl Rule for MeanThinkTime {
    fn is_on(&self) -> bool {
        self.antic_expire > 0
    }

    fn period(&mut self, _clock: Clock, _process: u32) -> Period {
        Period::Ticks(self.antic_expire)
    }

    fn fixes_period(&self) -> bool {
        // The timer is set once, but the end of a wait is checked against the current tunable.
        false
    }

    fn refuses(&mut self, see: &Outlook<'_>) -> bool {
        thinks_too_long(see, self.antic_expire)
    }

    fn get(&self, clock: Clock, tunable: &str) -> Option<u64> {
        (tunable == "antic_expire").then(|| clock.to_ms(self.antic_expire))
    }

    fn set(&mut self, clock: Clock, tunable: &str, value: u64) -> bool {
        if tunable == "antic_expire" {
            self.antic_expire = clock.from_ms(value);
        }
        tunable == "antic_expire"
    }
}
