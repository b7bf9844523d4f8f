//! The file operations that change something, each one step that a crash can come before or after.
//!
//! A crate of its own so that the fake kernels of tests can replace them without knowing the machine.
#![forbid(unsafe_code)]

pub mod programs;

use std::fmt::Debug;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The operations that change something, each one step that a crash can come before or after.
pub trait Files: Debug + Send + Sync {
    /// Writes an attribute of sysfs with a single `write`, as the kernel expects.
    fn write_attribute(&self, path: &Path, value: &str) -> io::Result<()>;
    /// Makes or replaces a file, not yet durable.
    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Makes a file's content durable.
    fn sync_file(&self, path: &Path) -> io::Result<()>;
    /// Renames a file over another, not yet durable.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file, not yet durable.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in a directory durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// Sets who may read and write a file, as the low bits of its mode.
    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
    }
    /// Makes a directory, not yet durable.
    fn make_dir(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }
    /// Removes an empty directory, not yet durable.
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
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

    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        file.write_all(bytes)
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }
}

/// Writes a file so that a crash leaves the former one or the new one, and a loss of power after the return only the new one: the bytes go to
/// `unfinished` in the same directory, are flushed, and get the file's name; then the directory is flushed.
pub fn replace(files: &dyn Files, path: &Path, unfinished: &Path, bytes: &[u8], mode: Option<u32>) -> io::Result<()> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let written = files
        .create(unfinished, bytes)
        .and_then(|()| mode.map_or(Ok(()), |mode| files.set_mode(unfinished, mode)))
        .and_then(|()| files.sync_file(unfinished))
        .and_then(|()| files.rename(unfinished, path))
        .and_then(|()| files.sync_dir(dir));
    written.inspect_err(|_| {
        let _ = files.remove(unfinished);
    })
}
