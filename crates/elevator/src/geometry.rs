//! A disk's geometry as schedulers use it: the mapping of sectors to cylinders, and seek times.
//!
//! These are plain numbers that a kernel module could get as parameters. Exact positions (zones,
//! skew, angle) belong to the disk model; a scheduler in the host cannot know them.

/// `a + b·√d` up to a knee, `c + e·d` beyond, and single distances from a data sheet. Integer
/// arithmetic.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SeekCurve {
    /// Nanoseconds for the distances 1, 2, 3 …, which override the curve; may be empty.
    pub first: Vec<u64>,
    /// Maximum distance of the square-root part.
    pub knee: u64,
    /// Square-root part.
    pub a_ns: u64,
    /// Square-root part.
    pub b_ns: u64,
    /// Linear part.
    pub c_ns: u64,
    /// Linear part, in picoseconds: a cylinder takes tens of nanoseconds.
    pub e_ps: u64,
}

impl SeekCurve {
    /// Nanoseconds; 0 for distance 0, where a curve's constant is an artefact.
    pub fn seek_ns(&self, distance: u64) -> u64 {
        if distance == 0 {
            return 0;
        }
        if let Some(&ns) = usize::try_from(distance - 1).ok().and_then(|at| self.first.get(at)) {
            return ns;
        }
        if distance <= self.knee {
            // b·√d = √(b²·d): a single integer root loses no digits.
            let squared = u128::from(self.b_ns) * u128::from(self.b_ns) * u128::from(distance);
            self.a_ns + squared.isqrt() as u64
        } else {
            self.c_ns
                + u64::try_from(u128::from(self.e_ps) * u128::from(distance) / 1000)
                    .expect("a seek takes hours at most")
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Geometry {
    /// 0 if the device has no actuator.
    pub cylinders: u64,
    /// Mean over the zones; 0 if the device has no actuator.
    pub sectors_per_cylinder: u64,
    pub seek: SeekCurve,
    /// Nanoseconds per revolution; 0 if not rotational or unknown.
    pub revolution_ns: u64,
    /// Nanoseconds per sector under the head, mean over the zones; 0 if unknown.
    pub sector_ns: u64,
}

impl Geometry {
    /// Assumes equal cylinders; 0 without.
    pub fn cylinder(&self, sector: u64) -> u64 {
        sector
            .checked_div(self.sectors_per_cylinder)
            .map_or(0, |at| at.min(self.cylinders.saturating_sub(1)))
    }

    pub fn seek_between_ns(&self, from: u64, to: u64) -> u64 {
        self.seek.seek_ns(self.cylinder(from).abs_diff(self.cylinder(to)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hp97560_curve_gives_the_published_times() {
        let curve = SeekCurve {
            first: vec![],
            knee: 383,
            a_ns: 3_240_000,
            b_ns: 400_000,
            c_ns: 8_000_000,
            e_ps: 8_000_000,
        };
        let ms = |d| (curve.seek_ns(d) as f64 / 1e3).round() / 1e3;
        let expected = [
            (0, 0.0),
            (1, 3.640),
            (10, 4.505),
            (100, 7.240),
            (383, 11.068),
            (384, 11.072),
            (654, 13.232),
            (1000, 16.0),
        ];
        for (d, time) in expected {
            assert_eq!(ms(d), time, "distance {d}");
        }
        assert_eq!(ms(1961), 23.688);
    }

    #[test]
    fn listed_distances_win_over_the_curve() {
        let curve =
            SeekCurve { first: vec![7, 9], knee: 10, a_ns: 100, b_ns: 10, ..SeekCurve::default() };
        assert_eq!([0, 1, 2, 4].map(|d| curve.seek_ns(d)), [0, 7, 9, 120]);
    }

    #[test]
    fn a_device_without_an_arm_has_one_position() {
        let geometry = Geometry::default();
        assert_eq!((geometry.cylinder(u64::MAX), geometry.seek_between_ns(0, 1 << 40)), (0, 0));
    }
}
