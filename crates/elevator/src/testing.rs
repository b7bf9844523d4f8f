//! Requests for tests of the workspace.

use crate::request::{BlockRequest, Priority};
use crate::vocabulary::{Op, Time};

/// 8 sectors by process 0 at time 0; `seq` equals the tag.
#[must_use]
pub fn request(tag: u32, sector: u64) -> BlockRequest {
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
        release: None,
        deadline: None,
    }
}
