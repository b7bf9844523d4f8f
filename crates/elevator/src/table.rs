//! The table of the schedulers that the laboratory runs itself: one row each.
//!
//! Names, help, laws, benchmarks and documentation follow from the rows. Adding a scheduler takes its own file in
//! `algorithm/`, which holds its row, and one line here.

use crate::algorithm;
use crate::kind::ElevatorKind;

/// Every scheduler.
pub static ELEVATORS: &[ElevatorKind] = &[
    algorithm::none::ROW,
    // Linux before blk-mq.
    algorithm::noop::ROW,
    algorithm::linus_24::ROW,
    algorithm::deadline::ROW,
    algorithm::cfq::ROW,
];

/// The row of a scheduler.
pub fn find(name: &str) -> Option<&'static ElevatorKind> {
    ELEVATORS.iter().find(|row| row.name == name)
}
