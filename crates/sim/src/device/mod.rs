//! Modelled devices: what the queue sends goes in, what is finished comes out, at the time the model says.

use elevator::{BlockRequest, Disk, Geometry, Op, Time};

mod description;
mod error;
#[cfg(test)]
mod figures;
mod flash;
mod hdd;
mod null;
#[cfg(test)]
mod refusals;
mod tables;

use description::Description;
pub use error::{DeviceError, Place};

/// What a device is told to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// A request of the elevator. `tag` comes back when it is done.
    Transfer {
        /// The request's tag.
        tag: u32,
        /// Direction.
        op: Op,
        /// First sector.
        sector: u64,
        /// Length in sectors.
        nr_sectors: u32,
    },
    /// Bring everything that is in the write cache to the medium. `tag` comes back when it is done; such tags are above those of
    /// requests.
    Flush {
        /// The caller's tag.
        tag: u32,
    },
}

/// What a device has done since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceStats {
    /// Transfers completed.
    pub transfers: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Nanoseconds with at least one command inside.
    pub busy_ns: u64,
    /// Movements of the arm to another cylinder.
    pub seeks: u64,
    /// Cylinders moved, in all.
    pub seek_cylinders: u64,
    /// Nanoseconds of seeking and switching heads.
    pub seek_ns: u64,
    /// Nanoseconds of waiting for the sector to come round.
    pub rotation_ns: u64,
    /// Nanoseconds of moving data to or from the medium.
    pub transfer_ns: u64,
    /// Reads served from the device's own memory.
    pub cache_hits: u64,
    /// Writes reported done before they were on the medium.
    pub cached_writes: u64,
    /// Pages moved by garbage collection.
    pub moved_pages: u64,
    /// Blocks erased.
    pub erases: u64,
}

/// A modelled device. It owns no clock: [`DeviceModel::advance`] is called at the time that [`DeviceModel::next_event`] named,
/// or at any earlier time at which something else happens.
pub trait DeviceModel: std::fmt::Debug + Send + Disk {
    /// Commands that it takes at once.
    fn queue_depth(&self) -> u32;

    /// Sectors.
    fn sectors(&self) -> u64;

    /// What a scheduler can be configured with; no cylinders for devices without an arm.
    fn geometry(&self) -> Geometry;

    /// Whether what it reports as written may still be in a cache that loses it: else a flush asks nothing of it, and the block layer
    /// answers without it.
    fn has_volatile_cache(&self) -> bool {
        true
    }

    /// Takes a command. It completes at a later call of [`DeviceModel::advance`], never in this one.
    fn submit(&mut self, now: Time, command: Command);

    /// The next time at which something happens inside; None: nothing will without another command.
    fn next_event(&self) -> Option<Time>;

    /// Lets everything happen that is due at `now`; tags of commands that are done are appended to `done`, in order.
    fn advance(&mut self, now: Time, done: &mut Vec<u32>);

    /// What it has done since it was made.
    fn stats(&self) -> DeviceStats;

    /// The same device with another trial's seed, where copying one is much cheaper than making it; what was done to it before its
    /// first command (preconditioning) is then the same for every seed. None: make a new one.
    fn copy(&self, _seed: u64) -> Option<Box<dyn DeviceModel>> {
        None
    }

    /// The model as the block driver of the kernel arena reads it (the layout stands in kernel/core/disk-model.h), as it was made:
    /// without what was done to it since. None: that driver has no such model.
    fn tables(&self) -> Option<Vec<u8>> {
        None
    }

    /// How long a trial should be where nobody has said: long enough for some thousand requests.
    fn trial_ms(&self) -> u64 {
        1000
    }
}

/// A row of [`DEVICES`].
#[derive(Debug)]
pub struct DeviceKind {
    /// The name in plans and on the command line.
    pub name: &'static str,
    /// One line for lists.
    pub help: &'static str,
    /// Where its figures come from.
    pub source: &'static str,
    /// How sure they are, by the weakest essential one.
    pub evidence: elevator::Evidence,
    /// Its description, as a user would write one for a drive of their own.
    pub toml: &'static str,
}

/// A row whose description is a file of its own.
macro_rules! preset {
    ($name:literal, $help:literal, $evidence:ident, $source:literal) => {
        DeviceKind {
            name: $name,
            help: $help,
            source: $source,
            evidence: elevator::Evidence::$evidence,
            toml: include_str!(concat!("presets/", $name, ".toml")),
        }
    };
}

