//! Decides whether a workload may write to a device.
//!
//! Schedlab writes only to a device that it created or that `--destroy-data` names. Users may give
//! away its *contents*; no scan replaces that consent, because a missing signature proves nothing.
//! A device *in use* is always refused. It is opened with `O_EXCL`, which fails while it is mounted
//! or stacked, even in another container, and prevents both as long as the [`Claim`] lives. The
//! descriptor is compared with the described device here and before later writes
//! (`device/opened.rs`).

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
    /// `--destroy-data` names the device: by name, node or symbolic link.
    Named(Option<&'a str>),
}

/// The right to write to a device, which prevents mounting, swap and stacking.
#[derive(Debug)]
pub struct Claim {
    exclusive: Option<File>,
    backing: Option<File>,
    is_ours: bool,
    content: Vec<Content>,
    hidden: Vec<String>,
}

impl Claim {
    /// Empty for a device that schedlab created.
    pub fn content(&self) -> &[Content] {
        &self.content
    }

    /// Possible users that even root may not examine: NAME (PID).
    pub fn hidden(&self) -> &[String] {
        &self.hidden
    }

    /// Checks before the first write.
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

    /// Allows mkfs and mount. The file behind a loop device stays locked.
    pub fn release_device(&mut self) {
        self.exclusive = None;
    }

    /// Ignores schedlab's mount at `mounted_at`, and devices that schedlab created.
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
        // Other mount namespaces can have a copy of our mount elsewhere.
        let own = mounted_at.and_then(Path::file_name);
        found.retain(
            |user| !matches!(user, Use::Mounted { at, .. } if own.is_some() && Path::new(at).file_name() == own),
        );
        require_unused(device, found)
    }
}

impl Drop for Claim {
    /// A child before exec has copies of the descriptors; it must not keep the lock.
    fn drop(&mut self) {
        if let Some(backing) = &self.backing {
            let _ = flock(backing, FlockOperation::Unlock);
        }
    }
}

/// `progress` receives steps and their total during the search for data, and may cancel it.
///
/// # Errors
/// Regardless of consent: [`Error::InUse`], [`Error::ReadOnly`], [`Error::ContentUnknown`];
/// [`Error::Session`] without CAP_SYS_PTRACE; [`Error::Replaced`]. Without consent
/// [`Error::Refused`]; if it names something else, [`Error::ConsentForOther`], [`Error::Partition`]
/// or [`Error::UnknownDevice`].
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
    // Claimed first, so that its contents cannot change in between.
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

/// An unlinked file has no other user.
fn lock_backing(root: &Root, device: &Device, opened: &File) -> Result<Option<File>, Error> {
    let Some(backing) = users::open_backing(root, device, opened) else { return Ok(None) };
    // Other errors are those of network file systems without locks.
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
        thread::sleep(users::SAMPLE_INTERVAL);
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
