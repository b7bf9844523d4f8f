//! A cold page cache for a file system that cannot be unmounted everywhere: a mount namespace made
//! while it was mounted (a container, a guest) has a copy of the mount, which keeps its pages.

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

/// Writes back and drops the pages of every regular file below the mount point. Inodes and
/// directories stay in memory.
pub(super) fn drop_pages(at: &Path) -> io::Result<()> {
    syncfs(File::open(at)?)?;
    let mut directories = vec![at.to_path_buf()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            if kind.is_dir() {
                directories.push(path);
            } else if kind.is_file() {
                let file = open(&path, OFlags::NOFOLLOW | OFlags::NONBLOCK)?;
                fadvise(&file, 0, None, Advice::DontNeed)?;
            }
        }
    }
    Ok(())
}
