//! What the laws over every elevator share: inputs, drivers, the laws themselves, and sample elevators.
//!
//! A law is a plain function of a row and an input, so that the same code judges the real rows (`laws.rs`) and the mutants that
//! it must kill (`mutants.rs`).
#![allow(dead_code, unreachable_pub)]

pub mod adversary;
pub mod drive;
pub mod input;
pub mod laws;
pub mod samples;

pub use input::{Input, inputs};
pub use laws::{LAWS, Law};

use elevator::ElevatorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Judges a row by a law; a panic breaks it.
pub fn judge(law: &Law, kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    caught(|| (law.check)(kind, input)).unwrap_or_else(|panic| Err(format!("panicked: {panic}")))
}

/// The value, or the words of the panic.
pub fn caught<T>(what: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(what)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string())).unwrap_or_default()
    })
}
