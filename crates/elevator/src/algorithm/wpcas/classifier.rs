//! PC, the process classifier of WPCAS: the densest range of a process's intervals, and thus how
//! long to wait for it.
//!
//! Source: equations 3 to 6 of the WPCAS paper (confirmed). n, γ, the width of the densest
//! interval, resolution and the chosen point are not given there and are ours (questions 2 to 7 and
//! 9 of [`super`]). Bins are updated as intervals enter and leave the window, so that a decision
//! does not count.

use super::ring::Ring;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Region {
    /// Consecutive bins; the first on a tie.
    Width,
    /// The fullest bin, while a neighbour holds at least half as many.
    Grown,
}

/// The point of [a, b] to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// b.
    Upper,
    Middle,
    /// a.
    Lower,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Classes {
    pub window: usize,
    pub bin_ns: u64,
    /// In bins.
    pub width: usize,
    pub region: Region,
    pub point: Point,
    /// Minimum share of intervals in the densest one.
    pub gamma_percent: u64,
    /// Longer intervals are in no bin, but count.
    pub cap_ns: u64,
}

impl Classes {
    fn bins(&self) -> usize {
        (self.cap_ns / self.bin_ns) as usize + 1
    }

    fn bin(&self, ns: u32) -> Option<usize> {
        let ns = u64::from(ns);
        (ns <= self.cap_ns).then(|| (ns / self.bin_ns) as usize)
    }

    /// The configured width, at most the number of bins.
    fn wide(&self) -> usize {
        self.width.clamp(1, self.bins())
    }
}

#[derive(Debug, Clone, Default)]
pub struct Intervals {
    ring: Ring,
    bins: Vec<u16>,
    /// Samples in the `wide` bins from each one on.
    dense: Vec<u16>,
    /// None: unknown.
    best: Option<usize>,
    /// Sum of intervals within the cap.
    short: u64,
    short_ns: u64,
}

impl Intervals {
    pub fn count(&self) -> u64 {
        self.ring.len()
    }

    /// A full window drops its oldest.
    pub fn push(&mut self, ns: u64, classes: &Classes) {
        if self.bins.is_empty() {
            self.bins = vec![0; classes.bins()];
            self.dense = vec![0; classes.bins() + 1 - classes.wide()];
            self.best = Some(0);
        }
        let ns = u32::try_from(ns).unwrap_or(u32::MAX);
        if let Some(gone) = self.ring.push(ns, classes.window) {
            self.drop(gone, classes);
        }
        let Some(bin) = classes.bin(ns) else { return };
        self.short += 1;
        self.short_ns += u64::from(ns);
        self.bins[bin] += 1;
        for at in self.around(bin) {
            self.dense[at] += 1;
            if let Some(best) = self.best
                && (self.dense[at], best) > (self.dense[best], at)
            {
                self.best = Some(at);
            }
        }
    }

    pub fn densest(&mut self, classes: &Classes) -> Option<(u64, u64, u64)> {
        if self.short == 0 {
            return None;
        }
        let (from, until, held) = match classes.region {
            Region::Width => {
                let best = self.best.unwrap_or_else(|| first_of_most(&self.dense));
                self.best = Some(best);
                (best, best + self.wide(), u64::from(self.dense[best]))
            }
            Region::Grown => {
                let (from, until) = self.grown();
                (from, until, self.bins[from..until].iter().map(|count| u64::from(*count)).sum())
            }
        };
        Some((from as u64 * classes.bin_ns, until as u64 * classes.bin_ns, held))
    }

    /// None: the densest interval holds too few.
    pub fn period_ns(&mut self, classes: &Classes) -> Option<u64> {
        let (a, b, held) = self.densest(classes)?;
        let enough = held * 100 >= classes.gamma_percent * self.count();
        let point = match classes.point {
            Point::Upper => b,
            Point::Middle => (a + b) / 2,
            Point::Lower => a,
        };
        enough.then(|| point.clamp(classes.bin_ns.min(classes.cap_ns), classes.cap_ns))
    }

    /// Mean interval within the cap, rounded up to a bin.
    pub fn mean_ns(&self, classes: &Classes) -> Option<u64> {
        let mean = self.short_ns.checked_div(self.short)?;
        let rounded = mean.div_ceil(classes.bin_ns) * classes.bin_ns;
        Some(rounded.clamp(classes.bin_ns.min(classes.cap_ns), classes.cap_ns))
    }

    /// The same intervals with other parameters.
    pub fn reclassify(&self, classes: &Classes) -> Intervals {
        let mut new = Intervals::default();
        self.ring.iter().for_each(|ns| new.push(u64::from(ns), classes));
        new
    }

    fn drop(&mut self, ns: u32, classes: &Classes) {
        let Some(bin) = classes.bin(ns) else { return };
        self.short -= 1;
        self.short_ns -= u64::from(ns);
        self.bins[bin] -= 1;
        let around = self.around(bin);
        // The fullest bin may have changed; recomputed on demand.
        self.best = self.best.filter(|best| !around.contains(best));
        around.for_each(|at| self.dense[at] -= 1);
    }

