//! Work for processors: what CPU schedulers are compared by ([`linpack`], …), and what goes on beside it ([`spin`], …).
//!
//! One file a work. Each runs in a process of its own, which is this program with a hidden subcommand: so nice level, policy and mask are
//! given to it as to any other program, and it can be ended by a signal. What it has to do is an [`Order`], what came of it a [`Report`].

pub mod linpack;
mod order;
pub mod spin;

pub use order::{Failure, Order, Report, run};
