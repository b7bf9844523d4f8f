//! CPU frequencies: governors and boost.

use std::path::{Component, Path, PathBuf};

use super::item::{Item, Write};
use super::value::{Resolved, switch};
use crate::Root;
use crate::names::{did_you_mean, list};

const NO_DRIVER: &str = "there is no cpufreq driver here: in a virtual machine frequencies are the host's (set it there), and on a real \
                         one the driver may be off (BIOS, intel_pstate=disable) or not loaded";

/// Name and directory of each cpufreq policy.
pub(crate) fn policies(root: &Root) -> Result<Vec<(String, PathBuf)>, String> {
    let cpus = root.sys("devices/system/cpu");
    let numbered = |name: &String, begin: &str| {
        name.strip_prefix(begin).is_some_and(|n| n.parse::<u32>().is_ok())
    };
    let governor = |dir: &PathBuf| dir.join("scaling_governor").is_file();
    let policies =
        root.names(cpus.join("cpufreq")).into_iter().filter(|name| numbered(name, "policy"));
    let mut all: Vec<_> =
        policies.map(|name| (name.clone(), cpus.join("cpufreq").join(name))).collect();
    all.retain(|(_, dir)| governor(dir));
    if all.is_empty() {
        let each = root.names(&cpus).into_iter().filter(|name| numbered(name, "cpu"));
        all.extend(
            each.map(|name| (name.clone(), cpus.join(name).join("cpufreq")))
                .filter(|(_, dir)| governor(dir)),
        );
    }
    if all.is_empty() { Err(NO_DRIVER.to_string()) } else { Ok(all) }
}

pub(super) fn governor(root: &Root, value: &str) -> Result<Resolved, String> {
    let mut writes = Vec::new();
    for (name, dir) in policies(root)? {
        let offered =
            root.read_optional(dir.join("scaling_available_governors")).unwrap_or_default();
        let offered: Vec<String> = offered.split_whitespace().map(str::to_string).collect();
        if !offered.iter().any(|governor| governor == value) {
            let did_you_mean = did_you_mean(value, &offered);
            return Err(format!(
                "{name} does not offer the governor {value:?}, expected one of {} (a missing one may be a module: modprobe cpufreq_{value}){did_you_mean}",
                list(&offered)
            ));
        }
        let item = Item::plain(format!("governor of {name}"), dir.join("scaling_governor"));
        writes.push(Write { item, value: value.to_string() });
    }
    Ok(Resolved { writes, ..Resolved::default() })
}

/// The file, and its contents when boost is on.
pub(crate) fn boost_file(root: &Root) -> Result<(PathBuf, &'static str), String> {
    let cpus = root.sys("devices/system/cpu");
    let files = [(cpus.join("cpufreq/boost"), "1"), (cpus.join("intel_pstate/no_turbo"), "0")];
    let found = files.into_iter().find(|(file, _)| file.is_file());
    found.ok_or_else(|| match policies(root) {
        Ok(_) => "this cpufreq driver cannot switch boost: it has neither cpufreq/boost nor intel_pstate/no_turbo"
            .to_string(),
        Err(why) => why,
    })
}

pub(super) fn is_path(root: &Root, found: &Path) -> bool {
    let below = found.strip_prefix(root.sys("devices/system/cpu"));
    below.is_ok_and(|below| below.components().all(|part| matches!(part, Component::Normal(_))))
        && ["scaling_governor", "boost", "no_turbo"].iter().any(|name| found.ends_with(name))
}

/// Frequencies above the nominal one.
pub(super) fn boost(root: &Root, value: &str) -> Result<Resolved, String> {
    let on = switch(value)?;
    let (path, is_on) = boost_file(root)?;
    let value = match (on, is_on) {
        (true, _) => is_on,
        (false, "1") => "0",
        (false, _) => "1",
    };
    let name =
        format!("boost ({})", path.file_name().and_then(|name| name.to_str()).unwrap_or_default());
    Ok(Resolved {
        writes: vec![Write { item: Item::plain(name, path), value: value.to_string() }],
        ..Resolved::default()
    })
}
