//! `streams`: periodic media streams: each reads block_size per period, due when the next period
//! begins.
//!
//! Stream i reads the i-th part of the region in order. Request k is due `deadline_periods` after
//! its release at k periods (more than 1: the relaxed deadlines of SCAN-EDF). A late request delays
//! no later one, and is still served. `find_streams` bisects for `schedulable_streams`; `stagger`
//! spreads the periods. Source: Reddy & Wyllie (ACM MM'93) [C abstract]; 150 KiB/s (MPEG-1) is
//! recalled [R], size and period ours [P]. The S suite's video client is
//! `block_size=48k:period=40ms:clients=1`.

use elevator::{Op, Request};

use super::{Arrival, OpenLoop, Schedule};
use crate::workload::client::Client;
use crate::workload::paced::Pattern;
use crate::workload::row::{Params, Seat};
use crate::workload::sequential::Stream;
use text::{format_duration, format_size};

/// Shorter periods are typos.
const MIN_PERIOD_NS: u64 = 1_000;
/// A stream without a first request inside a trial has no metric.
const MAX_PERIOD_NS: u64 = 3_600_000_000_000;
const MAX_DEADLINE_PERIODS: u32 = 1_000;

struct Periodic {
    stream: Stream,
    base: u64,
    period_ns: u64,
    deadline_ns: u64,
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
    if !(MIN_PERIOD_NS..=MAX_PERIOD_NS).contains(&timed.period_ns) {
        return Err(format!(
            "period = {}: out of range (expected 1us to 3600s)",
            format_duration(timed.period_ns)
        ));
    }
    if !(1..=MAX_DEADLINE_PERIODS).contains(&timed.deadline_periods) {
        let periods = timed.deadline_periods;
        return Err(format!(
            "deadline_periods = {periods}: out of range (expected 1 to {MAX_DEADLINE_PERIODS})"
        ));
    }
    Ok(())
}

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

/// Returns offset and length in bytes, both whole blocks.
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
