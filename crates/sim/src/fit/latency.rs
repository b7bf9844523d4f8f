//! Fits a device without a spindle: latencies by size and depth.
//!
//! Every cell is read in several rounds in a random order each, so that changes over time affect
//! all cells alike. Every third round is held out, and so are extra cells between those of the
//! grid. The device itself varies: two halves of the fitted rounds show by how much, which bounds
//! any model's accuracy.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::{Stream, stream};
use serde::Serialize;

use crate::fit::demerit::{Error, quantile};
use crate::fit::drive::{Drive, Facts, FitError, Read};
use crate::fit::held_out;
use crate::fit::inside::{busiest, serve_times};
use crate::fit::writes::Writes;

/// Sectors of the grid's reads, and between.
const SIZES: [u32; 4] = [8, 32, 128, 512];
const DEPTHS: [u32; 10] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32];
const BETWEEN_SIZES: [u32; 2] = [24, 80];
const BETWEEN_DEPTHS: [u32; 2] = [5, 20];
/// Every third is held out. Many short ones, because slow phases of a device last tens of
/// milliseconds and should affect all cells.
pub const ROUNDS: usize = 30;
/// Reads per cell and round, without the edges.
const READS: usize = 160;
/// Enough to make a model's own random error negligible.
const MODELLED: usize = 1600;
const MAX_NS: u64 = 2_000_000_000;
/// Shares of the description, in millionths.
pub(crate) const SHARES: [u64; 19] = [
    0, 10_000, 50_000, 100_000, 200_000, 300_000, 400_000, 500_000, 600_000, 700_000, 800_000,
    850_000, 900_000, 950_000, 970_000, 980_000, 990_000, 998_000, 1_000_000,
];

type Cell = (u32, u32);

/// A measured device.
#[derive(Debug)]
pub struct Latency {
    facts: Facts,
    sizes: Vec<u32>,
    depths: Vec<u32>,
    fitted: BTreeMap<Cell, Vec<Vec<u64>>>,
    held_out: BTreeMap<Cell, Vec<u64>>,
    /// Writes of a trace; a measured drive has none.
    pub writes: Option<Writes>,
}

/// A model's error at one size and depth.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellError {
    pub sectors: u32,
    pub depth: u32,
    /// Whether the fit has seen other reads of this cell.
    pub in_grid: bool,
    #[serde(flatten)]
    pub error: Error,
    /// Relative difference between two halves of the rounds; grid only.
    pub own_median: Option<f64>,
    pub own_p99: Option<f64>,
}

pub fn measure(
    drive: &mut dyn Drive,
    seed: u64,
    say: &mut dyn FnMut(&str),
) -> Result<Latency, FitError> {
    let facts = drive.facts().clone();
    let (sizes, depths) = (fitting(&SIZES, &facts), within(&DEPTHS, facts.queue_depth));
    let grid: Vec<Cell> = pairs(&sizes, &depths);
    let between: Vec<Cell> =
        pairs(&fitting(&BETWEEN_SIZES, &facts), &within(&BETWEEN_DEPTHS, facts.queue_depth));
    let mut random = stream(seed, "fit");
    let (mut fitted, mut held_out) =
        (BTreeMap::<Cell, Vec<Vec<u64>>>::new(), BTreeMap::<Cell, Vec<u64>>::new());
    // Warm-up: caches fill, clocks rise.
    for cell in &grid {
        batch(drive, *cell, READS / 3, &mut random)?;
    }
    for round in 0..ROUNDS {
        let is_held_out = round % 3 == 2;
        say(&format!(
            "round {} of {ROUNDS}{}",
            round + 1,
            if is_held_out { ", held out" } else { "" }
        ));
        let mut cells = grid.clone();
        if is_held_out {
            cells.extend(&between);
        }
        shuffle(&mut cells, &mut random);
        for cell in cells {
            let latencies = batch(drive, cell, READS, &mut random)?;
            if is_held_out {
                held_out.entry(cell).or_default().extend(latencies);
            } else {
                fitted.entry(cell).or_default().push(latencies);
            }
        }
    }
    Ok(Latency { facts, sizes, depths, fitted, held_out, writes: None })
}

fn fitting(sizes: &[u32], facts: &Facts) -> Vec<u32> {
    let fits = |size: &u32| {
        size.is_multiple_of(facts.unit)
            && *size <= facts.largest
            && u64::from(*size) <= facts.sectors
    };
    sizes.iter().copied().filter(fits).collect()
}

fn within(depths: &[u32], most: u32) -> Vec<u32> {
    depths.iter().copied().filter(|depth| *depth <= most.max(1)).collect()
}

fn pairs(sizes: &[u32], depths: &[u32]) -> Vec<Cell> {
    sizes.iter().flat_map(|size| depths.iter().map(|depth| (*size, *depth))).collect()
}

fn shuffle(cells: &mut [Cell], random: &mut Stream) {
    for at in (1..cells.len()).rev() {
        cells.swap(at, random.below(at as u64 + 1) as usize);
    }
}

