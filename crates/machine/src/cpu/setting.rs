//! Parses the settings of a CPU experiment's variant.

use std::path::PathBuf;

use crate::placement::{CpuList, Placement};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Setting {
    pub placement: Placement,
    pub isolate: Option<CpuList>,
    /// Written in this order.
    pub attributes: Vec<Attribute>,
    /// The program that loads a sched_ext scheduler.
    pub sched_ext: Option<PathBuf>,
    /// The command line that `{run}` of a workload stands for.
    pub run: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// E.g. `sysctl:kernel.sched_rr_timeslice_ms`.
    pub key: String,
    pub value: String,
}

#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// After a final `:`, one of the kernel's names follows.
    pub name: &'static str,
    pub example: &'static str,
    pub help: &'static str,
}

/// Without the scheduler (`default`, `sched_ext:BINARY`).
pub static KEYS: &[Key] = &[
    Key {
        name: "nice",
        example: "-20",
        help: "nice level of the measured program, -20 (most) to 19",
    },
    Key {
        name: "policy",
        example: "fifo:50",
        help: "other, batch, idle, fifo:PRIORITY, rr:PRIORITY, deadline:RUNTIME/DEADLINE/PERIOD",
    },
    Key { name: "affinity", example: "0", help: "CPUs that the measured program may use" },
    Key {
        name: "slice",
        example: "3ms",
        help: "how long the measured program may run before another's turn, 100us to 100ms (fair policies, Linux 6.12)",
    },
    Key {
        name: "isolate",
        example: "0",
        help: "CPUs that every other task leaves, as far as it can be moved",
    },
    Key {
        name: "autogroup",
        example: "off",
        help: "whether each session gets one share (on) or each task (off)",
    },
    Key { name: "governor", example: "performance", help: "governor of every CPU's frequency" },
    Key { name: "boost", example: "off", help: "frequencies above the nominal one: on or off" },
    Key {
        name: "sysctl:",
        example: "100",
        help: "a sysctl of the scheduler, e.g. sysctl:kernel.sched_rr_timeslice_ms",
    },
    Key {
        name: "feature:",
        example: "off",
        help: "a feature of /sys/kernel/debug/sched/features, e.g. feature:WAKEUP_PREEMPTION",
    },
    Key {
        name: "debug:",
        example: "3000000",
        help: "a file of /sys/kernel/debug/sched, e.g. debug:base_slice_ns",
    },
    Key {
        name: "run",
        example: "./new --fast",
        help: "the command line that {run} of the workload command stands for; compare --commands writes such variants",
    },
];

impl Setting {
    /// Whether it affects the measured program alone and changes nothing on the machine.
    pub fn is_of_program(&self) -> bool {
        self.attributes.is_empty() && self.sched_ext.is_none() && self.isolate.is_none()
    }

    pub fn read<'a>(
        scheduler: &str,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Setting, String> {
        let mut setting = Setting { sched_ext: sched_ext(scheduler)?, ..Setting::default() };
        for (key, value) in pairs {
            let wrong = |why: String| format!("{key}={value}: {why}");
            match key {
                "nice" => {
                    let nice = value.parse::<i32>().ok().filter(|nice| (-20..=19).contains(nice));
                    let why = || wrong("a nice level is a whole number from -20 to 19".to_string());
                    setting.placement.nice = Some(nice.ok_or_else(why)?);
                }
                "policy" => setting.placement.policy = Some(value.parse().map_err(wrong)?),
                "affinity" => setting.placement.affinity = Some(value.parse().map_err(wrong)?),
                "slice" => {
                    setting.placement.slice =
                        Some(crate::placement::read_slice(value).map_err(wrong)?)
                }
                "isolate" => setting.isolate = Some(value.parse().map_err(wrong)?),
                "run" => setting.run = Some(value.to_string()),
                _ if is_attribute(key) => {
                    setting
                        .attributes
                        .push(Attribute { key: key.to_string(), value: value.to_string() });
                }
                _ => {
                    let known = text::expected_one_of(key, KEYS.iter().map(|row| row.name));
                    return Err(format!("{key}: not a setting of the CPU scheduler {known}"));
                }
            }
        }
        if setting.placement.nice.is_some()
            && setting.placement.policy.is_some_and(crate::placement::Policy::is_realtime)
        {
            return Err("a nice level has no effect under a realtime policy; remove one of them"
                .to_string());
        }
        if setting.placement.policy == Some(crate::placement::Policy::Idle)
            && (setting.placement.nice.is_some() || setting.placement.slice.is_some())
        {
            return Err("the policy idle ignores nice level and slice; remove them".to_string());
        }
        if setting.placement.slice.is_some()
            && setting.placement.policy.is_some_and(crate::placement::Policy::is_realtime)
        {
            return Err(
                "a slice has no effect under a realtime policy; remove one of them".to_string()
            );
        }
        if let (Some(isolate), None) = (&setting.isolate, &setting.placement.affinity) {
            setting.placement.affinity = Some(isolate.clone());
        }
        Ok(setting)
    }
}

fn is_attribute(key: &str) -> bool {
    ["autogroup", "governor", "boost"].contains(&key)
        || ["sysctl:", "feature:", "debug:"]
            .iter()
            .any(|begin| key.len() > begin.len() && key.starts_with(begin))
}

/// `None` for the kernel's own scheduler.
fn sched_ext(scheduler: &str) -> Result<Option<PathBuf>, String> {
    match scheduler.split_once(':') {
        None if matches!(scheduler, "" | "default") => Ok(None),
        Some(("sched_ext", binary)) if !binary.is_empty() => Ok(Some(binary.into())),
        _ => Err(format!(
            "{scheduler:?} is not a CPU scheduler; use `default` for the kernel's own, or sched_ext:BINARY for one that a program loads"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_and_slips_are_named() {
        let setting =
            Setting::read("default", [("nice", "-20"), ("isolate", "0"), ("boost", "off")])
                .unwrap();
        assert_eq!(setting.placement.nice, Some(-20));
        assert_eq!(setting.placement.affinity, setting.isolate, "it runs where no other task does");
        assert_eq!(
            setting.attributes,
            [Attribute { key: "boost".to_string(), value: "off".to_string() }]
        );
        assert_eq!(Setting::read("sched_ext:/x", []).unwrap().sched_ext, Some("/x".into()));
        for (scheduler, pair, said) in [
            ("bfq", ("nice", "0"), "sched_ext:BINARY"),
            ("default", ("nice", "20"), "-20 to 19"),
            ("default", ("afinity", "0"), "did you mean \"affinity\""),
            ("default", ("affinity", "x"), "0,2-3"),
            ("default", ("sysctl:", "1"), "not a setting"),
        ] {
            let error = Setting::read(scheduler, [pair]).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        assert!(
            Setting::read("default", [("nice", "1"), ("policy", "fifo:1")])
                .unwrap_err()
                .contains("remove one")
        );
    }
}
