//! The queue attributes of Linux 6.1 to 7.0: the files in `/sys/block/DEVICE/queue`, without its
//! directories (`crypto`, `independent_access_ranges`, `iosched`).
//!
//! Sources: block/blk-sysfs.c and Documentation/ABI/stable/sysfs-block of Linux 6.1, read. Later
//! attributes (atomic writes, write streams, `async_depth`, `zoned_qd1_writes`, unmap limits) are
//! from later versions of these files and from patches, so they are second-hand. Behaviour at the
//! limits of ranges was tried on a loop device of Linux 6.18.

use crate::kind::Evidence;
use crate::queue_attribute::{Ceiling, Initial, QueueAttribute, Values};

use Evidence::{Confirmed, SecondHand};

const U32: u64 = u32::MAX as u64;
const SWITCH: Values = Values::Number { min: 0, max: 1, ceiling: Ceiling::None };

/// Writable attributes first.
pub static QUEUE_ATTRIBUTES: &[QueueAttribute] = &[
    knob(
        "nr_requests",
        "requests",
        Values::Number { min: 4, max: 2048, ceiling: Ceiling::Tags },
        Initial::Scheduler(
            "twice the hardware's tags, at most 256; without a scheduler the tags themselves",
        ),
        &[16, 64, 256, 1024],
        "requests among which the scheduler can choose",
    ),
    QueueAttribute {
        evidence: SecondHand,
        ..set(
            "async_depth",
            "requests",
            Values::Number { min: 1, max: 2048, ceiling: Ceiling::Attribute("nr_requests") },
            Initial::Scheduler("nr_requests; with bfq and kyber three quarters of it"),
            "requests that all but synchronous reads may hold",
        )
    },
    knob(
        "read_ahead_kb",
        "KiB",
        number(0, U32),
        Initial::Rule(
            "128, or twice optimal_io_size; newer kernels: twice max_sectors_kb on a disk that turns",
        ),
        &[0, 128, 512, 2048, 8192],
        "how far a file system reads ahead; 0: never",
    ),
    knob(
        "nomerges",
        "",
        number(0, 2),
        Initial::Kernel("0"),
        &[0, 1, 2],
        "0: neighbouring requests are merged; 1: only with the last one, which is cheap; 2: never",
    ),
    knob(
        "rq_affinity",
        "",
        number(0, 2),
        Initial::Kernel("1"),
        &[0, 1, 2],
        "where a completion runs; 0: where the interrupt came, 1: near the submitter, 2: on its very CPU",
    ),
    knob(
        "max_sectors_kb",
        "KiB",
        Values::Number { min: 4, max: U32, ceiling: Ceiling::Attribute("max_hw_sectors_kb") },
        Initial::Rule(
            "max_hw_sectors_kb, but at most 1280 (newer kernels: 4096), or what the driver prefers",
        ),
        &[64, 256, 1024, 4096],
        "largest request that the block layer makes",
    ),
    knob(
        "wbt_lat_usec",
        "µs",
        Values::Number { min: -1, max: i64::MAX as u64 / 1000, ceiling: Ceiling::None },
        Initial::Scheduler(
            "0 with bfq, else 75000 on a disk that turns and 2000 on others; 0 where it is not built in",
        ),
        &[0, 2000, 10_000, 75_000],
        "write-back is throttled while reads take longer; 0: never; -1: the default",
    ),
    set(
        "scheduler",
        "",
        Values::Words(&[]),
        Initial::Rule("none, or mq-deadline with one hardware queue"),
        "the I/O scheduler",
    ),
    set(
        "rotational",
        "switch",
        SWITCH,
        Initial::Driver,
        "1: it turns, seeks cost time; 0: it does not. A description, not a switch",
    ),
    set(
        "add_random",
        "switch",
        SWITCH,
        Initial::Driver,
        "1: completions feed the kernel's entropy pool; 0: they do not",
    ),
    set(
        "iostats",
        "switch",
        SWITCH,
        Initial::Driver,
        "1: I/O is counted (schedlab needs the counts); 0: it is not",
    ),
    later(
        "iostats_passthrough",
        "switch",
        SWITCH,
        Initial::Kernel("0"),
        "1: passthrough commands are counted too; 0: they are not",
    ),
    set(
        "stable_writes",
        "switch",
        SWITCH,
        Initial::Driver,
        "1: pages keep still while they are written; 0: they may change",
    ),
    set(
        "write_cache",
        "",
        Values::Words(&["write back", "write through"]),
        Initial::Driver,
        "what the kernel believes of the drive's cache; write through sends no flushes: a wrong one loses data",
    ),
    set(
        "io_poll",
        "switch",
        SWITCH,
        Initial::Driver,
        "1: completions can be polled for; writes are ignored since Linux 5.16",
    ),
    set(
        "io_poll_delay",
        "µs",
        Values::Number { min: -1, max: i32::MAX as u64, ceiling: Ceiling::None },
        Initial::Kernel("-1"),
        "how long to sleep before polling; -1: not at all; newer kernels ignore writes",
    ),
    set(
        "io_timeout",
        "ms",
        number(1, U32),
        Initial::Driver,
        "time without completion after which the driver starts recovery",
    ),
    set(
        "throttle_sample_time",
        "ms",
        number(1, U32),
        Initial::Driver,
        "window of blk-throttle's measurements; only in kernels before 6.10 that are built for it",
    ),
    set(
        "discard_max_bytes",
        "bytes",
        Values::Number { min: 0, max: U32, ceiling: Ceiling::Attribute("discard_max_hw_bytes") },
        Initial::Rule("discard_max_hw_bytes, if the driver does not prefer less"),
        "largest discard that is sent; a multiple of discard_granularity; 0: none",
    ),
    later(
        "write_zeroes_unmap_max_bytes",
        "bytes",
        Values::Number {
            min: 0,
            max: U32,
            ceiling: Ceiling::Attribute("write_zeroes_unmap_max_hw_bytes"),
        },
        Initial::Attribute("write_zeroes_unmap_max_hw_bytes"),
        "largest write of zeroes that may free the blocks instead; 0: none",
    ),
    later(
        "zoned_qd1_writes",
        "switch",
        SWITCH,
        Initial::Driver,
        "1: one write at a time for each zone; 0: as many as come",
    ),
    // Read-only attributes.
    fact("logical_block_size", "bytes", "smallest unit that can be addressed"),
    fact("physical_block_size", "bytes", "smallest unit that the medium writes whole"),
    fact("hw_sector_size", "bytes", "old name of logical_block_size"),
    fact("minimum_io_size", "bytes", "smallest request that costs no penalty"),
    fact("optimal_io_size", "bytes", "request size that the device prefers; 0: none named"),
    fact("chunk_sectors", "sectors", "stripe or zone that a request must not cross; 0: none"),
    fact("max_hw_sectors_kb", "KiB", "largest request of the hardware"),
    fact("max_segments", "segments", "most pieces of memory in a request"),
    fact("max_segment_size", "bytes", "largest piece of memory in a request"),
    fact("max_integrity_segments", "segments", "most pieces of memory with checksums in a request"),
    fact("max_discard_segments", "segments", "most ranges in a discard"),
    fact("discard_granularity", "bytes", "unit of discards; 0: there are none"),
    fact("discard_max_hw_bytes", "bytes", "largest discard of the hardware; 0: there are none"),
    fact("discard_zeroes_data", "", "always 0"),
    fact("write_same_max_bytes", "bytes", "always 0"),
    fact(
        "write_zeroes_max_bytes",
        "bytes",
        "largest write of zeroes in one command; 0: there is none",
    ),
    read(
        "write_zeroes_unmap_max_hw_bytes",
        "bytes",
        "largest write of zeroes of the hardware that frees the blocks",
    ),
    read("atomic_write_max_bytes", "bytes", "largest atomic write; 0: not supported"),
    read("atomic_write_unit_min_bytes", "bytes", "smallest unit of such a write"),
    read("atomic_write_unit_max_bytes", "bytes", "largest unit of such a write"),
    read(
        "atomic_write_boundary_bytes",
        "bytes",
        "boundary that such a write must not cross; 0: none",
    ),
    read("max_write_streams", "streams", "most streams that writes can be sorted into; 0: none"),
    read("write_stream_granularity", "bytes", "what of a stream should be overwritten together"),
    fact("fua", "switch", "1: a write can bypass the drive's cache; 0: it needs a flush"),
    fact("dax", "switch", "1: memory that the CPU addresses directly; 0: not"),
    fact(
        "virt_boundary_mask",
        "bytes",
        "mask of the boundary at which a request's memory is split",
    ),
    fact("dma_alignment", "bytes", "alignment mask of memory for direct I/O"),
    fact("zoned", "", "none, host-aware or host-managed: whether zones are written sequentially"),
    fact("nr_zones", "zones", "number of zones; 0: not zoned"),
    fact("max_open_zones", "zones", "most zones that are open at once; 0: no limit"),
    fact("max_active_zones", "zones", "most zones that are open or begun at once; 0: no limit"),
    fact("zone_append_max_bytes", "bytes", "largest append to a zone"),
    fact("zone_write_granularity", "bytes", "unit of writes to a zone"),
];

