//! `interleaved`: N readers that jointly scan one region, each reading every Nth block.
//!
//! A scheduler that waits for each reader or seeks between them loses the throughput of the merged
//! stream. Source: the S suite's interleaved benchmark [C]: reader i starts at i · 16 KiB, reads 16
//! KiB, skips (N − 1) · 16 KiB and, by a quirk of its script, one more byte, which makes readers
//! drift (`skip_extra=1:direct=false`). Departure: at the end of the region a reader restarts.

use elevator::{Op, Request};

use crate::workload::client::Client;
use crate::workload::paced::{Paced, Pattern};
use crate::workload::row::{Params, Seat};
use text::format_size;

struct Interleaved {
    first: u64,
    at: u64,
    len: u32,
    stride: u64,
    end: u64,
}

impl Pattern for Interleaved {
    #[inline]
    fn pick(&mut self) -> Option<Request> {
        let offset = if self.at + u64::from(self.len) > self.end { self.first } else { self.at };
        self.at = offset + self.stride;
        Some(Request::new(Op::Read, offset, self.len))
    }
}

pub(crate) fn fits(params: &Params, region: u64) -> Result<(), String> {
    let needed = u64::from(params.clients) * u64::from(params.block_size);
    if needed <= region {
        return Ok(());
    }
    let (needed, region) = (format_size(needed), format_size(region));
    Err(format!(
        "one block of each reader is {needed}, but the region has {region}; use fewer clients"
    ))
}

pub(crate) fn check_alignment(params: &Params, logical_block: u32) -> Result<(), String> {
    if params.skip_extra.is_multiple_of(logical_block) {
        return Ok(());
    }
    let extra = params.skip_extra;
    Err(format!(
        "skip_extra = {extra} is not a multiple of the target's block of {logical_block} bytes, as direct I/O needs; direct=false \
         does without"
    ))
}

pub(crate) fn build(params: &Params, seat: Seat) -> Box<dyn Client + Send> {
    let block = u64::from(params.block_size);
    let first = block * u64::from(seat.index);
    let stride = block * u64::from(seat.count) + u64::from(params.skip_extra);
    Box::new(Paced::new(
        Interleaved { first, at: first, len: params.block_size, stride, end: seat.len },
        params,
    ))
}

#[cfg(test)]
mod tests {
    use elevator::Time;

    use crate::workload::{Seat, Step, find};

    fn offsets(pairs: &[(&str, &str)], index: u32, n: usize) -> Vec<u64> {
        let row = find("interleaved").unwrap();
        let params = row.params(pairs.iter().copied()).unwrap();
        let mut client =
            row.client(&params, Seat { index, count: params.clients, len: 7 * 4096, seed: 1 });
        let step = |_| match client.next(Time::ZERO, None) {
            Step::Io(request) => request.offset,
            other => panic!("{other:?}"),
        };
        (0..n).map(step).collect()
    }

    #[test]
    fn the_readers_together_read_every_block_once_in_a_turn() {
        let base = [("clients", "3"), ("block_size", "4k")];
        let of =
            |index| offsets(&base, index, 2).into_iter().map(|at| at / 4096).collect::<Vec<_>>();
        assert_eq!([of(0), of(1), of(2)], [[0, 3], [1, 4], [2, 5]]);
        assert_eq!(offsets(&base, 0, 4), [0, 3 * 4096, 6 * 4096, 0]);
    }

    #[test]
    fn the_scripts_byte_is_there_if_it_is_asked_for() {
        let script =
            [("clients", "3"), ("block_size", "4k"), ("skip_extra", "1"), ("direct", "false")];
        assert_eq!(offsets(&script, 1, 2), [4096, 4 * 4096 + 1]);
        let row = find("interleaved").unwrap();
        let direct = row.params([("skip_extra", "1")]).unwrap();
        let error = row.extents(&direct, 1 << 20, 512).unwrap_err().to_string();
        assert!(error.contains("skip_extra = 1") && error.contains("direct=false"), "{error}");
    }
}
