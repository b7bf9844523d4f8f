//! The table of the schedulers that the laboratory runs itself: one row each.
//!
//! Names, help, laws, benchmarks and documentation follow from the rows. Adding a scheduler takes its own file in
//! `algorithm/` and one row here.

use crate::algorithm;
use crate::kind::{ElevatorKind, Evidence, Origin, Promise};

/// Every scheduler.
pub static ELEVATORS: &[ElevatorKind] = &[ElevatorKind {
    name: "none",
    origin: Origin::BlkMq,
    help: "no scheduler: order of arrival, ordering is left to the drive",
    source: "Linux 6.12 block/blk-mq.c",
    evidence: Evidence::Confirmed,
    promises: &[Promise::WorkConserving, Promise::ArrivalOrder, Promise::PassedAtMost { requests: 0 }],
    tunables: &[],
    build: algorithm::none::build,
}];

/// The row of a scheduler.
pub fn find(name: &str) -> Option<&'static ElevatorKind> {
    ELEVATORS.iter().find(|row| row.name == name)
}
