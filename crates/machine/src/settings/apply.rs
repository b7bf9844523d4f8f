//! Single writes to a device's settings, each read back.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use super::Problem;
use super::attribute::{Directory, order, same_as_kernel_keeps};
use super::device_attributes;
use crate::device::{current_scheduler, offered_schedulers, queue_dir};
use crate::modules;
use crate::root::Root;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Write {
    pub(super) place: Directory,
    pub(super) name: String,
    pub(super) value: String,
}

/// Device attributes first (enabling a cost model changes write-back throttling), queue attributes
/// before tunables (`nr_requests` resets mq-deadline's `async_depth`), and `read_ahead_kb` last of
/// the queue's.
pub(super) fn in_order(writes: impl Iterator<Item = Write>) -> impl Iterator<Item = Write> {
    let mut all: Vec<Write> = writes.collect();
    all.sort_by(|a, b| rank(a).cmp(&rank(b)));
    all.into_iter()
}

fn rank(write: &Write) -> (u8, (u8, &str)) {
    match write.place {
        Directory::Device => (0, device_attributes::order(&write.name, &write.value)),
        Directory::Queue => (1, order(&write.name)),
        Directory::Scheduler => (2, order(&write.name)),
    }
}

/// Does not check the effect: see [`verify`].
pub(super) fn write(root: &Root, device: &str, write: &Write) -> Result<(), Problem> {
    let written = write.place.write(root, device, &write.name, &write.value);
    written.map_err(|error| Problem::WriteFailed {
        attribute: write.name.clone(),
        wanted: write.value.clone(),
        error: explain(&error),
    })
}

pub(super) fn verify(root: &Root, device: &str, write: &Write) -> Option<Problem> {
    let found = write.place.read(root, device, &write.name).unwrap_or_default();
    (!same_as_kernel_keeps(&write.name, &write.value, &found)).then(|| Problem::NotInEffect {
        attribute: write.name.clone(),
        wanted: write.value.clone(),
        found,
    })
}

/// Loads its module if necessary.
pub(super) fn switch(root: &Root, device: &str, scheduler: &str) -> Result<(), Problem> {
    let wanted = scheduler.to_string();
    let attribute = "scheduler".to_string();
    let offered = |root: &Root| offered_schedulers(root, device);
    if !offered(root).iter().any(|name| name == scheduler)
        && let Err(error) = modules::load(root, scheduler)
    {
        let error = format!("{error}; {device} offers: {}", offered(root).join(", "));
        return Err(Problem::WriteFailed { attribute, wanted, error });
    }
    let path = queue_dir(root, device).join("scheduler");
    if let Err(error) = root.files().write_attribute(&path, scheduler) {
        let error = format!("{}; {device} offers: {}", explain(&error), offered(root).join(", "));
        return Err(Problem::WriteFailed { attribute, wanted, error });
    }
    match current_scheduler(root, device) {
        Some(found) if found == scheduler => Ok(()),
        found => Err(Problem::NotInEffect { attribute, wanted, found: found.unwrap_or_default() }),
    }
}

/// Identifies this activation: the kernel recreates the directory of tunables at each switch, with
/// a new inode number. `None` without tunables.
pub(super) fn activation(root: &Root, device: &str) -> Option<u64> {
    fs::metadata(queue_dir(root, device).join("iosched")).ok().map(|meta| meta.ino())
}

fn explain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::InvalidInput => format!("the kernel refused the value ({error})"),
        io::ErrorKind::PermissionDenied => {
            format!("the kernel takes no writes to it, or not from this user ({error})")
        }
        _ => error.to_string(),
    }
}
