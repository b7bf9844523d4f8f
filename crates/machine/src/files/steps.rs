//! The file operations that change something, each one step, and the one way in which a whole file
//! is written.

use std::fmt::Debug;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;

use crate::files::dir::{Dir, component};
use crate::files::error::Error;
use crate::files::lock::DataLock;
use crate::files::unfinished;

/// The operations that change something, each one step that a crash can come before or after. Names
/// are those of a [`Dir`].
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

/// The same, with a lock on the file that is made, which tells the unfinished file of a process
/// from one that was abandoned.
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

/// Writes a file so that a crash leaves the former one or the new one, and a loss of power after
/// the return only the new one: the bytes go to `unfinished` in the same directory, are flushed,
/// and get the file's name; then the directory is flushed.
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
    /// Gives a file this content: whole, or as it was before. What had the name, be it a link, is
    /// replaced and not written to. Unfinished files of processes that were killed at it are
    /// removed from the directory first.
    ///
    /// # Errors
    /// [`Error::Io`]; the former file is there then.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let name = component(name)?;
        self.before_writing.call_once(|| unfinished::remove_abandoned(self));
        let written = replace(&Locking::default(), self, name, &unfinished::name(), bytes, None);
        written.map_err(|cause| Error::Io { action: "write", path: self.file(name), cause })
    }
}

/// Replaces or makes the file at a path that the user has named; see [`Dir::of_file`] and
/// [`Dir::replace`].
///
/// # Errors
/// As these.
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
