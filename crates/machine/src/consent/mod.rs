//! Decides whether a workload may write to a device.
//!
//! Schedlab writes only to a device that it created or that `--destroy-data` names. The user may
//! give away a device's *contents*; a scan cannot replace that consent, because a signature proves
//! data but a missing one proves nothing. A device *in use* is always refused, and the error names
//! its users. The device is opened with `O_EXCL`, which fails while it is mounted or stacked, even
//! in another container, and prevents both as long as the [`Claim`] lives. The open descriptor is
//! compared with the described device here and before each later write (`device/opened.rs`).

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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authority<'a> {
    /// Schedlab created the device for this experiment.
    Made,
    /// The device named by `--destroy-data`, if any: its name, node or a symbolic link to it.
    Named(Option<&'a str>),
}

/// The right to write to a device. While it lives, the device cannot be mounted, used as swap or
/// stacked.
#[derive(Debug)]
pub struct Claim {
    /// Opened with `O_EXCL`.
    exclusive: Option<File>,
    /// The file behind a loop device, locked.
    backing: Option<File>,
    /// Whether schedlab created the device.
    is_ours: bool,
    content: Vec<Content>,
    hidden: Vec<String>,
}

impl Claim {
    /// What will be overwritten; empty for a device that schedlab created.
    pub fn content(&self) -> &[Content] {
        &self.content
    }

    /// Processes, as NAME (PID), that even root may not examine here: they may use the device.
    pub fn hidden(&self) -> &[String] {
        &self.hidden
    }

    /// Checks before the first write that this is still the same device, and unused.
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

    /// Ends the exclusive use before mkfs and mount. The file behind a loop device stays locked.
    pub fn release_device(&mut self) {
        self.exclusive = None;
    }

    /// Checks that nothing but schedlab's mount at `mounted_at` uses the device. A device that
    /// schedlab created is not checked.
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
    /// A child of this process that has not yet executed its program holds copies of the
    /// descriptors; it must not keep the lock.
    fn drop(&mut self) {
        if let Some(backing) = &self.backing {
            let _ = flock(backing, FlockOperation::Unlock);
        }
    }
}

/// Returns the right to write to the device. While the device is searched for data, `progress`
/// receives the steps done and their total, and may cancel the search.
///
/// # Errors
/// Regardless of consent: [`Error::InUse`], [`Error::ReadOnly`], [`Error::ContentUnknown`];
/// [`Error::Session`] without CAP_SYS_PTRACE; [`Error::Replaced`] if the name now belongs to
/// another device. [`Error::Refused`] without consent; [`Error::ConsentForOther`],
/// [`Error::Partition`] or [`Error::UnknownDevice`] if the consent names another device, a
/// partition or nothing.
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
    // Claimed before it is examined, so its contents cannot change in between.
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

/// Locks the file behind a loop device; an unlinked file has no other user.
fn lock_backing(root: &Root, device: &Device, opened: &File) -> Result<Option<File>, Error> {
    let Some(backing) = users::open_backing(root, device, opened) else { return Ok(None) };
    // Any other error comes from a network file system without locks.
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
