//! The file that a trace is written to while it grows.
//!
//! What was written is a valid trace also if the file system becomes full: before the requests
//! of a group are accepted, the blocks that they and the end of the file can take are allocated.
//! Where that fails, [`Output::push`] says so, and [`Output::finish`] still succeeds.

use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use machine::files::Dir;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use trace::{Io, Trace};

use super::columnar;

/// A file that grows.
pub struct Output {
    path: PathBuf,
    dir: Dir,
    name: String,
    /// Who may read it: a trace says what others do.
    file: File,
    writer: columnar::Writer<File>,
    /// Bytes that are allocated; none where the file system cannot allocate.
    allocated: Option<u64>,
    requests: u64,
}

/// Whether a request was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    Yes,
    /// There is no room for it: finish.
    NoSpace,
}

/// Bytes that a group of requests takes at most, encoded or not.
const GROUP_BYTES: u64 = 10 << 20;
/// Bytes that the end of the file takes for a group, and for a process beside its texts.
const GROUP_FOOTER: u64 = 8 << 10;
const PROCESS_BYTES: u64 = 256;
/// The room that a trace begins with, about.
const NEEDED: u64 = GROUP_BYTES + 2 * GROUP_FOOTER + PROCESS_BYTES * columnar::GROUP as u64;
/// A character of a text can take six in JSON.
const ESCAPED: u64 = 6;

/// Removes an empty file of this user's that no process records into.
fn remove_abandoned(path: &Path, dir: &Dir, name: &str) -> Result<()> {
    let found = dir
        .open_if_there(name)?
        .context("trace: its file was removed while it was looked at; repeat")?;
    let about = found.metadata()?;
    if about.len() > 0 || about.uid() != rustix::process::geteuid().as_raw() || about.nlink() > 1 {
        bail!("{}: exists already; remove it or name another file", path.display());
    }
    if found.try_lock().is_err() || !dir.is(name, &found) {
        bail!("{}: another process records into it; name another file", path.display());
    }
    Ok(dir.remove(name)?)
}

impl Output {
    /// Makes a file that did not exist, for this user alone; its name ends in `.parquet`. An empty
    /// file of this user's that no process records into is replaced: a trace that is killed
    /// early leaves one.
    ///
    /// # Errors
    /// Another format, a file that is there, a directory that is not safe to write to.
    pub fn create(path: &Path) -> Result<Output> {
        let extension = path.extension().and_then(|extension| extension.to_str());
        if extension != Some("parquet") {
            bail!("{}: not a file of traces; name a .parquet file", path.display());
        }
        let (dir, name) = Dir::of_file(path)?;
        let file = match dir.create(&name) {
            Err(error) if error.is_already_there() => {
                remove_abandoned(path, &dir, &name)?;
                dir.create(&name)?
            }
            made => made?,
        };
        // Held until the end, so that another trace does not take this one for abandoned while
        // it is empty.
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) || !dir.is(&name, &file) {
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
            "{}: no room for a trace (expected {} at least); make room, or name a file elsewhere",
            path.display(),
            text::format_bytes(NEEDED)
        );
    }

    /// Takes a request; `tables` are those that it points into.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn push(&mut self, io: &Io, tables: &Trace) -> Result<Taken> {
        if self.requests.is_multiple_of(columnar::GROUP as u64) && !self.allocate(tables)? {
            return Ok(Taken::NoSpace);
        }
        self.writer.push(io).with_context(|| self.path.display().to_string())?;
        self.requests += 1;
        Ok(Taken::Yes)
    }

    /// Writes what is left and the tables, and makes the file durable. Returns its bytes.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(self, tables: Trace) -> Result<u64> {
        let bytes = self.writer.finish(tables).and_then(|mut file| {
            let end = std::io::Seek::stream_position(&mut file)?;
            // Gives back what was allocated and not needed.
            file.set_len(end)?;
            file.sync_all()?;
            Ok(end)
        });
        let bytes = bytes.with_context(|| self.path.display().to_string())?;
        self.dir.sync()?;
        Ok(bytes)
    }

    /// Removes a file that has become useless.
    pub fn discard(self) {
        // A file that cannot be removed is one without requests.
        let _ = self.dir.remove(&self.name);
    }

    /// Requests that were taken.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Whether blocks can be allocated ahead, without which a full file system ends in a damaged
    /// file.
    pub fn is_reserved(&self) -> bool {
        self.allocated.is_some()
    }

    /// Allocates blocks for the next group and the end of the file. Returns whether there is room.
    fn allocate(&mut self, tables: &Trace) -> Result<bool> {
        let Some(allocated) = self.allocated else { return Ok(true) };
        let groups = self.requests / columnar::GROUP as u64 + 2;
        let texts: u64 = tables
            .processes
            .iter()
            .map(|process| (process.name.len() + process.cgroup.len()) as u64)
            .sum();
        // Each request of the group can bring a process.
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
