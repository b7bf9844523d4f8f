//! CPU workloads, by which CPU schedulers are compared ([`linpack`], [`messaging`], [`wakeup`],
//! [`cyclic`]), and the loads beside them ([`spin`], [`memory`], [`forks`], [`io`]).
//!
//! One file a workload. Each runs in a process of its own, which is this program with a hidden
//! subcommand: so nice level, policy and mask are set as for any other program, and it can be ended
//! by a signal. Its parameters are a [`Spec`], its result a [`Report`].

mod clock;
mod counted;
pub mod cyclic;
pub mod forks;
pub mod io;
mod latency;
pub mod linpack;
mod load;
pub mod memory;
pub mod messaging;
mod messenger;
mod report;
mod spec;
pub mod spin;
#[allow(unsafe_code)]
mod sys;
pub mod wakeup;

pub use report::{Failure, Report};
pub use spec::{Spec, run};
