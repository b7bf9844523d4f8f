//! `dss`: decision support, several concurrent scans in requests of 32 to 256 KiB [C, RHEL 4
//! analysis].
//!
//! The source gives the range of sizes, sequential and read-only. Ours [P]: each size is drawn
//! uniformly from block_size, twice that, … up to block_size_max; clients are streams that start at
//! equal distances and wrap around.

use elevator::{Op, Request};

use crate::workload::client::Client;
use crate::workload::paced::{Paced, Pattern};
use crate::workload::rng::Rng;
use crate::workload::row::{Params, Seat};

struct Scan {
    rng: Rng,
    smallest: u32,
    /// Number of sizes: smallest << 0 … smallest << (sizes - 1).
    sizes: u64,
    at: u64,
    end: u64,
}

impl Pattern for Scan {
    #[inline]
    fn pick(&mut self) -> Option<Request> {
        let len = self.smallest << self.rng.below(self.sizes);
        let offset = if self.at + u64::from(len) > self.end { 0 } else { self.at };
        self.at = offset + u64::from(len);
        Some(Request::new(Op::Read, offset, len))
    }
}

pub(crate) fn build(params: &Params, seat: Seat) -> Box<dyn Client + Send> {
    let block = u64::from(params.block_size);
    let blocks = seat.len / block;
    let first = (u128::from(blocks) * u128::from(seat.index) / u128::from(seat.count)) as u64;
    let sizes = u64::from((params.block_size_max / params.block_size).ilog2()) + 1;
    let scan = Scan {
        rng: seat.rng(),
        smallest: params.block_size,
        sizes,
        at: first * block,
        end: blocks * block,
    };
    Box::new(Paced::new(scan, params))
}
