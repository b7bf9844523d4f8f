//! `streams`: periodic media streams, each a sequential read of block_size once in a period, to be
//! there when the next one begins.
//!
//! Problem. A media server reads for each viewer as much as the viewer plays in a period. The data
//! of period k is requested at its begin and must be there at its end; what is late is a gap in the
//! picture. How many viewers can one disk serve?
//!
//! Approach. Stream i has the i-th part of the region and walks through it block by block. Request
//! k is made and released at k periods after the start and is due `deadline_periods` periods later:
//! 1 is the plain case, more are the relaxed deadlines of the SCAN-EDF paper, which buy more
//! streams with more buffers. The clients are open loops: a late request shifts no later one.
//!
//! Source. Reddy & Wyllie (ACM MM'93): streams of constant rate, deadlines that are relaxed by
//! whole periods [C abstract]. The rate of 150 KiB/s (MPEG-1) is recalled [R]; size and period are
//! ours [P]. The video client of the S suite [P there]: 25 frames a second of 48 KB,
//! `block_size=48k:period=40ms:clients=1`; a late frame is a dropped frame, so the share of drops
//! is deadline_miss_percent.
//!
//! Parameters: clients (streams), block_size (60 KiB), period (400 ms), deadline_periods (1),
//! stagger (false: all periods begin together, which is what gives SCAN-EDF equal deadlines; true:
//! stream i of n begins i/n of a period later), iodepth (8; a stream that has as many open waits),
//! find_streams (false; true: a trial finds the largest number of streams, up to clients, that miss
//! no deadline, by bisection, and reports it as schedulable_streams), file_size, direct.
//!
//! Departures: a late request is served, not given up: its bytes were asked for, and the device has
//! to read them.

use elevator::{Op, Request};

use super::{Arrival, OpenLoop, Schedule};
use crate::workload::client::Client;
use crate::workload::paced::Pattern;
use crate::workload::row::{Params, Seat};
use crate::workload::sequential::Stream;
use text::{format_duration, format_size};

/// Shorter periods are typing errors.
const SHORTEST_PERIOD_NS: u64 = 1_000;
/// A stream without a first request inside a trial has no metric.
const LONGEST_PERIOD_NS: u64 = 3_600_000_000_000;
const MAX_DEADLINE_PERIODS: u32 = 1_000;

struct Periodic {
    stream: Stream,
    /// First byte of the stream's part.
    base: u64,
    period_ns: u64,
    deadline_ns: u64,
    /// When the next period begins.
    next_ns: u64,
}

impl Schedule for Periodic {
    fn draw(&mut self) -> Option<Arrival> {
        let block = self.stream.pick()?;
        let at_ns = self.next_ns;
        self.next_ns += self.period_ns;
        let request = Request::new(Op::Read, self.base + block.offset, block.len);
        Some(Arrival {
            at_ns,
            release_ns: at_ns,
            deadline_ns: Some(at_ns + self.deadline_ns),
            request,
        })
    }
}

pub(crate) fn possible(params: &Params) -> Result<(), String> {
    let timed = &params.timed;
    if !(SHORTEST_PERIOD_NS..=LONGEST_PERIOD_NS).contains(&timed.period_ns) {
        return Err(format!(
            "period = {}: 1us to 3600s are possible",
            format_duration(timed.period_ns)
        ));
    }
    if !(1..=MAX_DEADLINE_PERIODS).contains(&timed.deadline_periods) {
        let periods = timed.deadline_periods;
        return Err(format!(
            "deadline_periods = {periods}: 1 to {MAX_DEADLINE_PERIODS} are possible"
        ));
    }
    Ok(())
}

/// Each stream has a part of its own.
pub(crate) fn fits(params: &Params, region: u64) -> Result<(), String> {
    let needed = u64::from(params.clients) * u64::from(params.block_size);
    if needed <= region {
        return Ok(());
    }
    let (clients, block) = (params.clients, format_size(params.block_size.into()));
    Err(format!(
        "{clients} clients need a block of {block} each, {} in all, but the region has {}; use fewer clients or a larger file_size",
        format_size(needed),
        format_size(region)
    ))
}

/// The part of a region that belongs to client `index` of `count`, in bytes from its start: whole
/// blocks.
pub(crate) fn part(region: u64, block: u32, index: u32, count: u32) -> (u64, u64) {
    let blocks = region / u64::from(block);
    let first = |index: u32| (u128::from(blocks) * u128::from(index) / u128::from(count)) as u64;
    let (from, to) = (first(index), first(index + 1));
    (from * u64::from(block), (to - from) * u64::from(block))
}

pub(crate) fn build(params: &Params, seat: Seat) -> Box<dyn Client + Send> {
    let timed = &params.timed;
    let (base, len) = part(seat.len, params.block_size, seat.index, seat.count);
    let late = u128::from(timed.period_ns) * u128::from(seat.index) / u128::from(seat.count);
    Box::new(OpenLoop::new(Periodic {
        stream: Stream::new(Op::Read, params.block_size, len, 0, 1),
        base,
        period_ns: timed.period_ns,
        deadline_ns: timed.period_ns * u64::from(timed.deadline_periods),
        next_ns: if timed.stagger { late as u64 } else { 0 },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_whole_blocks_next_to_each_other() {
        let parts: Vec<_> = (0..3).map(|index| part(10 * 4096 + 77, 4096, index, 3)).collect();
        assert_eq!(parts, [(0, 3 * 4096), (3 * 4096, 3 * 4096), (6 * 4096, 4 * 4096)]);
    }
}
