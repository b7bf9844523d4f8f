//! Block devices: attributes, possible settings and users.
//!
//! Read from sysfs and procfs, where the relevant facts are single files that a test can lay out,
//! instead of by a library or `lsblk`. Only the signature comes from `blkid`, which recognizes
//! about a hundred formats.

mod identity;
mod kind;
mod opened;
mod paths;
mod queue;
mod signature;
mod usage;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use serde::Serialize;

pub use kind::Kind;
pub(crate) use paths::{node_path, queue_dir};
pub use queue::NoScheduler;
pub(crate) use queue::{current_scheduler, offered_schedulers};
pub use signature::Signature;
pub use usage::Mount;
pub(crate) use usage::{disk_of_number, mounts_in, numbers, partitions, unescape, usage_of};

use crate::error::Error;
use crate::modules;
use crate::root::Root;

/// A disk: the unit with a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Device {
    /// E.g. `nvme0n1`.
    pub name: String,
    /// E.g. `/dev/nvme0n1`.
    pub path: PathBuf,
    /// `MAJOR:MINOR`.
    pub number: String,
    /// 0 without a medium.
    pub size_bytes: u64,
    pub kind: Kind,
    pub model: Option<String>,
    pub firmware: Option<String>,
    pub serial: Option<String>,
    /// World-wide name, else serial number and model, else name and device number, which are valid
    /// for one boot.
    pub identity: String,
    /// Changes when another medium or file gets the same name.
    pub diskseq: Option<u64>,
    pub removable: bool,
    pub read_only: bool,
    /// In bytes.
    pub logical_block_size: Option<u64>,
    /// In bytes.
    pub physical_block_size: Option<u64>,
    /// `None` if the device has no scheduler.
    pub scheduler: Option<String>,
    /// Offered by the kernel now.
    pub available_schedulers: Vec<String>,
    /// Modules of the running kernel.
    pub unloaded_schedulers: Vec<String>,
    pub no_scheduler: Option<NoScheduler>,
    /// Those of the current scheduler.
    pub tunables: BTreeMap<String, Attribute>,
    pub queue: BTreeMap<String, Attribute>,
    pub nr_requests: Option<u64>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Mounts of the disk and its partitions, in this mount namespace.
    pub mounts: Vec<Mount>,
    pub swap: Vec<String>,
    /// Devices stacked on the disk or its partitions (device-mapper, md).
    pub holders: Vec<String>,
    /// Devices that this one is stacked on.
    pub slaves: Vec<String>,
    pub partitions: Vec<String>,
    pub backing_file: Option<PathBuf>,
    /// From the first and last sectors.
    pub signature: Signature,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attribute {
    pub value: String,
    pub writable: bool,
}

/// All disks, sorted by name, without loop devices that have no backing file.
pub fn list(root: &Root) -> Result<Vec<Device>, Error> {
    let names = disk_names(root)?;
    let identities = identity::all(root, &names);
    let there = names.iter().filter(|name| exists(root, name));
    Ok(there.map(|name| describe(root, name, &identities[name])).collect())
}

/// The schedulers that each disk offers, and modules that none has loaded; opens no disk.
pub fn offered(root: &Root) -> (BTreeMap<String, Vec<String>>, Vec<String>) {
    let names = disk_names(root).unwrap_or_default().into_iter().filter(|name| exists(root, name));
    let loaded: BTreeMap<_, _> =
        names.map(|name| (name.clone(), offered_schedulers(root, &name))).collect();
    let all = loaded.values().flatten().cloned().collect::<Vec<_>>();
    let unloaded = if all.is_empty() { all } else { modules::unloaded(root, &all) };
    (loaded, unloaded)
}

