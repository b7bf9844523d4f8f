//! The one-way elevator with a limited backward seek that anticipatory, cfq and bfq share. They
//! differ in where distances start, which their own files define.
//!
//! Source: Linux 2.6.20 block/as-iosched.c and cfq-iosched.c, Linux 6.12 block/bfq-iosched.c;
//! confirmed.

use crate::sorted::Placed;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BackSeek {
    /// In sectors.
    pub(crate) max_sectors: u64,
    /// Per backward sector.
    pub(crate) penalty: u64,
}

impl BackSeek {
    /// None if the sweep has to wrap to reach the request.
    fn distance(self, sector: u64, last: u64) -> Option<u64> {
        if sector >= last {
            Some(sector - last)
        } else if sector.saturating_add(self.max_sectors) >= last {
            Some((last - sector).saturating_mul(self.penalty))
        } else {
            None
        }
    }

    /// The kernel's `*_choose_req`, from `last`: whether `one` is before `two`.
    pub(crate) fn prefers(self, one: u64, two: u64, last: u64) -> bool {
        match (self.distance(one, last), self.distance(two, last)) {
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => one <= two,
            // At equal distances the kernel prefers the higher sector, ahead of the head.
            (Some(near), Some(far)) => near < far || (near == far && one >= two),
        }
    }

    pub(crate) fn choose(self, a: Option<Placed>, b: Option<Placed>, last: u64) -> Option<Placed> {
        let (Some(one), Some(two)) = (a, b) else { return a.or(b) };
        Some(if self.prefers(one.0, two.0, last) { one } else { two })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AS: BackSeek = BackSeek { max_sectors: 1024 * 1024, penalty: 2 };

    fn chosen(sectors: [u64; 2], last: u64) -> u64 {
        let [a, b] = sectors.map(|sector| Some((sector, 0)));
        assert_eq!(
            AS.choose(a, b, last),
            AS.choose(b, a, last),
            "the order of asking does not matter"
        );
        AS.choose(a, b, last).unwrap().0
    }

    #[test]
    fn going_back_costs_twice_and_far_back_wraps() {
        assert_eq!(chosen([1100, 960], 1000), 960, "80 against 100");
        assert_eq!(chosen([1080, 960], 1000), 1080, "equal: the one in front");
        assert_eq!(chosen([1100, 940], 1000), 1100, "120 against 100");
        assert_eq!(chosen([900_000, 2_000_500], 2_000_000), 2_000_500, "one wraps");
        assert_eq!(chosen([900_000, 800_000], 2_000_000), 800_000, "both wrap: the lowest");
    }
}
