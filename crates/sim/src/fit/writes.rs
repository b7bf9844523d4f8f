//! Write latencies from a trace, since a fit does not write, and the slowdown of reads with writes
//! inside.
//!
//! Latency is from issue to completion. Sizes and depths missing from the trace get the reads'
//! times, scaled by the ratio of writes to reads.

use std::collections::BTreeMap;

use trace::Kind;

use crate::fit::demerit::quantile;
use crate::fit::inside::Served;

const MIN_WRITES: usize = 100;
/// 0 to 3 writes inside, and more.
const BESIDE: usize = 5;
const MAX_PERCENT: f64 = 10_000.0;

/// Findings from a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Writes {
    pub seen: usize,
    /// Latencies by size in sectors and depth, rounded up to powers of two.
    cells: BTreeMap<(u32, u32), Vec<u64>>,
    /// Ratio of write to read medians at equal size and depth.
    factor: f64,
    /// Read latency by the number of writes inside.
    pub beside_percent: Vec<u64>,
    pub flush_ns: u64,
}

impl Writes {
    /// `read_ns` returns the median read latency for a size and depth. `None` with too few writes.
    pub(crate) fn from_requests(
        all: &[Served],
        read_ns: &dyn Fn(u32, u32) -> f64,
    ) -> Option<Writes> {
        let (mut cells, mut ratios) = (BTreeMap::<_, Vec<u64>>::new(), Vec::new());
        let (mut beside, mut flushes) = (vec![Vec::new(); BESIDE], Vec::new());
        for &Served { kind, sectors, took, depth, writes, .. } in all {
            let ratio = || took as f64 / read_ns(sectors, depth).max(1.0);
            match kind {
                Kind::Write => {
                    let cell = (sectors.next_power_of_two(), depth.next_power_of_two());
                    cells.entry(cell).or_default().push(took);
                    ratios.push(ratio());
                }
                Kind::Read => beside[(writes as usize).min(BESIDE - 1)].push(ratio()),
                Kind::Flush => flushes.push(took as f64),
                Kind::Discard | Kind::Other => {}
            }
        }
        let seen = ratios.len();
        if seen < MIN_WRITES {
            return None;
        }
        cells.values_mut().for_each(|latencies| latencies.sort_unstable());
        Some(Writes {
            seen,
            cells,
            factor: median(&mut ratios).unwrap_or(1.0),
            beside_percent: percentages(beside),
            flush_ns: median(&mut flushes).unwrap_or(0.0) as u64,
        })
    }

    pub(crate) fn rows(
        &self,
        sizes: &[u32],
        depths: &[u32],
        reads: &[Vec<u64>],
        shares: &[u64],
    ) -> Vec<Vec<u64>> {
        let cells = sizes.iter().flat_map(|size| depths.iter().map(move |depth| (*size, *depth)));
        cells
            .zip(reads)
            .map(|((size, depth), reads)| {
                let own = self.cells.get(&(size.next_power_of_two(), depth.next_power_of_two()));
                match own.filter(|latencies| latencies.len() >= MIN_WRITES) {
                    Some(own) => shares
                        .iter()
                        .map(|share| quantile(own, *share as f64 / 1e6) as u64)
                        .collect(),
                    None => reads.iter().map(|ns| (*ns as f64 * self.factor) as u64).collect(),
                }
            })
            .collect()
    }
}

fn percentages(mut beside: Vec<Vec<f64>>) -> Vec<u64> {
    let enough = beside[0].len() >= MIN_WRITES;
    let Some(alone) = median(&mut beside[0]).filter(|alone| enough && *alone > 0.0) else {
        return vec![100];
    };
    let mut percent = vec![100];
    for ratios in &mut beside[1..] {
        let last = percent[percent.len() - 1];
        let enough = ratios.len() >= MIN_WRITES;
        let found = median(ratios)
            .filter(|_| enough)
            .map(|ratio| (100.0 * ratio / alone).clamp(1.0, MAX_PERCENT) as u64);
        percent.push(found.unwrap_or(last));
    }
    percent
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use trace::{At, Io};

    use super::*;
    use crate::fit::inside::serve_times;

    fn io(at: u64, took: u64, kind: Kind) -> Io {
        Io { issued: At::ns(at), completed: At::ns(at + took), ..Io::new(at, kind, 8, 8, 0) }
    }

    #[test]
    fn writes_that_take_twice_as_long_and_slow_reads_threefold_are_seen_as_such() {
        let mut ios = Vec::new();
        for at in 0..300 {
            let base = at * 100_000;
            ios.push(io(base, 1000, Kind::Read));
            ios.push(io(base + 10_000, 2000, Kind::Write));
            ios.push(io(base + 11_000, 3000, Kind::Read));
            ios.push(io(base + 50_000, 700, Kind::Flush));
        }
        let all = serve_times(&ios, 0);
        let writes = Writes::from_requests(&all, &|_, _| 1000.0).expect("enough writes");
        assert_eq!((writes.seen, writes.factor, writes.flush_ns), (300, 2.0, 700));
        assert_eq!(writes.beside_percent, [100, 300, 300, 300, 300]);
        let rows =
            writes.rows(&[8, 32], &[1], &[vec![900, 1000], vec![1800, 2000]], &[0, 1_000_000]);
        assert_eq!(
            rows,
            [[2000, 2000], [3600, 4000]],
            "its own times, and twice those of the reads"
        );
        assert!(
            Writes::from_requests(&all[..200], &|_, _| 1000.0).is_none(),
            "fifty writes say nothing"
        );
    }
}