/// Finds a disk by `vda`, `/dev/vda`, or any path that leads to its node.
///
/// # Errors
/// [`Error::UnknownDevice`] with the nearest name, [`Error::Partition`] with the partition's disk.
pub fn find(root: &Root, word: &str) -> Result<Device, Error> {
    let name = disk_name(root, word)?;
    let identity = identity::all(root, &disk_names(root)?).remove(&name).unwrap_or_default();
    Ok(describe(root, &name, &identity))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    pub disk: Device,
    /// `None` for the whole disk.
    pub partition: Option<String>,
    /// 512 bytes each, relative to the whole disk.
    pub sectors: std::ops::Range<u64>,
}

/// Like [`find`], also for a partition.
pub fn find_extent(root: &Root, word: &str) -> Result<Extent, Error> {
    let disk = match find(root, word) {
        Ok(disk) => return Ok(Extent { disk, partition: None, sectors: 0..u64::MAX }),
        Err(Error::Partition { disk, .. }) => find(root, &disk)?,
        Err(error) => return Err(error),
    };
    let name = kernel_name(root, word).unwrap_or_else(|| word.to_owned());
    let dir = root.sys("block").join(&disk.name).join(&name);
    let number = |file: &str| -> Result<u64, Error> {
        let text = fs::read_to_string(dir.join(file)).map_err(Error::io("read", dir.join(file)))?;
        let wrong = |cause| Error::io("read", dir.join(file))(std::io::Error::other(cause));
        text.trim().parse::<u64>().map_err(wrong)
    };
    let first = number("start")?;
    Ok(Extent {
        sectors: first..first.saturating_add(number("size")?),
        disk,
        partition: Some(name),
    })
}

/// Bio-based disks (device-mapper, md) pass bios on.
pub fn has_requests(root: &Root, name: &str) -> bool {
    root.sys("block").join(name).join("mq").is_dir()
}

/// `word` is the user's name for it.
///
/// # Errors
/// [`Error::DeviceGone`] if it was removed, or replaced under its name.
pub fn find_by_identity(root: &Root, identity: &str, word: &str) -> Result<Device, Error> {
    let last_name = kernel_name(root, word).unwrap_or_default();
    match name_by_identity(root, identity, &last_name)? {
        Some(name) => Ok(describe(root, &name, identity)),
        None => Err(Error::DeviceGone { device: format!("{word} ({identity})") }),
    }
}

pub(crate) fn disk_name(root: &Root, word: &str) -> Result<String, Error> {
    let disks = disk_names(root)?;
    let candidate = kernel_name(root, word);
    if let Some(name) = candidate.as_ref().filter(|name| disks.contains(name)) {
        return Ok(name.clone());
    }
    if let Some(part) = &candidate
        && let Some(disk) = disks.iter().find(|disk| usage::partitions(root, disk).contains(part))
    {
        return Err(Error::Partition {
            word: word.into(),
            disk: node_path(disk).display().to_string(),
        });
    }
    let known: Vec<String> = disks.into_iter().filter(|name| exists(root, name)).collect();
    Err(Error::UnknownDevice { word: word.into(), known })
}

/// The current name; `last_name` is the previous one.
pub(crate) fn name_by_identity(
    root: &Root,
    identity: &str,
    last_name: &str,
) -> Result<Option<String>, Error> {
    Ok(identity::find(root, &disk_names(root)?, identity, last_name))
}

/// Queue depth of the first hardware queue, which is that of all. `None` for a bio-based driver.
pub fn tags(root: &Root, name: &str) -> Option<u64> {
    root.read_optional(queue_dir(root, name).join("../mq/0/nr_tags"))?.parse().ok()
}

/// Names the disks below, which may have one.
pub(crate) fn why_no_scheduler(root: &Root, name: &str) -> String {
    let why = queue::no_scheduler(root, name).map_or_else(String::new, |why| why.to_string());
    let below: Vec<String> = usage::bottom_disks(root, name)
        .iter()
        .map(|disk| node_path(disk).display().to_string())
        .collect();
    if below.is_empty() { why } else { format!("{why}: {}", below.join(", ")) }
}

/// False for spare loop devices.
fn exists(root: &Root, name: &str) -> bool {
    !name.starts_with("loop") || usage::backing_file(root, name).is_some()
}

