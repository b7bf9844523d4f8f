//! A profile: who asks a disk for what, how the disk answers, and whether it is kept from work by
//! waiting or by not waiting.
//!
//! A [`Profiler`] takes requests in the order in which they were queued and keeps counts, no
//! requests: its memory is bounded by the number of disks, processes and outstanding requests, so
//! it follows a live disk as long as that is watched.
//!
//! Definitions, as in the anticipatory scheduler and btt: a *think time* is from the completion of
//! a process's last outstanding request to its next one; a *distance* is from the end of a
//! process's request to the beginning of its next; stages are the differences of
//! [`crate::io::Stage`]. What a trace does not know has no count.

mod actor;
mod anticipation;
mod columns;
mod counts;
mod device;
mod heat;
mod in_order;
mod occupancy;
mod profiler;
mod service;
mod shape;
mod stages;
mod terms;
#[cfg(test)]
mod tests;

pub use counts::{Distribution, quarter_start};
pub use heat::HeatMap;
pub use in_order::InOrder;
pub use profiler::{Profiler, of};
pub use shape::{
    Actor, Anticipation, Depth, DeviceProfile, Idle, Moment, Profile, Series, Service, StageTimes,
    Waits,
};
pub use terms::{DEVICES, HELD, NEAR};
