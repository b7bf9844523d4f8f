//! What unit tests of this crate share.

use crate::request::{BlockRequest, Priority};
use crate::vocabulary::{Op, Time};

/// A synchronous read of 8 sectors by process 0, allocated at the start; `seq` is the tag.
pub(crate) fn request(tag: u32, sector: u64) -> BlockRequest {
    BlockRequest {
        tag,
        seq: u64::from(tag),
        process: 0,
        op: Op::Read,
        sector,
        nr_sectors: 8,
        sync: true,
        meta: false,
        priority: Priority::default(),
        allocated: Time::ZERO,
        deadline: None,
    }
}
