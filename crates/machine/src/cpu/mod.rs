//! The machine's CPU scheduler: what of it is changed for an experiment ([`Guard`]), and what it is
//! like ([`facts`]).
//!
//! What is changed on the machine (sysctls, features, governors, other tasks' masks) goes through
//! the guard, whose journal entry says before each change what to put back. What belongs to the
//! measured program alone goes with it ([`crate::placement`]) and needs no journal.

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
