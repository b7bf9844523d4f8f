//! Threads that write files and wait for the device: competition that mostly sleeps, and is
//! credited for it at wake-up.
//!
//! Each writes an unnamed file (O_TMPFILE) from start to end repeatedly, with fdatasync after a
//! number of writes.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Mode, OFlags, fdatasync, open};
use rustix::io::{Errno, pwrite};
use serde::{Deserialize, Serialize};

use crate::cpu::load::beside;
use crate::cpu::{Failure, Report};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    pub threads: u32,
    /// Determines the file system.
    pub dir: PathBuf,
    /// Bytes per thread.
    pub size: u64,
    /// Bytes per write, 1 to 1 MiB.
    pub block: u64,
    /// Writes per fdatasync.
    pub sync_every: u32,
}

/// Runs until `stop`, but completes an fdatasync in progress; [`Failure::Refused`] without space or
/// unnamed files.
pub fn run(spec: &Spec, stop: &AtomicBool) -> Result<Report, Failure> {
    beside(
        spec.threads,
        stop,
        |_| one(spec, stop),
        |done, seconds| {
            let (writes, syncs) =
                done.iter().fold((0u64, 0u64), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            let bytes = writes as f64 * spec.block as f64;
            vec![("write_mb_per_s", bytes / 1e6 / seconds), ("syncs_per_s", syncs as f64 / seconds)]
        },
    )
}

/// Returns the numbers of writes and syncs.
fn one(spec: &Spec, stop: &AtomicBool) -> Result<(u64, u64), Failure> {
    let refused =
        |what: &'static str| move |errno: Errno| Failure::Refused { what, cause: errno.into() };
    let file = unnamed(&spec.dir).map_err(refused(
        "make a file without a name in dir=… (name a directory on ext4, xfs, btrfs or tmpfs)",
    ))?;
    let block: Vec<u8> =
        (0..spec.block).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let (mut writes, mut syncs) = (0, 0);
    let blocks = (spec.size / spec.block).max(1);
    while !stop.load(Ordering::Relaxed) {
        let mut rest = &block[..];
        while !rest.is_empty() {
            let at = writes % blocks * spec.block + (block.len() - rest.len()) as u64;
            match pwrite(&file, rest, at) {
                Ok(written) => rest = &rest[written..],
                Err(Errno::INTR) => {}
                Err(errno) => {
                    return Err(refused("write in dir=… (name a directory with more room)")(
                        errno,
                    ));
                }
            }
        }
        writes += 1;
        if writes.is_multiple_of(u64::from(spec.sync_every.max(1))) {
            fdatasync(&file).map_err(refused("wait for what was written in dir=…"))?;
            syncs += 1;
        }
    }
    Ok((writes, syncs))
}

fn unnamed(dir: &Path) -> rustix::io::Result<rustix::fd::OwnedFd> {
    open(dir, OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::load::stopped_after;

    fn spec(dir: &Path) -> Spec {
        Spec { threads: 2, dir: dir.into(), size: 64 << 10, block: 4096, sync_every: 4 }
    }

    #[test]
    fn it_writes_until_it_is_told_to_end_and_leaves_nothing() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let report = stopped_after(50, |stop| run(&spec(dir.path()), stop));
        let (written, syncs) = (report.counters["write_mb_per_s"], report.counters["syncs_per_s"]);
        assert!(written > 0.0 && syncs > 0.0, "{report:?}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_that_is_not_there_is_refused() {
        let refused = run(&spec(Path::new("/nowhere/at/all")), &AtomicBool::new(false))
            .unwrap_err()
            .to_string();
        assert!(refused.contains("dir=") && refused.contains("No such file"), "{refused}");
    }
}
