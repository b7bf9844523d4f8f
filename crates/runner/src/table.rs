//! The table of runners.

use crate::kind::RunnerKind;
use crate::{command, postmark, startup};

/// Every runner.
pub static RUNNERS: &[&RunnerKind] = &[&command::COMMAND, &postmark::POSTMARK, &startup::STARTUP];

/// The row of a runner.
pub fn find(name: &str) -> Option<&'static RunnerKind> {
    RUNNERS.iter().copied().find(|row| row.name == name)
}
