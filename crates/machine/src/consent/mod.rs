//! Consent: whether a workload may write to a device.
//!
//! One rule: schedlab writes to a device that it made itself, or that `--destroy-data` names. What
//! a device *holds* is the user's to give away, and no look at it replaces the word: a signature
//! proves data, the lack of one proves nothing. What *uses* the device is not: consent does not
//! help there, and the user reads what to stop first. The device is opened exclusively (`O_EXCL`),
//! which fails while a mount or another device holds it, also in another container, and prevents
//! both as long as the [`Claim`] lives. The open descriptor is compared with the device that was
//! described, here and before each later write (`device/opened.rs`).

mod content;
mod sample;
mod users;

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

pub use crate::error::{Content, Use};
use users::Users;

use crate::device::{self, Device};
use crate::error::Error;
use crate::root::Root;

/// What allows writing to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authority<'a> {
    /// schedlab made the device for this experiment.
    Made,
    /// The device that the user named in `--destroy-data`, if any: its name, its node or a symbolic
    /// link to it.
    Named(Option<&'a str>),
}

/// The right to write to a device: while it lives, nothing can mount it, swap on it or stack a
/// device on it.
#[derive(Debug)]
pub struct Claim {
    /// Open exclusively.
    exclusive: Option<File>,
    /// The file behind a loop device, locked.
    backing: Option<File>,
    /// Whether schedlab made the device.
    is_ours: bool,
    content: Vec<Content>,
    hidden: Vec<String>,
}

impl Claim {
    /// What will be overwritten; empty for a device that schedlab made.
    pub fn content(&self) -> &[Content] {
        &self.content
    }

    /// Processes, NAME (PID), that root may not examine here: whether they use the device is
    /// unknown.
    pub fn hidden(&self) -> &[String] {
        &self.hidden
    }

    /// Checks before the first write that it is this device and that nothing else uses it.
    ///
    /// # Errors
    /// [`Error::Replaced`] for another device, [`Error::InUse`].
    pub fn check(&self, root: &Root, device: &Device) -> Result<(), Error> {
        device.check_is(
            root,
            self.exclusive.as_ref().expect("a claim is checked before it is released"),
        )?;
        self.check_unused(root, device, None)
    }

    /// Ends the exclusive use, for mkfs and the mount that follows. The file behind a loop device
    /// stays locked.
    pub fn release_device(&mut self) {
        self.exclusive = None;
    }

    /// Checks again that nothing uses the device, except a mount of schedlab's at `mounted_at`. A
    /// device that schedlab made has nothing to lose.
    ///
    /// # Errors
    /// [`Error::InUse`].
    pub fn check_unused(
        &self,
        root: &Root,
        device: &Device,
        mounted_at: Option<&Path>,
    ) -> Result<(), Error> {
        if self.is_ours {
            return Ok(());
        }
        let mut found = users::find(root, device)?.found;
        // Other mount namespaces can have a copy of our mount below another directory.
        let own = mounted_at.and_then(Path::file_name);
        found.retain(
            |user| !matches!(user, Use::Mounted { at, .. } if own.is_some() && Path::new(at).file_name() == own),
        );
        require_unused(device, found)
    }
}

impl Drop for Claim {
    /// A child of this process that has not reached its program yet holds copies of the
    /// descriptors: it must not keep the lock.
    fn drop(&mut self) {
        if let Some(backing) = &self.backing {
            let _ = flock(backing, FlockOperation::Unlock);
        }
    }
}

/// Gives the right to write to the device, or the reasons against it. `progress` receives steps
/// done and their total while the device is searched for data, and may break that off.
///
/// # Errors
/// Whatever the consent: [`Error::InUse`], [`Error::ReadOnly`], [`Error::ContentUnknown`];
/// [`Error::Session`] without CAP_SYS_PTRACE; [`Error::Replaced`] when another device has its name
/// by now. [`Error::Refused`] without consent; [`Error::ConsentForOther`], [`Error::Partition`] or
/// [`Error::UnknownDevice`] when the consent names another device, a partition or nothing.
pub fn check_writable(
    root: &Root,
    device: &Device,
    authority: Authority<'_>,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Claim, Error> {
    let allowed = is_allowed(root, device, authority)?;
    let is_ours = authority == Authority::Made;
    let Users { found, hidden } =
        if is_ours { Users::default() } else { users::find(root, device)? };
    require_unused(device, found)?;
    if device::usage_now(root, &device.name).read_only {
        return Err(Error::ReadOnly { device: device.path.display().to_string() });
    }
    // Claimed before its content is looked at: nothing can be put on it in between.
    let exclusive = open_exclusively(root, device)?;
    device.check_is(root, &exclusive)?;
    let backing = lock_backing(root, device, &exclusive)?;
    let content =
        if is_ours { Vec::new() } else { content::find(root, device, &exclusive, progress)? };
    let claim = Claim { exclusive: Some(exclusive), backing, is_ours, content, hidden };
    if allowed {
        return Ok(claim);
    }
    Err(Error::Refused { device: device.path.display().to_string(), found: claim.content.clone() })
}

fn is_allowed(root: &Root, device: &Device, authority: Authority<'_>) -> Result<bool, Error> {
    match authority {
        Authority::Made => Ok(true),
        Authority::Named(None) => Ok(false),
        Authority::Named(Some(named)) if device::disk_name(root, named)? == device.name => Ok(true),
        Authority::Named(Some(named)) => Err(Error::ConsentForOther {
            named: named.to_string(),
            device: device.path.display().to_string(),
        }),
    }
}

fn require_unused(device: &Device, found: Vec<Use>) -> Result<(), Error> {
    if found.is_empty() {
        Ok(())
    } else {
        Err(Error::InUse { device: device.path.display().to_string(), found })
    }
}

/// Locks the file behind a loop device; a file without a name has no other user.
fn lock_backing(root: &Root, device: &Device, opened: &File) -> Result<Option<File>, Error> {
    let Some(backing) = users::open_backing(root, device, opened) else { return Ok(None) };
    // Another error is that of a network file system without locks.
    if flock(&backing, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
        require_unused(device, vec![Use::FileLocked])?;
    }
    Ok(Some(backing))
}

fn open_exclusively(root: &Root, device: &Device) -> Result<File, Error> {
    let path = root.path(&device.path);
    let exclusive = OFlags::EXCL.bits().cast_signed();
    let open = || OpenOptions::new().read(true).write(true).custom_flags(exclusive).open(&path);
    let is_busy = |error: &io::Error| error.kind() == io::ErrorKind::ResourceBusy;
    let mut opened = open();
    if opened.as_ref().is_err_and(is_busy) {
        thread::sleep(users::MOMENT);
        opened = open();
    }
    opened.map_err(|error| match is_busy(&error) {
        true => Error::InUse {
            device: device.path.display().to_string(),
            found: vec![Use::OpenedExclusively],
        },
        false => Error::io("open", &path)(error),
    })
}