pub fn queue_attribute(name: &str) -> Option<&'static QueueAttribute> {
    QUEUE_ATTRIBUTES.iter().find(|row| row.name == name)
}

const fn number(min: i64, max: u64) -> Values {
    Values::Number { min, max, ceiling: Ceiling::None }
}

/// A performance setting.
const fn knob(
    name: &'static str,
    unit: &'static str,
    values: Values,
    initial: Initial,
    levels: &'static [u64],
    help: &'static str,
) -> QueueAttribute {
    QueueAttribute { levels, ..set(name, unit, values, initial, help) }
}

/// Writable, but no performance setting.
const fn set(
    name: &'static str,
    unit: &'static str,
    values: Values,
    initial: Initial,
    help: &'static str,
) -> QueueAttribute {
    QueueAttribute {
        name,
        unit,
        values,
        writable: true,
        initial,
        levels: &[],
        evidence: Confirmed,
        help,
    }
}

/// As `set`, but after 6.1.
const fn later(
    name: &'static str,
    unit: &'static str,
    values: Values,
    initial: Initial,
    help: &'static str,
) -> QueueAttribute {
    QueueAttribute { evidence: SecondHand, ..set(name, unit, values, initial, help) }
}

const fn fact(name: &'static str, unit: &'static str, help: &'static str) -> QueueAttribute {
    let values = Values::Words(&[]);
    QueueAttribute { writable: false, ..set(name, unit, values, Initial::Driver, help) }
}

