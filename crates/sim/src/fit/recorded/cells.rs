//! Latencies of one kind of requests by size and depth, extrapolated to cells without data.
//!
//! Latency grows with a power of depth at fixed size, and with a power of size at fixed depth: 0
//! for a fully parallel device, 1 for a serial one. Both exponents are weighted least-squares
//! slopes over logarithms of medians, clamped to 0..=1. A sparse cell has the distribution of the
//! nearest full one, scaled by these powers.

use std::collections::BTreeMap;

use trace::Kind;

use crate::fit::demerit::quantile;
use crate::fit::inside::Served;
use crate::fit::latency::SHARES;

/// Requests needed for a cell's 99th percentile.
const MIN_REQUESTS: usize = 100;
/// Depths of a description; a request counts at the nearest, by ratio.
const DEPTHS: [u32; 16] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256];
const MAX_SIZES: usize = 16;
/// 0 to 3 writes inside, and more.
const BESIDE: usize = 5;
/// Minimum reads for a factor.
const MIN_READS: usize = 30;
const MAX_PERCENT: f64 = 10_000.0;
const MAX_NS: f64 = 6e10;

type Cell = (u32, u32);

#[derive(Debug)]
pub(super) struct Cells {
    latencies: BTreeMap<Cell, Vec<u64>>,
    by_size: f64,
    by_depth: f64,
}

fn size_class(sectors: u32) -> u32 {
    1 << f64::from(sectors.max(1)).log2().round() as u32
}

fn depth_class(depth: u32) -> u32 {
    let far = |known: u32| (f64::from(known).ln() - f64::from(depth.max(1)).ln()).abs();
    DEPTHS.into_iter().min_by(|a, b| far(*a).total_cmp(&far(*b))).unwrap_or(1)
}

fn cell(of: &Served) -> Cell {
    (size_class(of.sectors), depth_class(of.depth))
}

/// Sizes with enough requests, or the most frequent.
pub(super) fn sizes<'a>(all: impl Iterator<Item = &'a Served>) -> Vec<u32> {
    let mut counts = BTreeMap::<u32, usize>::new();
    all.for_each(|of| *counts.entry(size_class(of.sectors)).or_default() += 1);
    let mut by_count: Vec<(u32, usize)> = counts.into_iter().collect();
    by_count.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let enough =
        by_count.iter().take_while(|(_, count)| *count >= MIN_REQUESTS).count().clamp(1, MAX_SIZES);
    let mut sizes: Vec<u32> = by_count.into_iter().take(enough).map(|(size, _)| size).collect();
    sizes.sort_unstable();
    sizes
}

pub(super) fn depths<'a>(all: impl Iterator<Item = &'a Served>) -> Vec<u32> {
    let most = all.map(|of| depth_class(of.depth)).max().unwrap_or(1);
    DEPTHS.into_iter().take_while(|depth| *depth <= most).collect()
}

/// Read latency with 0, 1, 2, 3 and more writes inside, in percent of none.
pub(super) fn beside_percent<'a>(all: impl Iterator<Item = &'a Served>) -> Vec<u64> {
    let reads: Vec<&Served> = all.filter(|of| of.kind == Kind::Read).collect();
    let mut alone = BTreeMap::<Cell, (u64, usize)>::new();
    for of in reads.iter().filter(|of| of.writes == 0) {
        let (sum, count) = alone.entry(cell(of)).or_default();
        (*sum, *count) = (sum.saturating_add(of.took), *count + 1);
    }
    alone.retain(|_, (_, count)| *count >= MIN_READS);
    // Actual time, expected time without writes, count.
    let mut beside = [(0.0, 0.0, 0_usize); BESIDE];
    for of in reads {
        let Some((sum, count)) = alone.get(&cell(of)) else { continue };
        let (took, expected, seen) = &mut beside[(of.writes as usize).min(BESIDE - 1)];
        (*took, *expected, *seen) =
            (*took + of.took as f64, *expected + *sum as f64 / *count as f64, *seen + 1);
    }
    let mut percent: Vec<u64> = vec![100];
    for (took, expected, seen) in &beside[1..] {
        let last = percent[percent.len() - 1];
        let is_known = *seen >= MIN_READS && *expected > 0.0;
        percent.push(if is_known {
            (100.0 * took / expected).clamp(1.0, MAX_PERCENT) as u64
        } else {
            last
        });
    }
    percent
}

