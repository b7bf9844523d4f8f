//! An append-only, locked file of lines: the results of an experiment, search or bisection.
//!
//! Each line is synced before the next measurement, so a crash costs at most the line being
//! written. A partially written line (file system full) is cut off, so that the file remains
//! readable.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use machine::files::{Bounded, DataLock, Dir, remedy};
use text::limits::{Limit, RESULTS_LINE};

#[derive(Debug)]
pub(crate) struct LogFile {
    dir: PathBuf,
    path: PathBuf,
    file: DataLock,
    len: u64,
    limit: &'static Limit,
}

impl LogFile {
    /// Opens a file of a directory, creating it if missing.
    pub(crate) fn open(dir: &Dir, name: &str, limit: &'static Limit) -> Result<LogFile> {
        LogFile::lock(dir, name, dir.append(name)?, limit)
    }

    pub(crate) fn open_existing(dir: &Dir, name: &str, limit: &'static Limit) -> Result<LogFile> {
        LogFile::lock(dir, name, dir.append_existing(name)?, limit)
    }

    /// Locks before reading: another process may be writing its first line.
    fn lock(dir: &Dir, name: &str, file: File, limit: &'static Limit) -> Result<LogFile> {
        let (dir, path) = (dir.path().to_owned(), dir.file(name));
        let Ok(Some(file)) = DataLock::attempt(file) else {
            bail!(
                "{}: being written by another schedlab; wait for it, or name another --out",
                dir.display()
            );
        };
        let len =
            file.metadata().with_context(|| format!("{}: cannot look at", path.display()))?.len();
        Ok(LogFile { dir, path, file, len, limit })
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Also true if there was no room for the first line.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The complete lines. After a crash the last one may be partial.
    pub(crate) fn read_lines(&self) -> Result<String> {
        let mut text = self
            .limit
            .read_text(self.file())
            .with_context(|| format!("{}: cannot read", self.path.display()))?;
        text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
        Ok(text)
    }

    pub(crate) fn cut(&mut self, len: u64) -> Result<()> {
        self.file
            .set_len(len)
            .with_context(|| format!("{}: cannot cut its unfinished line", self.path.display()))?;
        self.len = len;
        Ok(())
    }

    /// Appends a line and syncs it.
    ///
    /// # Errors
    /// The file would exceed its readable size, or it cannot be written.
    pub(crate) fn append(&mut self, line: &str) -> Result<()> {
        let bytes = format!("{line}\n").into_bytes();
        let whole = usize::try_from(self.len).unwrap_or(usize::MAX).saturating_add(bytes.len());
        RESULTS_LINE
            .check(bytes.len())
            .and_then(|()| self.limit.check(whole))
            .with_context(|| format!("{}: cannot write another line", self.path.display()))?;
        self.file.write_all(&bytes).and_then(|()| self.file.sync_data()).map_err(|cause| {
            let cut = self.file.set_len(self.len).and_then(|()| self.file.seek(SeekFrom::End(0)));
            let state = if cut.is_ok() { "all earlier trials are retained" } else { "its last line is unfinished" };
            anyhow!(
                "{}: cannot write: {cause} ({state}); {}, then repeat the command with --out {} --resume",
                self.path.display(),
                remedy(&cause),
                self.dir.display()
            )
        })?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    /// Completes a last line without a newline.
    pub(crate) fn end_line(&mut self) -> Result<()> {
        self.file
            .write_all(b"\n")
            .with_context(|| format!("{}: cannot write", self.path.display()))?;
        self.len += 1;
        Ok(())
    }
}