/// Drops the first and last reads, which find fewer open.
fn batch(
    drive: &mut dyn Drive,
    (size, depth): Cell,
    reads: usize,
    random: &mut Stream,
) -> Result<Vec<u64>, FitError> {
    let blocks = drive.facts().sectors / u64::from(size);
    let edge = 2 * depth as usize;
    let mut latencies = Vec::with_capacity(reads);
    let began = drive.now();
    // In parts, to limit the time on a slow device.
    while latencies.len() < reads && drive.now() - began < MAX_NS {
        let part = (reads - latencies.len()).min(200) + 2 * edge;
        let reads: Vec<Read> = (0..part)
            .map(|_| Read { sector: random.below(blocks) * u64::from(size), sectors: size })
            .collect();
        let timed = drive.read_many(depth, &reads)?;
        latencies.extend(timed[edge..timed.len() - edge].iter().map(|timed| timed.latency()));
    }
    Ok(latencies)
}

impl Latency {
    pub fn keys(&self) -> String {
        let Facts { sectors, queue_depth, .. } = self.facts;
        let reads = self.rows();
        let writes = self.writes.as_ref().map(|writes| WriteKeys {
            rows: Some(writes.rows(&self.sizes, &self.depths, &reads, &SHARES)),
            flush_ns: writes.flush_ns,
            beside_percent: writes.beside_percent.clone(),
        });
        keys(sectors, queue_depth, &self.sizes, &self.depths, &reads, writes.as_ref())
    }

    fn rows(&self) -> Vec<Vec<u64>> {
        let row = |cell: Cell| {
            let mut all: Vec<u64> =
                self.fitted.get(&cell).into_iter().flatten().flatten().copied().collect();
            all.sort_unstable();
            SHARES.iter().map(|share| quantile(&all, *share as f64 / 1e6).round() as u64).collect()
        };
        pairs(&self.sizes, &self.depths).into_iter().map(row).collect()
    }

    pub(crate) fn median(&self, sectors: u32, depth: u32) -> f64 {
        let size = self.sizes.iter().rposition(|size| *size <= sectors).unwrap_or(0);
        let depth = self.depths.iter().rposition(|known| *known <= depth).unwrap_or(0);
        let rows = self.fitted.get(&(self.sizes[size], self.depths[depth]));
        let mut all: Vec<u64> = rows.into_iter().flatten().flatten().copied().collect();
        all.sort_unstable();
        quantile(&all, 0.5)
    }

    pub fn learn_writes(&mut self, ios: &[trace::Io]) {
        let all = busiest(ios).map(|device| serve_times(ios, device)).unwrap_or_default();
        self.writes = Writes::from_requests(&all, &|sectors, depth| self.median(sectors, depth));
    }

    /// Runs the same number of random reads in each held-out cell.
    pub fn errors(&self, description: &str, seed: u64) -> Result<Vec<CellError>, FitError> {
        let mut model = held_out::model(description, &self.facts, seed)?;
        let mut random = stream(seed, "held-out");
        let mut found = Vec::new();
        for (cell, latencies) in &self.held_out {
            let modelled = batch(&mut model, *cell, MODELLED, &mut random)?;
            let Some(error) = Error::compare(latencies, &modelled) else { continue };
            let halves = self.fitted.get(cell).and_then(|rounds| halves(rounds));
            found.push(CellError {
                sectors: cell.0,
                depth: cell.1,
                in_grid: self.fitted.contains_key(cell),
                own_median: halves.as_ref().map(Error::median),
                own_p99: halves.as_ref().map(Error::p99),
                error,
            });
        }
        Ok(found)
    }
}

pub(crate) struct WriteKeys {
    /// `None`: no write was seen.
    pub(crate) rows: Option<Vec<Vec<u64>>>,
    pub(crate) flush_ns: u64,
    pub(crate) beside_percent: Vec<u64>,
}

/// The keys of a description: latencies at [`SHARES`] by size and within it by depth.
pub(crate) fn keys(
    sectors: u64,
    queue_depth: u32,
    sizes: &[u32],
    depths: &[u32],
    reads: &[Vec<u64>],
    writes: Option<&WriteKeys>,
) -> String {
    let mut text = String::new();
    let list = |numbers: &mut dyn Iterator<Item = u64>| {
        numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(", ")
    };
    let _ = writeln!(
        text,
        "model = \"measured\"\nsectors = {sectors}\nqueue_depth = {}",
        queue_depth.clamp(1, 65_535)
    );
    let _ = writeln!(text, "shares_ppm = [{}]", list(&mut SHARES.into_iter()));
    let _ = writeln!(text, "sizes = [{}]", list(&mut sizes.iter().map(|size| u64::from(*size))));
    let _ =
        writeln!(text, "depths = [{}]", list(&mut depths.iter().map(|depth| u64::from(*depth))));
    let mut table = |key: &str, rows: &[Vec<u64>]| {
        let _ = writeln!(text, "{key} = [");
        for row in rows {
            let _ = writeln!(text, "    [{}],", list(&mut row.iter().copied()));
        }
        text.push_str("]\n");
    };
    table("read_ns", reads);
    if let Some(writes) = writes {
        if let Some(rows) = &writes.rows {
            table("write_ns", rows);
        }
        let beside = list(&mut writes.beside_percent.iter().copied());
        let _ =
            writeln!(text, "flush_ns = {}\nbeside_writes_percent = [{beside}]", writes.flush_ns);
    }
    text
}

fn halves(rounds: &[Vec<u64>]) -> Option<Error> {
    let half = |which: usize| {
        rounds.iter().skip(which).step_by(2).flatten().copied().collect::<Vec<u64>>()
    };
    Error::compare(&half(0), &half(1))
}
