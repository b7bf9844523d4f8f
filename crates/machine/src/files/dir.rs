//! A directory held by descriptor, so that its meaning cannot change between uses.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::Once;

use rustix::fs::{
    AtFlags, Mode, OFlags, fchmod, fstat, mkdirat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::files::error::Error;
use crate::files::trust::{Lookup, Trust, check_plain, mode};
use crate::files::walk::{enter, walk};

/// Checked when opened. Names in it are single components, and links are not followed.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
    path: PathBuf,
    trust: Trust,
    is_private: bool,
    pub(crate) before_writing: Once,
}

impl Dir {
    /// Opens an existing directory.
    ///
    /// # Errors
    /// [`Error::Refused`] if another user controls it or a parent (see [`Trust`]).
    pub fn open(path: impl AsRef<Path>) -> Result<Dir, Error> {
        let trust = Trust::current();
        let place = walk(path.as_ref(), false, trust)?;
        trust.check_directory(shown(path.as_ref()), &place)?;
        Dir::at(place, path.as_ref(), trust, false)
    }

    /// Opens a directory; creates it and its parents if missing.
    pub fn make(path: impl AsRef<Path>) -> Result<Dir, Error> {
        let trust = Trust::current();
        let place = walk(path.as_ref(), true, trust)?;
        trust.check_directory(shown(path.as_ref()), &place)?;
        Dir::at(place, path.as_ref(), trust, false)
    }

    /// Creates it, and its parents if missing; [`Error::already_exists`] if it exists.
    pub fn create_new(path: impl AsRef<Path>) -> Result<Dir, Error> {
        let path = path.as_ref();
        let (parent, name) = Dir::of_file_in(path, true)?;
        parent.create_subdir(&name, 0o755).map(|made| Dir { path: path.to_path_buf(), ..made })
    }

    /// Opens or creates a directory for this user only: mode 0700, files 0600, regardless of the
    /// umask. Parents are created if missing. If others can read but not write it, it is closed to
    /// them.
    ///
    /// # Errors
    /// [`Error::Refused`] if it belongs to another user, or others can write it or replace a
    /// parent.
    pub fn private(path: impl AsRef<Path>) -> Result<Dir, Error> {
        let (parent, name) = Dir::of_file_in(path.as_ref(), true)?;
        let dir = parent.private_subdir(&name)?;
        Ok(Dir { path: path.as_ref().to_path_buf(), ..dir })
    }

