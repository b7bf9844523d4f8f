//! The replay: each client's requests, and their summary.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::io::{Flags, Io, Kind};
use crate::trace::Trace;

use super::infer::{Inference, Times};
use super::layout::{Layout, moves};
use super::part::{self, Part};
use super::types::{LoopMode, Options, ReplayError, Request, Start};

/// Beyond it processes that are never active together share one.
const CLIENTS: usize = 1024;

/// A client: a process, or several that were never active together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lane {
    from: usize,
    to: usize,
    pub depth: u16,
    /// Nothing waits for its requests: they keep their recorded times.
    pub by_time: bool,
    pub largest: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// Requests of the whole trace.
    pub recorded: u64,
    pub requests: u64,
    pub writes: u64,
    pub bytes: u64,
    /// Flushes, discards and the like, and other disks.
    pub left_out: u64,
    pub bad: u64,
    /// Disks with reads or writes that are not replayed.
    pub others: Vec<String>,
    /// The representative part.
    pub part: Option<Part>,
    /// Time of the last request.
    pub length_ns: u64,
    /// The end of the highest byte.
    pub end: u64,
    /// The size of the disks: at least `end`.
    pub span: u64,
    pub largest: u32,
    /// The largest power of two that divides every offset and length.
    pub alignment: u64,
    pub checksum: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// Requests by client, each in order of time.
    requests: Vec<Request>,
    lanes: Vec<Lane>,
    pub summary: Summary,
}

/// A process, and whether nothing waits for its requests.
type Source = (u32, bool);

impl Replay {
    /// Extracts a replay from a trace that has passed [`Trace::check`].
    ///
    /// # Errors
    /// The disk is not in it, or there is nothing to replay.
    pub fn from_trace(trace: &Trace, options: &Options) -> Result<Replay, ReplayError> {
        let layout = Layout::from_trace(trace, options.device.as_deref())?;
        let part = options.part_ns.and_then(|length| part::choose(&trace.ios, length));
        let (from, until) = part
            .as_ref()
            .map_or((0, u64::MAX), |part| (part.from_ns, part.from_ns + part.length_ns));
        let first = trace.ios.partition_point(|io| io.queued < from);
        let last = trace.ios.partition_point(|io| io.queued < until);
        let ios = &trace.ios[first..last];
        let has_marks = trace.ios.iter().any(|io| io.flags.has(Flags::SYNC));
        let source = |io: &Io| {
            let background = options.loop_mode == LoopMode::Closed
                && has_marks
                && io.kind == Kind::Write
                && !io.flags.has(Flags::SYNC);
            (io.process, background)
        };
        let is_replayed = |io: &Io| {
            let is_chosen = !options.reads_only || io.kind == Kind::Read;
            moves(io) && is_chosen && layout.bases[usize::from(io.device)].is_some()
        };
        let lane_of = lanes(ios.iter().filter(|io| is_replayed(io)), source);
        let mut replay =
            Replay { requests: Vec::new(), lanes: Vec::new(), summary: Summary::default() };
        replay.place(
            lane_of.values().copied(),
            ios.iter().filter(|io| is_replayed(io)).map(|io| lane_of[&source(io)]),
        );
        let mut next: Vec<usize> = replay.lanes.iter().map(|lane| lane.from).collect();
        let mut inferences: BTreeMap<Source, Inference> = BTreeMap::new();
        for (number, io) in (first as u64 + 1..).zip(ios) {
            if !is_replayed(io) {
                replay.summary.left_out += 1;
                continue;
            }
            let base = layout.bases[usize::from(io.device)].expect("it is replayed");
            let source = source(io);
            let times = Times {
                queued: io.queued - from,
                completed: io.completed.get().map(|at| at - from),
            };
            let (start, wait_ns, open) = match options.loop_mode {
                LoopMode::Open => (Start::Recorded, times.queued, 0),
                LoopMode::Closed => inferences.entry(source).or_default().next(times),
            };
            let lane = lane_of[&source] as usize;
            replay.lanes[lane].depth = replay.lanes[lane].depth.max(open.saturating_add(1));
            replay.lanes[lane].by_time |= source.1;
            let (start, wait_ns, open) =
                if source.1 { (Start::Recorded, times.queued, 0) } else { (start, wait_ns, open) };
            let request = request(io, number, base, start, wait_ns, open)?;
            replay.lanes[lane].largest = replay.lanes[lane].largest.max(request.len);
            replay.summary.add(&request, times.queued);
            replay.requests[next[lane]] = request;
            next[lane] += 1;
        }
        replay.finish(trace, layout, part)
    }

