//! The actuator as the host knows it: cylinders and a seek curve, with cached times.
//!
//! A square root would dominate a decision, and distances repeat.

use crate::geometry::Geometry;

const MAX_KEPT: u64 = 1 << 16;

#[derive(Debug, Clone)]
pub(crate) struct Actuator {
    geometry: Geometry,
    /// Nanoseconds by distance; 0: not computed.
    kept: Vec<u64>,
}

impl Actuator {
    pub(crate) fn new(geometry: Geometry) -> Actuator {
        Actuator { kept: vec![0; geometry.cylinders.min(MAX_KEPT) as usize], geometry }
    }

    pub(crate) fn exists(&self) -> bool {
        self.geometry.cylinders > 0 && self.geometry.sectors_per_cylinder > 0
    }

    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    pub(crate) fn distance(&self, from: u64, to: u64) -> u64 {
        self.geometry.cylinder(from).abs_diff(self.geometry.cylinder(to))
    }

    /// Clamped to the disk.
    pub(crate) fn seek_ns(&mut self, distance: u64) -> u64 {
        let distance = distance.min(self.geometry.cylinders.saturating_sub(1));
        match self.kept.get_mut(distance as usize) {
            Some(kept) if *kept > 0 => *kept,
            Some(kept) => {
                *kept = self.geometry.seek.seek_ns(distance);
                *kept
            }
            None => self.geometry.seek.seek_ns(distance),
        }
    }

    /// The seek time of a mean distance of `sum / count` cylinders, interpolated: moving one time
    /// in ten takes 0.1 seeks.
    pub(crate) fn mean_seek_ns(&mut self, sum: u64, count: u64) -> u64 {
        let Some(whole) = sum.checked_div(count) else { return 0 };
        let rest = sum % count;
        let below = self.seek_ns(whole);
        if rest == 0 {
            return below;
        }
        // The next cylinder's difference × the fraction; may be negative.
        let above = self.seek_ns(whole + 1);
        let share = |more: u64| more.saturating_mul(rest) / count;
        if above >= below { below + share(above - below) } else { below - share(below - above) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::anticipatory::testing::hp97560;

    #[test]
    fn kept_times_are_those_of_the_curve() {
        let geometry = hp97560();
        let mut arm = Actuator::new(geometry.clone());
        for distance in [0, 1, 383, 384, 1961, 1, 384, 1961] {
            assert_eq!(arm.seek_ns(distance), geometry.seek.seek_ns(distance));
        }
        assert_eq!(
            arm.seek_ns(5000),
            geometry.seek.seek_ns(1961),
            "no seek is longer than the disk"
        );
    }

    #[test]
    fn a_mean_between_two_distances_takes_a_time_in_between() {
        let mut arm = Actuator::new(hp97560());
        assert_eq!(
            [(0, 0), (0, 7), (7, 7)].map(|(sum, count)| arm.mean_seek_ns(sum, count)),
            [0, 0, 3_640_000]
        );
        assert_eq!(arm.mean_seek_ns(1, 10), 364_000);
        let [one, two] = [1, 2].map(|distance| arm.seek_ns(distance));
        assert_eq!(arm.mean_seek_ns(15, 10), (one + two) / 2);
    }

    #[test]
    fn without_an_arm_nothing_moves() {
        let mut arm = Actuator::new(Geometry::default());
        assert!(!arm.exists());
        assert_eq!(
            (arm.distance(0, 1 << 40), arm.seek_ns(9), arm.mean_seek_ns(1000, 1)),
            (0, 0, 0)
        );
    }
}