    /// The entries of `dense` that include a bin.
    fn around(&self, bin: usize) -> std::ops::Range<usize> {
        (bin + 1).saturating_sub(self.wide())..(bin + 1).min(self.dense.len())
    }

    /// [`Classes::wide`] for the tables' parameters, without its division.
    fn wide(&self) -> usize {
        self.bins.len() + 1 - self.dense.len()
    }

    fn grown(&self) -> (usize, usize) {
        let mode = first_of_most(&self.bins);
        let holds = |at: usize| {
            self.bins.get(at).is_some_and(|count| *count > 0 && 2 * count >= self.bins[mode])
        };
        let (mut from, mut until) = (mode, mode + 1);
        while from > 0 && holds(from - 1) {
            from -= 1;
        }
        while holds(until) {
            until += 1;
        }
        (from, until)
    }
}

fn first_of_most(counts: &[u16]) -> usize {
    let most = counts.iter().copied().max().unwrap_or(0);
    counts.iter().position(|count| *count == most).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const FAITHFUL: Classes = Classes {
        window: 64,
        bin_ns: MS,
        width: 2,
        region: Region::Width,
        point: Point::Upper,
        gamma_percent: 50,
        cap_ns: 20 * MS,
    };

    fn intervals(ms: &[u64], classes: &Classes) -> Intervals {
        let mut intervals = Intervals::default();
        ms.iter().for_each(|ms| intervals.push(ms * MS, classes));
        intervals
    }

    #[test]
    fn the_densest_interval_decides_if_it_holds_enough() {
        let seen = [1, 1, 1, 1, 2, 2, 9, 15, 25];
        let mut intervals = intervals(&seen, &FAITHFUL);
        assert_eq!(intervals.densest(&FAITHFUL), Some((MS, 3 * MS, 6)));
        assert_eq!(intervals.period_ns(&FAITHFUL), Some(3 * MS));
        let strict = Classes { gamma_percent: 70, ..FAITHFUL };
        assert_eq!(intervals.period_ns(&strict), None, "6 of 9 are less than 70 percent");
        // 1 + 1 + 1 + 1 + 2 + 2 + 9 + 15 over 8: 4 ms; the 25 exceeds the cap.
        assert_eq!(intervals.mean_ns(&strict), Some(4 * MS));
    }

    #[test]
    fn of_equally_dense_intervals_the_first_counts_and_the_point_is_chosen() {
        let mut intervals = intervals(&[3, 3, 9, 9], &FAITHFUL);
        assert_eq!(intervals.densest(&FAITHFUL), Some((2 * MS, 4 * MS, 2)));
        let points = [Point::Upper, Point::Middle, Point::Lower];
        assert_eq!(
            points.map(|point| intervals.period_ns(&Classes { point, ..FAITHFUL })),
            [Some(4 * MS), Some(3 * MS), Some(2 * MS)]
        );
    }

    #[test]
    fn no_wait_is_shorter_than_a_bin_or_longer_than_the_cap() {
        let lower = Classes { point: Point::Lower, ..FAITHFUL };
        assert_eq!(intervals(&[0, 0, 0], &FAITHFUL).period_ns(&lower), Some(MS));
        assert_eq!(intervals(&[0, 0, 0], &FAITHFUL).mean_ns(&FAITHFUL), Some(MS));
        assert_eq!(intervals(&[20, 20, 20], &FAITHFUL).period_ns(&FAITHFUL), Some(20 * MS));
        assert_eq!(intervals(&[21, 22], &FAITHFUL).period_ns(&FAITHFUL), None);
        assert_eq!(intervals(&[21, 22], &FAITHFUL).mean_ns(&FAITHFUL), None);
    }

    #[test]
    fn the_fullest_bin_grows_over_neighbours_that_hold_half_as_much() {
        let grown = Classes { region: Region::Grown, ..FAITHFUL };
        let mut intervals = intervals(&[4, 4, 5, 5, 5, 5, 6, 6, 7, 9, 9, 9], &FAITHFUL);
        assert_eq!(intervals.densest(&grown), Some((4 * MS, 7 * MS, 8)));
    }

    #[test]
    fn bins_that_follow_the_window_are_those_counted_anew() {
        let fine = Classes { bin_ns: 100_000, width: 20, ..FAITHFUL };
        for classes in [FAITHFUL, fine, Classes { window: 16, width: 100, ..FAITHFUL }] {
            let mut kept = Intervals::default();
            let mut state = 1_u64;
            for _ in 0..2000 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                kept.push((state >> 33) % (24 * MS) * ((state >> 60) + 1) / 16, &classes);
                let mut anew = kept.reclassify(&classes);
                anew.best = None;
                let counts =
                    |of: &Intervals| (of.bins.clone(), of.dense.clone(), of.short, of.short_ns);
                assert_eq!(counts(&kept), counts(&anew));
                assert_eq!(kept.densest(&classes), anew.densest(&classes));
            }
        }
    }
}
