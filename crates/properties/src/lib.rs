//! The properties of I/O schedulers: one table of checks, with inputs and drivers.
//!
//! A property is a function of a row and an input. `elevator`'s tests check the Rust schedulers,
//! `kernel-model`'s the C ones, and both have mutants to show that properties can fail. To add one,
//! edit only [`properties`]. Not a feature of `elevator`, because everything that depends on
//! `elevator` would be compiled twice.
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
