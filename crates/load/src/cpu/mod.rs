//! CPU workloads ([`linpack`], [`messaging`], [`wakeup`], [`cyclic`], [`request`], [`frames`],
//! [`build`]), and background loads ([`spin`], [`memory`], [`forks`], [`io`]).
//!
//! Each runs in a process of this program with a hidden subcommand, so that it is placed and ended
//! like any program. Its parameters are a [`Spec`], its result a [`Report`].

pub mod build;
mod clock;
mod counted;
pub mod cyclic;
pub mod forks;
pub mod frames;
pub mod io;
mod latency;
pub mod linpack;
mod load;
pub mod memory;
pub mod messaging;
mod messenger;
mod periodic;
mod place;
mod report;
pub mod request;
mod spec;
pub mod spin;
#[allow(unsafe_code)]
mod sys;
pub mod wakeup;

pub use clock::compute_in_virtual_time;
pub use report::{Failure, Report};
pub use spec::{Spec, run};
