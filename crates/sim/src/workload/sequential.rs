//! `seqread`, `seqwrite`: a stream through the region, block by block, wrapping around: backups,
//! scans, logs, copies.
//!
//! Several clients share the region and start at equal distances, so N clients are N streams, which
//! a scheduler must keep apart [P]. With a common start, as in some load generators, the second
//! client would read what the first has just read.

use elevator::{Op, Request};

use crate::workload::client::Client;
use crate::workload::paced::{Paced, Pattern};
use crate::workload::row::{Params, Seat};
use crate::workload::timed::rate::limit_rate;

#[derive(Debug)]
pub(crate) struct Stream {
    op: Op,
    len: u32,
    at: u64,
    end: u64,
}

impl Stream {
    /// Creates client `index` of `count`, over `region` bytes in blocks of `len`.
    pub(crate) fn new(op: Op, len: u32, region: u64, index: u32, count: u32) -> Stream {
        let blocks = region / u64::from(len);
        let first = (u128::from(blocks) * u128::from(index) / u128::from(count)) as u64;
        Stream { op, len, at: first * u64::from(len), end: blocks * u64::from(len) }
    }
}

impl Pattern for Stream {
    #[inline]
    fn pick(&mut self) -> Option<Request> {
        let offset = if self.at >= self.end { 0 } else { self.at };
        self.at = offset + u64::from(self.len);
        Some(Request::new(self.op, offset, self.len))
    }
}

pub(crate) fn read(params: &Params, seat: Seat) -> Box<dyn Client + Send> {
    build(Op::Read, params, seat)
}

pub(crate) fn write(params: &Params, seat: Seat) -> Box<dyn Client + Send> {
    build(Op::Write, params, seat)
}

fn build(op: Op, params: &Params, seat: Seat) -> Box<dyn Client + Send> {
    let stream = Stream::new(op, params.block_size, seat.len, seat.index, seat.count);
    limit_rate(params, Box::new(Paced::new(stream, params)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_reads_every_block_in_order_and_starts_again() {
        let mut stream = Stream::new(Op::Read, 4096, 3 * 4096 + 100, 0, 1);
        let offsets: Vec<u64> = (0..5).map(|_| stream.pick().unwrap().offset / 4096).collect();
        assert_eq!(offsets, [0, 1, 2, 0, 1]);
    }

    #[test]
    fn streams_of_one_region_start_at_equal_distances() {
        let first =
            |index| Stream::new(Op::Read, 4096, 8 * 4096, index, 4).pick().unwrap().offset / 4096;
        assert_eq!([0, 1, 2, 3].map(first), [0, 2, 4, 6]);
    }
}
