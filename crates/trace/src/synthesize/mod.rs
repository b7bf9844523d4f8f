//! Synthesizes a workload with few parameters from a trace, and measures its distance from it.
//!
//! A trace cannot be varied, for example to twice as many clients. Processes of one name, or one
//! [pattern](by_pattern) of theirs, become a [`Group`] of clients. Each parameter is a figure of
//! the [profile](crate::profile); unparameterised properties are listed. [`compare`] gives the
//! distance of both profiles.

mod figures;
mod groups;
mod patterns;
mod spread;

pub use figures::{Figure, Measure, compare};
pub use groups::{Group, Limits, Synthesis, groups};
pub use patterns::by_pattern;
pub use spread::Spread;
