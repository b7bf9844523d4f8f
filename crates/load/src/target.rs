//! Opens files and devices, drops their cache, creates files with data.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Advice, OFlags};

use crate::buffer::fill_random;
use crate::sys::flush_buffers;
use crate::{Drive, EngineError};
use sim::workload::Phase;

/// Bytes per write.
const CHUNK: usize = 1 << 20;

#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) file: Arc<File>,
    pub(super) path: PathBuf,
    pub(super) base: u64,
    pub(super) len: u64,
    pub(super) is_device: bool,
}

/// Opens files separately, as processes would.
pub(super) fn open_all(drive: &Drive) -> Result<Vec<Target>, EngineError> {
    let mut flags = OFlags::CLOEXEC;
    if drive.params.direct {
        flags |= OFlags::DIRECT;
    }
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(drive.kind.writes_with(&drive.params))
        .custom_flags(flags.bits() as i32);
    drive
        .files
        .iter()
        .map(|wanted| {
            let failed = |cause| EngineError::File {
                doing: "cannot open",
                path: wanted.path.clone(),
                cause,
            };
            let file = options.open(&wanted.path).map_err(failed)?;
            let is_device = file.metadata().map_err(failed)?.file_type().is_block_device();
            Ok(Target {
                file: file.into(),
                path: wanted.path.clone(),
                base: wanted.base,
                len: wanted.len,
                is_device,
            })
        })
        .collect()
}

/// So that the device serves reads.
pub(super) fn drop_caches(targets: &[Target]) -> Result<(), EngineError> {
    let mut done = BTreeSet::new();
    for target in targets.iter().filter(|target| done.insert(&target.path)) {
        let dropped =
            if target.is_device { flush_buffers(&target.file) } else { forget_pages(&target.file) };
        let failed = |cause| EngineError::File {
            doing: "cannot drop the cached pages of",
            path: target.path.clone(),
            cause,
        };
        dropped.map_err(failed)?;
    }
    Ok(())
}

/// A cold cache for reads, unless the workload reads again; empty files for the phase that creates
/// them.
pub(super) fn start_pass(drive: &Drive, targets: &[Target]) -> Result<(), EngineError> {
    let phase = drive.params.phase;
    if !drive.params.direct && matches!(phase, Phase::Read | Phase::RandRead) {
        drop_caches(targets)?;
    }
    for target in targets.iter().filter(|target| phase == Phase::Write && !target.is_device) {
        let failed =
            |cause| EngineError::File { doing: "cannot empty", path: target.path.clone(), cause };
        target.file.set_len(0).map_err(failed)?;
    }
    Ok(())
}

/// Writes dirty pages first, which cannot be dropped.
fn forget_pages(file: &File) -> io::Result<()> {
    file.sync_data()?;
    rustix::fs::fadvise(file, 0, None, Advice::DontNeed).map_err(Into::into)
}

/// Files `0.data`, `1.data`, … of these sizes, with incompressible data, flushed: the file system
/// would serve holes and unwritten extents without accessing the disk.
///
/// # Errors
/// [`EngineError::NoSpace`] (new files are removed), or any error of writing.
pub fn prepare_files(dir: &Path, sizes: &[u64]) -> Result<Vec<PathBuf>, EngineError> {
    let failed =
        |cause: io::Error| EngineError::File { doing: "cannot look at", path: dir.into(), cause };
    let space = rustix::fs::statvfs(dir).map_err(|errno| failed(errno.into()))?;
    let free = space.f_bavail * space.f_frsize;
    let needed = sizes.iter().sum();
    let no_space = || EngineError::NoSpace { dir: dir.into(), needed, free };
    if needed > free {
        return Err(no_space());
    }
    let mut block = vec![0; CHUNK];
    let mut paths = Vec::with_capacity(sizes.len());
    for (number, &size) in sizes.iter().enumerate() {
        let path = dir.join(format!("{number}.data"));
        paths.push(path.clone());
        if let Err(cause) = write_file(&path, size, number as u64, &mut block) {
            paths.iter().for_each(|path| drop(std::fs::remove_file(path)));
            return Err(match cause.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => no_space(),
                _ => EngineError::File { doing: "cannot write", path, cause },
            });
        }
    }
    Ok(paths)
}

fn write_file(path: &Path, size: u64, seed: u64, block: &mut [u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    let mut left = size;
    while left > 0 {
        fill_random(block, (seed << 40) ^ left);
        let now = left.min(block.len() as u64) as usize;
        file.write_all(&block[..now])?;
        left -= now as u64;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prepared_files_have_their_sizes_and_hold_real_data() {
        let dir = tempfile::tempdir().unwrap();
        let paths = prepare_files(dir.path(), &[5000, CHUNK as u64 + 1]).unwrap();
        let sizes: Vec<usize> =
            paths.iter().map(|path| std::fs::read(path).unwrap().len()).collect();
        assert_eq!(sizes, [5000, CHUNK + 1]);
        let data = std::fs::read(&paths[1]).unwrap();
        assert_ne!(data[..4096], data[4096..8192], "no block repeats");
    }

    #[test]
    fn more_than_is_free_is_refused_before_anything_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let error = prepare_files(dir.path(), &[1 << 60]).unwrap_err();
        assert!(
            matches!(error, EngineError::NoSpace { needed, free, .. } if needed == 1 << 60 && free < needed),
            "{error}"
        );
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
