//! The device interface, and code that all models share.

use elevator::{BlockRequest, Disk, Geometry, Op, Time};

/// A command to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// A request of the elevator.
    Transfer {
        /// Returned on completion.
        tag: u32,
        /// Direction.
        op: Op,
        /// First sector.
        sector: u64,
        /// Length in sectors.
        nr_sectors: u32,
    },
    /// Write the cache back to the medium.
    Flush {
        /// Returned on completion; above the tags of requests.
        tag: u32,
    },
}

/// Counters since the device was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceStats {
    /// Transfers completed.
    pub transfers: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Nanoseconds with at least one command inside.
    pub busy_ns: u64,
    /// Arm movements to another cylinder.
    pub seeks: u64,
    /// Total cylinders moved.
    pub seek_cylinders: u64,
    /// Nanoseconds of seeks and head switches.
    pub seek_ns: u64,
    /// Nanoseconds of rotational waits.
    pub rotation_ns: u64,
    /// Nanoseconds of transfers to or from the medium.
    pub transfer_ns: u64,
    /// Reads served from the device's memory.
    pub cache_hits: u64,
    /// Writes reported done before they reached the medium.
    pub cached_writes: u64,
    /// Pages moved by garbage collection.
    pub moved_pages: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Host pages programmed.
    pub programs: u64,
    /// Suspensions of programs and erases.
    pub suspends: u64,
}

/// A modelled device. It owns no clock: call [`DeviceModel::advance`] at the time of
/// [`DeviceModel::next_event`], or earlier when something else happens.
pub trait DeviceModel: std::fmt::Debug + Send + Disk {
    /// Commands that each queue holds.
    fn queue_depth(&self) -> u32;

    /// Returns the number of I/O queues offered.
    fn queues(&self) -> u32 {
        1
    }

    /// Sets the queues in use, 1 to [`DeviceModel::queues`], before the first command. Default 1.
    fn use_queues(&mut self, _nr: u32) {}

    /// Returns the maximum suspensions per program, and per erase.
    fn suspend_limits(&self) -> [u64; 2] {
        [0, 0]
    }

    /// Submits to one of the queues in use, numbered from 0.
    fn submit_on(&mut self, now: Time, _queue: u32, command: Command) {
        self.submit(now, command);
    }

    /// Returns the capacity in sectors.
    fn sectors(&self) -> u64;

    /// The geometry for schedulers; no cylinders without an arm.
    fn geometry(&self) -> Geometry;

    /// Whether the device is so fast that CPU time per request decides between schedulers.
    fn is_flash(&self) -> bool {
        false
    }

    /// Whether completed writes may be in a volatile cache. If not, the block layer completes
    /// flushes without the device.
    fn has_volatile_cache(&self) -> bool {
        true
    }

    /// Submits a command, which completes in a later call of [`DeviceModel::advance`], never in
    /// this one.
    fn submit(&mut self, now: Time, command: Command);

    /// Returns the time of the next event; `None` until another command arrives.
    fn next_event(&self) -> Option<Time>;

    /// Processes events due at `now`; appends completed tags to `done`, in order.
    fn advance(&mut self, now: Time, done: &mut Vec<u32>);

    /// May process events before `end` that precede the first completion.
    fn advance_inside(&mut self, _end: Time) {}

    /// Counters since the device was made.
    fn stats(&self) -> DeviceStats;

    /// A copy for another trial's seed, if much cheaper than making; preconditioning is then equal
    /// for all seeds.
    fn copy(&self, _seed: u64) -> Option<Box<dyn DeviceModel>> {
        None
    }

    /// The initial model in the layout of the kernel arena's block driver
    /// (kernel/core/disk-model.h), which refuses an empty one.
    fn tables(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Returns the memory that the model takes in a guest, if it is much.
    fn guest_bytes(&self) -> u64 {
        0
    }

    /// Returns the default length of a trial in ms: enough for several thousand requests.
    fn trial_ms(&self) -> u64 {
        1000
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OwnClock {
    pub(super) ns: u64,
}

impl OwnClock {
    /// Advances to `now`; the time is busy if a command was inside.
    #[inline]
    pub(super) fn advance(&mut self, now: u64, is_busy: bool, stats: &mut DeviceStats) {
        assert!(now >= self.ns, "time runs forward: {now} ns after {} ns", self.ns);
        if is_busy {
            stats.busy_ns += now - self.ns;
        }
        self.ns = now;
    }
}

pub(super) fn nowhere(_now: Time, _request: &BlockRequest) -> u64 {
    0
}

/// Maximum transfer, 8 GiB in sectors: no product of bytes and nanoseconds overflows.
pub(crate) const MAX_SECTORS: u32 = 1 << 24;

/// A violation is a bug in the simulator.
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
