//! Modifying file operations as single steps, and atomic replacement.

use std::fmt::Debug;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use crate::files::dir::{Dir, component};
use crate::files::error::Error;
use crate::files::lock::DataLock;
use crate::files::unfinished;

/// A crash can come before or after each; they are not durable until synced. Names are those in a
/// [`Dir`].
pub trait Files: Debug + Send + Sync {
    /// Uses a single `write`, as sysfs expects.
    fn write_attribute(&self, path: &Path, value: &str) -> io::Result<()>;
    /// Before another attempt.
    fn pause(&self, duration: Duration) {
        std::thread::sleep(duration);
    }
    /// Creates or replaces a file.
    fn create(&self, dir: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
        dir.replace_in_place(name)?.write_all(bytes)
    }
    fn sync_file(&self, dir: &Dir, name: &str) -> io::Result<()> {
        Ok(dir.sync_file(name)?)
    }
    fn rename(&self, dir: &Dir, from: &str, to: &str) -> io::Result<()> {
        Ok(dir.rename(from, to)?)
    }
    fn remove(&self, dir: &Dir, name: &str) -> io::Result<()> {
        Ok(dir.remove(name)?)
    }
    /// Makes the directory's names durable.
    fn sync_dir(&self, dir: &Dir) -> io::Result<()> {
        Ok(dir.sync()?)
    }
    /// Low bits of a file's or directory's mode.
    fn set_mode(&self, dir: &Dir, name: &str, mode: u32) -> io::Result<()> {
        Ok(dir.set_mode(name, mode)?)
    }
    fn make_dir(&self, dir: &Dir, name: &str) -> io::Result<()> {
        Ok(dir.create_subdir(name, 0o755).map(drop)?)
    }
    /// Removes an empty directory.
    fn remove_dir(&self, dir: &Dir, name: &str) -> io::Result<()> {
        Ok(dir.remove_subdir(name)?)
    }
}

#[derive(Debug)]
pub struct RealFiles;

impl Files for RealFiles {
    fn write_attribute(&self, path: &Path, value: &str) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
        file.write_all(value.as_bytes())
    }
}

/// Locks new files, to distinguish unfinished from abandoned ones.
#[derive(Debug, Default)]
struct Locking {
    held: Mutex<Option<DataLock>>,
}

impl Files for Locking {
    fn write_attribute(&self, path: &Path, value: &str) -> io::Result<()> {
        RealFiles.write_attribute(path, value)
    }

    fn create(&self, dir: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut file = dir.replace_in_place(name)?;
        // Some file systems have no locks.
        if let Ok(lock) = DataLock::attempt(file.try_clone()?) {
            *self.held.lock().expect("no thread panics while it holds this") = lock;
        }
        file.write_all(bytes)
    }
}

/// Writes and flushes `unfinished` in the same directory, renames it, and flushes the directory. A
/// crash or error leaves the old file or the new one, a power loss after the return the new one.
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
    /// Replaces a file, or a link itself, atomically. First removes unfinished files of killed
    /// processes.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let name = component(name)?;
        self.before_writing.call_once(|| unfinished::remove_abandoned(self));
        let written = replace(&Locking::default(), self, name, &unfinished::name(), bytes, None);
        written.map_err(|cause| Error::Io { action: "write", path: self.file(name), cause })
    }
}

/// Replaces a file that the user has named; see [`Dir::of_file`] and [`Dir::replace`].
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
            let file = out.open_if_exists(name).expect("ours").expect("it is there");
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
