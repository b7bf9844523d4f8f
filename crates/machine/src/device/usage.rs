//! A disk's users: mounts, swap, stacked devices, partitions, the file behind a loop device.
//!
//! Only for display, from one mount namespace. Permission to write needs more (`consent/users.rs`).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::makedev;
use serde::Serialize;

use super::node_path;
use crate::root::Root;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Mount {
    /// E.g. `sda1`.
    pub device: String,
    pub at: String,
    pub fs: String,
    pub options: String,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Usage {
    pub(crate) mounts: Vec<Mount>,
    pub(crate) swap: Vec<String>,
    pub(crate) holders: Vec<String>,
    pub(crate) partitions: Vec<String>,
    pub(crate) read_only: bool,
}

/// Usage of a disk, counting only these partitions.
pub(crate) fn usage_of(root: &Root, name: &str, partitions: Vec<String>) -> Usage {
    Usage {
        mounts: mounts(root, name, &partitions),
        swap: swap(root, name, &partitions),
        holders: holders(root, name, &partitions),
        read_only: root.read_optional(root.sys("block").join(name).join("ro")).as_deref()
            == Some("1"),
        partitions,
    }
}

/// Disks at the bottom of a stacked device; empty if it is not stacked.
pub(super) fn bottom_disks(root: &Root, name: &str) -> BTreeSet<String> {
    let disks = root.names(root.sys("block"));
    let whole = |part: String| {
        let disk = disks
            .iter()
            .find(|disk| root.sys("block").join(disk).join(&part).join("partition").exists());
        disk.cloned().unwrap_or(part)
    };
    let mut found = BTreeSet::new();
    for disk in root.names(root.sys("block").join(name).join("slaves")).into_iter().map(whole) {
        let mut deeper = bottom_disks(root, &disk);
        if deeper.is_empty() {
            deeper.insert(disk);
        }
        found.append(&mut deeper);
    }
    found
}

/// Subdirectories with a `partition` file.
pub(crate) fn partitions(root: &Root, name: &str) -> Vec<String> {
    let dir = root.sys("block").join(name);
    root.names(&dir).into_iter().filter(|sub| dir.join(sub).join("partition").exists()).collect()
}

/// Mounts in this mount namespace.
pub(super) fn mounts(root: &Root, name: &str, partitions: &[String]) -> Vec<Mount> {
    mounts_in(root, &root.proc("self/mountinfo"), name, partitions)
}

/// Matches device numbers, and names for file systems that show a different number.
pub(crate) fn mounts_in(
    root: &Root,
    table: &Path,
    name: &str,
    partitions: &[String],
) -> Vec<Mount> {
    let Some(table) = root.read_optional(table) else { return Vec::new() };
    let mut found = BTreeSet::new();
    for device in with_partitions(name, partitions) {
        let number = number(root, name, device);
        let node = real_path(root, &node_path(device).display().to_string());
        for line in table.lines() {
            // ID PARENT MAJOR:MINOR ROOT MOUNT-POINT OPTIONS [TAG…] - FS SOURCE FS-OPTIONS
            let Some((left, right)) = line.split_once(" - ") else { continue };
            let left: Vec<&str> = left.split(' ').collect();
            let right: Vec<&str> = right.split(' ').collect();
            let (Some(at), Some(source)) = (left.get(4), right.get(1)) else { continue };
            let same_number = number.is_some() && number.as_deref() == left.get(2).copied();
            // Any user can mount an arbitrary source in a private namespace. Resolving one outside
            // of /dev could trigger a mount or wait for a server.
            let is_source =
                || source.starts_with("/dev/") && real_path(root, &unescape(source)) == node;
            if same_number || is_source() {
                let options =
                    format!("{} {}", left.get(5).unwrap_or(&""), right.get(2).unwrap_or(&""));
                found.insert(Mount {
                    device: device.to_string(),
                    at: unescape(at),
                    fs: right[0].into(),
                    options,
                });
            }
        }
    }
    found.into_iter().collect()
}

pub(super) fn swap(root: &Root, name: &str, partitions: &[String]) -> Vec<String> {
    let table = root.read_optional(root.proc("swaps")).unwrap_or_default();
    let sources: Vec<PathBuf> = table
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .map(|source| real_path(root, &unescape(source)))
        .collect();
    let is_swap = |device: &&str| {
        sources.contains(&real_path(root, &node_path(device).display().to_string()))
    };
    with_partitions(name, partitions).filter(is_swap).map(str::to_string).collect()
}

pub(super) fn holders(root: &Root, name: &str, partitions: &[String]) -> Vec<String> {
    let dir = root.sys("block").join(name);
    let mut found: BTreeSet<String> = root.names(dir.join("holders")).into_iter().collect();
    for partition in partitions {
        found.extend(root.names(dir.join(partition).join("holders")));
    }
    found.into_iter().collect()
}

pub(super) fn backing_file(root: &Root, name: &str) -> Option<PathBuf> {
    root.read_optional(root.sys("block").join(name).join("loop/backing_file")).map(PathBuf::from)
}

fn with_partitions<'a>(name: &'a str, partitions: &'a [String]) -> impl Iterator<Item = &'a str> {
    std::iter::once(name).chain(partitions.iter().map(String::as_str))
}

/// `MAJOR:MINOR`.
fn number(root: &Root, disk: &str, device: &str) -> Option<String> {
    let dir = root.sys("block").join(disk);
    root.read_optional(if disk == device { dir.join("dev") } else { dir.join(device).join("dev") })
}

/// Numbers of a disk and these partitions.
pub(crate) fn numbers(root: &Root, disk: &str, partitions: &[String]) -> Vec<u64> {
    let all = with_partitions(disk, partitions).filter_map(|device| number(root, disk, device));
    all.filter_map(|text| parse_number(&text)).collect()
}

fn parse_number(text: &str) -> Option<u64> {
    let (major, minor) = text.split_once(':')?;
    Some(makedev(major.parse().ok()?, minor.parse().ok()?))
}

/// The disk with its partitions, or the disk and the partition.
pub(crate) fn disk_of_number(root: &Root, wanted: u64) -> Option<(String, Vec<String>)> {
    root.names(root.sys("block")).into_iter().find_map(|disk| {
        let all = partitions(root, &disk);
        if numbers(root, &disk, &[]).contains(&wanted) {
            return Some((disk, all));
        }
        let part = all
            .into_iter()
            .find(|part| numbers(root, &disk, std::slice::from_ref(part)).contains(&wanted))?;
        Some((disk, vec![part]))
    })
}

/// Resolves links as far as the path exists.
fn real_path(root: &Root, path: &str) -> PathBuf {
    let inside = root.path(path);
    fs::canonicalize(&inside).unwrap_or(inside)
}

/// Blank, tab, newline and backslash are octal in the kernel's tables.
pub(crate) fn unescape(text: &str) -> String {
    let mut out = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let octal = bytes
            .get(at + 1..at + 4)
            .filter(|digits| digits.iter().all(|d| (b'0'..=b'7').contains(d)));
        match octal {
            Some(digits) if bytes[at] == b'\\' && digits[0] <= b'3' => {
                out.push(digits.iter().fold(0u8, |sum, digit| (sum << 3) | (digit - b'0')));
                at += 4;
            }
            _ => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octal_escapes_of_the_kernels_tables_are_undone() {
        assert_eq!(unescape(r"/mnt/my\040disk\134x"), r"/mnt/my disk\x");
        assert_eq!(unescape(r"/plain\9"), r"/plain\9");
    }
}
