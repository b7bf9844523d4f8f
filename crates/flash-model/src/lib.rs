//! A flash device: channels, dies and planes as servers, a host link, a write buffer, and an FTL.
//!
//! Source: the two-stage model of algorithms.md §3.8 (a proposal), with figures of MQSim, NVMeVirt
//! and FEMU in the presets. A read passes die, channel (only the bytes needed) and link, page by
//! page. A write waits for buffer room, crosses the link and is packed into pages; with early
//! completion it is then done, otherwise when its last page is programmed. Collection takes the
//! die's time.
//!
//! The crate has no standard library: the simulator uses it, and so does the block driver of the
//! kernel arena (kernel/flash), which therefore computes the same times.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod config;
mod device;
mod dies;
mod events;
mod front;
mod ftl;
mod medium;
mod random;
mod servers;
mod types;

pub use config::{Condition, Config, decode, encode, least_blocks};
pub use device::{Flash, MAX_SECTORS};
pub use dies::Priority;
pub use ftl::{MAX_UNITS, Shape, UNIT_BYTES};
pub use random::Origin;
pub use servers::Times;
pub use types::{Completion, Counters, Op, SECTOR_BYTES, Settings, Transfer, UNIT_SECTORS};
