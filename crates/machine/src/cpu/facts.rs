//! The CPU scheduler's configuration on this machine, for the results file and `schedlab list
//! settings`.

use std::collections::BTreeMap;

use super::attributes::{
    boost_file, debug_dir, debug_files, features, policies, sysctl_path, sysctls,
};
use super::sched_ext;
use super::setting::Key;
use crate::Root;

const NOT_EXPOSED: &str = "not exposed";

/// The other debugfs files are per CPU.
const RECORDED: [&str; 6] = [
    "base_slice_ns",
    "migration_cost_ns",
    "nr_migrate",
    "tunable_scaling",
    "latency_ns",
    "min_granularity_ns",
];

/// Sysctls and, if exposed, features, preemption model, slices, governors, boost and sched_ext.
pub fn facts(root: &Root) -> BTreeMap<String, String> {
    let or = |text: Option<String>| text.unwrap_or_else(|| NOT_EXPOSED.to_string());
    let mut facts: BTreeMap<String, String> = sysctls(root)
        .into_iter()
        .map(|name| (name.clone(), or(root.read_optional(sysctl_path(root, &name)))))
        .collect();
    let words = |(name, on): (String, bool)| if on { name } else { format!("NO_{name}") };
    let all = features(root).map(|all| all.into_iter().map(words).collect::<Vec<_>>().join(" "));
    facts.insert("features".to_string(), or(all.ok()));
    let debug = |file: &str| root.read_optional(debug_dir(root).ok()?.join(file));
    let preempt = debug("preempt").or_else(|| model(root));
    facts.insert("preempt".to_string(), or(preempt));
    let slices = RECORDED.iter().filter_map(|file| Some(((*file).to_string(), debug(file)?)));
    facts.extend(slices);
    let governor = |(name, dir): (String, std::path::PathBuf)| {
        format!("{name}: {}", or(root.read_optional(dir.join("scaling_governor"))))
    };
    let governors =
        policies(root).map(|all| all.into_iter().map(governor).collect::<Vec<_>>().join(", "));
    facts.insert("governors".to_string(), or(governors.ok()));
    facts.insert("boost".to_string(), or(boost(root)));
    let ops = sched_ext::ops(root).map_or(String::new(), |ops| format!(" ({ops})"));
    facts.insert(
        "sched_ext".to_string(),
        or(sched_ext::state(root).map(|state| format!("{state}{ops}"))),
    );
    facts
}

/// The model in the kernel's version string, for use without debugfs. It shows whether the model is
/// dynamic, not which is active.
fn model(root: &Root) -> Option<String> {
    let version = root.read_optional(root.proc("sys/kernel/version"))?;
    version.split_whitespace().find(|word| word.starts_with("PREEMPT")).map(str::to_string)
}

