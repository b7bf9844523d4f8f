//! A trace as work that can be done again: which requests each process makes, and what each of
//! them waits for.
//!
//! **Problem.** A trace says when requests were made. On another disk, or under another
//! scheduler, programs would have made them at other times: most wait for an answer before they go
//! on. Replayed at the recorded times, a slower disk is flooded and a faster one idles; so it is a
//! test of the arrival process, not of the programs.
//!
//! **Open loop** ([`LoopMode::Open`]) keeps the recorded times.
//!
//! **Closed loop** ([`LoopMode::Closed`]) infers what each request waited for ([`infer`]): its
//! process's latest completion before it, and the time from there to the request, in which the
//! process computed.
//!
//! What is read and written is replayed; flushes, discards and the rest are counted and left out.
//! Disks of one trace lie one after another on the target, each on a border of 1 MiB [P]. Disks
//! of a kernel may lie below each other (device-mapper, md), and their requests would be replayed
//! twice: there the first one's are replayed, unless another is named, or all that lie below none.

mod infer;
mod layout;
mod part;
mod requests;
#[cfg(test)]
mod tests;
mod types;

pub use part::Part;
pub use requests::{Lane, Replay, Summary};
pub use types::{LoopMode, Options, ReplayError, Request, Start};
