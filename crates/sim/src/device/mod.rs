//! Modelled devices: what the queue sends goes in, what is finished comes out, at the time the model says.

use elevator::{BlockRequest, Disk, Geometry, Op, Time};

mod null;

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

    /// Takes a command. It completes at a later call of [`DeviceModel::advance`], never in this one.
    fn submit(&mut self, now: Time, command: Command);

    /// The next time at which something happens inside; None: nothing will without another command.
    fn next_event(&self) -> Option<Time>;

    /// Lets everything happen that is due at `now`; tags of commands that are done are appended to `done`, in order.
    fn advance(&mut self, now: Time, done: &mut Vec<u32>);

    /// What it has done since it was made.
    fn stats(&self) -> DeviceStats;
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

/// Every device that comes with the laboratory.
pub static DEVICES: &[DeviceKind] = &[DeviceKind {
    name: "null",
    help: "completes everything at once: the cost of the queue alone",
    source: "none needed",
    evidence: elevator::Evidence::Proposed,
    toml: "model = \"null\"\n",
}];

/// Why there is no such device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// No row has this name.
    #[error("no device model is called {name}")]
    Unknown {
        /// The name as written.
        name: String,
    },
}

/// Makes the device that a specification names: `NAME`, or `NAME:KEY=VALUE:KEY=VALUE` with keys of its description changed
/// (`hp97560:queue_depth=8`). `seed` is the trial's; a device draws from its own named stream.
///
/// # Errors
/// [`DeviceError`] names what is wrong and what would be right.
pub fn device(specification: &str, _seed: u64) -> Result<Box<dyn DeviceModel>, DeviceError> {
    match specification {
        "null" => Ok(Box::new(null::Null::new(1, 1 << 31))),
        name => Err(DeviceError::Unknown { name: name.to_owned() }),
    }
}

/// Makes the device that a user's own description (TOML) gives, with `KEY=VALUE` pairs of a specification on top.
///
/// # Errors
/// [`DeviceError`], with the line.
pub fn device_from_toml(
    _toml: &str,
    _changes: &[(&str, &str)],
    _seed: u64,
) -> Result<Box<dyn DeviceModel>, DeviceError> {
    Ok(Box::new(null::Null::new(1, 1 << 31)))
}

/// The position of a request for a device without an arm.
fn nowhere(_now: Time, _request: &BlockRequest) -> u64 {
    0
}
