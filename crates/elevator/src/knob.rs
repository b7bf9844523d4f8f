//! Tunables as performance settings: the default, and the values worth trying.
//!
//! The kernel's range, such as 0 to 2147483647, is not the useful one. Times, depths and batch
//! sizes act by ratio, so the useful values are the default and powers of four around it, or every
//! value of a switch or short range. A default of 0 means "off" or "the scheduler's choice"; then a
//! fixed ladder for the unit is used.

use crate::kind::{Build, ElevatorKind, Role, Tunable};

/// Ratio between neighbouring values.
const STEP: u64 = 4;
const STEPS: u32 = 2;
const RUNGS: u32 = 4;
/// The longest range of which every value is tried.
const SHORT: u64 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Knob {
    pub row: Tunable,
    pub default: u64,
    /// The largest value that makes a difference.
    pub most: u64,
}

impl Knob {
    /// A tunable in a queue of at most `nr_requests`.
    pub fn new(row: Tunable, default: u64, nr_requests: u64) -> Knob {
        let most =
            if row.role == Role::Window { row.max.min(nr_requests).max(default) } else { row.max };
        Knob { row, default, most }
    }

    /// The values worth trying, ascending, including the default.
    pub fn levels(&self) -> Vec<u64> {
        let (min, max) = (self.row.min, self.most);
        if max - min <= SHORT {
            return (min..=max).collect();
        }
        let mut levels = vec![self.default];
        if self.default == 0 {
            let rung =
                |step| first_rung(self.row.unit).saturating_mul(STEP.pow(step)).clamp(min, max);
            levels.extend((0..RUNGS).map(rung));
        } else {
            for step in 1..=STEPS {
                let ratio = STEP.pow(step);
                levels.extend([
                    (self.default / ratio).max(min),
                    self.default.saturating_mul(ratio).min(max),
                ]);
            }
        }
        levels.sort_unstable();
        levels.dedup();
        levels
    }
}

/// The smallest value with an effect on a disk.
fn first_rung(unit: &str) -> u64 {
    match unit {
        "ns" => 1_000_000,
        "µs" => 100,
        "ms" => 1,
        "KiB" => 64,
        // 128 KiB: the usual read-ahead.
        "sectors" => 256,
        _ => 4,
    }
}

impl ElevatorKind {
    /// Performance settings, with nr_requests equal to the tags. Excludes readings, descriptions of
    /// the disk, and aliases.
    pub fn knobs(&self, build: &Build) -> Vec<Knob> {
        self.knobs_of(build, Tunable::is_knob)
    }

