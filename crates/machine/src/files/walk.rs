//! Opens a directory by path, checking each component's descriptor before the next is looked up.
//!
//! `openat2` with RESOLVE_NO_SYMLINKS refuses the administrator's links (/var/run, /home on another
//! disk) and checks no owner.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, fstat, mkdirat, openat, readlinkat, statat,
};
use rustix::io::Errno;

use crate::files::error::Error;
use crate::files::trust::{Lookup, Trust, check_is_directory};

/// The kernel's limit.
const MAX_LINKS: usize = 40;

/// Opens a directory; with `make`, missing ones are created.
pub(crate) fn walk(path: &Path, make: bool, trust: Trust) -> Result<Lookup, Error> {
    let mut left: VecDeque<OsString> = words(path).collect();
    let mut at = start(path)?;
    let mut links = 0;
    while let Some(name) = left.pop_front() {
        trust.check_passage(&at.path, &at)?;
        let named = at.path.join(&name);
        let found = statat(&at.fd, &name, AtFlags::SYMLINK_NOFOLLOW);
        match found {
            Ok(link) if FileType::from_raw_mode(link.st_mode) == FileType::Symlink => {
                trust.check_link(&named, &link, &at.stat)?;
                links += 1;
                if links > MAX_LINKS {
                    return Err(Error::io("follow", &named)(Errno::LOOP));
                }
                let target =
                    readlinkat(&at.fd, &name, Vec::new()).map_err(Error::io("follow", &named))?;
                let target = Path::new(OsStr::from_bytes(target.as_bytes())).to_owned();
                for word in words(&target).collect::<Vec<_>>().into_iter().rev() {
                    left.push_front(word);
                }
                if target.is_absolute() {
                    at = start(&target)?;
                }
                continue;
            }
            Err(Errno::NOENT) if make => {
                trust.check_parent(&at.path, &at)?;
                match mkdirat(&at.fd, &name, Mode::from_raw_mode(0o755)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(Error::io("create", &named)(errno)),
                }
            }
            Err(errno) => return Err(Error::io("open", &named)(errno)),
            Ok(_) => {}
        }
        at = enter(at.fd, &name, named)?;
    }
    Ok(at)
}

fn start(path: &Path) -> Result<Lookup, Error> {
    let begin = Path::new(if path.is_absolute() { "/" } else { "." });
    let fd = openat(CWD, begin, lookup(), Mode::empty()).map_err(Error::io("open", begin))?;
    let stat = fstat(&fd).map_err(Error::io("look at", begin))?;
    let path = if path.is_absolute() { PathBuf::from("/") } else { PathBuf::new() };
    Ok(Lookup { fd, stat, path })
}

/// Opens `name`, which must be a directory and not a link.
pub(crate) fn enter(from: impl AsFd, name: &OsStr, named: PathBuf) -> Result<Lookup, Error> {
    let fd = openat(from, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
    let fd = fd.map_err(Error::io("open", &named))?;
    let stat = fstat(&fd).map_err(Error::io("look at", &named))?;
    check_is_directory(&named, &stat)?;
    Ok(Lookup { fd, stat, path: named })
}

fn lookup() -> OFlags {
    OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC
}

fn words(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}
