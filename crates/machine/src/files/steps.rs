//! The modifying file operations, each a single step, and the common way to write a whole file.

use std::fmt::Debug;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;

use crate::files::dir::{Dir, component};
use crate::files::error::Error;
use crate::files::lock::DataLock;
use crate::files::unfinished;

/// Modifying operations; a crash can come before or after each. Names are those in a [`Dir`].
pub trait Files: Debug + Send + Sync {
    /// Writes a sysfs attribute with a single `write`, as the kernel expects.
    fn write_attribute(&self, path: &Path, value: &str) -> io::Result<()>;
    /// Creates or replaces a file, not yet durable.
    fn create(&self, dir: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
        dir.create_anew(name)?.write_all(bytes)
    }
    /// Makes a file's contents durable.
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
    /// Sets the low bits of a file's or directory's mode.
    fn set_mode(&self, dir: &Dir, name: &str, mode: u32) -> io::Result<()> {
        Ok(dir.set_mode(name, mode)?)
    }
    /// Creates a directory, not yet durable.
    fn make_dir(&self, dir: &Dir, name: &str) -> io::Result<()> {
        Ok(dir.create_subdir(name, 0o755).map(drop)?)
    }
    /// Removes an empty directory, not yet durable.
    fn remove_dir(&self, dir: &Dir, name: &str) -> io::Result<()> {
        Ok(dir.remove_subdir(name)?)
    }
}

/// The operations of the real kernel.
#[derive(Debug)]
pub struct RealFiles;

impl Files for RealFiles {
    fn write_attribute(&self, path: &Path, value: &str) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
        file.write_all(value.as_bytes())
    }
}

/// The same, but locks the new file, which distinguishes an unfinished file from an abandoned one.
#[derive(Debug, Default)]
struct Locking {
    held: Mutex<Option<DataLock>>,
}

impl Files for Locking {
    fn write_attribute(&self, path: &Path, value: &str) -> io::Result<()> {
        RealFiles.write_attribute(path, value)
    }

    fn create(&self, dir: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut file = dir.create_anew(name)?;
        // Some file systems have no locks.
        if let Ok(lock) = DataLock::attempt(file.try_clone()?) {
            *self.held.lock().expect("no thread panics while it holds this") = lock;
        }
        file.write_all(bytes)
    }
}

/// Writes a file so that a crash leaves either the old or the new one, and a power loss after the
/// return only the new one: writes and flushes `unfinished` in the same directory, renames it, and
/// flushes the directory. After an error, the old file remains.
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
    /// Replaces a file's contents atomically. An existing file or link is replaced, not written to.
    /// Before, unfinished files of killed processes are removed from the directory. After an error,
    /// the old file remains.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let name = component(name)?;
        self.before_writing.call_once(|| unfinished::remove_abandoned(self));
        let written = replace(&Locking::default(), self, name, &unfinished::name(), bytes, None);
        written.map_err(|cause| Error::Io { action: "write", path: self.file(name), cause })
    }
}

/// Replaces or creates the file at a path that the user has named; see [`Dir::of_file`] and
/// [`Dir::replace`].
pub fn replace_at(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), Error> {
    let (dir, name) = Dir::of_file(path)?;
    dir.replace(&name, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_locked_until_it_has_its_name() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let out = Dir::open(dir.path()).expect("ours");
        let is_free = |name: &str| {
            let file = out.open_if_there(name).expect("ours").expect("it is there");
            file.try_lock().is_ok()
        };
        let locking = Locking::default();
        locking.create(&out, "unfinished", b"x").expect("writable");
        assert!(!is_free("unfinished"));
        locking.rename(&out, "unfinished", "name").expect("writable");
        assert!(!is_free("name"));
        drop(locking);
        assert!(is_free("name"));
        out.replace("name", b"y").expect("writable");
        assert_eq!(out.read("name").expect("ours"), Some(b"y".to_vec()));
    }
}
