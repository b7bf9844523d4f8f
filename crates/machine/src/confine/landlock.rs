//! Landlock: read everything, or only listed paths; write only to listed paths.
//!
//! It does not cover the mode, owner, times and attributes of files; [`crate::confine::Seal`]
//! forbids the system calls for these. ABI versions: 1 creation and writing, 3 truncation, 5 device
//! ioctls, 6 signals and abstract sockets, 9 sockets in the file system.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};

use crate::confine::{Error, Result, sys};

/// The newest ABI version whose rights are handled.
const NEWEST: ABI = ABI::V9;

/// 0 without Landlock.
#[must_use]
pub fn landlock_abi() -> u32 {
    sys::landlock_abi()
}

#[derive(Debug)]
pub struct Landlock {
    ruleset: Option<OwnedFd>,
}

impl Landlock {
    /// Everything can be read and executed; files and directories can be written, created and
    /// removed only at and below `paths`. Creating devices, sockets and FIFOs, TCP, signals and
    /// abstract sockets to other processes are forbidden. Without Landlock the restriction is
    /// empty: see [`Landlock::holds`].
    pub fn read_all_write_only<P: AsRef<Path>>(paths: &[P]) -> Result<Landlock> {
        Landlock::prepare(paths, &[], AccessNet::from_all(NEWEST))
    }

    /// Like [`Landlock::read_all_write_only`], with removal at and below `removals`.
    pub fn read_all_write_only_and_remove<P: AsRef<Path>>(
        paths: &[P],
        removals: &[PathBuf],
    ) -> Result<Landlock> {
        Landlock::prepare(paths, removals, AccessNet::from_all(NEWEST))
    }

    /// Like [`Landlock::read_all_write_only`], with outgoing TCP connections.
    pub fn read_all_write_only_and_connect<P: AsRef<Path>>(paths: &[P]) -> Result<Landlock> {
        Landlock::prepare(paths, &[], AccessNet::BindTcp.into())
    }

    /// Only `paths` can be read and executed, only `/dev/null` written; TCP is closed.
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

    /// Like [`Landlock::read_all_write_only`]; missing paths are skipped.
    pub fn read_all_write_only_existing(paths: &[PathBuf]) -> Result<Landlock> {
        let existing: Vec<&PathBuf> = paths.iter().filter(|path| path.exists()).collect();
        Landlock::read_all_write_only(&existing)
    }

    /// Whether the kernel has Landlock.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.ruleset.is_some()
    }

    /// Applies to this thread and its future children. Returns whether the kernel has Landlock.
    pub fn restrict(&self) -> Result<bool> {
        crate::confine::no_new_privs()?;
        self.apply().map_err(|cause| Error::new("Landlock", "restrict this process", cause))?;
        Ok(self.holds())
    }

    /// Does not allocate. Requires no_new_privs.
    pub(crate) fn apply(&self) -> std::io::Result<()> {
        self.ruleset.as_ref().map_or(Ok(()), |ruleset| sys::landlock_restrict_self(ruleset.as_fd()))
    }
}

fn failed(error: RulesetError) -> Error {
    Error::new("Landlock", "prepare", std::io::Error::other(error))
}

/// Allows `access` at a path; for a file, only the rights of files.
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
