//! Single writes to a device's settings, each read back.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

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

/// Since Linux 7.0, an attribute of the queue from which bfq derives its limits on tags.
const DEPTH: &str = "async_depth";
/// The pauses between attempts double from the first to the last, 2.5 s together.
const PAUSES: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(1280)];

/// Whether `async_depth` must be written again after a switch on this kernel.
///
/// Linux 7.3's bfq derives its limits before it sets the attribute, so they follow the scheduler
/// before it until the attribute is written.
#[must_use]
pub fn leaves_stale_depth(scheduler: &str, linux: (u32, u32)) -> bool {
    scheduler == "bfq" && linux >= (7, 0)
}

/// Printed for the user.
pub const DEPTH_NOTE: &str = "bfq: async_depth was written again after each switch; on Linux 7.0 \
    and later its limits on tags otherwise follow the scheduler before it";

/// Loads its module if necessary. Returns whether bfq's `async_depth` was written again.
pub(super) fn switch(root: &Root, device: &str, scheduler: &str) -> Result<bool, Problem> {
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
    if let Err(error) = write_patiently(root, &path, scheduler) {
        let error = format!("{}; {device} offers: {}", explain(&error), offered(root).join(", "));
        return Err(Problem::WriteFailed { attribute, wanted, error });
    }
    match current_scheduler(root, device) {
        Some(found) if found == scheduler => renew_depth(root, device, scheduler),
        found => Err(Problem::NotInEffect { attribute, wanted, found: found.unwrap_or_default() }),
    }
}

/// Since Linux 7.0, a switch fails while another one of the same adapter is in progress.
fn write_patiently(root: &Root, path: &Path, scheduler: &str) -> io::Result<()> {
    let [mut pause, last] = PAUSES;
    loop {
        match root.files().write_attribute(path, scheduler) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && pause <= last => {
                root.files().pause(pause);
                pause *= 2;
            }
            written => return written,
        }
    }
}

/// See [`leaves_stale_depth`]; the attribute exists on these kernels only.
fn renew_depth(root: &Root, device: &str, scheduler: &str) -> Result<bool, Problem> {
    let depth = root.read_optional(queue_dir(root, device).join(DEPTH));
    let Some(value) = depth.filter(|_| scheduler == "bfq") else { return Ok(false) };
    let again = Write { place: Directory::Queue, name: DEPTH.to_string(), value };
    write(root, device, &again).map(|()| true)
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
        io::ErrorKind::ResourceBusy => {
            format!("the adapter's queues are being changed ({error}); try again")
        }
        _ => error.to_string(),
    }
}
