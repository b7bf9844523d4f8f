//! The tunables of ADIOS, named as its files in sysfs.

use super::batches::KINDS;
use super::model::Shrink;
use crate::kind::Tunable;

pub(super) const NICE_0: u64 = 20;
const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

pub(super) const TUNABLES: &[Tunable] = &[
    Tunable::confirmed(
        "global_latency_window",
        "ns",
        0,
        10 * SECOND,
        "predicted latency of a batch and what is in flight; more on disks",
    ),
    Tunable::confirmed(
        "bq_refill_below_ratio",
        "percent",
        0,
        100,
        "form the next batch when less than this share of the window is in flight",
    ),
    Tunable::confirmed(
        "lat_model_latency_limit",
        "ns",
        0,
        10 * SECOND,
        "maximum latency that is learned or predicted",
    ),
    Tunable::confirmed(
        "batch_order",
        "switch",
        0,
        1,
        "0: a batch is served by kind of operation; 1: by sectors, on disks only",
    ),
    Tunable::confirmed(
        "compliance_flags",
        "switch",
        0,
        1,
        "1: deadlines of asynchronous requests ignore the prediction",
    ),
    Tunable::confirmed("batch_limit_read", "requests", 1, 65_536, "reads of a batch"),
    Tunable::confirmed("batch_limit_write", "requests", 1, 65_536, "writes of a batch"),
    Tunable::confirmed(
        "lat_target_read",
        "ns",
        0,
        100 * SECOND,
        "deadline of an asynchronous read; setting it forgets what was learned",
    ),
    Tunable::confirmed(
        "lat_target_write",
        "ns",
        0,
        100 * SECOND,
        "deadline of an asynchronous write; setting it forgets what was learned",
    ),
    Tunable::confirmed(
        "read_priority",
        "nice + 20",
        0,
        39,
        "how far reads may run ahead of earlier deadlines; 28 is nice 8, less is farther behind",
    ),
    Tunable::confirmed(
        "shrink_at_kreqs",
        "1000 requests",
        1,
        100_000,
        "after so many small samples a part is forgotten",
    ),
    Tunable::confirmed(
        "shrink_at_gbytes",
        "GiB",
        1,
        1000,
        "after large samples of so many bytes a part is forgotten",
    ),
    Tunable::confirmed(
        "shrink_resist",
        "bits",
        1,
        3,
        "one part in 2 to the power of this is forgotten",
    ),
];

#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) window: u64,
    pub(super) refill_percent: u64,
    pub(super) latency_limit: u64,
    pub(super) batch_order: u64,
    pub(super) compliance: u64,
    pub(super) batch_limit: [u64; KINDS],
    pub(super) target: [u64; KINDS],
    pub(super) read_priority: u64,
    pub(super) shrink: Shrink,
}

impl Settings {
    pub(super) fn new(rotational: bool) -> Settings {
        Settings {
            window: if rotational { 22 * MS } else { 16 * MS },
            refill_percent: 20,
            latency_limit: 500 * MS,
            batch_order: 0,
            compliance: 0,
            batch_limit: [36, 72],
            target: [2 * MS, 2 * SECOND],
            read_priority: NICE_0 + 8,
            shrink: Shrink { kreqs: 5000, gbytes: 50, resist: 2 },
        }
    }

    pub(super) fn value(&mut self, name: &str) -> &mut u64 {
        match name {
            "global_latency_window" => &mut self.window,
            "bq_refill_below_ratio" => &mut self.refill_percent,
            "lat_model_latency_limit" => &mut self.latency_limit,
            "batch_order" => &mut self.batch_order,
            "compliance_flags" => &mut self.compliance,
            "batch_limit_read" => &mut self.batch_limit[0],
            "batch_limit_write" => &mut self.batch_limit[1],
            "lat_target_read" => &mut self.target[0],
            "lat_target_write" => &mut self.target[1],
            "read_priority" => &mut self.read_priority,
            "shrink_at_kreqs" => &mut self.shrink.kreqs,
            "shrink_at_gbytes" => &mut self.shrink.gbytes,
            "shrink_resist" => &mut self.shrink.resist,
            _ => unreachable!("adios has no tunable {name}"),
        }
    }
}

/// The CPU scheduler's weight of each nice value from -20.
const WEIGHTS: [u64; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87,
    70, 56, 45, 36, 29, 23, 18, 15,
];

/// By nice value plus 20.
pub(super) fn weight(nice: u64) -> i64 {
    WEIGHTS[nice as usize] as i64
}