impl Cells {
    /// Divides out the effect of writes inside.
    pub(super) fn from_requests<'a>(
        all: impl Iterator<Item = &'a Served>,
        beside_percent: &[u64],
    ) -> Option<Cells> {
        let mut latencies = BTreeMap::<Cell, Vec<u64>>::new();
        for of in all {
            let percent = beside_percent[(of.writes as usize).min(beside_percent.len() - 1)];
            let took = of.took as f64 * 100.0 / percent.max(1) as f64;
            latencies.entry(cell(of)).or_default().push(took.min(MAX_NS) as u64);
        }
        latencies.values_mut().for_each(|all| all.sort_unstable());
        let known: Vec<(Cell, f64, usize)> = latencies
            .iter()
            .filter(|(_, all)| all.len() >= MIN_READS)
            .map(|(cell, all)| (*cell, quantile(all, 0.5).max(1.0), all.len()))
            .collect();
        let point = |x: u32, y: f64, weight: usize| (f64::from(x).ln(), y.ln(), weight as f64);
        let by_size =
            slope(known.iter().map(|((size, depth), y, n)| (*depth, point(*size, *y, *n))));
        let by_depth =
            slope(known.iter().map(|((size, depth), y, n)| (*size, point(*depth, *y, *n))));
        (!latencies.is_empty()).then_some(Cells { latencies, by_size, by_depth })
    }

    pub(super) fn requests(&self) -> usize {
        self.latencies.values().map(Vec::len).sum()
    }

    pub(super) fn rows(&self, sizes: &[u32], depths: &[u32], factor: f64) -> Vec<Vec<u64>> {
        let cells = sizes.iter().flat_map(|size| depths.iter().map(move |depth| (*size, *depth)));
        cells.map(|cell| self.row(cell, factor)).collect()
    }

    fn row(&self, wanted: Cell, factor: f64) -> Vec<u64> {
        let ratio = |to: u32, from: u32| f64::from(to) / f64::from(from);
        let far =
            |cell: &Cell| ratio(wanted.0, cell.0).ln().abs() + ratio(wanted.1, cell.1).ln().abs();
        let is_known = self.latencies.values().any(|all| all.len() >= MIN_REQUESTS);
        let known = self.latencies.iter().filter(|(_, all)| !is_known || all.len() >= MIN_REQUESTS);
        let nearest = known.min_by(|(a, _), (b, _)| far(a).total_cmp(&far(b)));
        let (cell, all) = nearest.expect("cells are made of at least one request");
        let grown = factor
            * ratio(wanted.0, cell.0).powf(self.by_size)
            * ratio(wanted.1, cell.1).powf(self.by_depth);
        SHARES
            .iter()
            .map(|share| (quantile(all, *share as f64 / 1e6) * grown).min(MAX_NS) as u64)
            .collect()
    }
}

