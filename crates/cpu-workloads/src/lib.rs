//! Work for CPUs: what CPU schedulers are compared by ([`linpack`], [`messaging`], [`wakeup`], [`cyclic`]), and what goes
//! on beside it ([`spin`], [`memory`], [`forks`], [`io`]).
//!
//! One file a work. Each runs in a process of its own, which is this program with a hidden subcommand: so nice level, policy and mask are
//! given to it as to any other program, and it can be ended by a signal. What it has to do is an [`Spec`], what came of it a [`Report`].

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
mod report;
mod shared;
mod spec;
pub mod spin;
pub mod wakeup;

pub use report::{Failure, Report};
pub use spec::{Spec, run};