    /// Like [`Dir::private`], but `None` if missing.
    pub fn private_if_exists(path: impl AsRef<Path>) -> Result<Option<Dir>, Error> {
        let trust = Trust::current();
        match walk(path.as_ref(), false, trust) {
            Ok(place) => Dir::private_at(place, path.as_ref(), trust).map(Some),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The directory of a user's file, and the file's name. Allows sticky directories, in which
    /// files are created new or belong to this user.
    pub fn of_file(path: impl AsRef<Path>) -> Result<(Dir, String), Error> {
        Dir::of_file_in(path.as_ref(), false)
    }

    fn of_file_in(path: &Path, make: bool) -> Result<(Dir, String), Error> {
        let trust = Trust::current();
        let name = path.file_name().and_then(OsStr::to_str);
        let name = name.ok_or_else(|| Error::Name { name: path.display().to_string() })?;
        let parent = path.parent().unwrap_or(Path::new(""));
        let place = walk(parent, make, trust)?;
        trust.check_parent(shown(parent), &place)?;
        Ok((Dir::at(place, parent, trust, false)?, name.to_owned()))
    }

    pub fn subdir_if_exists(&self, name: &str) -> Result<Option<Dir>, Error> {
        match enter(&self.fd, OsStr::new(component(name)?), self.file(name)) {
            Ok(place) => self.checked(place, name).map(Some),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub fn subdir(&self, name: &str) -> Result<Dir, Error> {
        self.checked(self.enter_or_make(name, if self.is_private { 0o700 } else { 0o755 })?, name)
    }

    fn checked(&self, place: Lookup, name: &str) -> Result<Dir, Error> {
        if self.is_private {
            return Dir::private_at(place, &self.file(name), self.trust);
        }
        self.trust.check_directory(&place.path, &place)?;
        Dir::at(place, &self.file(name), self.trust, false)
    }

    /// [`Error::already_exists`] if the name exists.
    pub fn create_subdir(&self, name: &str, mode: u32) -> Result<Dir, Error> {
        let path = self.file(component(name)?);
        mkdirat(&self.fd, name, Mode::from_raw_mode(mode)).map_err(Error::io("create", &path))?;
        let place = enter(&self.fd, OsStr::new(name), path.clone())?;
        // In a shared directory, another process may have replaced the new one.
        self.trust.check_private(&path, &place)?;
        Dir::at(place, &path, self.trust, self.is_private)
    }

    fn private_subdir(&self, name: &str) -> Result<Dir, Error> {
        Dir::private_at(self.enter_or_make(name, 0o700)?, &self.file(name), self.trust)
    }

    fn private_at(place: Lookup, path: &Path, trust: Trust) -> Result<Dir, Error> {
        trust.check_private(path, &place)?;
        let is_closed = mode(&place.stat) == 0o700;
        let dir = Dir::at(place, path, trust, true)?;
        if !is_closed {
            fchmod(&dir.fd, Mode::from_raw_mode(0o700))
                .map_err(Error::io("close to other users", path))?;
        }
        Ok(dir)
    }

    fn enter_or_make(&self, name: &str, mode: u32) -> Result<Lookup, Error> {
        let entered = || enter(&self.fd, OsStr::new(component(name)?), self.file(name));
        match entered() {
            Err(error) if error.is_not_found() => {
                match mkdirat(&self.fd, name, Mode::from_raw_mode(mode)) {
                    Ok(()) | Err(Errno::EXIST) => entered(),
                    Err(errno) => Err(Error::io("create", &self.file(name))(errno)),
                }
            }
            found => found,
        }
    }

    fn at(place: Lookup, path: &Path, trust: Trust, is_private: bool) -> Result<Dir, Error> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd =
            openat(&place.fd, ".", flags, Mode::empty()).map_err(Error::io("open", shown(path)))?;
        Ok(Dir { fd, path: path.to_path_buf(), trust, is_private, before_writing: Once::new() })
    }

    /// The path as given; for messages, and for programs that need a path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file; for messages.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Creates a file for writing, in a private directory for this user only;
    /// [`Error::already_exists`] if the name exists, even as a link.
    pub fn create(&self, name: &str) -> Result<File, Error> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(&self.fd, component(name)?, flags, self.mode());
        Ok(File::from(fd.map_err(Error::io("create", &self.file(name)))?))
    }

    /// Opens or creates a file for reading and appending.
    ///
    /// # Errors
    /// [`Error::Refused`] if it is a link or no regular file, has a second name, or another user
    /// owns or can write it.
    pub fn append(&self, name: &str) -> Result<File, Error> {
        self.open_checked(name, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE, true)
    }

    pub fn append_existing(&self, name: &str) -> Result<File, Error> {
        self.open_checked(name, OFlags::RDWR | OFlags::APPEND, true)
    }

    /// `None` if missing.
    ///
    /// # Errors
    /// [`Error::Refused`] if it is a link or no regular file, or another user owns or can write it.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let Some(mut file) = self.open_if_exists(name)? else { return Ok(None) };
        let mut bytes = Vec::new();
        let read = file.read_to_end(&mut bytes);
        read.map_err(|cause| Error::Io { action: "read", path: self.file(name), cause })?;
        Ok(Some(bytes))
    }

    /// Opens large or bounded contents; `None` if missing. Fails as [`Dir::read`].
    pub fn open_if_exists(&self, name: &str) -> Result<Option<File>, Error> {
        match self.open_checked(name, OFlags::RDONLY, false) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn open_checked(&self, name: &str, how: OFlags, writes: bool) -> Result<File, Error> {
        let path = self.file(component(name)?);
        // Nonblocking, to refuse a FIFO without waiting.
        let flags = how | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let fd = match openat(&self.fd, name, flags, self.mode()) {
            Ok(fd) => fd,
            Err(errno) => {
                // Links, directories and sockets have their own messages.
                let found = statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW);
                return Err(match found.map(|stat| check_plain(&path, &stat)) {
                    Ok(Err(refused)) => refused,
                    _ => Error::io("open", &path)(errno),
                });
            }
        };
        let stat = fstat(&fd).map_err(Error::io("look at", &path))?;
        self.trust.check_file(&path, &fd, &stat, writes)?;
        if self.is_private && writes && mode(&stat) != 0o600 {
            fchmod(&fd, Mode::from_raw_mode(0o600))
                .map_err(Error::io("close to other users", &path))?;
        }
        Ok(File::from(fd))
    }

    /// Replaces a file, neither atomically nor durably, if it grows over a long time.
    pub fn replace_in_place(&self, name: &str) -> Result<File, Error> {
        match self.create(name) {
            Err(error) if error.already_exists() => {
                self.remove(name)?;
                self.create(name)
            }
            made => made,
        }
    }

    pub fn remove(&self, name: &str) -> Result<(), Error> {
        unlinkat(&self.fd, component(name)?, AtFlags::empty())
            .map_err(Error::io("remove", &self.file(name)))
    }

    pub fn remove_subdir(&self, name: &str) -> Result<(), Error> {
        unlinkat(&self.fd, component(name)?, AtFlags::REMOVEDIR)
            .map_err(Error::io("remove", &self.file(name)))
    }

    pub fn rename(&self, from: &str, to: &str) -> Result<(), Error> {
        renameat(&self.fd, component(from)?, &self.fd, component(to)?)
            .map_err(Error::io("rename", &self.file(from)))
    }

    /// Low bits of the mode. Fails as [`Dir::append`].
    pub fn set_mode(&self, name: &str, mode: u32) -> Result<(), Error> {
        let file = self.open_any(name)?;
        fchmod(file, Mode::from_raw_mode(mode))
            .map_err(Error::io("set the mode of", &self.file(name)))
    }

    pub fn sync_file(&self, name: &str) -> Result<(), Error> {
        rustix::fs::fsync(self.open_any(name)?).map_err(Error::io("sync", &self.file(name)))
    }

    fn open_any(&self, name: &str) -> Result<OwnedFd, Error> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        openat(&self.fd, component(name)?, flags, Mode::empty())
            .map_err(Error::io("open", &self.file(name)))
    }

