//! Control groups by id, which is their directory's inode.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::DirEntryExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use machine::Root;

/// Further groups have no path.
const MAX_GROUPS: usize = 65_536;
const MAX_DEPTH: usize = 32;
/// Between two reads of the hierarchy, because groups may be created all the time.
const READ_INTERVAL: Duration = Duration::from_secs(1);

/// The unified hierarchy.
pub(crate) fn hierarchy(root: &Root) -> Result<PathBuf> {
    let places = [root.sys("fs/cgroup"), root.sys("fs/cgroup/unified")];
    match places.iter().find(|place| place.join("cgroup.controllers").exists()) {
        Some(place) => Ok(place.clone()),
        None => bail!(
            "control groups: the unified hierarchy is not mounted at /sys/fs/cgroup; mount cgroup2 there"
        ),
    }
}

/// Paths of groups, reread for each new id.
#[derive(Debug, Default)]
pub(crate) struct Cgroups {
    hierarchy: Option<PathBuf>,
    paths: BTreeMap<u64, String>,
    read: Option<Instant>,
}

impl Cgroups {
    pub(crate) fn new(root: &Root) -> Cgroups {
        let mut groups = Cgroups { hierarchy: hierarchy(root).ok(), ..Cgroups::default() };
        groups.refresh();
        groups
    }

    /// Empty for id 0. A deleted or unknown group has its id.
    pub(crate) fn path(&mut self, number: u64) -> String {
        if number == 0 || self.hierarchy.is_none() {
            return String::new();
        }
        if !self.paths.contains_key(&number)
            && self.read.is_none_or(|at| at.elapsed() >= READ_INTERVAL)
        {
            self.refresh();
        }
        self.paths.get(&number).cloned().unwrap_or_else(|| format!("removed group {number}"))
    }

    fn refresh(&mut self) {
        self.read = Some(Instant::now());
        let Some(top) = self.hierarchy.clone() else { return };
        // The root has id 1. Old paths stay for further requests of deleted groups.
        self.paths.insert(1, "/".to_owned());
        let mut left = MAX_GROUPS;
        walk(&top, "", MAX_DEPTH, &mut left, &mut self.paths);
    }
}

fn walk(
    dir: &Path,
    below: &str,
    depth: usize,
    left: &mut usize,
    paths: &mut BTreeMap<u64, String>,
) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
    {
        if *left == 0 || depth == 0 {
            return;
        }
        *left -= 1;
        let path = format!("{below}/{}", entry.file_name().to_string_lossy());
        walk(&entry.path(), &path, depth - 1, left, paths);
        paths.insert(entry.ino(), path);
    }
}
