//! The scheduler's sysctls, below /proc/sys/kernel.

use std::path::{Path, PathBuf};

use super::debugfs::replacement_hint;
use super::gone;
use super::item::{Item, Write};
use super::value::{Resolved, denied, fits, switch};
use crate::Root;
use crate::names::{did_you_mean, list};

const AUTOGROUP: &str = "kernel.sched_autogroup_enabled";

const OWN_SYSCTLS: &str = "kernel.sched_*, kernel.numa_balancing* and kernel.timer_migration";

fn is_ours(name: &str) -> bool {
    name.starts_with("kernel.sched_")
        || name.starts_with("kernel.numa_balancing")
        || name == "kernel.timer_migration"
}

pub(crate) fn path(root: &Root, name: &str) -> PathBuf {
    root.proc("sys").join(name.replace('.', "/"))
}

pub(super) fn is_path_of(root: &Root, name: &str, found: &Path) -> bool {
    is_plain(name) && is_ours(name) && found == path(root, name)
}

fn is_plain(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
}

pub(crate) fn names(root: &Root) -> Vec<String> {
    let all = root.names(root.proc("sys/kernel")).into_iter().map(|name| format!("kernel.{name}"));
    all.filter(|name| is_ours(name) && path(root, name).is_file()).collect()
}

pub(super) fn resolve(root: &Root, name: &str, value: &str) -> Result<Resolved, String> {
    let name = name.replace('/', ".");
    if !is_plain(&name) || !is_ours(&name) {
        let with = format!("kernel.{name}");
        let hint = if is_ours(&with) { format!(" (write sysctl:{with})") } else { String::new() };
        return Err(format!(
            "not a sysctl of the CPU scheduler ({OWN_SYSCTLS}){hint}; schedlab writes no others"
        ));
    }
    let path = path(root, &name);
    if !path.is_file() {
        return Err(missing(root, &name));
    }
    let item = Item::plain(&name, path);
    let Some(present) = item.read(root) else { return Err(empty(root, &name, &item)) };
    let value = fits(&present, value)?;
    Ok(Resolved { writes: vec![Write { item, value }], ..Resolved::default() })
}

/// Groups tasks by session.
pub(super) fn autogroup(root: &Root, value: &str) -> Result<Resolved, String> {
    let on = switch(value)?;
    resolve(root, AUTOGROUP, if on { "1" } else { "0" })
}

/// Removed, with its replacement, or unknown, with the most similar name.
fn missing(root: &Root, name: &str) -> String {
    let release = root.kernel_release();
    let kernel = if release.is_empty() {
        "this kernel".to_string()
    } else {
        format!("this kernel ({release})")
    };
    match gone::find(name) {
        Some(row) => {
            format!("{kernel} does not have it: {name} {}{}", row.what, replacement_hint(root, row))
        }
        None => {
            let known = names(root);
            format!(
                "{kernel} does not have it, expected one of {}{}",
                list(&known),
                did_you_mean(name, &known)
            )
        }
    }
}

/// Why an existing sysctl shows no value.
fn empty(root: &Root, name: &str, item: &Item) -> String {
    if let Err(error) = std::fs::read(&item.path) {
        return denied(&item.path, &error);
    }
    if name == "kernel.sched_energy_aware" {
        return "it is empty: this machine cannot schedule by energy at present, which requires CPUs of different capacity, no SMT, \
                an energy model, and the governor schedutil; a write would be refused or change nothing"
            .to_string();
    }
    let kernel = root.kernel_release();
    format!("it is empty: it sets nothing on this machine (Linux {kernel})")
}
