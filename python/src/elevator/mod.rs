//! Schedulers written in Python, for teaching.
//!
//! Merges, tags, depth and counters belong to the common queue. Requeuing, merging and coalescing
//! have defaults here, so the smallest scheduler is a single method.

pub(crate) mod calls;
pub(crate) mod properties;
pub(crate) mod request;
pub(crate) mod rows;
mod scripted;
