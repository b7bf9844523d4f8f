//! A profile: processes, access patterns, service times, and the cost of waiting or not waiting.
//!
//! A [`Profiler`] keeps only counts, so it can follow a live disk. As in the anticipatory scheduler
//! and btt, a *think time* is from the completion of a process's last outstanding request to its
//! next one, a *distance* from the end of a process's request to the beginning of its next, and
//! latencies are differences of [`crate::io::Stage`].

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
pub use profiler::{Profiler, profile_trace};
pub use shape::{
    Actor, Anticipation, Depth, DeviceProfile, Idle, Moment, Profile, Series, Service, StageTimes,
    Waits,
};
pub use terms::{DEVICES, HELD, NEAR};
