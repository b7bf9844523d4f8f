//! Attacks on the binary run as root, by another user, a plan, a table, a trace or a guest kernel.
//!
//! Each test performs an attack and asserts that it fails. `SCHEDLAB_UNDER_ATTACK=PATH` attacks
//! another binary: without the fix the test must fail. SECURITY.md lists the guarantees.

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
