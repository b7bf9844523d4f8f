//! Schedulers written in Python, for teaching.
//!
//! The queue around them is that of every scheduler of the table: merges, tags, depth and counters
//! are not the student's. What a class of Python leaves out (requests that are requeued, merged,
//! coalesced) is done here, so that the smallest scheduler is one method.

pub(crate) mod calls;
pub(crate) mod properties;
pub(crate) mod request;
pub(crate) mod rows;
mod scripted;