    /// Selected tunables with their defaults.
    pub(crate) fn knobs_of(&self, build: &Build, wanted: impl Fn(&Tunable) -> bool) -> Vec<Knob> {
        let elevator = (self.build)(build);
        let rows = self.tunables.iter().filter(|row| wanted(row));
        rows.map(|row| Knob::new(*row, elevator.get(row.name), build.nr_tags.into())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{ELEVATORS, find};

    fn knob(scheduler: &str, name: &str) -> Knob {
        let knobs = find(scheduler).expect("a row").knobs(&Build::default());
        *knobs.iter().find(|knob| knob.row.name == name).expect("a knob")
    }

    fn levels(scheduler: &str, name: &str) -> Vec<u64> {
        knob(scheduler, name).levels()
    }

    fn names(scheduler: &str) -> Vec<&'static str> {
        find(scheduler)
            .expect("a row")
            .knobs(&Build::default())
            .iter()
            .map(|knob| knob.row.name)
            .collect()
    }

    #[test]
    fn values_go_by_ratios_around_the_default_and_a_switch_has_both() {
        assert_eq!(levels("mq-deadline", "fifo_batch"), [1, 4, 16, 64, 256]);
        assert_eq!(levels("mq-deadline", "writes_starved"), [0, 2, 8, 32]);
        assert_eq!(levels("mq-deadline", "front_merges"), [0, 1]);
        assert_eq!(
            levels("kyber", "read_lat_nsec"),
            [125_000, 500_000, 2_000_000, 8_000_000, 32_000_000]
        );
    }

    #[test]
    fn a_default_of_0_is_tried_beside_values_that_its_unit_suggests() {
        assert_eq!(levels("bfq", "max_budget"), [0, 256, 1024, 4096, 16_384]);
        assert_eq!(levels("fscan", "step"), [0, 4, 16, 64, 256]);
    }

    #[test]
    fn what_counts_requests_of_the_window_is_not_tried_beyond_it() {
        assert_eq!(levels("mq-deadline", "async_depth"), [8, 32, 128]);
        let row = knob("mq-deadline", "async_depth").row;
        assert_eq!(Knob::new(row, 48, 64).levels(), [3, 12, 48, 64]);
    }

    #[test]
    fn every_knob_has_values_within_its_range_and_its_default_among_them() {
        for kind in ELEVATORS {
            for knob in kind.knobs(&Build::default()) {
                let (levels, row) = (knob.levels(), knob.row);
                assert!(levels.len() >= 2, "{} {}: {levels:?}", kind.name, row.name);
                assert!(levels.contains(&knob.default), "{} {}: {levels:?}", kind.name, row.name);
                assert!(
                    levels.iter().all(|level| (row.min..=row.max).contains(level)),
                    "{} {}",
                    kind.name,
                    row.name
                );
                assert!(
                    levels.is_sorted_by(|a, b| a < b),
                    "{} {}: {levels:?}",
                    kind.name,
                    row.name
                );
            }
        }
    }

    #[test]
    fn a_linux_scheduler_is_turned_by_what_its_kernel_has() {
        let deadline =
            ["read_expire", "write_expire", "writes_starved", "fifo_batch", "front_merges"];
        assert_eq!(names("deadline"), deadline);
        let ours = [
            "linux",
            "still_clock",
            "burst",
            "drain",
            "front_merge",
            "first_write",
            "variant_2_4_18",
            "direction",
        ];
        for kind in ELEVATORS.iter().filter(|kind| kind.name != "c-scan" && kind.name != "c-look") {
            for name in names(kind.name) {
                assert!(!ours.contains(&name) && !name.ends_with("_slip"), "{} {name}", kind.name);
                assert!(
                    !name.starts_with("seek_") && !name.starts_with("cylinder"),
                    "{} {name}",
                    kind.name
                );
            }
        }
        assert!(names("bfq").contains(&"slice_idle") && !names("bfq").contains(&"slice_idle_us"));
        assert!(names("wpcas").contains(&"gamma_percent") && !names("wpcas").contains(&"which_j"));
    }

    #[test]
    fn an_alias_names_a_knob_of_the_same_scheduler_and_follows_it() {
        for kind in ELEVATORS {
            for row in kind.tunables {
                let Role::Alias(other) = row.role else { continue };
                assert!(
                    kind.tunable(other).is_some_and(Tunable::is_knob),
                    "{} {}",
                    kind.name,
                    row.name
                );
                let mut elevator = (kind.build)(&Build::default());
                let before = elevator.get(row.name);
                elevator.set(other, elevator.get(other) + 1);
                assert_ne!(
                    elevator.get(row.name),
                    before,
                    "{} {}: turning {other} turns it",
                    kind.name,
                    row.name
                );
            }
        }
    }

    #[test]
    fn only_wpcas_and_the_planners_are_given_a_disk_and_a_version_is_a_reading() {
        for kind in ELEVATORS {
            let has = kind.tunables.iter().any(|row| row.role == Role::Disk);
            let expected = ["wpcas", "dm-scan", "rg-scan", "gsr"].contains(&kind.name);
            assert_eq!(has, expected, "tunables of the disk: {}", kind.name);
            assert!(
                kind.tunables.iter().all(|row| row.unit != "version" || row.role == Role::Reading),
                "{}",
                kind.name
            );
        }
    }
}
