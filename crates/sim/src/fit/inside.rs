//! A trace's requests as the disk sees them: time of issue, latency, and what else was inside. Only
//! requests of one disk with known issue and completion; merged ones belong to their request.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use trace::{Flags, Io, Kind};

/// Bounds against damaged or fabricated traces: 32 MiB, 146 years, 64 PiB.
const MAX_SECTORS: u32 = 1 << 16;
const LATEST_NS: u64 = 1 << 62;
const LAST_SECTOR: u64 = 1 << 47;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) kind: Kind,
    /// Zero for a flush.
    pub(crate) sector: u64,
    pub(crate) sectors: u32,
    /// Issue, and latency in ns.
    pub(crate) at: u64,
    pub(crate) took: u64,
    /// Transfers inside at issue with itself, and writes among the others.
    pub(crate) depth: u32,
    pub(crate) writes: u32,
}

pub(crate) fn busiest(ios: &[Io]) -> Option<u16> {
    let mut counts = BTreeMap::<u16, usize>::new();
    let served = ios.iter().filter(|io| io.issued.get().is_some() && io.completed.get().is_some());
    served.for_each(|io| *counts.entry(io.device).or_default() += 1);
    counts
        .into_iter()
        .max_by_key(|(device, count)| (*count, Reverse(*device)))
        .map(|(device, _)| device)
}

pub(crate) fn serve_times(ios: &[Io], device: u16) -> Vec<Served> {
    let is_own = |io: &&Io| io.device == device && !io.flags.has(Flags::MERGED);
    let is_served = |io: &Io| Some((io.issued.get()?, io.completed.get()?, *io));
    let mut issued: Vec<(u64, u64, Io)> = ios.iter().filter(is_own).filter_map(is_served).collect();
    issued.retain(|(_, done, io)| {
        let is_known = match io.kind {
            Kind::Read | Kind::Write => (1..=MAX_SECTORS).contains(&io.sectors),
            Kind::Flush => true,
            Kind::Discard | Kind::Other => false,
        };
        is_known && *done < LATEST_NS && io.end() <= LAST_SECTOR
    });
    issued.sort_by_key(|(at, ..)| *at);
    let mut inside: BinaryHeap<Reverse<(u64, bool)>> = BinaryHeap::new();
    let mut writes = 0;
    let mut all = Vec::with_capacity(issued.len());
    for (at, done, io) in issued {
        while let Some(Reverse((_, write))) =
            inside.peek().copied().filter(|Reverse((end, _))| *end <= at)
        {
            inside.pop();
            writes -= u32::from(write);
        }
        let Io { kind, sector, sectors, .. } = io;
        let depth = u32::try_from(inside.len()).unwrap_or(u32::MAX - 1) + 1;
        all.push(Served {
            kind,
            sector,
            sectors,
            at,
            took: done.saturating_sub(at),
            depth,
            writes,
        });
        if kind != Kind::Flush {
            writes += u32::from(kind == Kind::Write);
            inside.push(Reverse((done, kind == Kind::Write)));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use trace::At;

    use super::*;

    fn io(at: u64, took: u64, kind: Kind) -> Io {
        // 3 ns in the scheduler do not count as the disk's.
        Io {
            issued: At::ns(at),
            completed: At::ns(at + took),
            ..Io::new(at.saturating_sub(3), kind, 8, 8, 0)
        }
    }

    #[test]
    fn a_request_is_counted_until_it_completes_and_flushes_are_no_transfers() {
        let ios = [
            io(0, 100, Kind::Write),
            io(10, 5, Kind::Read),
            io(12, 50, Kind::Flush),
            io(15, 10, Kind::Read),
            Io { device: 1, ..io(16, 99, Kind::Read) },
            Io { flags: Flags::MERGED, ..io(17, 99, Kind::Read) },
            Io::new(18, Kind::Read, 0, 8, 0),
            io(100, 1, Kind::Read),
        ];
        let seen: Vec<(u64, u32, u32)> = serve_times(&ios, 0)
            .iter()
            .map(|served| (served.at, served.depth, served.writes))
            .collect();
        assert_eq!(seen, [(0, 1, 0), (10, 2, 1), (12, 3, 1), (15, 2, 1), (100, 1, 0)]);
        let took: Vec<u64> = serve_times(&ios, 0).iter().map(|served| served.took).collect();
        assert_eq!(took, [100, 5, 50, 10, 1]);
        assert_eq!((busiest(&ios), busiest(&ios[6..7])), (Some(0), None));
    }
}
