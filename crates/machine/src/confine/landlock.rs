//! Landlock: read everything, or what a list names; write to a list of paths only.
//!
//! Of what it does not cover (mode, owner, times and attributes of files) the list of forbidden
//! system calls of [`crate::confine::Seal`] is the complement. Landlock's versions differ: 1
//! creating and writing, 3 truncating, 5 ioctl of devices, 6 signals and abstract sockets, 9
//! sockets in the file system. What the kernel has of them is used.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};

use crate::confine::{Error, Result, sys};

/// The newest version whose rights are handled.
const NEWEST: ABI = ABI::V9;

/// The version of Landlock that the running kernel has; 0: none.
#[must_use]
pub fn landlock_abi() -> u32 {
    sys::landlock_abi()
}

/// A prepared restriction.
#[derive(Debug)]
pub struct Landlock {
    ruleset: Option<OwnedFd>,
}

impl Landlock {
    /// Everything can be read and executed; files and directories can be written, created and
    /// removed at and below `paths` only, and nowhere a device, a socket or a FIFO. TCP is closed.
    /// Signals and abstract sockets do not reach processes outside.
    ///
    /// On a kernel without Landlock the restriction is empty: see [`Landlock::holds`].
    ///
    /// # Errors
    /// If one of `paths` cannot be opened.
    pub fn read_all_write_only<P: AsRef<Path>>(paths: &[P]) -> Result<Landlock> {
        Landlock::prepare(paths, &[], AccessNet::from_all(NEWEST))
    }

    /// Like [`Landlock::read_all_write_only`], with `removals` in and below which files and
    /// directories can be removed, and nothing else.
    ///
    /// # Errors
    /// If one of the paths cannot be opened.
    pub fn read_all_write_only_and_remove<P: AsRef<Path>>(
        paths: &[P],
        removals: &[PathBuf],
    ) -> Result<Landlock> {
        Landlock::prepare(paths, removals, AccessNet::from_all(NEWEST))
    }

    /// Like [`Landlock::read_all_write_only`], with TCP connections to servers. Listening stays
    /// closed.
    ///
    /// # Errors
    /// If one of `paths` cannot be opened.
    pub fn read_all_write_only_and_connect<P: AsRef<Path>>(paths: &[P]) -> Result<Landlock> {
        Landlock::prepare(paths, &[], AccessNet::BindTcp.into())
    }

    /// Files can be read and executed at and below `paths` only, nothing can be written but
    /// `/dev/null`, and TCP is closed.
    ///
    /// # Errors
    /// If one of `paths` cannot be opened.
    pub fn read_only<P: AsRef<Path>>(paths: &[P]) -> Result<Landlock> {
        let mut ruleset =
            Landlock::ruleset(AccessFs::from_all(NEWEST), AccessNet::from_all(NEWEST))?;
        let null = AccessFs::ReadFile | AccessFs::WriteFile;
        let named = paths.iter().map(|path| (path.as_ref(), AccessFs::from_read(NEWEST)));
        for (path, access) in named.chain([(Path::new("/dev/null"), null)]) {
            ruleset = allow(ruleset, path, access)?;
        }
        Ok(Landlock { ruleset: ruleset.into() })
    }

    fn prepare<P: AsRef<Path>>(
        paths: &[P],
        removals: &[PathBuf],
        closed: BitFlags<AccessNet>,
    ) -> Result<Landlock> {
        let special =
            AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::MakeSock | AccessFs::MakeFifo;
        let writes = AccessFs::from_write(NEWEST);
        let mut ruleset = Landlock::ruleset(writes, closed)?;
        for path in paths.iter().map(AsRef::as_ref) {
            ruleset = allow(ruleset, path, writes & !special & !AccessFs::IoctlDev)?;
        }
        for path in removals {
            ruleset = allow(ruleset, path, AccessFs::RemoveFile | AccessFs::RemoveDir)?;
        }
        Ok(Landlock { ruleset: ruleset.into() })
    }

    fn ruleset(handled: BitFlags<AccessFs>, closed: BitFlags<AccessNet>) -> Result<RulesetCreated> {
        Ruleset::default()
            .handle_access(handled)
            .and_then(|ruleset| ruleset.handle_access(closed))
            .and_then(|ruleset| ruleset.scope(Scope::from_all(NEWEST)))
            .and_then(Ruleset::create)
            .map_err(failed)
    }

    /// Like [`Landlock::read_all_write_only`], for paths that need not exist.
    ///
    /// # Errors
    /// If one of `paths` exists and cannot be opened.
    pub fn read_all_write_only_existing(paths: &[PathBuf]) -> Result<Landlock> {
        let existing: Vec<&PathBuf> = paths.iter().filter(|path| path.exists()).collect();
        Landlock::read_all_write_only(&existing)
    }

    /// Whether the kernel has Landlock.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.ruleset.is_some()
    }

    /// Restricts this thread and what it creates from now on. Returns whether the kernel has
    /// Landlock.
    ///
    /// # Errors
    /// If the kernel rejects it.
    pub fn restrict(&self) -> Result<bool> {
        crate::confine::no_new_privs()?;
        self.apply().map_err(|cause| Error::new("Landlock", "restrict this process", cause))?;
        Ok(self.holds())
    }

    /// Allocates nothing. The thread must have given up new privileges.
    pub(crate) fn apply(&self) -> std::io::Result<()> {
        self.ruleset.as_ref().map_or(Ok(()), |ruleset| sys::landlock_restrict_self(ruleset.as_fd()))
    }
}

fn failed(error: RulesetError) -> Error {
    Error::new("Landlock", "prepare", std::io::Error::other(error))
}

/// Allows what of `access` applies to a path: of a file, what a file can have.
fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated> {
    let opened = |cause| Error::new(path.display().to_string(), "open", cause);
    let fd = PathFd::new(path).map_err(|error| opened(std::io::Error::other(error)))?;
    let directory = std::fs::metadata(path).map_err(opened)?.is_dir();
    let allowed = if directory { access } else { access & AccessFs::from_file(NEWEST) };
    ruleset.add_rule(PathBeneath::new(fd, allowed)).map_err(failed)
}
