//! Flushes, drops and counts cached pages of the given files only.

use std::fs::{self, File};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Advice, fadvise};
use rustix::param::page_size;

use crate::programs::error::RunnerError;
use crate::programs::sys;

/// The whole file system of `path`.
pub(crate) fn sync(path: &Path) -> Result<Duration, RunnerError> {
    let failed = RunnerError::file("write out its file system", path);
    let began = Instant::now();
    let written = File::open(path).and_then(|file| Ok(rustix::fs::syncfs(file)?));
    written.map(|()| began.elapsed()).map_err(failed)
}

pub(crate) fn sync_device(path: &Path) -> Result<Duration, RunnerError> {
    let began = Instant::now();
    let written = File::open(path).and_then(|file| file.sync_all());
    written.map(|()| began.elapsed()).map_err(RunnerError::file("write out", path))
}

pub(crate) fn files_below(directory: &Path) -> Result<Vec<PathBuf>, RunnerError> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_path_buf()];
    while let Some(directory) = open.pop() {
        let failed = RunnerError::file("read", &directory);
        let entries = fs::read_dir(&directory)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(failed)?;
        for entry in entries {
            let kind = entry.file_type().map_err(RunnerError::file("read", &entry.path()))?;
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Drops pages, except dirty and mapped ones.
pub(crate) fn forget(files: &[PathBuf]) -> Result<(), RunnerError> {
    for path in files {
        let opened = File::open(path).map_err(RunnerError::file("open", path))?;
        let len: Option<NonZeroU64> = None;
        fadvise(&opened, 0, len, Advice::DontNeed)
            .map_err(|errno| RunnerError::file("drop its pages", path)(errno.into()))?;
    }
    Ok(())
}

/// Counts whole pages.
pub(crate) fn resident_bytes(files: &[PathBuf]) -> Result<u64, RunnerError> {
    let mut pages = 0;
    for path in files {
        pages += sys::resident_pages(path)
            .map_err(RunnerError::file("count its pages in memory", path))?;
    }
    Ok(pages * page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_in_memory_until_it_is_written_out_and_let_go() {
        // /tmp may be in memory.
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let inner = dir.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        fs::write(inner.join("full"), vec![7; 5 * page_size() - 100]).unwrap();
        fs::write(inner.join("empty"), b"").unwrap();
        let files = files_below(dir.path()).unwrap();
        assert_eq!(files, [inner.join("empty"), inner.join("full")]);
        assert_eq!(resident_bytes(&files).unwrap(), 5 * page_size() as u64);
        sync(dir.path()).unwrap();
        forget(&files).unwrap();
        assert_eq!(resident_bytes(&files).unwrap(), 0);
        fs::read(inner.join("full")).unwrap();
        assert_eq!(resident_bytes(&files).unwrap(), 5 * page_size() as u64);
    }

    #[test]
    fn a_file_that_is_missing_is_named() {
        let gone = PathBuf::from("/nonexistent/file");
        let error = forget(&[gone]).unwrap_err().to_string();
        assert!(error.contains("/nonexistent/file"), "{error}");
    }
}
