//! Attacks: another local user, a plan, a table, a trace or a guest's kernel that is hostile,
//! against the built binary run as root.
//!
//! Each test performs one attack and asserts that the harm is not done.
//! `SCHEDLAB_UNDER_ATTACK=PATH` attacks another binary: on one from before a fix the test fails,
//! which shows that the attack is real. SECURITY.md says what is guaranteed against whom.

mod attacker;
mod bounds;
mod fleets;
mod guests;
mod helpers;
mod inputs;
mod locks;
mod loop_files;
mod marks;
pub(crate) mod output;
mod plans;
mod rights;
mod segments;
mod state;
mod texts;
mod traces;
mod written;
