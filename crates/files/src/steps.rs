//! The file operations that change something, each one step, and the one way in which a whole file is written.

use std::fmt::Debug;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::dir::{Dir, component};
use crate::error::Error;

/// The operations that change something, each one step that a crash can come before or after. Names are those of a [`Dir`].
pub trait Files: Debug + Send + Sync {
    /// Writes an attribute of sysfs with a single `write`, as the kernel expects.
    fn write_attribute(&self, path: &Path, value: &str) -> io::Result<()>;
    /// Makes or replaces a file, not yet durable.
    fn create(&self, dir: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
        dir.create_anew(name)?.write_all(bytes)
    }
    /// Makes a file's content durable.
    fn sync_file(&self, dir: &Dir, name: &str) -> io::Result<()> {
        Ok(dir.sync_file(name)?)
    }
    /// Renames a file over another, not yet durable.
    fn rename(&self, dir: &Dir, from: &str, to: &str) -> io::Result<()> {
        Ok(dir.rename(from, to)?)
    }
    /// Removes a file, not yet durable.
    fn remove(&self, dir: &Dir, name: &str) -> io::Result<()> {
        Ok(dir.remove(name)?)
    }
    /// Makes the names in a directory durable.
    fn sync_dir(&self, dir: &Dir) -> io::Result<()> {
        Ok(dir.sync()?)
    }
    /// Sets who may read and write a file or directory, as the low bits of its mode.
    fn set_mode(&self, dir: &Dir, name: &str, mode: u32) -> io::Result<()> {
        Ok(dir.set_mode(name, mode)?)
    }
    /// Makes a directory, not yet durable.
    fn make_dir(&self, dir: &Dir, name: &str) -> io::Result<()> {
        Ok(dir.create_subdir(name, 0o755).map(drop)?)
    }
    /// Removes an empty directory, not yet durable.
    fn remove_dir(&self, dir: &Dir, name: &str) -> io::Result<()> {
        Ok(dir.remove_subdir(name)?)
    }
}

/// The operations as the kernel does them.
#[derive(Debug)]
pub struct RealFiles;

impl Files for RealFiles {
    fn write_attribute(&self, path: &Path, value: &str) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
        file.write_all(value.as_bytes())
    }
}

/// Writes a file so that a crash leaves the former one or the new one, and a loss of power after the return only the new one: the bytes go to
/// `unfinished` in the same directory, are flushed, and get the file's name; then the directory is flushed.
///
/// # Errors
/// That of the step which failed; the former file is there then.
pub fn replace(
    files: &dyn Files,
    dir: &Dir,
    name: &str,
    unfinished: &str,
    bytes: &[u8],
    mode: Option<u32>,
) -> io::Result<()> {
    let written = files
        .create(dir, unfinished, bytes)
        .and_then(|()| mode.map_or(Ok(()), |mode| files.set_mode(dir, unfinished, mode)))
        .and_then(|()| files.sync_file(dir, unfinished))
        .and_then(|()| files.rename(dir, unfinished, name))
        .and_then(|()| files.sync_dir(dir));
    written.inspect_err(|_| {
        let _ = files.remove(dir, unfinished);
    })
}

impl Dir {
    /// Gives a file this content: whole, or as it was before. What had the name, be it a link, is replaced and not written to.
    ///
    /// # Errors
    /// [`Error::Io`]; the former file is there then.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let unfinished = format!(".schedlab-{}-{number}", std::process::id());
        let written = replace(&RealFiles, self, component(name)?, &unfinished, bytes, None);
        written.map_err(|cause| Error::Io { action: "write", path: self.file(name), cause })
    }
}

/// Replaces or makes the file at a path that the user has named; see [`Dir::of_file`] and [`Dir::replace`].
///
/// # Errors
/// As these.
pub fn replace_at(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), Error> {
    let (dir, name) = Dir::of_file(path)?;
    dir.replace(&name, bytes)
}
