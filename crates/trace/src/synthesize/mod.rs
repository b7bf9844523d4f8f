//! A workload of a few parameters that does what a trace's processes do: its groups, and how
//! far it is from the trace.
//!
//! Problem. A trace is large, tells names and places, and cannot be varied: what if there were
//! twice as many clients? A workload of the table can, but is it like the work that was seen?
//!
//! Approach. Processes of one name, or one [pattern](by_pattern) of theirs, are a [`Group`]: so
//! many clients that each go on in order or jump, read or write, and think. Each parameter is a
//! figure of the [profile](crate::profile), and what no parameter says is named. The workload is
//! then run and profiled like the trace, and [`compare`] gives the distance between both
//! profiles, figure by figure.

mod figures;
mod groups;
mod patterns;
mod spread;

pub use figures::{Figure, Measure, compare};
pub use groups::{Group, Limits, Synthesis, groups};
pub use patterns::by_pattern;
pub use spread::Spread;
