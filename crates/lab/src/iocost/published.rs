//! Published coefficients: the kernel's presets, and hwdb entries.
//!
//! Sources: block/blk-iocost.c of Linux 6.1 (presets and selection); the commit that added
//! systemd's tool (drive).

use serde::Serialize;

use super::model::{Model, Rates};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Publisher {
    Kernel,
    Systemd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Published {
    pub publisher: Publisher,
    /// The preset, or the drive's model name.
    pub name: &'static str,
    pub model: Model,
}

const ROTATING: &str = "rotating disk";
const ONE_AT_A_TIME: &str = "SSD with a queue of one";
const SSD: &str = "SSD";
const FAST: &str = "fast SSD";

static PUBLISHED: [Published; 5] = [
    preset(ROTATING, [174_019_176, 41_708, 370], [178_075_866, 42_705, 378]),
    preset(ONE_AT_A_TIME, [245_855_193, 61_575, 6_946], [141_365_009, 33_716, 26_796]),
    preset(SSD, [488_636_629, 8_932, 8_518], [427_891_549, 28_755, 21_940]),
    preset(FAST, [3_102_524_156, 724_816, 778_122], [1_742_780_862, 425_702, 443_193]),
    Published {
        publisher: Publisher::Systemd,
        name: "HFS256GD9TNG-62A0A",
        model: of([1_091_439_492, 52_286, 63_784], [192_329_466, 12_309, 16_119]),
    },
];

const fn preset(name: &'static str, read: [u64; 3], write: [u64; 3]) -> Published {
    Published { publisher: Publisher::Kernel, name, model: of(read, write) }
}

const fn of(read: [u64; 3], write: [u64; 3]) -> Model {
    Model { read: rates(read), write: Some(rates(write)) }
}

const fn rates([bps, seqiops, randiops]: [u64; 3]) -> Rates {
    Rates { bps, seqiops, randiops }
}

/// The preset that the kernel starts with.
pub(super) fn chosen(is_rotational: bool, queue_depth: Option<u64>) -> &'static str {
    match (is_rotational, queue_depth) {
        (true, _) => ROTATING,
        (false, Some(1)) => ONE_AT_A_TIME,
        _ => SSD,
    }
}

pub(super) fn of_drive(name: &str) -> Option<&'static Published> {
    PUBLISHED.iter().find(|row| row.publisher == Publisher::Systemd && row.name == name.trim())
}

pub(super) fn of_preset(name: &str) -> Option<&'static Published> {
    PUBLISHED.iter().find(|row| row.publisher == Publisher::Kernel && row.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_chooses_by_rotation_and_then_by_the_queue() {
        assert_eq!(
            [chosen(true, Some(1)), chosen(false, Some(1)), chosen(false, Some(32))],
            [ROTATING, ONE_AT_A_TIME, SSD]
        );
        assert!([ROTATING, ONE_AT_A_TIME, SSD, FAST].iter().all(|name| of_preset(name).is_some()));
    }

    #[test]
    fn a_drive_is_found_by_the_name_that_it_gives_itself() {
        assert!(of_drive("HFS256GD9TNG-62A0A ").is_some() && of_drive("SSD").is_none());
    }
}
