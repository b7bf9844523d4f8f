//! A device defined by measured latencies: `schedlab fit` writes these for devices without a
//! spindle.
//!
//! A request's *depth* is the number of transfers inside on its arrival, itself included. Each
//! request draws a quantile and interpolates between the nearest shares, sizes and depths; beyond
//! the largest, latency grows in proportion, so throughput stays. Latencies are independent of each
//! other and of location: no sequential speed-up, no good or bad phases. The keys are those of
//! [`read`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use elevator::{BlockRequest, Disk, Geometry, Op, SECTOR_BYTES, Time};

use super::description::Description;
use super::error::DeviceError;
use super::model::{Command, DeviceModel, DeviceStats, OwnClock, check, nowhere};
use super::tables::{Kind, Tables};
use crate::random::{Stream, stream};

const MAX_NS: u64 = 60_000_000_000;
const MAX_SHARES: usize = 64;
const MAX_SIZES: usize = 16;
const MAX_DEPTHS: usize = 16;
const MAX_SLOWDOWNS: usize = 64;
const MILLION: u64 = 1_000_000;

#[derive(Debug, Clone)]
struct Latencies {
    shares: Vec<u64>,
    sizes: Vec<u64>,
    depths: Vec<u64>,
    /// A row of shares for each size and depth.
    reads: Vec<u64>,
    writes: Vec<u64>,
    beside: Vec<u64>,
    flush_ns: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Measured {
    latencies: Latencies,
    depth: u32,
    sectors: u64,
    trial_ms: u64,
    random: Stream,
    /// Completion time, order of arrival, tag, kind.
    inside: BinaryHeap<Reverse<(u64, u64, u32, Inside)>>,
    transfers: u32,
    writes: u32,
    arrivals: u64,
    clock: OwnClock,
    stats: DeviceStats,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Inside {
    Read,
    Write,
    Flush,
}

/// Keys: `sectors`, `queue_depth`, `trial_ms`, `shares_ppm`, `sizes` (sectors), `depths`, `read_ns`
/// and `write_ns` (for each size and, within it, each depth: one time per share), `flush_ns` (0),
/// `beside_writes_percent` (factor on a read's latency with 0, 1, 2 … writes inside; the last value
/// holds for more).
pub(super) fn read(from: &mut Description, seed: u64) -> Result<Measured, DeviceError> {
    let shares = list(from, "shares_ppm", 2, MAX_SHARES, MILLION)?;
    let sizes = list(from, "sizes", 1, MAX_SIZES, super::MAX_SECTORS.into())?;
    let depths = list(from, "depths", 1, MAX_DEPTHS, 65_535)?;
    for (key, values) in [("shares_ppm", &shares), ("sizes", &sizes), ("depths", &depths)] {
        if !values.is_sorted_by(|before, after| before < after)
            || key != "shares_ppm" && values[0] == 0
        {
            return Err(from.inconsistent(key, "the values must grow, sizes and depths from 1 on"));
        }
    }
    if shares.first() != Some(&0) || shares.last() != Some(&MILLION) {
        return Err(
            from.inconsistent("shares_ppm", "the shares must begin with 0 and end with 1000000")
        );
    }
    let (rows, columns) = (sizes.len() * depths.len(), shares.len());
    let reads = table(from, "read_ns", rows, columns)?;
    let writes =
        if from.has("write_ns") { table(from, "write_ns", rows, columns)? } else { reads.clone() };
    let beside = if from.has("beside_writes_percent") {
        list(from, "beside_writes_percent", 1, MAX_SLOWDOWNS, 10_000)?
    } else {
        vec![100]
    };
    Ok(Measured {
        latencies: Latencies {
            shares,
            sizes,
            depths,
            reads,
            writes,
            beside,
            flush_ns: from.number_or("flush_ns", 0, 0, MAX_NS)?,
        },
        depth: from.number_or("queue_depth", 32, 1, 65_535)? as u32,
        sectors: from.number("sectors", "sectors of the device", 1, u64::MAX >> 16)?,
        trial_ms: from.number_or("trial_ms", 1000, 1, 86_400_000)?,
        random: stream(seed, "device"),
        inside: BinaryHeap::new(),
        transfers: 0,
        writes: 0,
        arrivals: 0,
        clock: OwnClock::default(),
        stats: DeviceStats::default(),
    })
}

fn list(
    from: &mut Description,
    key: &str,
    least: usize,
    most: usize,
    max: u64,
) -> Result<Vec<u64>, DeviceError> {
    let length = from.length(key, most)?;
    if length < least {
        return Err(
            from.inconsistent(key, format!("{length} values, but at least {least} are needed"))
        );
    }
    (0..length)
        .map(|at| from.number(&format!("{key}.{at}"), "a value of the list", 0, max))
        .collect()
}

/// Rows of non-decreasing times.
fn table(
    from: &mut Description,
    key: &str,
    rows: usize,
    columns: usize,
) -> Result<Vec<u64>, DeviceError> {
    let length = from.length(key, MAX_SIZES * MAX_DEPTHS)?;
    if length != rows {
        return Err(
            from.inconsistent(key, format!("{length} rows, but sizes and depths make {rows}"))
        );
    }
    let mut all = Vec::with_capacity(rows * columns);
    for row in 0..rows {
        let row = format!("{key}.{row}");
        let times = list(from, &row, columns, MAX_SHARES, MAX_NS)?;
        if times.len() != columns || !times.is_sorted() {
            return Err(from.inconsistent(
                &row,
                format!("a row has {columns} times, one for each share, that do not fall"),
            ));
        }
        all.extend(times);
    }
    Ok(all)
}

impl Latencies {
    fn draw(&self, write: bool, sectors: u64, depth: u64, bits: u64) -> u64 {
        let rows = if write { &self.writes } else { &self.reads };
        // The share, in 2⁻³² of a millionth.
        let drawn = (bits >> 32) * MILLION;
        let column = self.shares[1..]
            .partition_point(|share| share << 32 <= drawn)
            .min(self.shares.len() - 2);
        let (low, high) = (self.shares[column] << 32, self.shares[column + 1] << 32);
        let part = ((drawn - low) / ((high - low) >> 20)).min((1 << 20) - 1);
        let of_row = |size: usize, depth: usize| {
            let times = &rows[(size * self.depths.len() + depth) * self.shares.len() + column..];
            times[0] + (((times[1] - times[0]) * part) >> 20)
        };
        let of_size = |size: usize| interpolate(&self.depths, depth, |at| of_row(size, at));
        interpolate(&self.sizes, sectors, of_size)
    }

    fn read_slowdown(&self, writes: u32) -> u64 {
        self.beside[(writes as usize).min(self.beside.len() - 1)]
    }
}

/// Interpolates; constant below the range, proportional beyond it.
fn interpolate(at: &[u64], x: u64, value: impl Fn(usize) -> u64) -> u64 {
    let above = at.partition_point(|known| *known < x);
    let last = at.len() - 1;
    if above > last {
        return (value(last) * x / at[last]).min(MAX_NS);
    }
    if above == 0 || at[above] == x {
        return value(above);
    }
    let (x0, x1, y0, y1) = (at[above - 1], at[above], value(above - 1), value(above));
    match y1 >= y0 {
        true => y0 + (y1 - y0) * (x - x0) / (x1 - x0),
        false => y0 - (y0 - y1) * (x - x0) / (x1 - x0),
    }
}

impl Disk for Measured {
    fn positioning_ns(&self, now: Time, request: &BlockRequest) -> u64 {
        nowhere(now, request)
    }
}

impl DeviceModel for Measured {
    fn queue_depth(&self) -> u32 {
        self.depth
    }

    fn sectors(&self) -> u64 {
        self.sectors
    }

    fn geometry(&self) -> Geometry {
        Geometry::default()
    }

    fn has_volatile_cache(&self) -> bool {
        self.latencies.flush_ns > 0
    }

    fn submit(&mut self, now: Time, command: Command) {
        let now = now.as_ns();
        self.clock.advance(now, !self.inside.is_empty(), &mut self.stats);
        self.arrivals += 1;
        let (tag, took, what) = match command {
            Command::Transfer { tag, op, sector, nr_sectors } => {
                check(tag, sector, nr_sectors, self.sectors, self.transfers, self.depth);
                let write = op == Op::Write;
                self.transfers += 1;
                self.stats.transfers += 1;
                self.stats.bytes += u64::from(nr_sectors) * SECTOR_BYTES;
                let drawn = self.latencies.draw(
                    write,
                    nr_sectors.into(),
                    self.transfers.into(),
                    self.random.bits(),
                );
                let took = if write {
                    drawn
                } else {
                    drawn * self.latencies.read_slowdown(self.writes) / 100
                };
                self.writes += u32::from(write);
                (tag, took, if write { Inside::Write } else { Inside::Read })
            }
            Command::Flush { tag } => (tag, self.latencies.flush_ns, Inside::Flush),
        };
        self.inside.push(Reverse((now + took, self.arrivals, tag, what)));
    }

    fn next_event(&self) -> Option<Time> {
        self.inside.peek().map(|Reverse((at, ..))| Time::from_ns(*at))
    }

    fn advance(&mut self, now: Time, done: &mut Vec<u32>) {
        while let Some(Reverse((at, _, tag, what))) = self.inside.peek().copied() {
            if at > now.as_ns() {
                break;
            }
            self.clock.advance(at, true, &mut self.stats);
            self.inside.pop();
            self.transfers -= u32::from(what != Inside::Flush);
            self.writes -= u32::from(what == Inside::Write);
            done.push(tag);
        }
        self.clock.advance(now.as_ns(), !self.inside.is_empty(), &mut self.stats);
    }

    fn stats(&self) -> DeviceStats {
        self.stats
    }

    fn tables(&self) -> Vec<u8> {
        let of = &self.latencies;
        let lengths = [of.shares.len(), of.sizes.len(), of.depths.len(), of.beside.len()]
            .map(|length| length as u64);
        let (key, number) = self.random.origin();
        let tables = Tables::new(Kind::Measured, self.sectors, self.depth)
            .numbers(&[of.flush_ns])
            .numbers(&lengths);
        let tables = tables
            .raw(key)
            .numbers(&[number])
            .numbers(&of.shares)
            .numbers(&of.sizes)
            .numbers(&of.depths);
        tables.numbers(&of.beside).numbers(&of.reads).numbers(&of.writes).finish()
    }

    fn trial_ms(&self) -> u64 {
        self.trial_ms
    }
}

#[cfg(test)]
mod tests {
    use elevator::{Op, Time};

    use super::interpolate;
    use crate::device::{Command, DeviceModel, device_from_toml};

    const TWO: &str = "model = \"measured\"\nsectors = 1000\nqueue_depth = 4\nshares_ppm = [0, 500_000, 1_000_000]\n\
                       sizes = [8, 64]\ndepths = [1, 4]\nread_ns = [[10, 20, 30], [40, 80, 90], [100, 200, 300], [400, 800, 900]]\n\
                       beside_writes_percent = [100, 300]\n";

    fn latency(device: &mut dyn DeviceModel, now: u64, nr_sectors: u32) -> u64 {
        device.submit(
            Time::from_ns(now),
            Command::Transfer { tag: 0, op: Op::Read, sector: 0, nr_sectors },
        );
        let at = device.next_event().unwrap();
        device.advance(at, &mut Vec::new());
        at.as_ns() - now
    }

    #[test]
    fn latencies_are_those_of_the_table_and_half_of_them_lie_below_the_median() {
        let mut device = device_from_toml(TWO, &[], 1).unwrap();
        let drawn: Vec<u64> = (0..4000).map(|at| latency(device.as_mut(), at * 1000, 8)).collect();
        assert!(drawn.iter().all(|ns| (10..=30).contains(ns)));
        let below = drawn.iter().filter(|ns| **ns < 20).count();
        assert!((1850..2150).contains(&below), "{below}");
    }

    #[test]
    fn between_sizes_and_depths_lie_the_values_between_and_beyond_they_grow_in_proportion() {
        let at = [10, 20];
        let value = |x| interpolate(&at, x, |which| [100, 300][which]);
        assert_eq!([1, 10, 15, 20, 40].map(value), [100, 100, 200, 300, 600]);
        assert_eq!(interpolate(&at, 15, |which| [300, 100][which]), 200, "falling");
    }

    #[test]
    fn a_read_beside_a_write_takes_longer() {
        let one = |op: Op| {
            let mut device = device_from_toml(TWO, &[], 1).unwrap();
            device.submit(Time::ZERO, Command::Transfer { tag: 0, op, sector: 0, nr_sectors: 8 });
            device.submit(
                Time::ZERO,
                Command::Transfer { tag: 1, op: Op::Read, sector: 0, nr_sectors: 8 },
            );
            let (mut all, mut done) = (Vec::new(), Vec::new());
            while let Some(at) = device.next_event() {
                device.advance(at, &mut done);
                all.extend(done.drain(..).map(|tag| (tag, at.as_ns())));
            }
            all.into_iter().find(|(tag, _)| *tag == 1).unwrap().1
        };
        assert_eq!(one(Op::Write), 3 * one(Op::Read));
    }

    #[test]
    fn tables_that_contradict_themselves_are_refused_with_the_key() {
        for (from, to, expected) in [
            ("[0, 500_000,", "[1, 500_000,", "shares_ppm: the shares must begin with 0"),
            ("sizes = [8, 64]", "sizes = [64, 8]", "sizes: the values must grow"),
            ("[10, 20, 30]", "[10, 20]", "read_ns.0: 2 values, but at least 3"),
            ("[10, 20, 30]", "[30, 20, 10]", "read_ns.0: a row has 3 times"),
            (", [400, 800, 900]", "", "read_ns: 3 rows, but sizes and depths make 4"),
        ] {
            let error = device_from_toml(&TWO.replace(from, to), &[], 1).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
