//! Reads files from a guest's working directory.
//!
//! A hostile guest may have created a link to a file that only root may read, a FIFO without a
//! writer, or an endless file.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};

/// Accepts a regular file of at most `most` bytes, and no link.
pub fn read_result(dir: &Path, name: &str, most: u64) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(CWD, dir.join(name), flags, Mode::empty())?);
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("not a regular file; the guest has replaced it"));
    }
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!(
            "too large (found {} bytes, expected at most {most})",
            found.len()
        )));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_fifos_directories_and_large_files_are_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("plain"), "12345").unwrap();
        std::os::unix::fs::symlink("plain", path("link")).unwrap();
        rustix::fs::mkfifoat(CWD, path("fifo"), Mode::RWXU).unwrap();
        std::fs::create_dir(path("directory")).unwrap();
        std::fs::File::create(path("sparse")).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(read_result(dir.path(), "plain", 5).unwrap(), b"12345");
        for (name, most) in
            [("plain", 4), ("link", 100), ("fifo", 100), ("directory", 100), ("sparse", 100)]
        {
            assert!(read_result(dir.path(), name, most).is_err(), "{name}");
        }
    }
}
