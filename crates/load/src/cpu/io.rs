//! Threads that write files and wait for the device: competition that mostly sleeps, and is
//! credited for it at wake-up.
//!
//! Each writes an unnamed file (O_TMPFILE) from start to end repeatedly, with fdatasync after a
//! number of writes.

use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::fdatasync;
use serde::{Deserialize, Serialize};

use crate::cpu::clock::charge_step;
use crate::cpu::load::beside;
use crate::cpu::place::{Place, block, refused};
use crate::cpu::{Failure, Report};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    pub threads: u32,
    /// Determines the file system; in virtual time, all is on the guest's disk.
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
        |at| one(spec, at, stop),
        |done, seconds| {
            let (writes, syncs) =
                done.iter().fold((0u64, 0u64), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            let bytes = writes as f64 * spec.block as f64;
            vec![("write_mb_per_s", bytes / 1e6 / seconds), ("syncs_per_s", syncs as f64 / seconds)]
        },
    )
}

/// Returns the numbers of writes and syncs.
fn one(spec: &Spec, at: u32, stop: &AtomicBool) -> Result<(u64, u64), Failure> {
    let place = Place::open(&spec.dir, at, spec.size, false)?;
    let mut block = block(spec.block)?;
    let (mut writes, mut syncs) = (0, 0);
    let blocks = (spec.size / spec.block).max(1);
    while !stop.load(Ordering::Relaxed) {
        let offset = place.start + writes % blocks * spec.block;
        let written = place.file.write_all_at(block.all(), offset);
        written.map_err(refused("write in dir=… (name a directory with more room)"))?;
        writes += 1;
        if writes.is_multiple_of(u64::from(spec.sync_every.max(1))) {
            fdatasync(&place.file).map_err(refused("wait for what was written in dir=…"))?;
            syncs += 1;
        }
        charge_step();
    }
    Ok((writes, syncs))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

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
