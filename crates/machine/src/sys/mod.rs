//! Unsafe code: system calls that rustix does not have, and the work between fork and exec.

mod apart;
mod before_exec;
pub(crate) mod block;
mod clock;
mod schedule;
mod usage;

pub(crate) use before_exec::BeforeExec;
pub use clock::now_ns;
pub(crate) use schedule::{SchedAttr, sched_getaffinity, sched_setaffinity, set_ioprio, set_nice};
pub use usage::Usage;
pub(crate) use usage::usage_of_ended;
