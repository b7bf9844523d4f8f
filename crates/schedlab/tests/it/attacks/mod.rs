//! Attacks on the built binary run as root, by another local user, a plan, a table, a trace or a
//! guest kernel.
//!
//! Each test performs one attack and asserts that it fails. `SCHEDLAB_UNDER_ATTACK=PATH` attacks
//! another binary: one without the fix must fail the test, which proves the attack real.
//! SECURITY.md lists the guarantees.

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
