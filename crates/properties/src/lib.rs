//! The properties of I/O schedulers: one table of checks, and the inputs and drivers that they
//! need.
//!
//! A property is a function of a row and an input. The tests of `elevator` check the Rust
//! schedulers, those of `kernel-model` the C schedulers, and the mutants of both show that the
//! properties can fail; a property is added in [`properties`] alone. This is a crate, not a feature
//! of `elevator`, because a feature would compile everything that depends on `elevator` twice, with
//! and without it.
#![forbid(unsafe_code)]

#[macro_use]
mod require;

mod adversary;
mod adverse;
mod bounds;
pub mod deadlines;
mod drive;
pub mod guarantees;
pub mod input;
mod order;
pub mod original;
pub mod properties;
pub mod samples;
#[cfg(feature = "proptest")]
mod strategy;
#[cfg(feature = "proptest")]
pub mod verdicts;

pub use drive::catch_panic;
pub use guarantees::{FLOW_PROPERTIES, Scenario};
pub use input::Input;
pub use properties::{PROPERTIES, Property, assess, broken_of, broken_properties, property};
#[cfg(feature = "proptest")]
pub use strategy::{
    broken_guarantees, check, check_flows, check_with, fixed_inputs, fixed_scenarios, inputs,
    scenarios, search, search_again,
};
