//! Numeric settings with a range, for sweeps.
//!
//! A realtime priority is part of `policy`, and only its order among realtime tasks matters.

use crate::Root;

use crate::cpu::attributes;

/// Ratio of adjacent default levels.
const STEP: i64 = 4;

#[derive(Debug, PartialEq, Eq)]
pub struct Scale {
    pub name: &'static str,
    /// Appended to the value of a `slice`; may be empty.
    pub unit: &'static str,
    pub min: i64,
    pub max: i64,
    /// If empty, powers of four around the default.
    pub levels: &'static [i64],
}

const SWITCH: &[i64] = &[0, 1];

/// Settings with known sensible values.
pub static SCALES: &[Scale] = &[
    Scale { name: "nice", unit: "", min: -20, max: 19, levels: &[-20, -10, -5, 0, 5, 10, 19] },
    Scale { name: "slice", unit: "us", min: 100, max: 100_000, levels: &[] },
    Scale {
        name: "sysctl:kernel.sched_autogroup_enabled",
        unit: "",
        min: 0,
        max: 1,
        levels: SWITCH,
    },
    Scale {
        name: "sysctl:kernel.sched_cfs_bandwidth_slice_us",
        unit: "us",
        min: 1,
        max: 1_000_000,
        levels: &[],
    },
    Scale { name: "sysctl:kernel.timer_migration", unit: "", min: 0, max: 1, levels: SWITCH },
    Scale {
        name: "debug:base_slice_ns",
        unit: "ns",
        min: 100_000,
        max: 1_000_000_000,
        levels: &[],
    },
    Scale { name: "debug:migration_cost_ns", unit: "ns", min: 0, max: 1_000_000_000, levels: &[] },
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Knob {
    pub scale: &'static Scale,
    /// Of a new program, or of the machine now.
    pub default: i64,
}

impl Knob {
    /// Whether it applies only to the measured program.
    pub fn is_of_program(&self) -> bool {
        !self.scale.name.contains(':')
    }

    /// Values in ascending order, with the default.
    pub fn levels(&self) -> Vec<i64> {
        let (min, max) = (self.scale.min, self.scale.max);
        let mut levels = self.scale.levels.to_vec();
        if levels.is_empty() {
            let around = [STEP, STEP * STEP]
                .map(|ratio| [self.default / ratio, self.default.saturating_mul(ratio)]);
            levels.extend(around.as_flattened().iter().map(|level| (*level).clamp(min, max)));
        }
        levels.push(self.default);
        levels.sort_unstable();
        levels.dedup();
        levels
    }

    /// A value in a variant's syntax.
    pub fn text(&self, value: i64) -> String {
        // Kernel files contain bare numbers.
        if self.is_of_program() { format!("{value}{}", self.scale.unit) } else { value.to_string() }
    }
}

pub fn knobs(root: &Root) -> Vec<Knob> {
    let present = |scale: &'static Scale| {
        let default = match scale.name {
            "nice" => 0,
            "slice" => i64::try_from(crate::placement::own_slice()? / 1000).ok()?,
            key => attribute(root, key)?,
        };
        Some(Knob { scale, default })
    };
    SCALES.iter().filter_map(present).collect()
}

/// Sysctls with a single number that are not in the table.
pub fn other_numbers(root: &Root) -> Vec<(String, i64)> {
    let keys = attributes::sysctls(root).into_iter().map(|name| format!("sysctl:{name}"));
    let others = keys.filter(|key| SCALES.iter().all(|scale| scale.name != key));
    others.filter_map(|key| attribute(root, &key).map(|value| (key, value))).collect()
}

fn attribute(root: &Root, key: &str) -> Option<i64> {
    let path = match key.split_once(':')? {
        ("sysctl", name) => attributes::sysctl_path(root, name),
        (_, file) => attributes::debug_dir(root).ok()?.join(file),
    };
    root.read_optional(path)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::Setting;

    fn knob(name: &str, default: i64) -> Knob {
        Knob { scale: SCALES.iter().find(|scale| scale.name == name).expect("a row"), default }
    }

    #[test]
    fn nice_levels_are_listed_and_times_go_by_ratios_within_their_range() {
        assert_eq!(knob("nice", 0).levels(), [-20, -10, -5, 0, 5, 10, 19]);
        assert_eq!(knob("nice", 3).levels(), [-20, -10, -5, 0, 3, 5, 10, 19]);
        assert_eq!(knob("slice", 5600).levels(), [350, 1400, 5600, 22_400, 89_600]);
        assert_eq!(knob("slice", 50_000).levels(), [3125, 12_500, 50_000, 100_000]);
        assert_eq!(knob("sysctl:kernel.timer_migration", 1).levels(), [0, 1]);
    }

    #[test]
    fn every_value_worth_trying_of_the_program_is_read_by_the_settings() {
        for knob in
            [knob("nice", 0), knob("slice", 100), knob("slice", 3000), knob("slice", 100_000)]
        {
            for level in knob.levels() {
                assert!(
                    (knob.scale.min..=knob.scale.max).contains(&level),
                    "{}={level}",
                    knob.scale.name
                );
                Setting::read("default", [(knob.scale.name, knob.text(level).as_str())]).unwrap();
            }
            for beyond in [knob.scale.min - 1, knob.scale.max + 1] {
                Setting::read("default", [(knob.scale.name, knob.text(beyond).as_str())])
                    .unwrap_err();
            }
        }
    }

    #[test]
    fn what_the_machine_is_set_to_is_the_default_and_what_it_does_not_have_is_absent() {
        let dir = tempfile::tempdir().unwrap();
        let kernel = dir.path().join("proc/sys/kernel");
        std::fs::create_dir_all(&kernel).unwrap();
        for (name, value) in [
            ("sched_cfs_bandwidth_slice_us", "4000\n"),
            ("sched_rt_runtime_us", "-1\n"),
            ("sched_two", "1 2\n"),
        ] {
            std::fs::write(kernel.join(name), value).unwrap();
        }
        let root = Root::at(dir.path());
        let found = knobs(&root).into_iter().filter(|knob| !knob.is_of_program());
        let found: Vec<(&str, i64)> = found.map(|knob| (knob.scale.name, knob.default)).collect();
        assert_eq!(found, [("sysctl:kernel.sched_cfs_bandwidth_slice_us", 4000)]);
        assert_eq!(other_numbers(&root), [("sysctl:kernel.sched_rt_runtime_us".to_string(), -1)]);
    }
}
