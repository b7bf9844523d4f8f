//! The disk of the kernel arena (kernel/core/disk.c) as a [`DeviceModel`]: the laws of devices and a differential test run on it.
//!
//! Only tests use this crate. Its two calls' worth of `unsafe` are all that there is: memory for the disk, and calls into C with
//! pointers to it.

use std::ffi::c_void;
use std::ptr::NonNull;

use elevator::{BlockRequest, Geometry, Op, Time};
use sim::DeviceModel;
use sim::device::{Command, DeviceStats};

/// struct core_disk of kernel/core/disk.h, of which only pointers are known here.
#[repr(C)]
struct CoreDisk {
    _opaque: [u8; 0],
}

/// struct core_disk_stats.
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
}

type Done = extern "C" fn(*mut c_void, u32, u64);

// SAFETY: as the prototypes in kernel/core/disk.h say.
unsafe extern "C" {
    fn core_disk_size(tables: *const c_void, len: usize) -> usize;
    fn core_disk_init(memory: *mut c_void, tables: *const c_void, len: usize) -> *mut CoreDisk;
    fn core_disk_sectors(disk: *const CoreDisk) -> u64;
    fn core_disk_queue_depth(disk: *const CoreDisk) -> u32;
    fn core_disk_has_arm(disk: *const CoreDisk) -> bool;
    fn core_disk_has_volatile_cache(disk: *const CoreDisk) -> bool;
    fn core_disk_submit(disk: *mut CoreDisk, now: u64, tag: u32, write: bool, sector: u64, nr: u32) -> bool;
    fn core_disk_flush(disk: *mut CoreDisk, now: u64, tag: u32) -> bool;
    fn core_disk_next_event(disk: *const CoreDisk) -> u64;
    fn core_disk_advance(disk: *mut CoreDisk, now: u64, done: Done, ctx: *mut c_void);
    fn core_disk_stats(disk: *const CoreDisk, out: *mut CoreStats);
}

/// What core_disk_next_event() says when nothing will happen.
const NEVER: u64 = u64::MAX;

/// A disk whose model is the C code of the kernel arena.
#[derive(Debug)]
pub struct CDisk {
    disk: NonNull<CoreDisk>,
    /// Where the disk lives; never resized.
    _memory: Box<[u64]>,
    /// It reads on in them; never resized.
    _tables: Box<[u8]>,
    geometry: Geometry,
}

// SAFETY: all that the disk points to are the two boxes, which go with it; the C code keeps nothing else.
unsafe impl Send for CDisk {}

impl CDisk {
    /// Makes the disk that these tables describe; None: they are refused. They say nothing of a geometry; it is without cylinders.
    pub fn new(tables: &[u8]) -> Option<CDisk> {
        let tables: Box<[u8]> = tables.into();
        let address = tables.as_ptr().cast();
        // SAFETY: the tables are readable for their length, which is all that is read of them.
        let size = unsafe { core_disk_size(address, tables.len()) };
        if size == 0 {
            return None;
        }
        let mut memory = vec![0_u64; size.div_ceil(8)].into_boxed_slice();
        // SAFETY: the memory is as large as was asked for, zeroed and aligned to 8, the tables are those just checked, and both
        // live in boxes that this disk keeps unchanged.
        let disk = unsafe { core_disk_init(memory.as_mut_ptr().cast(), address, tables.len()) };
        Some(CDisk { disk: NonNull::new(disk)?, _memory: memory, _tables: tables, geometry: Geometry::default() })
    }

    /// The counterpart of a device of the simulator, as that was made; None where the kernel has no such model.
    pub fn of(device: &dyn DeviceModel) -> Option<CDisk> {
        let disk = CDisk::new(&device.tables()?)?;
        Some(CDisk { geometry: device.geometry(), ..disk })
    }

    /// Whether it says that it has an arm.
    pub fn has_arm(&self) -> bool {
        // SAFETY: the disk was made and lives.
        unsafe { core_disk_has_arm(self.disk.as_ptr()) }
    }

    /// Whether it says that writes can be done before they are on the medium.
    pub fn has_volatile_cache(&self) -> bool {
        // SAFETY: the disk was made and lives.
        unsafe { core_disk_has_volatile_cache(self.disk.as_ptr()) }
    }

    /// As [`DeviceModel::submit`], but says whether the disk has taken the command: where the simulator stops, it refuses.
    pub fn try_submit(&mut self, now: Time, command: Command) -> bool {
        let disk = self.disk.as_ptr();
        match command {
            // SAFETY: the disk was made, lives, and is borrowed by nobody else.
            Command::Transfer { tag, op, sector, nr_sectors } => unsafe {
                core_disk_submit(disk, now.as_ns(), tag, op == Op::Write, sector, nr_sectors)
            },
            // SAFETY: as above.
            Command::Flush { tag } => unsafe { core_disk_flush(disk, now.as_ns(), tag) },
        }
    }

    /// As [`DeviceModel::advance`], with the modelled time of each completion.
    pub fn advance_timed(&mut self, now: Time, done: &mut Vec<(u64, u32)>) {
        extern "C" fn note(ctx: *mut c_void, tag: u32, at: u64) {
            // SAFETY: the context is the list below, which nobody else uses during the call.
            let done = unsafe { &mut *ctx.cast::<Vec<(u64, u32)>>() };
            done.push((at, tag));
        }
        let list: *mut Vec<(u64, u32)> = done;
        // SAFETY: the disk was made, lives, and is borrowed by nobody else; the list lives during the call.
        unsafe { core_disk_advance(self.disk.as_ptr(), now.as_ns(), note, list.cast()) }
    }
}

/// A kernel cannot ask a disk for positions: schedulers that would are not for it.
impl elevator::Disk for CDisk {
    fn positioning_ns(&self, _now: Time, _request: &BlockRequest) -> u64 {
        0
    }
}

impl DeviceModel for CDisk {
    fn queue_depth(&self) -> u32 {
        // SAFETY: the disk was made and lives.
        unsafe { core_disk_queue_depth(self.disk.as_ptr()) }
    }

    fn sectors(&self) -> u64 {
        // SAFETY: the disk was made and lives.
        unsafe { core_disk_sectors(self.disk.as_ptr()) }
    }

    fn geometry(&self) -> Geometry {
        self.geometry.clone()
    }

    fn submit(&mut self, now: Time, command: Command) {
        assert!(self.try_submit(now, command), "the disk refuses {command:?} at {now:?}");
    }

    fn next_event(&self) -> Option<Time> {
        // SAFETY: the disk was made and lives.
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
        // SAFETY: the disk was made and lives, and there is room for what is written.
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
        }
    }
}
