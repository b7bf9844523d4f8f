//! The laws of I/O schedulers: one table of checks, and the inputs and drivers that they need.
//!
//! A law is a function of a row and an input. The tests of `elevator` check the Rust schedulers, those of `kernel-core` the C
//! schedulers, and the mutants of both show that the laws can fail; a law is added in [`laws`] alone. This is a crate, not a feature
//! of `elevator`, because a feature would compile everything that depends on `elevator` twice, with and without it.
#![forbid(unsafe_code)]

use elevator::ElevatorKind;

/// Returns an error with a message unless the condition holds.
macro_rules! ensure {
    ($holds:expr, $($message:tt)*) => {
        if !$holds {
            return Err(format!($($message)*));
        }
    };
}

mod adversary;
mod bounds;
mod drive;
pub mod input;
pub mod laws;
mod order;
pub mod samples;
#[cfg(feature = "proptest")]
mod strategy;

pub use drive::catch_panic;
pub use input::Input;
pub use laws::{LAWS, Law, law};
#[cfg(feature = "proptest")]
pub use strategy::{check, fixed_inputs, inputs};

/// Checks a row against a law with one input. A panic breaks the law.
///
/// # Errors
/// Says how the law is broken.
pub fn judge(law: &Law, kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    catch_panic(|| (law.check)(kind, input)).unwrap_or_else(|panic| Err(format!("panicked: {panic}")))
}

/// The names of the laws that at least one of the rows breaks with one of the inputs.
pub fn broken_laws(rows: &[&ElevatorKind], inputs: &[Input]) -> Vec<&'static str> {
    let breaks = |law: &&Law| rows.iter().any(|row| inputs.iter().any(|input| judge(law, row, input).is_err()));
    LAWS.iter().filter(breaks).map(|law| law.name).collect()
}
