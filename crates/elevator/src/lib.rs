//! The vocabulary of I/O scheduling, the schedulers, and the queue around them.
//!
//! Every arena uses these types, so the crate has no dependencies, no clock and nothing that can
//! fail. Only this crate interprets user names of schedulers (`deadline`, `noop`, `cfq`).
//!
//! [`LINUX`] lists the schedulers of current kernels, [`QUEUE_ATTRIBUTES`] the queue settings
//! around them, and [`ELEVATORS`] the models that schedlab runs on modelled disks. To add a model,
//! write a file in `algorithm/` and a row in `table.rs`.
#![forbid(unsafe_code)]

mod algorithm;
mod chain;
mod choose;
mod clock;
pub mod curves;
mod decay;
mod dispatch_list;
mod fifo;
mod flows;
mod geometry;
mod kind;
mod knob;
mod linux;
mod nearest;
mod ordered;
mod queue;
mod queue_attribute;
mod queue_attributes;
pub mod realtime;
mod request;
mod scheduler;
mod sorted;
mod starts;
mod sweep;
mod table;
#[doc(hidden)]
pub mod testing;
mod textbook;
mod topology;
mod vocabulary;

pub use clock::Clock;
pub use flows::{DEFAULT_WEIGHT, Flows};
pub use geometry::{Geometry, SeekCurve};
pub use kind::{Build, ElevatorKind, Evidence, Guarantee, Origin, Role, Tunable};
pub use knob::Knob;
pub use linux::{Family, LINUX, LinuxScheduler, Named, resolve, schedulers_with};
pub use queue::{Bio, Counters, Entry, Limits, Queue};
pub use queue_attribute::{Ceiling, Initial, QueueAttribute, QueueFacts, Values};
pub use queue_attributes::{QUEUE_ATTRIBUTES, queue_attribute};
pub use request::{BlockRequest, Finished, PrioClass, Priority, SECTOR_BYTES};
pub use scheduler::{
    Anticipation, DepthLimit, Disk, Elevator, Features, FlowSpec, InsertAt, Legacy, Merge, NoDisk,
    Search, Survey,
};
pub use table::{ELEVATORS, find};
pub use topology::Topology;
pub use vocabulary::{Completion, Op, Request, Time};

/// The rules of WPCAS, for comparison with recorded I/O: process classifier and service time
/// evaluation.
pub mod wpcas_rule {
    pub use crate::algorithm::wpcas::classifier::{Classes, Intervals, Point, Region};
    pub use crate::algorithm::wpcas::evaluation::{Times, Waits};
}
