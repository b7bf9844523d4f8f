//! Other programs that write the settings which are to be persisted.
//!
//! A rule that is right and loses against another program at every start is worse than none: the
//! user believes in a setting that is not there. So everything that is known to write the scheduler
//! or attributes of a queue is looked for, and named with file and line, what it writes, who wins,
//! and what to do.
//!
//! Pure detection: nothing is run and nothing is changed. What is read is configuration, so a
//! conflict that is configured and not started is named too. A rule of udev is left out only where
//! one of its own conditions certainly does not hold for the device. power-profiles-daemon is not
//! looked for: it sets CPUs and platforms, no queue.

mod configured;
mod conflict;
mod pattern;
mod rules;

#[cfg(test)]
mod tests;

pub use conflict::{Conflict, Precedence, Question};

use crate::root::Root;

/// Every conflict there is, those that win first.
pub fn find(root: &Root, question: &Question<'_>) -> Vec<Conflict> {
    let mut all = rules::find(root, question);
    all.extend(configured::find(root, question));
    all.sort_by_key(|conflict| !conflict.order.beats_ours());
    all
}
