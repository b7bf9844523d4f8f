//! Finds other programs that write persisted settings.
//!
//! If another program overrides the rule at every boot, the user relies on a setting that is not in
//! effect. All known writers of scheduler and queue attributes are reported with file, line, value,
//! precedence and remedy.
//!
//! Only configuration is read, so inactive services are reported too. A udev rule is ignored only
//! if one of its conditions certainly fails. power-profiles-daemon sets no queue attributes.

mod configured;
mod conflict;
mod pattern;
mod rules;

#[cfg(test)]
mod tests;

pub use conflict::{Conflict, Precedence, Question};

use crate::root::Root;

/// Returns the winning ones first.
pub fn find(root: &Root, question: &Question<'_>) -> Vec<Conflict> {
    let mut all = rules::find(root, question);
    all.extend(configured::find(root, question));
    all.sort_by_key(|conflict| !conflict.order.beats_ours());
    all
}
