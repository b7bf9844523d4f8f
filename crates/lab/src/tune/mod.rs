//! `schedlab tune`: search, then confirm.
//!
//! `experiment::search` decides what to try and what to believe. This module supplies the space,
//! objective and trials, logs them, and compares the winner with the default in an ordinary
//! experiment.

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
