//! The vocabulary of I/O scheduling, and the table of the I/O schedulers that Linux has or had.
//!
//! This is the bottom of the workspace: every arena speaks these words, so the crate has no dependencies, no clock and
//! nothing that can fail. A user's word for a scheduler (`deadline`, `noop`, `cfq`) is understood here and nowhere else.
#![forbid(unsafe_code)]

mod linux;
mod vocabulary;

pub use linux::{Family, LINUX, LinuxScheduler, Named, resolve};
pub use vocabulary::{Completion, Op, Request, Time};
