//! Consent: whether a workload may write to a device.
//!
//! Two different dangers, two different answers. What a device *holds* (a signature, partitions) is the user's to give away: naming
//! exactly this device in `--destroy-data` is enough. Who *uses* it right now (mounts, swap, device-mapper, a database with the
//! device open) is not: writing under a mounted file system corrupts what it writes next, so consent does not help, and the user
//! is given what to stop first. The judge of "in use" is the kernel: the device is opened exclusively (`O_EXCL`), which fails while anything
//! holds it, even in another container, and keeps everything else from claiming it as long as the [`Claim`] lives. Tables of
//! mounts and holders only say who it is. The open descriptor is compared with the device that was described, here and before
//! each later write (`device/opened.rs`).

mod obstacle;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;

pub use obstacle::Obstacle;

use crate::device::{self, Device, Signature};
use crate::error::Error;
use crate::root::Root;

/// The right to write to a device: while it lives, no process can mount it, swap on it, stack on it or claim it.
#[derive(Debug)]
pub struct Claim {
    file: File,
}

impl Claim {
    /// The open device. Other opens without `O_EXCL` work beside it.
    pub fn file(&self) -> &File {
        &self.file
    }
}

/// Everything that speaks against writing to the device, read afresh.
///
/// # Errors
/// [`Error::Io`] when the device cannot be opened for another reason than being in use.
pub fn obstacles(root: &Root, device: &Device) -> Result<Vec<Obstacle>, Error> {
    let mut found = in_use(root, device);
    match open_exclusively(root, device, false) {
        Ok(_) => {}
        Err(error) if is_busy(&error) => found.push(Obstacle::OpenedExclusively),
        Err(error) => return Err(Error::io("open", root.path(&device.path))(error)),
    }
    found.extend(content(root, device));
    Ok(found)
}

/// Gives the right to write to the device, or says why not. `consent` is what the user named in `--destroy-data`: the name, the
/// node or a symbolic link to it.
///
/// # Errors
/// [`Error::InUse`] and [`Error::ReadOnly`] whatever the consent; [`Error::Refused`] without consent for a device that holds something;
/// [`Error::ConsentForOther`] when the consent names another device; [`Error::UnknownDevice`] when it names none; [`Error::Replaced`] when
/// another device has its name by now.
pub fn check_writable(root: &Root, device: &Device, consent: Option<&str>) -> Result<Claim, Error> {
    let consented = match consent {
        None => false,
        Some(named) if device::disk_name(root, named)? == device.name => true,
        Some(named) => {
            let device = device.path.display().to_string();
            return Err(Error::ConsentForOther { named: named.to_string(), device });
        }
    };
    let path = device.path.display().to_string();
    let (read_only, users): (Vec<_>, Vec<_>) =
        in_use(root, device).into_iter().partition(|obstacle| *obstacle == Obstacle::ReadOnly);
    if !users.is_empty() {
        return Err(Error::InUse { device: path, found: users });
    }
    if !read_only.is_empty() {
        return Err(Error::ReadOnly { device: path });
    }
    // Claimed before its content is looked at: nothing can be put on it in between.
    let file = match open_exclusively(root, device, true) {
        Ok(file) => file,
        Err(error) if is_busy(&error) => {
            return Err(Error::InUse { device: path, found: vec![Obstacle::OpenedExclusively] });
        }
        Err(error) => return Err(Error::io("open", root.path(&device.path))(error)),
    };
    device.check_is(root, &file)?;
    let mut found = content(root, device);
    found.retain(|obstacle| !(consented && obstacle.yields_to_consent()));
    if found.is_empty() { Ok(Claim { file }) } else { Err(Error::Refused { device: path, found }) }
}

/// Who uses the device, as the kernel's tables tell.
fn in_use(root: &Root, device: &Device) -> Vec<Obstacle> {
    let usage = device::usage_now(root, &device.name);
    let mut found = Vec::new();
    found.extend(usage.mounts.into_iter().map(|mount| Obstacle::Mounted { device: mount.device, at: mount.at }));
    found.extend(usage.swap.into_iter().map(|device| Obstacle::Swap { device }));
    found.extend(usage.holders.into_iter().map(|by| Obstacle::Held { by }));
    found.extend(usage.loops.into_iter().map(|device| Obstacle::BacksLoop { device }));
    if usage.read_only {
        found.push(Obstacle::ReadOnly);
    }
    found
}

fn content(root: &Root, device: &Device) -> Vec<Obstacle> {
    let mut found = Vec::new();
    let partitions = device::usage_now(root, &device.name).partitions;
    if !partitions.is_empty() {
        found.push(Obstacle::Partitions { names: partitions });
    }
    match device::signature_now(root, &device.name) {
        Signature::Blank => {}
        Signature::Found { formats } => found.push(Obstacle::Holds { formats }),
        Signature::Unknown { why } => found.push(Obstacle::ContentUnknown { why }),
    }
    found
}

fn open_exclusively(root: &Root, device: &Device, write: bool) -> io::Result<File> {
    let exclusive = rustix::fs::OFlags::EXCL.bits().cast_signed();
    OpenOptions::new().read(true).write(write).custom_flags(exclusive).open(root.path(&device.path))
}

fn is_busy(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ResourceBusy
}