/// Every device that comes with the laboratory.
pub static DEVICES: &[DeviceKind] = &[
    preset!(
        "hp97560",
        "HP 97560, 1.3 GB of 1991: the disk of the classic studies",
        Confirmed,
        "Ruemler & Wilkes, IEEE Computer 27(3), 1994, by three agreeing encodings"
    ),
    preset!("c2247a", "HP C2247A, 1 GB, 5400 rpm, zoned", Confirmed, "DiskSim parameter files"),
    preset!(
        "c2490a",
        "HP C2490A, 2.1 GB, 6400 rpm, zoned",
        Derived,
        "DiskSim parameter files; curve fitted to the measured seeks"
    ),
    preset!(
        "c3323a",
        "HP C3323A, 1 GB, 5400 rpm, zoned",
        Derived,
        "DiskSim parameter files; curve fitted to the measured seeks"
    ),
    preset!("c2200a-like", "a disk like the HP C2200A, 0.3 GB; not its confirmed figures", Recalled, "recalled"),
    preset!(
        "barracuda7200",
        "Seagate Barracuda ST32171W, 2 GB, 7200 rpm: a usual disk of Linux 2.6's childhood",
        Derived,
        "DiskSim validation set; curve fitted to the measured seeks"
    ),
    preset!(
        "atlas3",
        "Quantum Atlas III, 9 GB, 7200 rpm",
        Derived,
        "DiskSim validation set; curve fitted to the measured seeks"
    ),
    preset!(
        "cheetah9lp",
        "Seagate Cheetah 9LP, 9 GB, 10,000 rpm",
        Derived,
        "DiskSim validation set; curve fitted to the measured seeks"
    ),
    preset!(
        "cheetah4lp",
        "Seagate Cheetah 4LP, 4.5 GB, 10,000 rpm",
        Derived,
        "DiskSim validation set; curve fitted to the measured seeks"
    ),
    preset!(
        "atlas10k",
        "Quantum Atlas 10K, 9 GB, 10,000 rpm",
        Derived,
        "DiskSim validation set; curve fitted to the measured seeks"
    ),
    preset!("maxtor300g", "Maxtor of 300 GB, 10,000 rpm", Proposed, "DiskSim example; zones and overheads simplified"),
    preset!(
        "wd4tb7200",
        "WD 4 TB, 7200 rpm, NCQ: a disk of today",
        Proposed,
        "DiskSim (WD), marked experimental there; skews and queue ours"
    ),
    preset!("sata-ssd", "an SSD at SATA: 4 channels, NCQ 32", Proposed, "MQSim's flash; link and overhead ours"),
    preset!(
        "nvme",
        "an NVMe SSD: 8 channels, 64 dies, MLC",
        Proposed,
        "MQSim defaults; a simple two-stage model in place of its own"
    ),
    preset!(
        "970pro-like",
        "an NVMe SSD like NVMeVirt's Samsung 970 PRO",
        Derived,
        "NVMeVirt's ssd configuration; same simple model"
    ),
    preset!("femu", "FEMU's black-box SSD", Recalled, "FEMU; latencies confirmed, shape recalled"),
    preset!(
        "null",
        "completes after a given time: the cost of the queue alone, or a server with a known law",
        Proposed,
        "none needed"
    ),
];

/// Makes the device that a specification names: `NAME`, or `NAME:KEY=VALUE:KEY=VALUE` with keys of its description changed
/// (`hp97560:queue_depth=8`, `hp97560:seek.knee=400`). `seed` is the trial's; a device draws from its own named stream.
///
/// # Errors
/// [`DeviceError`] names what is wrong and what would be right.
pub fn device(specification: &str, seed: u64) -> Result<Box<dyn DeviceModel>, DeviceError> {
    let mut parts = specification.split(':');
    let name = parts.next().unwrap_or_default();
    let row =
        DEVICES.iter().find(|row| row.name == name).ok_or_else(|| DeviceError::Unknown { name: name.to_owned() })?;
    let mut changes = Vec::new();
    for part in parts {
        let change = part.split_once('=').filter(|(key, _)| !key.is_empty());
        changes.push(change.ok_or_else(|| DeviceError::Specification { part: part.to_owned() })?);
    }
    device_from_toml(row.toml, &changes, seed)
}

/// Makes the device that a user's own description (TOML) gives, with `KEY=VALUE` pairs of a specification on top.
///
/// # Errors
/// [`DeviceError`], with the line.
pub fn device_from_toml(toml: &str, changes: &[(&str, &str)], seed: u64) -> Result<Box<dyn DeviceModel>, DeviceError> {
    let mut from = Description::read(toml, changes)?;
    if !from.has("model") {
        return Err(DeviceError::Missing { key: "model".to_owned(), meaning: format!("one of {}", MODELS.join(", ")) });
    }
    let model: Box<dyn DeviceModel> = match from.word_or_first("model", &MODELS)? {
        0 => Box::new(hdd::read(&mut from)?),
        1 => Box::new(flash::read(&mut from, seed)?),
        _ => Box::new(null::read(&mut from, seed)?),
    };
    from.finish()?;
    Ok(model)
}

/// The models that a description can name.
const MODELS: [&str; 3] = ["hdd", "flash", "null"];

/// A device's own clock.
#[derive(Debug, Clone, Copy, Default)]
struct OwnClock {
    ns: u64,
}

impl OwnClock {
    /// Moves on to `now`; if a command was inside until now, that time was busy.
    #[inline]
    fn pass(&mut self, now: u64, is_busy: bool, stats: &mut DeviceStats) {
        assert!(now >= self.ns, "time runs forward: {now} ns after {} ns", self.ns);
        if is_busy {
            stats.busy_ns += now - self.ns;
        }
        self.ns = now;
    }
}

/// The position of a request for a device without an arm.
fn nowhere(_now: Time, _request: &BlockRequest) -> u64 {
    0
}

/// Sectors of the largest transfer, 8 GiB: so that no product of bytes and nanoseconds overflows.
pub(crate) const MAX_SECTORS: u32 = 1 << 24;

/// What every model asks of a transfer; wrong use is a mistake in the laboratory.
fn check(tag: u32, sector: u64, nr_sectors: u32, sectors: u64, inside: u32, depth: u32) {
    assert!(inside < depth, "the device takes {depth} transfers at once; tag {tag} is one too many");
    assert!((1..=MAX_SECTORS).contains(&nr_sectors), "a request has 1 to {MAX_SECTORS} sectors, not {nr_sectors}");
    assert!(
        sector.checked_add(nr_sectors.into()).is_some_and(|end| end <= sectors),
        "a request of {nr_sectors} sectors at sector {sector} is beyond the disk of {sectors} sectors"
    );
}