/// Fits weighted least squares within groups, clamped to 0..=1; 0 without evidence.
fn slope(points: impl Iterator<Item = (u32, (f64, f64, f64))>) -> f64 {
    let mut groups = BTreeMap::<u32, Vec<(f64, f64, f64)>>::new();
    points.for_each(|(group, point)| groups.entry(group).or_default().push(point));
    let (mut covered, mut spread) = (0.0, 0.0);
    for points in groups.values() {
        let weight: f64 = points.iter().map(|(.., weight)| weight).sum();
        let mean = |of: fn(&(f64, f64, f64)) -> f64| {
            points.iter().map(|point| of(point) * point.2).sum::<f64>() / weight
        };
        let (x_mean, y_mean) = (mean(|point| point.0), mean(|point| point.1));
        for (x, y, weight) in points {
            covered += weight * (x - x_mean) * (y - y_mean);
            spread += weight * (x - x_mean).powi(2);
        }
    }
    if spread > 1e-9 { (covered / spread).clamp(0.0, 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(kind: Kind, sectors: u32, depth: u32, writes: u32, took: u64) -> Served {
        Served { kind, sector: 0, sectors, at: 0, took, depth, writes }
    }

    #[test]
    fn requests_have_the_nearest_size_and_depth_and_few_of_a_size_make_none() {
        assert_eq!(
            [1, 3, 8, 16, 24, 45, 46, 65_536].map(size_class),
            [1, 4, 8, 16, 32, 32, 64, 65_536]
        );
        assert_eq!([1, 5, 7, 10, 40, 100_000].map(depth_class), [1, 6, 8, 12, 48, 256]);
        let all: Vec<Served> = (0..300)
            .map(|n| one(Kind::Read, if n < 99 { 8 } else { 16 }, n % 5 + 1, 0, 1))
            .collect();
        assert_eq!((sizes(all.iter()), depths(all.iter())), (vec![16], vec![1, 2, 3, 4, 6]));
        assert_eq!(sizes(all[..10].iter()), [8], "the one with most");
    }

    #[test]
    fn a_cell_that_was_not_recorded_grows_from_the_nearest_one_as_the_others_do() {
        // Proportional to depth, independent of size.
        let all: Vec<Served> = [(8, 1), (8, 2), (8, 4), (64, 1), (64, 2)]
            .into_iter()
            .flat_map(|(size, depth)| {
                (0..200)
                    .map(move |n| one(Kind::Read, size, depth, 0, u64::from(depth) * (1000 + n)))
            })
            .collect();
        let cells = Cells::from_requests(all.iter(), &[100]).expect("there are requests");
        assert!((cells.by_depth - 1.0).abs() < 1e-6 && cells.by_size.abs() < 1e-6, "{cells:?}");
        let rows = cells.rows(&[8, 64], &[1, 2, 4, 8], 1.0);
        let middle = SHARES.iter().position(|share| *share == 500_000).expect("it has the median");
        let medians: Vec<f64> = rows.iter().map(|row| row[middle] as f64 / 1099.5).collect();
        let expected = [1.0, 2.0, 4.0, 8.0, 1.0, 2.0, 4.0, 8.0];
        assert!(
            medians.iter().zip(expected).all(|(is, of)| (is / of - 1.0).abs() < 0.01),
            "{medians:?}"
        );
        assert!(Cells::from_requests(all[..0].iter(), &[100]).is_none());
    }

    #[test]
    fn reads_beside_writes_are_told_from_reads_that_many_are_inside_with() {
        // At depth 4 a read takes 4 µs alone and three times that with a write inside; at depth 1
        // it takes 1 µs.
        let mut all = vec![one(Kind::Read, 8, 1, 0, 1000); 200];
        all.extend(vec![one(Kind::Read, 8, 4, 0, 4000); 100]);
        all.extend(vec![one(Kind::Read, 8, 4, 1, 12_000); 100]);
        all.extend(vec![one(Kind::Write, 8, 4, 0, 50_000); 100]);
        let beside = beside_percent(all.iter());
        assert_eq!(beside, [100, 300, 300, 300, 300]);
        let cells = Cells::from_requests(all.iter().filter(|of| of.kind == Kind::Read), &beside)
            .expect("there are reads");
        assert!(
            cells.rows(&[8], &[4], 1.0)[0].iter().all(|ns| *ns == 4000),
            "what the writes did is taken out"
        );
    }
}
