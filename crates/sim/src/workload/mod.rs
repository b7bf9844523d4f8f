//! Client programs as pure step generators, and the table of workloads.
//!
//! A client is a value: each call passes the last completion and returns the next step. It owns no
//! clock, file or thread, so it drives a real disk, a simulated one or a kernel in virtual time
//! with the same steps. Results have the same definitions everywhere: [`Measured`] and [`metrics`].
//! A new workload is one file and one row of [`WORKLOADS`].

mod bisect;
mod client;
mod contract;
mod contracted;
mod dss;
mod flows;
mod hdparm;
mod interleaved;
mod iozone;
mod kind;
mod measure;
mod member;
mod mixed;
mod paced;
mod param;
mod param_table;
mod phase;
mod postmark;
mod random;
pub mod replay;
mod rng;
mod row;
mod sequential;
mod table;
mod think;
mod think_mix;
mod timed;
mod virtual_machines;

pub use bisect::largest;
pub use client::{Client, Step};
pub use contract::Contract;
pub use kind::{Described, DescribedParam, UnknownWorkload};
pub use measure::{
    ClientTotals, Curve, DeadlineTotals, FlowMeasured, INTERVAL_NS, Intervals, Issued, Lived,
    METRIC_NAMES, Measured, OpTotals, PERCENTILES, against_alone, latency_curves, metrics,
    needed_for,
};
pub use member::{Member, Pass};
pub use param::Param;
pub use param_table::{PARAMS, ParamError};
pub use phase::Phase;
pub use postmark::{PostmarkOperation, PostmarkOperations, PostmarkParams, PostmarkPhase};
pub use replay::ReplayParams;
pub use rng::exponential;
pub use row::{Extent, FlowWork, Layout, Params, Seat, WorkloadKind};
pub use table::{WORKLOADS, describe, find};
pub use think::ThinkDist;
pub use timed::setup::TimedParams;
pub use timed::task_set::{Task, TaskSet};
