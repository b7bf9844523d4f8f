//! A trace as repeatable work: each process's requests, and what each waits for.
//!
//! Replayed at recorded times (open loop), a slower disk is flooded and a faster one idles, because
//! most programs wait for completions. The closed loop infers dependencies ([`infer`]). Only reads
//! and writes are replayed. Disks lie one after another on the target, aligned to 1 MiB [P]. Of
//! stacked disks (device-mapper, md) only the first one's requests are replayed by default.

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
