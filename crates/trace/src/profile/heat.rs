//! Heat maps: requests by time and sector, and by time and latency.
//!
//! The trace's length and the range in use are not known in advance: columns grow as in
//! `columns.rs`, and rows of sectors are powers of two that double when the range does not fit.

use serde::{Deserialize, Serialize};

use super::columns::{Cell, Columns};
use super::counts::{quarter_of, quarter_start};

const ROWS: u64 = 128;

/// Requests by time (columns) and another quantity (rows).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HeatMap {
    pub column_ns: u64,
    /// Row boundaries, ascending: one more than rows.
    pub edges: Vec<u64>,
    /// Counts by column and row; trailing zero rows are omitted.
    pub reads: Vec<Vec<u32>>,
    /// Everything except reads.
    pub writes: Vec<Vec<u32>>,
}

impl HeatMap {
    pub fn nr_columns(&self) -> usize {
        self.reads.len().max(self.writes.len())
    }

    pub fn nr_rows(&self) -> usize {
        self.edges.len().saturating_sub(1)
    }

    pub fn count(&self, column: usize, row: usize) -> (u32, u32) {
        let of = |columns: &[Vec<u32>]| {
            columns.get(column).and_then(|rows| rows.get(row)).copied().unwrap_or(0)
        };
        (of(&self.reads), of(&self.writes))
    }
}

/// A column's counts by row: reads and the rest.
#[derive(Debug, Clone, Default)]
struct Rows([Vec<u32>; 2]);

impl Cell for Rows {
    fn merge(&mut self, other: Rows) {
        let Rows([reads, writes]) = other;
        self.0[0].merge(reads);
        self.0[1].merge(writes);
    }
}