fn disk_names(root: &Root) -> Result<Vec<String>, Error> {
    let dir = root.sys("block");
    fs::read_dir(&dir).map_err(Error::io("read", &dir))?;
    // A hidden disk is a path of a multipath NVMe namespace and cannot be opened; I/O goes to the
    // visible one.
    let visible =
        |name: &String| root.read_optional(dir.join(name).join("hidden")).as_deref() != Some("1");
    Ok(root.names(&dir).into_iter().filter(visible).collect())
}

/// Uses the device number for a node outside of /dev.
fn kernel_name(root: &Root, word: &str) -> Option<String> {
    if !word.contains('/') {
        return Some(word.to_string());
    }
    let inside = if Path::new(word).is_absolute() { root.path(word) } else { PathBuf::from(word) };
    let node = fs::canonicalize(inside).ok()?;
    let meta = fs::metadata(&node).ok()?;
    if meta.file_type().is_block_device() {
        let number = meta.rdev();
        let link = format!("dev/block/{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
        if let Ok(target) = fs::canonicalize(root.sys(link)) {
            return Some(target.file_name()?.to_str()?.to_string());
        }
    }
    let dev = fs::canonicalize(root.dev("")).ok()?;
    Some(node.strip_prefix(dev).ok()?.to_str()?.replace('/', "!"))
}

fn describe(root: &Root, name: &str, identity: &str) -> Device {
    let dir = root.sys("block").join(name);
    let number =
        |path: &str| root.read_optional(dir.join(path)).and_then(|text| text.parse::<u64>().ok());
    let flag = |path: &str| number(path) == Some(1);
    let attributes = |path: &str| -> BTreeMap<String, Attribute> {
        let of = |(name, (value, writable))| (name, Attribute { value, writable });
        root.attributes(dir.join(path)).into_iter().map(of).collect()
    };
    let facts = identity::facts(root, name);
    let available_schedulers = offered_schedulers(root, name);
    let no_scheduler = queue::no_scheduler(root, name);
    let unloaded = || modules::unloaded(root, &available_schedulers);
    // The kernel counts 512-byte units, regardless of the block size.
    let size_bytes = number("size").unwrap_or(0) * 512;
    let partitions = usage::partitions(root, name);
    Device {
        path: node_path(name),
        number: root.read_optional(dir.join("dev")).unwrap_or_default(),
        size_bytes,
        kind: identity::kind(root, name, &facts),
        identity: identity.to_string(),
        diskseq: number("diskseq"),
        removable: flag("removable"),
        read_only: flag("ro"),
        logical_block_size: number("queue/logical_block_size"),
        physical_block_size: number("queue/physical_block_size"),
        scheduler: current_scheduler(root, name),
        unloaded_schedulers: if no_scheduler.is_none() { unloaded() } else { Vec::new() },
        no_scheduler,
        tunables: attributes("queue/iosched"),
        queue: attributes("queue"),
        nr_requests: number("queue/nr_requests"),
        write_cache: root.read_optional(dir.join("queue/write_cache")),
        mounts: usage::mounts(root, name, &partitions),
        swap: usage::swap(root, name, &partitions),
        holders: usage::holders(root, name, &partitions),
        slaves: root.names(dir.join("slaves")),
        backing_file: usage::backing_file(root, name),
        signature: if size_bytes == 0 {
            Signature::None
        } else {
            signature::probe(root, &node_path(name))
        },
        available_schedulers,
        partitions,
        model: facts.model,
        firmware: facts.firmware,
        serial: facts.serial,
        name: name.to_string(),
    }
}

/// A [`Device`] may be minutes old.
pub(crate) fn usage_now(root: &Root, name: &str) -> usage::Usage {
    usage::usage_of(root, name, partitions(root, name))
}

pub(crate) fn signature_now(root: &Root, name: &str) -> Signature {
    signature::probe(root, &node_path(name))
}

#[cfg(test)]
mod tests;
