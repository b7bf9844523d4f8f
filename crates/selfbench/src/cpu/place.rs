//! One CPU for this process and its children, given back at the end.

use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::cases::Place;

/// Roots of control groups for CPUs, version 1 and 2, the file of weights, and the greatest one.
const ROOTS: [(&str, &str, &str); 2] =
    [("/sys/fs/cgroup/cpu", "cpu.shares", "262144"), ("/sys/fs/cgroup", "cpu.weight", "10000")];

pub(super) struct Confined {
    before: CpuSet,
    group: Option<PathBuf>,
}

impl Confined {
    pub(super) fn enter(place: Place) -> Result<Confined> {
        let before = sched_getaffinity(None)?;
        if place != Place::Anywhere {
            let mut first = CpuSet::new();
            first.set((0..CpuSet::MAX_CPU).find(|cpu| before.is_set(*cpu)).unwrap_or(0));
            sched_setaffinity(None, &first)?;
        }
        let mut confined = Confined { before, group: None };
        if place == Place::Group {
            confined.group = Some(enter_group()?);
        }
        Ok(confined)
    }
}

fn enter_group() -> Result<PathBuf> {
    let name = format!("schedlab-selfbench-{}", std::process::id());
    for (root, file, weight) in ROOTS {
        let dir = Path::new(root).join(&name);
        if fs::create_dir(&dir).is_err() {
            continue;
        }
        let entered =
            fs::write(dir.join(file), weight).and_then(|()| fs::write(dir.join(PROCS), "0"));
        match entered {
            Ok(()) => return Ok(dir),
            Err(_) => fs::remove_dir(&dir)?,
        }
    }
    Err(Error::new(ErrorKind::NotFound, "no control group for CPUs can be made; run as root"))
}

const PROCS: &str = "cgroup.procs";

impl Drop for Confined {
    fn drop(&mut self) {
        let _ = sched_setaffinity(None, &self.before);
        if let Some(group) = &self.group {
            let _ = fs::write(group.with_file_name(PROCS), "0");
            let _ = fs::remove_dir(group);
        }
    }
}