impl Rows {
    #[inline]
    fn count(&mut self, row: usize, is_read: bool) {
        let counts = &mut self.0[usize::from(!is_read)];
        if row >= counts.len() {
            counts.resize(row + 1, 0);
        }
        counts[row] = counts[row].saturating_add(1);
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct SectorMap {
    columns: Columns<Rows>,
    /// log₂ of a row's sectors.
    shift: u32,
    /// The number of the first row, on the disk.
    low: u64,
    /// The lowest and the highest sector seen.
    used: Option<(u64, u64)>,
}

impl SectorMap {
    #[inline]
    pub(super) fn add(&mut self, ns: u64, sector: u64, is_read: bool) {
        let (lowest, highest) = self.used.unwrap_or((sector, sector));
        if self.used.is_none() || sector < lowest || sector > highest {
            self.include(lowest.min(sector), highest.max(sector));
        }
        let row = ((sector >> self.shift) - self.low) as usize;
        self.columns.column_mut(ns).count(row, is_read);
    }

    fn include(&mut self, lowest: u64, highest: u64) {
        let first = self.used.is_none();
        let grows_down = self.used.is_some_and(|(low, _)| lowest < low);
        self.used = Some((lowest, highest));
        let (mut shift, old_low) = (self.shift, self.low);
        while (highest >> shift) - (lowest >> shift) >= ROWS {
            shift += 1;
        }
        let fits = !first
            && shift == self.shift
            && lowest >> shift >= old_low
            && (highest >> shift) - old_low < ROWS;
        if fits {
            return;
        }
        // Leave room on the growing side, to avoid a move per request.
        let (bottom, top) = (lowest >> shift, highest >> shift);
        let low = if grows_down { (top + 1).saturating_sub(ROWS) } else { bottom };
        let by = shift - self.shift;
        for counts in self.columns.cells.iter_mut().flat_map(|rows| rows.0.iter_mut()) {
            let mut moved = Vec::new();
            for (row, count) in
                std::mem::take(counts).into_iter().enumerate().filter(|(_, count)| *count > 0)
            {
                let to = (((old_low + row as u64) >> by) - low) as usize;
                if to >= moved.len() {
                    moved.resize(to + 1, 0_u32);
                }
                moved[to] = moved[to].saturating_add(count);
            }
            *counts = moved;
        }
        (self.shift, self.low) = (shift, low);
    }

    pub(super) fn map(&self) -> HeatMap {
        let Some((lowest, highest)) = self.used else { return HeatMap::default() };
        let (bottom, top) = (lowest >> self.shift, highest >> self.shift);
        let edges =
            (bottom..=top + 1).map(|row| row.checked_shl(self.shift).unwrap_or(u64::MAX)).collect();
        build(&self.columns, (bottom - self.low) as usize, edges)
    }
}

/// Time × latency, in four rows per doubling.
#[derive(Debug, Clone, Default)]
pub(super) struct LatencyMap {
    columns: Columns<Rows>,
    used: Option<(usize, usize)>,
}

impl LatencyMap {
    #[inline]
    pub(super) fn add(&mut self, ns: u64, latency: u64, is_read: bool) {
        let row = quarter_of(latency);
        self.used = Some(self.used.map_or((row, row), |(low, high)| (low.min(row), high.max(row))));
        self.columns.column_mut(ns).count(row, is_read);
    }

    pub(super) fn map(&self) -> HeatMap {
        let Some((low, high)) = self.used else { return HeatMap::default() };
        build(&self.columns, low, (low..=high + 1).map(quarter_start).collect())
    }
}

fn build(columns: &Columns<Rows>, first: usize, edges: Vec<u64>) -> HeatMap {
    let of = |kind: usize| {
        let rows = |rows: &Rows| rows.0[kind].get(first..).unwrap_or(&[]).to_vec();
        columns.cells.iter().map(rows).collect()
    };
    HeatMap { column_ns: columns.column_ns(), edges, reads: of(0), writes: of(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(sectors: &[u64]) {
        let mut map = SectorMap::default();
        sectors
            .iter()
            .enumerate()
            .for_each(|(at, sector)| map.add(at as u64 * 90_000, *sector, at % 3 == 0));
        let map = map.map();
        assert!(map.nr_rows() <= ROWS as usize, "{}", map.nr_rows());
        for row in 0..map.nr_rows() {
            let range = map.edges[row]..map.edges[row + 1];
            let expected = sectors.iter().filter(|sector| range.contains(sector)).count() as u32;
            let counted: u32 = (0..map.nr_columns())
                .map(|column| map.count(column, row))
                .map(|(r, w)| r + w)
                .sum();
            assert_eq!(counted, expected, "row {row} of {:?}", map.edges);
        }
    }

    #[test]
    fn each_request_is_counted_in_the_row_of_its_sector_in_whatever_order_sectors_come() {
        let up: Vec<u64> = (0..500).map(|n| 1_000_000_000 + n * 17).collect();
        let down: Vec<u64> = up.iter().rev().copied().collect();
        let mixed: Vec<u64> = (0..2000_u64).map(|n| (n * 2_654_435_761) % (1 << 33)).collect();
        let widening: Vec<u64> = (0..40)
            .map(|n| if n % 2 == 0 { (1 << 40) - (1 << n.min(39)) } else { (1 << 40) + (1 << n) })
            .collect();
        for sectors in [&up[..], &down, &mixed, &widening, &[0], &[7, 7, 7], &[0, 1 << 62]] {
            holds(sectors);
        }
    }

    #[test]
    fn a_latency_is_between_the_edges_of_its_row() {
        let mut map = LatencyMap::default();
        for latency in [90_000, 100_000, 8_000_000] {
            map.add(0, latency, true);
        }
        let map = map.map();
        assert!(map.edges[0] <= 90_000 && map.edges[map.nr_rows()] > 8_000_000);
        assert_eq!(map.count(0, 0).0 + map.count(0, 1).0, 2);
        assert_eq!(map.count(0, map.nr_rows() - 1), (1, 0));
    }

    #[test]
    fn an_empty_map_has_no_cells() {
        let empty = SectorMap::default().map();
        assert_eq!((empty.nr_columns(), empty.nr_rows(), empty.count(0, 0)), (0, 0, (0, 0)));
    }
}
