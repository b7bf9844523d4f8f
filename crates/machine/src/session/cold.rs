//! A cold page cache for a file system that cannot be unmounted everywhere.
//!
//! A mount namespace made while the file system was mounted (a container, a guest) has a copy of the
//! mount. Then unmounting here keeps the file system and its pages in memory, and mounting it again
//! finds them.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{Advice, OFlags, fadvise, syncfs};

/// Whether no file system and no other device has the block device.
pub(super) fn is_released(node: &Path) -> bool {
    let exclusive = OFlags::EXCL.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(exclusive).open(node).is_ok()
}

/// Writes back and drops the pages of every regular file below the mount point. Inodes and
/// directories stay in memory.
pub(super) fn drop_pages(at: &Path) -> io::Result<()> {
    syncfs(File::open(at)?)?;
    let mut directories = vec![at.to_path_buf()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                directories.push(entry.path());
            } else if kind.is_file() {
                let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
                let file = OpenOptions::new().read(true).custom_flags(flags).open(entry.path())?;
                fadvise(&file, 0, None, Advice::DontNeed)?;
            }
        }
    }
    Ok(())
}
