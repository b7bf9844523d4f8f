//! Whose files a process may trust and write.
//!
//! Root must not write to a path that another user controls, because a planted link redirects the
//! write. As root, every directory of a path must therefore belong to root, or under sudo to the
//! calling user, and not be writable by others. Sticky directories such as /tmp are allowed,
//! because others cannot replace existing files.
//!
//! A process of another user can lose only its own files. Like the kernel with
//! `fs.protected_symlinks`, it follows no link that another user has planted in a sticky directory.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Stat};

use crate::files::acl::{List, Subject, writers};
use crate::files::error::{Error, Refusal};

const STICKY: u32 = 0o1000;

/// Opened with O_PATH.
pub(crate) struct Lookup {
    pub(crate) fd: OwnedFd,
    pub(crate) stat: Stat,
    pub(crate) path: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trust {
    user: u32,
    /// The user who called sudo.
    caller: Option<u32>,
}

impl Trust {
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

    /// Checks a directory on the way to another.
    pub(crate) fn check_passage(self, path: &Path, dir: &Lookup) -> Result<(), Error> {
        if !self.is_root() {
            return Ok(());
        }
        self.check_owner(path, &dir.stat)?;
        if dir.stat.st_mode & STICKY == 0 {
            self.check_writers(path, &dir.fd, &dir.stat)
        } else {
            Ok(())
        }
    }

    /// Checks a directory in which something is created.
    pub(crate) fn check_parent(self, path: &Path, dir: &Lookup) -> Result<(), Error> {
        self.check_passage(path, dir)?;
        if self.is_root() { self.check_inherited(path, dir) } else { Ok(()) }
    }

    /// Checks a directory whose files are read back or appended to.
    pub(crate) fn check_directory(self, path: &Path, dir: &Lookup) -> Result<(), Error> {
        if !self.is_root() {
            return Ok(());
        }
        self.check_owner(path, &dir.stat)?;
        self.check_writers(path, &dir.fd, &dir.stat)?;
        self.check_inherited(path, dir)
    }

    /// Checks a directory for this user only.
    pub(crate) fn check_private(self, path: &Path, dir: &Lookup) -> Result<(), Error> {
        let stat = &dir.stat;
        if stat.st_uid != self.user {
            // Root's state is closed to other users, which is no fault.
            let closed = stat.st_uid == 0 && !self.is_root();
            let cause = || Error::io("open", path)(rustix::io::Errno::ACCESS);
            return Err(if closed { cause() } else { self.foreign(path, stat) });
        }
        self.check_writers(path, &dir.fd, stat)?;
        self.check_inherited(path, dir)
    }

    /// Checks a link in a checked directory.
    pub(crate) fn check_link(self, path: &Path, link: &Stat, dir: &Stat) -> Result<(), Error> {
        let planted = self.is_root() || (dir.st_mode & 0o002 != 0 && link.st_uid != dir.st_uid);
        if planted && !self.has(link.st_uid) {
            return Err(Error::refused(path, Refusal::Link { owner: link.st_uid }));
        }
        Ok(())
    }

    /// Checks a file to be read, appended to or locked.
    pub(crate) fn check_file(
        self,
        path: &Path,
        fd: impl AsFd,
        stat: &Stat,
        writes: bool,
    ) -> Result<(), Error> {
        check_plain(path, stat)?;
        if !self.is_root() {
            return Ok(());
        }
        self.check_owner(path, stat)?;
        self.check_writers(path, fd, stat)?;
        #[allow(clippy::useless_conversion, reason = "32 bits on other architectures")]
        let names = u64::from(stat.st_nlink);
        if writes && names > 1 {
            return Err(Error::refused(path, Refusal::Linked { names }));
        }
        Ok(())
    }

