//! What a modelled device is to its user, and what all models share.

use elevator::{BlockRequest, Disk, Geometry, Op, Time};

/// A command to a device.
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
    /// Bring everything that is in the write cache to the medium. `tag` comes back when it is done;
    /// such tags are above those of requests.
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
    /// Pages of the host's that were programmed.
    pub programs: u64,
    /// How often a program or an erase was suspended for reads.
    pub suspends: u64,
}

/// A modelled device. It owns no clock: [`DeviceModel::advance`] is called at the time that
/// [`DeviceModel::next_event`] named, or at any earlier time at which something else happens.
pub trait DeviceModel: std::fmt::Debug + Send + Disk {
    /// Commands that it takes at once in each of its queues.
    fn queue_depth(&self) -> u32;

    /// I/O queues that it offers.
    fn queues(&self) -> u32 {
        1
    }

    /// The host uses this many of them, one at least and [`DeviceModel::queues`] at most; said
    /// before the first command. Without it the host uses one.
    fn use_queues(&mut self, _nr: u32) {}

    /// How often it suspends one program and one erase at most.
    fn suspend_limits(&self) -> [u64; 2] {
        [0, 0]
    }

    /// Takes a command in one of the queues in use, which are numbered from 0.
    fn submit_on(&mut self, now: Time, _queue: u32, command: Command) {
        self.submit(now, command);
    }

    /// Sectors.
    fn sectors(&self) -> u64;

    /// What a scheduler can be configured with; no cylinders for devices without an arm.
    fn geometry(&self) -> Geometry;

    /// Whether it is flash, so fast that the host's CPU time for a request decides which scheduler
    /// is faster.
    fn is_flash(&self) -> bool {
        false
    }

    /// Whether what it reports as written may still be in a cache that loses it: else a flush asks
    /// nothing of it, and the block layer answers without it.
    fn has_volatile_cache(&self) -> bool {
        true
    }

    /// Takes a command. It completes at a later call of [`DeviceModel::advance`], never in this
    /// one.
    fn submit(&mut self, now: Time, command: Command);

    /// The next time at which something happens inside; None: nothing will without another command.
    fn next_event(&self) -> Option<Time>;

    /// Lets everything happen that is due at `now`; tags of commands that are done are appended to
    /// `done`, in order.
    fn advance(&mut self, now: Time, done: &mut Vec<u32>);

    /// What it has done since it was made.
    fn stats(&self) -> DeviceStats;

    /// The same device with another trial's seed, where copying one is much cheaper than making it;
    /// what was done to it before its first command (preconditioning) is then the same for every
    /// seed. None: make a new one.
    fn copy(&self, _seed: u64) -> Option<Box<dyn DeviceModel>> {
        None
    }

    /// The model as the block driver of the kernel arena reads it (the layout stands in
    /// kernel/core/disk-model.h), as it was made: without what was done to it since. None: that
    /// driver has no such model.
    fn tables(&self) -> Option<Vec<u8>> {
        None
    }

    /// Length of a trial in milliseconds if the plan gives none: enough for some thousand requests.
    fn trial_ms(&self) -> u64 {
        1000
    }
}

/// A device's own clock.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OwnClock {
    pub(super) ns: u64,
}

impl OwnClock {
    /// Moves on to `now`; if a command was inside until now, that time was busy.
    #[inline]
    pub(super) fn pass(&mut self, now: u64, is_busy: bool, stats: &mut DeviceStats) {
        assert!(now >= self.ns, "time runs forward: {now} ns after {} ns", self.ns);
        if is_busy {
            stats.busy_ns += now - self.ns;
        }
        self.ns = now;
    }
}

/// The position of a request for a device without an arm.
pub(super) fn nowhere(_now: Time, _request: &BlockRequest) -> u64 {
    0
}

/// Sectors of the largest transfer, 8 GiB: so that no product of bytes and nanoseconds overflows.
pub(crate) const MAX_SECTORS: u32 = 1 << 24;

/// What every model asks of a transfer; wrong use is a mistake in the laboratory.
pub(super) fn check(tag: u32, sector: u64, nr_sectors: u32, sectors: u64, inside: u32, depth: u32) {
    assert!(
        inside < depth,
        "the device takes {depth} transfers at once; tag {tag} is one too many"
    );
    assert!(
        (1..=MAX_SECTORS).contains(&nr_sectors),
        "a request has 1 to {MAX_SECTORS} sectors, not {nr_sectors}"
    );
    assert!(
        sector.checked_add(nr_sectors.into()).is_some_and(|end| end <= sectors),
        "a request of {nr_sectors} sectors at sector {sector} is beyond the disk of {sectors} sectors"
    );
}
