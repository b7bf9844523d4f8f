//! The linear cost model of io.cost: a request's device time from six figures, and the presets.
//!
//! Source: Linux 6.1 block/blk-iocost.c; confirmed.

use crate::request::BlockRequest;
use crate::vocabulary::Op;

/// VTIME_PER_SEC.
pub(super) const SECOND: u64 = 1 << 37;
const PAGE_SECTORS: u64 = 8;
const PAGE_BYTES: u64 = 4096;
/// A farther request is random.
const RANDOM_PAGES: u64 = 4096;

/// Bytes and operations per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Figures {
    pub(super) bps: u64,
    pub(super) seqiops: u64,
    pub(super) randiops: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Preset {
    /// Reads, writes.
    pub(super) figures: [Figures; 2],
    pub(super) latency_us: u64,
}

const fn figures(bps: u64, seqiops: u64, randiops: u64) -> Figures {
    Figures { bps, seqiops, randiops }
}

pub(super) const HDD: Preset = Preset {
    figures: [figures(174_019_176, 41_708, 370), figures(178_075_866, 42_705, 378)],
    latency_us: 250_000,
};
pub(super) const SSD_QD1: Preset = Preset {
    figures: [figures(245_855_193, 61_575, 6946), figures(141_365_009, 33_716, 26_796)],
    latency_us: 25_000,
};
pub(super) const SSD: Preset = Preset {
    figures: [figures(488_636_629, 8932, 8518), figures(427_891_549, 28_755, 21_940)],
    latency_us: 25_000,
};
pub(super) const SSD_FAST: Preset = Preset {
    figures: [figures(3_102_524_156, 724_816, 778_122), figures(1_742_780_862, 425_702, 443_193)],
    latency_us: 5000,
};

/// Device time per page, and additionally per operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Costs {
    page: u64,
    sequential: u64,
    random: u64,
}

impl Costs {
    pub(super) fn new(of: Figures) -> Costs {
        let page = SECOND.div_ceil(of.bps.div_ceil(PAGE_BYTES));
        let io = |iops: u64| SECOND.div_ceil(iops).saturating_sub(page);
        Costs { page, sequential: io(of.seqiops), random: io(of.randiops) }
    }

    /// Device time without the operation.
    pub(super) fn size(&self, sectors: u64) -> u64 {
        (sectors / PAGE_SECTORS).max(1) * self.page
    }

    /// `cursor` is the end of the previous request, or 0.
    pub(super) fn request(&self, request: &BlockRequest, cursor: u64) -> u64 {
        let pages = request.sector.abs_diff(cursor) / PAGE_SECTORS;
        let io = if cursor > 0 && pages > RANDOM_PAGES { self.random } else { self.sequential };
        io + self.size(request.nr_sectors.into())
    }
}

pub(super) fn direction(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Write => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::request;

    #[test]
    fn a_random_page_and_a_sequential_run_cost_what_the_presets_say() {
        let tenths_of_us = |cost: u64| (u128::from(cost) * 10_000_000 / u128::from(SECOND)) as u64;
        let expected =
            [(HDD, 27_027, 7536), (SSD_QD1, 1439, 5331), (SSD, 1173, 3718), (SSD_FAST, 13, 423)];
        for (preset, random, sequential) in expected {
            let costs = Costs::new(preset.figures[0]);
            let far = tenths_of_us(costs.request(&request(0, 1 << 30), 8));
            let run = BlockRequest { nr_sectors: 256, ..request(0, 8) };
            let run = tenths_of_us(costs.request(&run, 8));
            assert!(far.abs_diff(random) <= 1 && run.abs_diff(sequential) <= 1, "{far} {run}");
        }
    }

    #[test]
    fn the_first_request_counts_as_sequential_and_16_mib_away_is_near() {
        let costs = Costs::new(HDD.figures[0]);
        let sequential = costs.request(&request(0, 8), 8);
        assert_eq!(costs.request(&request(0, 1 << 30), 0), sequential);
        assert_eq!(costs.request(&request(0, 8 + 4096 * 8), 8), sequential);
        assert!(costs.request(&request(0, 8 + 4097 * 8), 8) > 100 * sequential);
    }

    #[test]
    fn the_odd_presets_are_as_published() {
        let (default, fast) = (Costs::new(SSD.figures[0]), Costs::new(SSD_FAST.figures[0]));
        assert!(
            default.sequential > 9 * default.random / 10,
            "a sequential page is as dear as a random one"
        );
        assert!(fast.random < fast.sequential, "a random one is cheaper");
    }
}
