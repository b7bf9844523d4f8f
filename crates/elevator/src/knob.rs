//! Tunables as things to turn: the default that a scheduler starts with, and the values that are worth trying.
//!
//! A range of 0 to 2147483647 says what the kernel takes, not what makes sense. Effects of times, depths and batch sizes go by ratios,
//! so the values worth trying are the default and powers of four around it; of a switch or a short range they are all of it.

use crate::kind::{Build, ElevatorKind, Tunable};

/// From one value worth trying to the next.
const STEP: u64 = 4;
/// How many steps to each side of the default.
const STEPS: u32 = 2;
/// The longest range of which every value is tried.
const SHORT: u64 = 4;

/// A tunable with its default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Knob {
    /// Name, unit, range, meaning.
    pub row: Tunable,
    /// What the scheduler starts with.
    pub default: u64,
}

impl Knob {
    /// The values worth trying, ascending; the default is among them.
    pub fn levels(&self) -> Vec<u64> {
        let Tunable { min, max, .. } = self.row;
        if max - min <= SHORT {
            return (min..=max).collect();
        }
        let mut levels = vec![self.default];
        // A default of 0 means off, or "the scheduler's choice": it is tried beside small and large values.
        let (mut below, mut above) = (self.default, self.default.max(1));
        if self.default == 0 {
            levels.push(1);
        }
        for _ in 0..STEPS {
            below /= STEP;
            above = above.saturating_mul(STEP);
            levels.extend([below.max(min), above.min(max)]);
        }
        levels.sort_unstable();
        levels.dedup();
        levels
    }
}

impl ElevatorKind {
    /// What can be turned on a scheduler that was built so: its tunables, without those that only say how the laboratory reads the
    /// source or that describe the disk.
    pub fn knobs(&self, build: &Build) -> Vec<Knob> {
        let elevator = (self.build)(build);
        let turned = self.tunables.iter().filter(|row| row.unit != "version");
        turned.map(|row| Knob { row: *row, default: elevator.get(row.name) }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{ELEVATORS, find};

    fn levels(scheduler: &str, name: &str) -> Vec<u64> {
        let knobs = find(scheduler).expect("a row").knobs(&Build::default());
        knobs.iter().find(|knob| knob.row.name == name).expect("a tunable").levels()
    }

    #[test]
    fn values_go_by_ratios_around_the_default_and_a_switch_has_both() {
        assert_eq!(levels("mq-deadline", "fifo_batch"), [1, 4, 16, 64, 256]);
        assert_eq!(levels("mq-deadline", "writes_starved"), [0, 2, 8, 32]);
        assert_eq!(levels("mq-deadline", "front_merges"), [0, 1]);
        assert_eq!(levels("bfq", "max_budget"), [0, 1, 4, 16]);
    }

    #[test]
    fn every_tunable_has_values_within_its_range_and_its_default_among_them() {
        for kind in ELEVATORS {
            for knob in kind.knobs(&Build::default()) {
                let (levels, row) = (knob.levels(), knob.row);
                assert!(levels.len() >= 2, "{} {}: {levels:?}", kind.name, row.name);
                assert!(levels.contains(&knob.default), "{} {}: {levels:?}", kind.name, row.name);
                assert!(levels.iter().all(|level| (row.min..=row.max).contains(level)), "{} {}", kind.name, row.name);
                assert!(levels.is_sorted_by(|a, b| a < b), "{} {}: {levels:?}", kind.name, row.name);
            }
        }
    }
}
