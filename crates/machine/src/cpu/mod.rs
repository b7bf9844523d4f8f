//! CPU scheduler: changes for an experiment ([`Guard`]) and the machine's configuration
//! ([`facts`]).
//!
//! The guard journals changes to the machine (sysctls, features, governors, other tasks' masks).
//! Settings of the measured program alone, in [`crate::placement`], need no journal.

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
pub use facts::{Availability, facts, sched_ext_availability};
pub use guard::{Guard, Restoration, UNDO};
pub use isolate::sees_all_tasks;
pub use knob::{Knob, SCALES, Scale, knobs, other_numbers};
pub use setting::{Attribute, KEYS, Key, Setting};
