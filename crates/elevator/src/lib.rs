//! The vocabulary of I/O scheduling, the schedulers themselves, and the queue around them.
//!
//! This is the bottom of the workspace: every arena speaks these words, so the crate has no
//! dependencies, no clock and nothing that can fail. A user's word for a scheduler (`deadline`,
//! `noop`, `cfq`) is understood here and nowhere else.
//!
//! Three tables: [`LINUX`] is what a current kernel can run, [`QUEUE_ATTRIBUTES`] what can be set
//! on the queue around it; [`ELEVATORS`] is what the laboratory runs itself, on modelled disks: the
//! schedulers of Linux since 2.4 (of CFQ one version), and those of the literature. To add one,
//! write one file in `algorithm/` and one row in `table.rs`.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

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

/// How WPCAS decides, for those who hold it against recorded work: the process classifier and the
/// service time evaluation.
pub mod wpcas_rule {
    pub use crate::algorithm::wpcas::classifier::{Classes, Intervals, Point, Region};
    pub use crate::algorithm::wpcas::evaluation::{Times, Waits};
}