fn boost(root: &Root) -> Option<String> {
    let (file, is_on) = boost_file(root).ok()?;
    Some(if root.read_optional(file)? == is_on { "on" } else { "off" }.to_string())
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Availability {
    pub available: bool,
    /// Available names, or the reason for their absence and the remedy.
    pub description: String,
    /// Names that can follow the key.
    pub names: Vec<String>,
}

impl Key {
    pub fn availability(&self, root: &Root) -> Availability {
        let yes =
            |description: String| Availability { available: true, description, names: Vec::new() };
        let no =
            |description: String| Availability { available: false, description, names: Vec::new() };
        let all = |names: Result<Vec<String>, String>| match names {
            Ok(names) if names.is_empty() => no("none found".to_string()),
            Ok(names) => Availability {
                available: true,
                description: format!("{} of them", names.len()),
                names,
            },
            Err(why) => no(why),
        };
        match self.name {
            "affinity" | "isolate" => {
                match root.read_optional(root.sys("devices/system/cpu/online")) {
                    Some(online) => yes(format!("CPUs {online}")),
                    None => yes("yes".to_string()),
                }
            }
            "autogroup" => {
                match root.read_optional(sysctl_path(root, "kernel.sched_autogroup_enabled")) {
                    Some(value) => yes(if value == "0" { "off" } else { "on" }.to_string()),
                    None => no("the kernel is built without CONFIG_SCHED_AUTOGROUP".to_string()),
                }
            }
            "governor" => match policies(root) {
                Ok(all) => {
                    let offered = all.first().and_then(|(_, dir)| {
                        let now = root.read_optional(dir.join("scaling_governor"))?;
                        Some(format!(
                            "{now} of {}",
                            root.read_optional(dir.join("scaling_available_governors"))?
                        ))
                    });
                    yes(offered.unwrap_or_else(|| "yes".to_string()))
                }
                Err(why) => no(why),
            },
            "boost" => match boost_file(root) {
                Ok(_) => yes(boost(root).unwrap_or_else(|| "yes".to_string())),
                Err(why) => no(why),
            },
            "slice" if version(&root.kernel_release()) < (6, 12) => {
                no("it requires Linux 6.12 or later".to_string())
            }
            "sysctl:" => all(Ok(sysctls(root))),
            "feature:" => {
                all(features(root).map(|all| all.into_iter().map(|(name, _)| name).collect()))
            }
            "debug:" => all(debug_files(root)),
            _ => yes("yes".to_string()),
        }
    }
}

/// Major and minor number; zeros if missing.
fn version(release: &str) -> (u32, u32) {
    let mut numbers = release.split(['.', '-', '+']).map(|word| word.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

pub fn sched_ext_availability(root: &Root) -> Availability {
    let description = match sched_ext::state(root) {
        Some(state) => sched_ext::ops(root).map_or(state.clone(), |ops| format!("{state} ({ops})")),
        None => "this kernel has no sched_ext (Linux 6.12, CONFIG_SCHED_CLASS_EXT)".to_string(),
    };
    Availability { available: sched_ext::state(root).is_some(), description, names: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::KEYS;
    use crate::cpu::attributes::fake_machine::FakeCpus;

    #[test]
    fn everything_that_is_there_is_told_and_what_is_missing_is_told_as_such() {
        let machine = FakeCpus::booted();
        let facts = facts(&machine.root());
        for (name, text) in [
            ("kernel.sched_rr_timeslice_ms", "100"),
            ("kernel.sched_autogroup_enabled", "1"),
            ("kernel.timer_migration", "1"),
            ("features", "PLACE_LAG NO_HRTICK WAKEUP_PREEMPTION"),
            ("preempt", "none voluntary (full) lazy"),
            ("base_slice_ns", "2800000"),
            ("governors", "policy0: schedutil, policy1: schedutil"),
            ("boost", "on"),
            ("sched_ext", "disabled"),
        ] {
            assert_eq!(facts.get(name).map(String::as_str), Some(text), "{name}");
        }
        assert!(!facts.contains_key("kernel.osrelease"), "only the scheduler's");
        let dir = tempfile::tempdir().unwrap();
        let bare = super::facts(&Root::at(dir.path()));
        for name in ["features", "preempt", "governors", "boost", "sched_ext"] {
            assert_eq!(bare[name], NOT_EXPOSED, "{name}");
        }
    }

    #[test]
    fn each_key_tells_whether_it_is_here_and_why_not() {
        let machine = FakeCpus::booted();
        let dir = tempfile::tempdir().unwrap();
        let (full, bare) = (machine.root(), Root::at(dir.path()));
        for key in KEYS {
            let here = key.availability(&full);
            assert!(here.available && !here.description.is_empty(), "{}: {here:?}", key.name);
            assert_eq!(key.name.ends_with(':'), !here.names.is_empty(), "{}", key.name);
            let always = ["nice", "policy", "affinity", "isolate", "run"].contains(&key.name);
            let here = key.availability(&bare);
            assert!(
                here.available == always && !here.description.is_empty(),
                "{}: {here:?}",
                key.name
            );
        }
        assert!(
            sched_ext_availability(&full).available && !sched_ext_availability(&bare).available
        );
    }
}
