//! The simulator: a workload's clients, a scheduler's queue and a modelled disk in virtual time.
//!
//! Pure: no clock, file or thread; one seed gives one run, bit for bit, on every machine. Time is
//! integer nanoseconds. A disk is one TOML file and one row of [`DEVICES`]; the tables of
//! schedulers and workloads are in their crates.
#![forbid(unsafe_code)]

pub mod conformance;
pub mod device;
mod engine;
mod error;
pub mod fit;
mod host;
mod random;
mod recorder;
mod trace;
mod trial;
mod turnaround;
pub mod workload;

pub use device::{DEVICES, DeviceKind, DeviceModel};
pub use engine::jain;
pub use error::SimError;
pub use host::{HANDOVER_NS, Host};
pub use random::{Stream, stream};
pub use recorder::Recorder;
pub use trace::{Event, EventKind, Observer, Unobserved};
pub use trial::{Outcome, Trial, queue_for, run, run_flow_alone, run_members};
pub use turnaround::Turnarounds;
pub use workload::Member;
