//! Whose files a process may obey and write.
//!
//! Root must not write where another user decides what a name means: a link planted there leads the write to any file of the machine. So for
//! root every directory on the way belongs to root, or under sudo to the user who called sudo (who is root already), and others cannot write
//! it. A sticky directory such as /tmp is passed, since others cannot replace in it what is not theirs.
//!
//! A process of another user loses its own files only; it follows no link that another user has planted in a sticky directory, as the kernel
//! does with `fs.protected_symlinks`.

use std::path::Path;

use rustix::fs::{FileType, Stat};

use crate::error::{Error, Refusal};

const STICKY: u32 = 0o1000;

/// The users whose files are obeyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trust {
    user: u32,
    /// Who called sudo.
    caller: Option<u32>,
}

impl Trust {
    /// That of this process.
    pub fn current() -> Trust {
        let user = rustix::process::geteuid().as_raw();
        let caller = std::env::var("SUDO_UID").ok().and_then(|uid| uid.parse().ok());
        Trust { user, caller: caller.filter(|_| user == 0) }
    }

    fn is_root(self) -> bool {
        self.user == 0
    }

    fn has(self, owner: u32) -> bool {
        owner == 0 || owner == self.user || self.caller == Some(owner)
    }

    /// A directory on the way to another.
    pub(crate) fn check_passage(self, path: &Path, stat: &Stat) -> Result<(), Error> {
        if !self.is_root() {
            return Ok(());
        }
        self.check_owner(path, stat)?;
        if others_write(stat) && stat.st_mode & STICKY == 0 {
            return Err(shared(path, stat));
        }
        Ok(())
    }

    /// A directory whose files are read back or appended to.
    pub(crate) fn check_directory(self, path: &Path, stat: &Stat) -> Result<(), Error> {
        if !self.is_root() {
            return Ok(());
        }
        self.check_owner(path, stat)?;
        if others_write(stat) { Err(shared(path, stat)) } else { Ok(()) }
    }

    /// A directory of this user alone.
    pub(crate) fn check_private(self, path: &Path, stat: &Stat) -> Result<(), Error> {
        if stat.st_uid != self.user {
            // Root's state is closed to other users, which is no fault of the directory.
            let closed = stat.st_uid == 0 && !self.is_root();
            let cause = || Error::io("open", path)(rustix::io::Errno::ACCESS);
            return Err(if closed { cause() } else { self.foreign(path, stat) });
        }
        if others_write(stat) { Err(shared(path, stat)) } else { Ok(()) }
    }

    /// A symbolic link in a directory that has been checked.
    pub(crate) fn check_link(self, path: &Path, link: &Stat, dir: &Stat) -> Result<(), Error> {
        let planted = self.is_root() || (dir.st_mode & 0o002 != 0 && link.st_uid != dir.st_uid);
        if planted && !self.has(link.st_uid) {
            return Err(Error::refused(path, Refusal::Link { owner: link.st_uid }));
        }
        Ok(())
    }

    /// An open file that is to be read, appended to or locked.
    pub(crate) fn check_file(self, path: &Path, stat: &Stat, writes: bool) -> Result<(), Error> {
        check_plain(path, stat)?;
        if !self.is_root() {
            return Ok(());
        }
        self.check_owner(path, stat)?;
        if others_write(stat) {
            return Err(shared(path, stat));
        }
        #[allow(clippy::useless_conversion, reason = "32 bits on other architectures")]
        let names = u64::from(stat.st_nlink);
        if writes && names > 1 {
            return Err(Error::refused(path, Refusal::Linked { names }));
        }
        Ok(())
    }

    fn check_owner(self, path: &Path, stat: &Stat) -> Result<(), Error> {
        if self.has(stat.st_uid) { Ok(()) } else { Err(self.foreign(path, stat)) }
    }

    fn foreign(self, path: &Path, stat: &Stat) -> Error {
        Error::refused(path, Refusal::Owner { owner: stat.st_uid, mode: mode(stat), user: self.user })
    }
}

/// A regular file.
pub(crate) fn check_plain(path: &Path, stat: &Stat) -> Result<(), Error> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        other => Err(Error::refused(path, Refusal::NotAFile { found: kind(other) })),
    }
}

pub(crate) fn check_is_directory(path: &Path, stat: &Stat) -> Result<(), Error> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Ok(()),
        other => Err(Error::refused(path, Refusal::NotADirectory { found: kind(other) })),
    }
}

pub(crate) fn mode(stat: &Stat) -> u32 {
    stat.st_mode & 0o7777
}

fn shared(path: &Path, stat: &Stat) -> Error {
    Error::refused(path, Refusal::Shared { owner: stat.st_uid, mode: mode(stat) })
}

/// Whether others than the owner and root may write: a group counts unless it is root's or the owner's own, which has the owner's number.
fn others_write(stat: &Stat) -> bool {
    let group = stat.st_gid != 0 && stat.st_gid != stat.st_uid;
    stat.st_mode & 0o002 != 0 || (group && stat.st_mode & 0o020 != 0)
}

fn kind(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a regular file",
        FileType::Directory => "a directory",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "something else",
    }
}
