//! Opens files that a user names.
//!
//! To prevent endless or blocking input (a FIFO without a writer, `/dev/zero`, `/proc/kmsg`), only
//! regular files that the kernel does not generate are opened, and descriptors passed by a shell
//! (`<(…)`). A limit bounds all reads.

use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FsWord, OFlags, PROC_SUPER_MAGIC, fstatfs};

/// `SYSFS_MAGIC` of linux/magic.h.
const SYSFS_MAGIC: FsWord = 0x6265_6572;

/// Contained in an [`io::Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAFile {
    /// `a FIFO`, `a device` …
    pub found: &'static str,
}

impl fmt::Display for NotAFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "not a regular file (found {}, expected a file that ends); write it into one first",
            self.found
        )
    }
}

impl std::error::Error for NotAFile {}

/// A file named by the user does not exist; inside an [`io::Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Missing;

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("No such file or directory (os error 2)")
    }
}

impl std::error::Error for Missing {}

/// Opens a file for reading.
///
/// # Errors
/// [`NotAFile`] inside the error, or that of opening it; see also [`is_missing_input`].
pub fn open_input(path: &Path) -> io::Result<File> {
    opened(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => io::Error::new(io::ErrorKind::NotFound, Missing),
        _ => error,
    })
}

/// Whether an error is that [`open_input`] found no file.
pub fn is_missing_input(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inside| inside.is::<Missing>())
}

fn opened(path: &Path) -> io::Result<File> {
    if is_descriptor(path) {
        return File::open(path);
    }
    // Opening a device can have side effects, and opening a FIFO waits.
    check(&fs::metadata(path)?)?;
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).expect("flags of open are few");
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    check(&file.metadata()?)?;
    if [PROC_SUPER_MAGIC, SYSFS_MAGIC].contains(&fstatfs(&file)?.f_type) {
        return Err(refused("a file of the kernel's in /proc or /sys"));
    }
    Ok(file)
}

pub fn not_a_file(error: &io::Error) -> Option<NotAFile> {
    error.get_ref()?.downcast_ref().copied()
}

fn is_descriptor(path: &Path) -> bool {
    path == Path::new("/dev/stdin")
        || ["/dev/fd", "/proc/self/fd"].iter().any(|dir| path.parent() == Some(Path::new(dir)))
}

fn check(found: &Metadata) -> io::Result<()> {
    let kind = found.file_type();
    let what = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => "a directory",
        () if kind.is_fifo() => "a FIFO",
        () if kind.is_socket() => "a socket",
        () => "a device",
    };
    Err(refused(what))
}

fn refused(found: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, NotAFile { found })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn only_what_ends_is_opened_and_the_rest_is_named() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (fifo, link, plain) =
            (dir.path().join("fifo"), dir.path().join("link"), dir.path().join("plain"));
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("made");
        std::os::unix::fs::symlink(&fifo, &link).expect("made");
        fs::write(&plain, "text").expect("written");
        for (path, found) in [
            (fifo.as_path(), "a FIFO"),
            (&link, "a FIFO"),
            (dir.path(), "a directory"),
            (Path::new("/dev/zero"), "a device"),
            (Path::new("/proc/self/status"), "a file of the kernel's in /proc or /sys"),
            (Path::new("/sys/kernel/mm"), "a directory"),
            (Path::new("/sys/kernel/fscaps"), "a file of the kernel's in /proc or /sys"),
        ] {
            let error = open_input(path).expect_err("refused");
            assert_eq!(not_a_file(&error), Some(NotAFile { found }), "{}: {error}", path.display());
        }
        let mut text = String::new();
        open_input(&plain).and_then(|mut file| file.read_to_string(&mut text)).expect("read");
        assert_eq!(text, "text");
        assert_eq!(
            open_input(&dir.path().join("gone")).expect_err("gone").kind(),
            io::ErrorKind::NotFound
        );
    }

    #[test]
    fn a_pipe_that_a_shell_has_opened_is_read() {
        let (reader, mut writer) = io::pipe().expect("a pipe");
        writer.write_all(b"text").expect("it fits");
        drop(writer);
        let path = format!("/proc/self/fd/{}", reader.as_raw_fd());
        let mut text = String::new();
        open_input(Path::new(&path))
            .and_then(|mut file| file.read_to_string(&mut text))
            .expect("read");
        assert_eq!(text, "text");
    }
}
