//! Search, then confirm: what `schedlab tune` is made of.
//!
//! `experiment::search` decides what is tried and what may be believed; the parts here give it a
//! space, an objective and trials, keep what was seen, and take its winner to an ordinary
//! experiment against the default.

pub mod commission;
pub mod course;
pub mod design;
pub mod log;
pub mod objective;
pub mod outcome;
mod pruning;
pub mod result;
pub mod scored;
pub mod session;
pub mod space;
