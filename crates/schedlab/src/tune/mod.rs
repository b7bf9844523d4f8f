//! Search, then confirm: what `schedlab tune` is made of.
//!
//! `tuner` decides what is tried and what may be believed; the parts here give it a space, an objective and trials, keep what was
//! seen, and take its winner to an ordinary experiment against the default.

pub(crate) mod log;
pub(crate) mod objective;
pub(crate) mod result;
pub(crate) mod scored;
pub(crate) mod session;
pub(crate) mod space;