/// As `fact`, but after 6.1.
const fn read(name: &'static str, unit: &'static str, help: &'static str) -> QueueAttribute {
    QueueAttribute { evidence: SecondHand, ..fact(name, unit, help) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue_attribute::QueueFacts;

    fn nothing(_: &str) -> Option<String> {
        None
    }

    fn facts<'a>(scheduler: &'a str, shown: &'a dyn Fn(&str) -> Option<String>) -> QueueFacts<'a> {
        QueueFacts { scheduler, tags: Some(32), shown }
    }

    #[test]
    fn every_row_has_its_own_name_and_one_line_of_meaning() {
        for (at, row) in QUEUE_ATTRIBUTES.iter().enumerate() {
            assert!(
                !row.help.is_empty() && !row.help.contains('\n') && row.help.chars().count() <= 110,
                "{}",
                row.name
            );
            assert!(
                QUEUE_ATTRIBUTES[..at].iter().all(|other| other.name != row.name),
                "{} is there twice",
                row.name
            );
            assert!(row.writable || row.levels.is_empty(), "{} cannot be turned", row.name);
        }
    }

    #[test]
    fn the_knobs_of_performance_are_these_and_none_that_describes_the_hardware_or_what_data_survives()
     {
        let knobs: Vec<&str> = QUEUE_ATTRIBUTES
            .iter()
            .filter(|row| !row.levels.is_empty())
            .map(|row| row.name)
            .collect();
        assert_eq!(
            knobs,
            [
                "nr_requests",
                "read_ahead_kb",
                "nomerges",
                "rq_affinity",
                "max_sectors_kb",
                "wbt_lat_usec"
            ]
        );
    }

    #[test]
    fn levels_ascend_within_the_range_and_what_the_device_allows() {
        let shown = |name: &str| (name == "max_hw_sectors_kb").then(|| "1280".to_string());
        for row in QUEUE_ATTRIBUTES.iter().filter(|row| !row.levels.is_empty()) {
            assert!(row.levels.len() >= 3 && row.levels.is_sorted_by(|a, b| a < b), "{}", row.name);
            let Values::Number { min, max, .. } = row.values else {
                panic!("{} is a number", row.name)
            };
            assert!(
                row.levels
                    .iter()
                    .all(|level| i128::from(*level) >= i128::from(min) && *level <= max),
                "{}",
                row.name
            );
        }
        let levels = |name, scheduler| {
            queue_attribute(name).expect("a row").levels(&facts(scheduler, &shown))
        };
        assert_eq!(levels("max_sectors_kb", "bfq"), [64, 256, 1024]);
        assert_eq!(
            levels("nr_requests", "none"),
            [16],
            "without a scheduler there are 32 tags and no more"
        );
        assert_eq!(levels("nr_requests", "bfq"), [16, 64, 256, 1024]);
    }

    #[test]
    fn what_belongs_to_the_scheduler_has_the_default_of_that_scheduler() {
        let default = |name, scheduler| {
            queue_attribute(name).expect("a row").default(&facts(scheduler, &nothing))
        };
        assert_eq!(default("nr_requests", "none").as_deref(), Some("32"));
        assert_eq!(default("nr_requests", "mq-deadline").as_deref(), Some("64"));
        assert_eq!(default("wbt_lat_usec", "bfq").as_deref(), Some("0"));
        assert_eq!(
            default("wbt_lat_usec", "kyber"),
            None,
            "only the kernel knows whether it is built in"
        );
        assert_eq!(default("nomerges", "kyber").as_deref(), Some("0"));
        let shown = |name: &str| (name == "nr_requests").then(|| "64".to_string());
        let depth = |scheduler| {
            queue_attribute("async_depth").expect("a row").default(&facts(scheduler, &shown))
        };
        assert_eq!(
            (depth("bfq").as_deref(), depth("mq-deadline").as_deref()),
            (Some("48"), Some("64"))
        );
    }

    #[test]
    fn every_other_attribute_that_a_row_points_to_is_a_row() {
        for row in QUEUE_ATTRIBUTES {
            if let Values::Number { ceiling: Ceiling::Attribute(name), .. } = row.values {
                assert!(queue_attribute(name).is_some(), "{}: {name}", row.name);
            }
            if let Initial::Attribute(name) = row.initial {
                assert!(queue_attribute(name).is_some(), "{}: {name}", row.name);
            }
        }
    }
}
