//! A cold page cache for a file system that cannot be unmounted everywhere: a mount namespace made
//! while it was mounted (a container, a guest) has a copy of the mount, and its pages stay.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{Advice, OFlags, fadvise, syncfs};

/// Whether no file system and no other device has the block device.
pub(super) fn is_released(node: &Path) -> bool {
    open(node, OFlags::EXCL).is_ok()
}

fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// Drops the pages of every regular file below; inodes and directories stay in memory.
pub(super) fn drop_pages(at: &Path) -> io::Result<()> {
    syncfs(File::open(at)?)?;
    let mut directories = vec![at.to_path_buf()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                directories.push(entry.path());
            } else if entry.file_type()?.is_file() {
                let file = open(&entry.path(), OFlags::NOFOLLOW | OFlags::NONBLOCK)?;
                fadvise(file, 0, None, Advice::DontNeed)?;
            }
        }
    }
    Ok(())
}