    /// Makes the names in it durable.
    pub fn sync(&self) -> Result<(), Error> {
        rustix::fs::fsync(&self.fd).map_err(Error::io("sync", shown(&self.path)))
    }

    /// Whether a name exists, even as a link.
    pub fn has(&self, name: &str) -> bool {
        component(name).is_ok_and(|name| statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW).is_ok())
    }

    /// The device and inode of a name.
    pub(crate) fn id(&self, name: &str) -> Option<(u64, u64)> {
        let stat = component(name)
            .ok()
            .and_then(|name| statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW).ok());
        stat.map(|stat| (stat.st_dev, stat.st_ino))
    }

    /// Whether `name` still is this open file.
    pub fn is_same_file(&self, name: &str, file: &File) -> bool {
        let open = fstat(file).ok().map(|stat| (stat.st_dev, stat.st_ino));
        open.is_some() && self.id(name) == open
    }

    /// Sorted names; those that are not UTF-8 are omitted.
    pub fn names(&self) -> Result<Vec<String>, Error> {
        let failed = || Error::io("read", shown(&self.path));
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.fd).map_err(failed())? {
            let name = entry.map_err(failed())?.file_name().to_str().map(str::to_owned);
            names.extend(name.ok().filter(|name| name != "." && name != ".."));
        }
        names.sort();
        Ok(names)
    }

    fn mode(&self) -> Mode {
        Mode::from_raw_mode(if self.is_private { 0o600 } else { 0o644 })
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A name must not lead out of the directory.
pub(crate) fn component(name: &str) -> Result<&str, Error> {
    let mut parts = Path::new(name).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(only)), None)
            if only == OsStr::new(name) && !name.contains('\0') =>
        {
            Ok(name)
        }
        _ => Err(Error::Name { name: name.to_owned() }),
    }
}

/// A relative path without components is the working directory.
fn shown(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}
