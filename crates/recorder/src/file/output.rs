//! The output file of a trace in progress.
//!
//! Blocks for a group of requests and the footer are allocated before its requests are accepted, so
//! the trace stays valid if the file system becomes full: [`Output::push`] reports it, and
//! [`Output::finish`] still succeeds.

use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use machine::files::Dir;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use trace::{Io, Trace};

use super::columnar;

pub struct Output {
    path: PathBuf,
    dir: Dir,
    name: String,
    /// Closed to others, because it shows other users' activity.
    file: File,
    writer: columnar::Writer<File>,
    /// In bytes; `None` if the file system cannot allocate.
    allocated: Option<u64>,
    requests: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    Yes,
    /// Call `finish`.
    NoSpace,
}

/// Maximum size, encoded or not.
const GROUP_BYTES: u64 = 10 << 20;
/// In the footer, for a group, and for a process without its strings.
const GROUP_FOOTER: u64 = 8 << 10;
const PROCESS_BYTES: u64 = 256;
/// Approximate initial space.
const NEEDED: u64 = GROUP_BYTES + 2 * GROUP_FOOTER + PROCESS_BYTES * columnar::GROUP as u64;
/// A character takes up to six in JSON.
const ESCAPED: u64 = 6;

/// If it is this user's, and no process records into it.
fn remove_abandoned(path: &Path, dir: &Dir, name: &str) -> Result<()> {
    let found = dir
        .open_if_exists(name)?
        .context("trace: its file was removed while being examined; repeat")?;
    let about = found.metadata()?;
    if about.len() > 0 || about.uid() != rustix::process::geteuid().as_raw() || about.nlink() > 1 {
        bail!("{}: exists already; remove it or name another file", path.display());
    }
    if found.try_lock().is_err() || !dir.is_same_file(name, &found) {
        bail!("{}: another process records into it; name another file", path.display());
    }
    Ok(dir.remove(name)?)
}

impl Output {
    /// Creates a `.parquet` file for this user only, or replaces an empty one left by a killed
    /// trace.
    pub fn create(path: &Path) -> Result<Output> {
        let extension = path.extension().and_then(|extension| extension.to_str());
        if extension != Some("parquet") {
            bail!("{}: not a trace file; name a .parquet file", path.display());
        }
        let (dir, name) = Dir::of_file(path)?;
        let file = match dir.create(&name) {
            Err(error) if error.already_exists() => {
                remove_abandoned(path, &dir, &name)?;
                dir.create(&name)?
            }
            made => made?,
        };
        // Held, so that no other trace treats the empty file as abandoned.
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock))
            || !dir.is_same_file(&name, &file)
        {
            bail!("{}: another process records into it; name another file", path.display());
        }
        dir.set_mode(&name, 0o600)?;
        Output::over(path, dir, name, file)
    }

    fn over(path: &Path, dir: Dir, name: String, file: File) -> Result<Output> {
        let writer = columnar::Writer::new(
            file.try_clone().context("trace: its file cannot be opened twice")?,
        )?;
        let mut output = Output {
            path: path.to_path_buf(),
            dir,
            name,
            file,
            writer,
            allocated: Some(0),
            requests: 0,
        };
        if output.allocate(&Trace::default())? {
            return Ok(output);
        }
        output.discard();
        bail!(
            "{}: not enough space for a trace (expected at least {}); free some space, or name a file elsewhere",
            path.display(),
            text::format_bytes(NEEDED)
        );
    }

    /// The request refers to `tables`.
    pub fn push(&mut self, io: &Io, tables: &Trace) -> Result<Taken> {
        if self.requests.is_multiple_of(columnar::GROUP as u64) && !self.allocate(tables)? {
            return Ok(Taken::NoSpace);
        }
        self.writer.push(io).with_context(|| self.path.display().to_string())?;
        self.requests += 1;
        Ok(Taken::Yes)
    }

    /// Writes the rest durably. Returns the file's size.
    pub fn finish(self, tables: Trace) -> Result<u64> {
        let bytes = self.writer.finish(tables).and_then(|mut file| {
            let end = std::io::Seek::stream_position(&mut file)?;
            // Frees unneeded blocks.
            file.set_len(end)?;
            file.sync_all()?;
            Ok(end)
        });
        let bytes = bytes.with_context(|| self.path.display().to_string())?;
        self.dir.sync()?;
        Ok(bytes)
    }

    pub fn discard(self) {
        // The remains contain no requests.
        let _ = self.dir.remove(&self.name);
    }

    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Otherwise a full file system damages the file.
    pub fn is_reserved(&self) -> bool {
        self.allocated.is_some()
    }

    /// Allocates blocks for the next group and the footer. Returns whether there is space.
    fn allocate(&mut self, tables: &Trace) -> Result<bool> {
        let Some(allocated) = self.allocated else { return Ok(true) };
        let groups = self.requests / columnar::GROUP as u64 + 2;
        let texts: u64 = tables
            .processes
            .iter()
            .map(|process| (process.name.len() + process.cgroup.len()) as u64)
            .sum();
        // Each request of the group can add a process.
        let processes = (tables.processes.len() + columnar::GROUP) as u64;
        let footer = groups * GROUP_FOOTER + processes * PROCESS_BYTES + texts * ESCAPED;
        let needed = self.writer.bytes_written() as u64 + GROUP_BYTES + footer;
        if needed <= allocated {
            return Ok(true);
        }
        match fallocate(&self.file, FallocateFlags::KEEP_SIZE, allocated, needed - allocated) {
            Ok(()) => {
                self.allocated = Some(needed);
                Ok(true)
            }
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                self.allocated = None;
                Ok(true)
            }
            Err(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => Ok(false),
            Err(errno) => Err(errno)
                .with_context(|| format!("{}: blocks cannot be allocated", self.path.display())),
        }
    }
}