    /// Others than owner and root. With a list, the group bits show its mask.
    fn check_writers(self, path: &Path, fd: impl AsFd, stat: &Stat) -> Result<(), Error> {
        let shared =
            || Error::refused(path, Refusal::Shared { owner: stat.st_uid, mode: mode(stat) });
        if stat.st_mode & 0o002 != 0 {
            return Err(shared());
        }
        match self.other_writer(path, fd, List::Access, stat)? {
            None if stat.st_mode & 0o020 != 0 && !is_own_group(stat.st_gid, stat.st_uid) => {
                Err(shared())
            }
            None | Some(None) => Ok(()),
            Some(Some(writer)) => {
                Err(Error::refused(path, Refusal::Listed { writer, inherited: false }))
            }
        }
    }

    /// Whether the default list lets others write new files.
    fn check_inherited(self, path: &Path, dir: &Lookup) -> Result<(), Error> {
        match self.other_writer(path, &dir.fd, List::Default, &dir.stat)?.flatten() {
            None => Ok(()),
            Some(writer) => Err(Error::refused(path, Refusal::Listed { writer, inherited: true })),
        }
    }

    /// An untrusted subject with write permission; the outer `None`: no list.
    fn other_writer(
        self,
        path: &Path,
        fd: impl AsFd,
        list: List,
        stat: &Stat,
    ) -> Result<Option<Option<Subject>>, Error> {
        let writers = writers(fd, list, stat.st_gid)
            .map_err(Error::io("read the access control list of", path))?;
        let is_other = |writer: &Subject| match *writer {
            Subject::User(user) => !self.has(user) && user != stat.st_uid,
            Subject::Group(group) | Subject::OwningGroup(group) => {
                !is_own_group(group, stat.st_uid)
            }
        };
        Ok(writers.map(|writers| writers.into_iter().find(is_other)))
    }

    fn check_owner(self, path: &Path, stat: &Stat) -> Result<(), Error> {
        if self.has(stat.st_uid) { Ok(()) } else { Err(self.foreign(path, stat)) }
    }

    fn foreign(self, path: &Path, stat: &Stat) -> Error {
        Error::refused(
            path,
            Refusal::Owner { owner: stat.st_uid, mode: mode(stat), user: self.user },
        )
    }
}

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

/// Root's, or the owner's own: the same number, and no other member.
fn is_own_group(group: u32, owner: u32) -> bool {
    let read =
        |path: &str| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    group == 0 || (group == owner && is_alone(owner, &read("/etc/passwd"), &read("/etc/group")))
}

/// The only member of the group with the same number, by passwd(5) and group(5).
fn is_alone(user: u32, passwd: &str, group: &str) -> bool {
    let number = user.to_string();
    let fields = |line: &'_ str| line.split(':').map(str::to_owned).collect::<Vec<_>>();
    let users: Vec<Vec<String>> =
        passwd.lines().map(fields).filter(|user| user.len() > 3).collect();
    let is_user = |name: &str| users.iter().any(|user| user[0] == name && user[2] == number);
    let has_it_as_first = |user: &Vec<String>| user[3] == number && user[2] != number;
    let groups = group.lines().map(fields).filter(|group| group.len() > 3 && group[2] == number);
    let others =
        |group: Vec<String>| group[3].split(',').any(|name| !name.is_empty() && !is_user(name));
    !users.iter().any(has_it_as_first) && !groups.into_iter().any(others)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_the_owners_own_only_without_other_members() {
        let passwd = "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\nbob:x:1001:1001::/home/bob:/bin/sh\n";
        let guest = format!("{passwd}guest:x:1002:1000::/home/guest:/bin/sh\n");
        assert!(
            is_alone(1000, passwd, "ann:x:1000:\n")
                && is_alone(1000, passwd, "ann:x:1000:ann\nbob:x:1001:ann")
        );
        assert!(is_alone(64_321, passwd, "") && is_alone(1000, "", ""));
        assert!(
            !is_alone(1000, passwd, "ann:x:1000:bob\n")
                && !is_alone(1000, passwd, "team:x:1000:ann,bob\n")
        );
        assert!(!is_alone(1000, &guest, "ann:x:1000:\n"), "it is another user's first group");
    }
}
