//! The disk's memory, and calls into C with pointers to it.

use std::ffi::c_void;
use std::ptr::NonNull;

use elevator::{BlockRequest, Geometry, Op, Time};
use sim::DeviceModel;
use sim::device::{Command, DeviceStats};

/// Used through pointers only.
#[repr(C)]
struct CoreDisk {
    _opaque: [u8; 0],
}

#[repr(C)]
#[derive(Default)]
struct CoreStats {
    transfers: u64,
    bytes: u64,
    busy_ns: u64,
    seeks: u64,
    seek_cylinders: u64,
    seek_ns: u64,
    rotation_ns: u64,
    transfer_ns: u64,
    cache_hits: u64,
    cached_writes: u64,
    moved_pages: u64,
    erases: u64,
    programs: u64,
    suspends: u64,
}

type Done = extern "C" fn(*mut c_void, u32, u64);

// SAFETY: matches the prototypes in kernel/core/disk.h.
unsafe extern "C" {
    fn core_disk_size(tables: *const c_void, len: usize) -> usize;
    fn core_disk_init(memory: *mut c_void, tables: *const c_void, len: usize) -> *mut CoreDisk;
    fn core_disk_sectors(disk: *const CoreDisk) -> u64;
    fn core_disk_queue_depth(disk: *const CoreDisk) -> u32;
    fn core_disk_has_arm(disk: *const CoreDisk) -> bool;
    fn core_disk_has_volatile_cache(disk: *const CoreDisk) -> bool;
    fn core_disk_submit(
        disk: *mut CoreDisk,
        now: u64,
        tag: u32,
        write: bool,
        sector: u64,
        nr: u32,
    ) -> bool;
    fn core_disk_flush(disk: *mut CoreDisk, now: u64, tag: u32) -> bool;
    fn core_disk_next_event(disk: *const CoreDisk) -> u64;
    fn core_disk_advance(disk: *mut CoreDisk, now: u64, done: Done, ctx: *mut c_void);
    fn core_disk_stats(disk: *const CoreDisk, out: *mut CoreStats);
}

/// No event.
const NEVER: u64 = u64::MAX;

/// A disk modelled by the kernel arena's C code.
#[derive(Debug)]
pub struct CDisk {
    disk: NonNull<CoreDisk>,
    /// Never resized.
    _memory: Box<[u64]>,
    /// The disk refers to them; never resized.
    _tables: Box<[u8]>,
    geometry: Geometry,
}

// SAFETY: the disk refers only to its two boxes, which move with it; the C code has no other state.
unsafe impl Send for CDisk {}

impl CDisk {
    /// None if the tables are rejected. Without a geometry, the disk has no cylinders.
    pub fn new(tables: &[u8]) -> Option<CDisk> {
        let tables: Box<[u8]> = tables.into();
        let address = tables.as_ptr().cast();
        // SAFETY: the tables are readable for their length; nothing else is read.
        let size = unsafe { core_disk_size(address, tables.len()) };
        if size == 0 {
            return None;
        }
        let mut memory = vec![0_u64; size.div_ceil(8)].into_boxed_slice();
        // SAFETY: the memory has the required size, is zeroed and aligned to 8; the tables were
        // just checked; both are in boxes that this disk keeps unchanged.
        let disk = unsafe { core_disk_init(memory.as_mut_ptr().cast(), address, tables.len()) };
        Some(CDisk {
            disk: NonNull::new(disk)?,
            _memory: memory,
            _tables: tables,
            geometry: Geometry::default(),
        })
    }

    /// The counterpart of a new simulated device; None if the driver refuses it.
    pub fn from_device(device: &dyn DeviceModel) -> Option<CDisk> {
        let disk = CDisk::new(&device.tables())?;
        Some(CDisk { geometry: device.geometry(), ..disk })
    }

    pub fn has_arm(&self) -> bool {
        // SAFETY: the disk is initialised and alive.
        unsafe { core_disk_has_arm(self.disk.as_ptr()) }
    }

    pub fn has_volatile_cache(&self) -> bool {
        // SAFETY: the disk is initialised and alive.
        unsafe { core_disk_has_volatile_cache(self.disk.as_ptr()) }
    }

    /// Like [`DeviceModel::submit`], but returns false where the simulator panics.
    pub fn try_submit(&mut self, now: Time, command: Command) -> bool {
        let disk = self.disk.as_ptr();
        match command {
            // SAFETY: the disk is initialised, alive and mutably borrowed.
            Command::Transfer { tag, op, sector, nr_sectors } => unsafe {
                core_disk_submit(disk, now.as_ns(), tag, op == Op::Write, sector, nr_sectors)
            },
            // SAFETY: as above.
            Command::Flush { tag } => unsafe { core_disk_flush(disk, now.as_ns(), tag) },
        }
    }

    /// Like [`DeviceModel::advance`], with the modelled completion times.
    pub fn advance_timed(&mut self, now: Time, done: &mut Vec<(u64, u32)>) {
        extern "C" fn note(ctx: *mut c_void, tag: u32, at: u64) {
            // SAFETY: the context is the list below, not otherwise used during the call.
            let done = unsafe { &mut *ctx.cast::<Vec<(u64, u32)>>() };
            done.push((at, tag));
        }
        let list: *mut Vec<(u64, u32)> = done;
        // SAFETY: the disk is initialised, alive and mutably borrowed; the list outlives the call.
        unsafe { core_disk_advance(self.disk.as_ptr(), now.as_ns(), note, list.cast()) }
    }
}

/// The kernel has no access to positions, so no scheduler there uses them.
impl elevator::Disk for CDisk {
    fn positioning_ns(&self, _now: Time, _request: &BlockRequest) -> u64 {
        0
    }
}

impl DeviceModel for CDisk {
    fn queue_depth(&self) -> u32 {
        // SAFETY: the disk is initialised and alive.
        unsafe { core_disk_queue_depth(self.disk.as_ptr()) }
    }

    fn sectors(&self) -> u64 {
        // SAFETY: the disk is initialised and alive.
        unsafe { core_disk_sectors(self.disk.as_ptr()) }
    }

    fn geometry(&self) -> Geometry {
        self.geometry.clone()
    }

    fn submit(&mut self, now: Time, command: Command) {
        assert!(self.try_submit(now, command), "the disk refuses {command:?} at {now:?}");
    }

    fn next_event(&self) -> Option<Time> {
        // SAFETY: the disk is initialised and alive.
        let at = unsafe { core_disk_next_event(self.disk.as_ptr()) };
        (at != NEVER).then(|| Time::from_ns(at))
    }

    fn advance(&mut self, now: Time, done: &mut Vec<u32>) {
        let mut timed = Vec::new();
        self.advance_timed(now, &mut timed);
        done.extend(timed.into_iter().map(|(_, tag)| tag));
    }

    fn stats(&self) -> DeviceStats {
        let mut out = CoreStats::default();
        // SAFETY: the disk is initialised and alive, and the output is large enough.
        unsafe { core_disk_stats(self.disk.as_ptr(), &mut out) };
        DeviceStats {
            transfers: out.transfers,
            bytes: out.bytes,
            busy_ns: out.busy_ns,
            seeks: out.seeks,
            seek_cylinders: out.seek_cylinders,
            seek_ns: out.seek_ns,
            rotation_ns: out.rotation_ns,
            transfer_ns: out.transfer_ns,
            cache_hits: out.cache_hits,
            cached_writes: out.cached_writes,
            moved_pages: out.moved_pages,
            erases: out.erases,
            programs: out.programs,
            suspends: out.suspends,
        }
    }
}
