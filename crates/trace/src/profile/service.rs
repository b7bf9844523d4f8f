//! Service time by distance from the previous request.
//!
//! From the later of a request's issue and the previous completion to its own completion: the
//! request's time on a serial disk, the added time on a parallel one. The distance is from the end
//! of the request completed before it.

use super::shape::Service;
use super::terms::NEAR;

/// Distance 0, and one bucket per power of two.
const BUCKETS: usize = 66;

#[derive(Debug, Clone)]
pub(super) struct ServiceTable {
    /// Reads, then the rest: number and sum of the times.
    buckets: Box<[[(u64, u64); BUCKETS]; 2]>,
}

impl Default for ServiceTable {
    fn default() -> ServiceTable {
        ServiceTable { buckets: Box::new([[(0, 0); BUCKETS]; 2]) }
    }
}

fn bucket_of(distance: u64) -> usize {
    distance.checked_ilog2().map_or(0, |log| log as usize + 1)
}

impl ServiceTable {
    #[inline]
    pub(super) fn add(&mut self, is_read: bool, distance: u64, ns: u64) {
        let (count, sum) = &mut self.buckets[usize::from(!is_read)][bucket_of(distance)];
        *count += 1;
        *sum = sum.saturating_add(ns.min(1 << 50));
    }

    /// Falls back to the nearest distance on the same side of [`NEAR`], then to the other
    /// direction. A trace without near requests has no answer for them.
    pub(super) fn mean_ns(&self, is_read: bool, distance: u64) -> Option<u64> {
        let at = bucket_of(distance);
        let nearest = |kind: usize| {
            let buckets = &self.buckets[kind];
            let is_near = |at: usize| at <= bucket_of(NEAR);
            let reach = (0..BUCKETS).flat_map(|by| [at.checked_sub(by), Some(at + by)]);
            let reach =
                reach.filter(|other| other.is_some_and(|other| is_near(other) == is_near(at)));
            let (count, sum) =
                reach.flatten().filter_map(|at| buckets.get(at)).find(|(count, _)| *count > 0)?;
            Some((sum / count).min(1 << 50))
        };
        let kind = usize::from(!is_read);
        nearest(kind).or_else(|| nearest(1 - kind))
    }

    pub(super) fn shape(&self) -> Vec<Service> {
        let of = |kind: usize| {
            let used = self.buckets[kind].iter().enumerate().filter(|(_, (count, _))| *count > 0);
            used.map(move |(at, (count, sum))| Service {
                kind: ["read", "write"][kind].to_owned(),
                from_sectors: if at == 0 { 0 } else { 1 << (at - 1) },
                until_sectors: 1_u64.checked_shl(at as u32).unwrap_or(u64::MAX),
                count: *count,
                mean_ns: *sum as f64 / *count as f64,
            })
        };
        (0..2).flat_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distance_without_a_time_has_that_of_the_nearest_one_on_its_side() {
        let mut table = ServiceTable::default();
        assert_eq!(table.mean_ns(true, 8), None);
        table.add(true, 0, 100);
        table.add(true, 100_000, 5000);
        table.add(true, 100_001, 7000);
        let found =
            [0, 1, NEAR, NEAR * 2, 1 << 40, u64::MAX].map(|distance| table.mean_ns(true, distance));
        assert_eq!(found, [100, 100, 100, 6000, 6000, 6000].map(Some));
        assert_eq!(table.mean_ns(false, 60_000), Some(6000), "no write was served: as a read");
        let mut far = ServiceTable::default();
        far.add(true, 1 << 20, 9000);
        assert_eq!(far.mean_ns(true, 0), None, "nothing says what a near one takes");
        let edges: Vec<_> = table
            .shape()
            .iter()
            .map(|row| (row.from_sectors, row.until_sectors, row.count))
            .collect();
        assert_eq!(edges, [(0, 1, 1), (65_536, 131_072, 2)]);
    }
}
