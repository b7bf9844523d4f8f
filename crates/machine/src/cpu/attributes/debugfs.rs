//! The scheduler's files in debugfs: features, slices, preemption model.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::gone;
use super::item::{Item, Shape, Write};
use super::value::{Resolved, denied, fits, switch};
use crate::Root;
use crate::names::{did_you_mean, list};

/// Recomputed when `tunable_scaling` is written.
const SCALED: [&str; 4] =
    ["base_slice_ns", "latency_ns", "min_granularity_ns", "wakeup_granularity_ns"];

/// For `domains/cpu0/domain0/flags`.
const DEPTH: u32 = 3;

/// The mount point of debugfs, or why it is unavailable.
fn mount(root: &Root) -> Result<PathBuf, String> {
    let mount = root.sys("kernel/debug");
    if let Some(mode) = lockdown(root) {
        return Err(format!(
            "the kernel is locked down ({mode}), and then debugfs cannot be opened: boot without Secure Boot or without lockdown="
        ));
    }
    match fs::read_dir(&mount).map(|mut entries| entries.next().is_some()) {
        Ok(true) => Ok(mount),
        Ok(false) => {
            Err("debugfs is not mounted: mount -t debugfs none /sys/kernel/debug".to_string())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err("this kernel has no debugfs (CONFIG_DEBUG_FS)".to_string())
        }
        Err(error) => Err(denied(&mount, &error)),
    }
}

fn lockdown(root: &Root) -> Option<String> {
    let modes = root.read_optional(root.sys("kernel/security/lockdown"))?;
    let mode =
        modes.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))?;
    (mode != "none").then(|| mode.to_string())
}

/// The scheduler's directory, or why it is unavailable.
pub(crate) fn dir(root: &Root) -> Result<PathBuf, String> {
    let dir = mount(root)?.join("sched");
    if dir.is_dir() {
        return Ok(dir);
    }
    Err("debugfs has no sched: before Linux 5.13 use sysctls (sysctl:kernel.sched_...); later kernels require CONFIG_SCHED_DEBUG"
        .to_string())
}

/// The features file, elsewhere before Linux 5.13.
fn features_file(root: &Root) -> Result<PathBuf, String> {
    let old = mount(root)?.join("sched_features");
    if old.is_file() {
        return Ok(old);
    }
    let file = dir(root)?.join("features");
    if file.is_file() {
        Ok(file)
    } else {
        Err("this kernel does not show its features".to_string())
    }
}

pub(super) fn is_path(root: &Root, found: &Path) -> bool {
    let mount = root.sys("kernel/debug");
    let below = found.strip_prefix(mount.join("sched"));
    below.is_ok_and(|below| below.components().all(|part| matches!(part, Component::Normal(_))))
        || found == mount.join("sched_features")
}

pub(crate) fn features(root: &Root) -> Result<Vec<(String, bool)>, String> {
    let file = features_file(root)?;
    let text = root.read(&file).map_err(|error| error.to_string())?;
    let word = |word: &str| {
        word.strip_prefix("NO_")
            .map_or_else(|| (word.to_string(), true), |name| (name.to_string(), false))
    };
    Ok(text.split_whitespace().map(word).collect())
}

/// Relative to the scheduler's directory, without `features`.
pub(crate) fn files(root: &Root) -> Result<Vec<String>, String> {
    fn walk(root: &Root, dir: &Path, begin: &str, depth: u32, all: &mut Vec<String>) {
        for name in root.names(dir) {
            let (path, name) = (dir.join(&name), format!("{begin}{name}"));
            if path.is_dir() && depth > 0 {
                walk(root, &path, &format!("{name}/"), depth - 1, all);
            } else if !["debug", "features"].contains(&name.as_str()) {
                all.push(name);
            }
        }
    }
    let mut all = Vec::new();
    walk(root, &dir(root)?, "", DEPTH, &mut all);
    Ok(all)
}

pub(super) fn feature(root: &Root, name: &str, value: &str) -> Result<Resolved, String> {
    let on = switch(value)?;
    let path = features_file(root)?;
    let known: Vec<String> = features(root)?.into_iter().map(|(name, _)| name).collect();
    if !known.iter().any(|known| known == name) {
        if let Some(bare) =
            name.strip_prefix("NO_").filter(|bare| known.iter().any(|known| known == bare))
        {
            return Err(format!("use feature:{bare}=off or =on instead of NO_"));
        }
        let did_you_mean = did_you_mean(name, &known);
        return Err(format!(
            "the scheduler has no feature {name}, expected one of {}{did_you_mean}",
            list(&known)
        ));
    }
    let item = Item { name: format!("feature {name}"), path, shape: Shape::Word(name.to_string()) };
    let value = if on { "on" } else { "off" }.to_string();
    Ok(Resolved { writes: vec![Write { item, value }], ..Resolved::default() })
}

pub(super) fn file(root: &Root, name: &str, value: &str) -> Result<Resolved, String> {
    let is_below = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    if !is_below {
        return Err(
            "write the path of a file below /sys/kernel/debug/sched, e.g. debug:base_slice_ns"
                .to_string(),
        );
    }
    if name == "features" {
        return Err("features are set one at a time: feature:NAME=on or =off".to_string());
    }
    let dir = dir(root)?;
    let path = dir.join(name);
    if !path.is_file() {
        let known = files(root)?;
        let all =
            list(&known.iter().filter(|name| !name.contains('/')).cloned().collect::<Vec<_>>());
        return Err(match gone::find(name) {
            Some(row) => {
                format!(
                    "this kernel does not have it: {name} {}{}",
                    row.what,
                    replacement_hint(root, row)
                )
            }
            None => format!("no such file, expected one of {all}{}", did_you_mean(name, &known)),
        });
    }
    let mut item = Item::plain(name, path);
    let Some(shown) = item.read(root) else {
        return Err("the file cannot be read, or is empty".to_string());
    };
    let mut words = shown.split_whitespace();
    let value = if words.clone().count() > 1 && words.any(|word| word.starts_with(['(', '['])) {
        let modes: Vec<String> = shown
            .split_whitespace()
            .map(|word| word.trim_matches(['(', ')', '[', ']']).to_string())
            .collect();
        if !modes.iter().any(|mode| mode == value) {
            return Err(format!(
                "it cannot be {value:?}, expected one of {}{}",
                list(&modes),
                did_you_mean(value, &modes)
            ));
        }
        item.shape = Shape::Marked;
        value.to_string()
    } else {
        fits(&shown, value)?
    };
    let scaled = |name: &&str| dir.join(name).is_file();
    let scaled = SCALED.iter().filter(|_| name == "tunable_scaling").filter(|name| scaled(name));
    let moved = scaled.map(|name| Item::plain(*name, dir.join(name))).collect();
    Ok(Resolved { writes: vec![Write { item, value }], moved })
}

/// The replacement, and whether it is available.
pub(super) fn replacement_hint(root: &Root, row: &gone::Gone) -> String {
    let Some(key) = row.replacement(&root.kernel_release()) else { return String::new() };
    let unreachable = dir(root).err().filter(|_| !key.starts_with("sysctl:"));
    unreachable.map_or_else(|| format!("; use {key}"), |why| format!("; use {key} ({why})"))
}