    fn place(&mut self, lanes: impl Iterator<Item = u32>, requests: impl Iterator<Item = u32>) {
        let count = lanes.max().map_or(0, |last| last as usize + 1);
        let mut sizes = vec![0usize; count];
        requests.for_each(|lane| sizes[lane as usize] += 1);
        let mut from = 0;
        for size in sizes {
            self.lanes.push(Lane { from, to: from + size, depth: 1, by_time: false, largest: 512 });
            from += size;
        }
        let none = Request {
            wait_ns: 0,
            offset: 0,
            len: 512,
            number: 0,
            open: 0,
            start: Start::Recorded,
            is_write: false,
        };
        self.requests = vec![none; from];
    }

    fn finish(
        mut self,
        trace: &Trace,
        layout: Layout,
        part: Option<Part>,
    ) -> Result<Replay, ReplayError> {
        if self.requests.is_empty() {
            return Err(ReplayError(
                "trace: no read or write to replay (found flushes, discards or nothing)".into(),
            ));
        }
        let summary = &mut self.summary;
        summary.recorded = trace.ios.len() as u64;
        summary.bad = trace.about.bad;
        summary.left_out += trace.about.left_out;
        summary.others = layout.others;
        summary.part = part;
        summary.span = layout.span.saturating_mul(512).max(summary.end);
        summary.alignment = 1u64.checked_shl(summary.alignment.trailing_zeros()).unwrap_or(1);
        Ok(self)
    }

    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    pub fn of_lane(&self, number: usize) -> &[Request] {
        let Lane { from, to, .. } = self.lanes[number];
        &self.requests[from..to]
    }

    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// The first request, in recorded order, that does not satisfy `holds`.
    pub fn first_violation(&self, holds: impl Fn(&Request) -> bool) -> Option<&Request> {
        self.requests.iter().filter(|request| !holds(request)).min_by_key(|request| request.number)
    }
}

impl Summary {
    fn add(&mut self, request: &Request, at: u64) {
        let len = u64::from(request.len);
        self.requests += 1;
        self.writes += u64::from(request.is_write);
        self.bytes = self.bytes.saturating_add(len);
        self.length_ns = self.length_ns.max(at);
        self.end = self.end.max(request.offset + len);
        self.largest = self.largest.max(request.len);
        // The OR of all values; its lowest bit is the alignment.
        self.alignment |= request.offset | len;
        let own = request.offset ^ at ^ u64::from(request.is_write);
        self.checksum = self.checksum.rotate_left(5).wrapping_add(own);
    }
}

fn request(
    io: &Io,
    number: u64,
    base: u64,
    start: Start,
    wait_ns: u64,
    open: u16,
) -> Result<Request, ReplayError> {
    let bytes = u64::from(io.sectors) * 512;
    let (sector, sectors) = (io.sector, io.sectors);
    let too_large = || {
        ReplayError(format!(
            "request {number}: {sectors} sectors at {sector} exceed the limits of a request"
        ))
    };
    let offset = sector
        .checked_add(base)
        .and_then(|sector| sector.checked_mul(512))
        .filter(|at| at.checked_add(bytes).is_some());
    Ok(Request {
        wait_ns,
        offset: offset.ok_or_else(too_large)?,
        len: u32::try_from(bytes).map_err(|_| too_large())?,
        number: u32::try_from(number).unwrap_or(u32::MAX),
        open,
        start,
        is_write: io.kind == Kind::Write,
    })
}

/// Assigns lanes in order of appearance. Beyond [`CLIENTS`] processes reuse the clients of ended
/// ones.
fn lanes<'a>(
    ios: impl Iterator<Item = &'a Io> + Clone,
    source: impl Fn(&Io) -> Source,
) -> BTreeMap<Source, u32> {
    let mut sources: BTreeMap<Source, (u64, u64)> = BTreeMap::new();
    for io in ios {
        let end = io.completed.get().unwrap_or(io.queued);
        let life = sources.entry(source(io)).or_insert((io.queued, end));
        life.1 = life.1.max(end);
    }
    let mut by_begin: Vec<(u64, Source, u64)> =
        sources.into_iter().map(|(source, (begin, end))| (begin, source, end)).collect();
    by_begin.sort_unstable();
    let shares = by_begin.len() > CLIENTS;
    let (mut lanes, mut ended, mut count) = (BTreeMap::new(), BinaryHeap::new(), 0u32);
    for (begin, source, end) in by_begin {
        let free = match ended.peek() {
            Some(&Reverse((at, lane))) if shares && at < begin => {
                ended.pop();
                lane
            }
            _ => {
                count += 1;
                count - 1
            }
        };
        ended.push(Reverse((end, free)));
        lanes.insert(source, free);
    }
    lanes
}
