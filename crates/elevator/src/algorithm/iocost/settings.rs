//! The tunables of iocost, named as the keys of io.cost.model and io.cost.qos, and the preset that
//! provides unset values.

use super::model::{Costs, Figures, HDD, Preset, SSD, SSD_FAST, SSD_QD1};
use super::rate::Rate;
use crate::kind::{Build, Tunable};

pub(super) const TUNABLES: &[Tunable] = &[
    Tunable::confirmed(
        "model",
        "switch",
        0,
        4,
        "the preset; 0: by device; 1: HDD; 2: SSD of depth 1; 3: SSD; 4: fast SSD",
    ),
    Tunable::confirmed("rbps", "bytes/s", 0, BPS, "bytes read a second; 0: by preset"),
    Tunable::confirmed("rseqiops", "1/s", 0, IOPS, "sequential reads a second; 0: by preset"),
    Tunable::confirmed("rrandiops", "1/s", 0, IOPS, "random reads a second; 0: by preset"),
    Tunable::confirmed("wbps", "bytes/s", 0, BPS, "bytes written a second; 0: by preset"),
    Tunable::confirmed("wseqiops", "1/s", 0, IOPS, "sequential writes a second; 0: by preset"),
    Tunable::confirmed("wrandiops", "1/s", 0, IOPS, "random writes a second; 0: by preset"),
    Tunable::confirmed(
        "rpct",
        "percent",
        0,
        100,
        "reads that shall meet rlat; 0: latencies do not count",
    ),
    Tunable::confirmed("rlat", "µs", 0, LATENCY, "target latency of reads; 0: by preset"),
    Tunable::confirmed(
        "wpct",
        "percent",
        0,
        100,
        "writes that shall meet wlat; 0: latencies do not count",
    ),
    Tunable::confirmed("wlat", "µs", 0, LATENCY, "target latency of writes; 0: by preset"),
    Tunable::confirmed("min", "percent", 1, 10_000, "lowest rate of virtual time"),
    Tunable::confirmed("max", "percent", 1, 10_000, "highest rate of virtual time"),
    Tunable::linux_version(
        "601, 612, 703: as that Linux; 601: freed tags wake one wait queue's clients; 703: a period of late requests without completions keeps the busy level",
    ),
];

const BPS: u64 = 1 << 40;
const IOPS: u64 = 1_000_000_000;
const LATENCY: u64 = 10_000_000;

const FAST_PERCENT: u64 = 500;
const SLOW_PERCENT: u64 = 10;
const CONFIRMED_NS: u64 = 10_000_000_000;

#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) model: u64,
    figures: [Figures; 2],
    pub(super) percentiles: [u64; 2],
    latencies_us: [u64; 2],
    by_device: &'static Preset,
    beyond_ns: u64,
}

const NONE: Figures = Figures { bps: 0, seqiops: 0, randiops: 0 };

impl Settings {
    pub(super) fn new(build: &Build) -> Settings {
        let by_device = match (build.rotational, build.queue_depth) {
            (true, _) => &HDD,
            (false, 0..=1) => &SSD_QD1,
            (false, _) => &SSD,
        };
        Settings {
            model: 0,
            figures: [NONE; 2],
            percentiles: [0; 2],
            latencies_us: [0; 2],
            by_device,
            beyond_ns: 0,
        }
    }

    fn preset(&self) -> &'static Preset {
        match self.model {
            0 => self.by_device,
            1 => &HDD,
            2 => &SSD_QD1,
            3 => &SSD,
            _ => &SSD_FAST,
        }
    }

    pub(super) fn costs(&self) -> [Costs; 2] {
        [0, 1].map(|direction| {
            let (set, preset) = (self.figures[direction], self.preset().figures[direction]);
            let or = |set: u64, preset: u64| if set == 0 { preset } else { set };
            Costs::new(Figures {
                bps: or(set.bps, preset.bps),
                seqiops: or(set.seqiops, preset.seqiops),
                randiops: or(set.randiops, preset.randiops),
            })
        })
    }

    pub(super) fn latency_us(&self, direction: usize) -> u64 {
        match self.latencies_us[direction] {
            0 => self.preset().latency_us,
            set => set,
        }
    }

    /// A multiple of the larger target.
    pub(super) fn period_ns(&self) -> u64 {
        let direction = usize::from(self.latency_us(1) > self.latency_us(0));
        let percent = self.percentiles[direction];
        let multiple = if percent == 0 { 2 } else { ((100 - percent) / 5).max(2) };
        (multiple * self.latency_us(direction)).clamp(1000, 1_000_000) * 1000
    }

    /// Returns whether the preset changed.
    pub(super) fn follow(&mut self, rate: &Rate, period_ns: u64) -> bool {
        let fast = *self.by_device == SSD_FAST;
        let beyond = match (self.model == 0 && self.figures == [NONE; 2], fast) {
            (true, true) => rate.percent() <= SLOW_PERCENT,
            (true, false) => *self.by_device == SSD && rate.percent() >= FAST_PERCENT,
            (false, _) => false,
        };
        self.beyond_ns = if beyond { self.beyond_ns + period_ns } else { 0 };
        let change = self.beyond_ns >= CONFIRMED_NS;
        if change {
            (self.by_device, self.beyond_ns) = (if fast { &SSD } else { &SSD_FAST }, 0);
        }
        change
    }

    pub(super) fn value(&mut self, name: &str) -> &mut u64 {
        let [reads, writes] = &mut self.figures;
        match name {
            "model" => &mut self.model,
            "rbps" => &mut reads.bps,
            "rseqiops" => &mut reads.seqiops,
            "rrandiops" => &mut reads.randiops,
            "wbps" => &mut writes.bps,
            "wseqiops" => &mut writes.seqiops,
            "wrandiops" => &mut writes.randiops,
            "rpct" => &mut self.percentiles[0],
            "rlat" => &mut self.latencies_us[0],
            "wpct" => &mut self.percentiles[1],
            "wlat" => &mut self.latencies_us[1],
            _ => unreachable!("iocost has no tunable {name}"),
        }
    }
}
