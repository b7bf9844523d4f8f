//! The machine's CPU scheduler: changes for an experiment ([`Guard`]) and its configuration
//! ([`facts`]).
//!
//! Changes to the machine (sysctls, features, governors, other tasks' masks) go through the guard,
//! which journals how to revert each change before making it. Settings of the measured program
//! alone are in [`crate::placement`] and need no journal.

mod attributes;
mod facts;
mod guard;
mod isolate;
mod knob;
mod ledger;
mod realtime;
mod sched_ext;
#[cfg(test)]
mod sched_ext_tests;
mod setting;

#[cfg(test)]
pub(crate) use attributes::fake_machine;
pub use facts::{Here, facts, sched_ext_here};
pub use guard::{Guard, Restoration, UNDO};
pub use isolate::sees_all_tasks;
pub use knob::{Knob, SCALES, Scale, knobs, other_numbers};
pub use setting::{Attribute, KEYS, Key, Setting};
