//! Finds other programs that write the settings to be persisted.
//!
//! A rule that loses to another program at every boot is worse than none: the user relies on a
//! setting that is not in effect. Therefore, all known writers of the scheduler and queue
//! attributes are reported with file, line, value, precedence and remedy.
//!
//! Only configuration is read, so inactive services are reported too. A udev rule is ignored only
//! if one of its conditions certainly fails for the device. power-profiles-daemon is not checked:
//! it sets CPUs and platform profiles, not queues.

mod configured;
mod conflict;
mod pattern;
mod rules;

#[cfg(test)]
mod tests;

pub use conflict::{Conflict, Precedence, Question};

use crate::root::Root;

/// The conflicts that win come first.
pub fn find(root: &Root, question: &Question<'_>) -> Vec<Conflict> {
    let mut all = rules::find(root, question);
    all.extend(configured::find(root, question));
    all.sort_by_key(|conflict| !conflict.order.beats_ours());
    all
}
