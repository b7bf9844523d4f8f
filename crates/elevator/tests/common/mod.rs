//! What the laws over every elevator share: inputs, drivers, the laws themselves, and sample elevators.
//!
//! A law is a plain function of a row and an input, so that the same code judges the real rows (`laws.rs`) and the mutants that
//! it must kill (`mutants/`).
#![allow(dead_code, unreachable_pub)]

pub mod adversary;
pub mod drive;
pub mod input;
pub mod laws;
pub mod samples;
pub mod strategy;

pub use drive::caught;
pub use input::Input;
pub use laws::{LAWS, Law};
pub use strategy::inputs;

use elevator::ElevatorKind;

/// Judges a row by a law; a panic breaks it.
pub fn judge(law: &Law, kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    caught(|| (law.check)(kind, input)).unwrap_or_else(|panic| Err(format!("panicked: {panic}")))
}
