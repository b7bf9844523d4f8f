//! `kernel/core/elevator.h` and `seek.h` in Rust, with the same layouts.

use std::ffi::{CStr, c_char, c_void};

use elevator::SeekCurve;

pub(crate) const NONE: u32 = u32::MAX;
pub(crate) const NEVER: u64 = u64::MAX;

/// Opaque: only the core accesses it.
#[repr(C)]
pub(crate) struct Process {
    opaque: [u8; 0],
}

#[repr(C)]
pub(crate) struct Request {
    pub(crate) sector: u64,
    pub(crate) seq: u64,
    pub(crate) allocated_ns: u64,
    pub(crate) process: *mut Process,
    pub(crate) tag: u32,
    pub(crate) nr_sectors: u32,
    pub(crate) write: bool,
    pub(crate) sync: bool,
    pub(crate) prio_class: u8,
    pub(crate) prio_level: u8,
}

#[repr(C)]
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) started: u64,
    pub(crate) successes: u64,
    pub(crate) failures: u64,
    pub(crate) success_wait_ns: u64,
    pub(crate) failure_wait_ns: u64,
}

#[repr(C)]
pub(crate) struct Tunable {
    name: *const c_char,
    unit: *const c_char,
    min: u64,
    max: u64,
    initial: u64,
}

#[repr(C)]
pub(crate) struct Curve {
    pub(crate) first: *const u64,
    pub(crate) nr_first: u64,
    pub(crate) knee: u64,
    pub(crate) a_ns: u64,
    pub(crate) b_ns: u64,
    pub(crate) c_ns: u64,
    pub(crate) e_ps: u64,
}

impl Curve {
    /// Borrows the list of distances.
    pub(crate) fn new(curve: &SeekCurve) -> Curve {
        Curve {
            first: curve.first.as_ptr(),
            nr_first: curve.first.len() as u64,
            knee: curve.knee,
            a_ns: curve.a_ns,
            b_ns: curve.b_ns,
            c_ns: curve.c_ns,
            e_ps: curve.e_ps,
        }
    }
}

/// `core_seek_ns` in `shim.c`.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct Seek(unsafe extern "C" fn(*const Curve, u64) -> u64);

impl Seek {
    pub fn core() -> Seek {
        Seek(shim_seek_ns)
    }

    pub fn ns(self, curve: &SeekCurve, distance: u64) -> u64 {
        let curve = Curve::new(curve);
        // SAFETY: the function reads the curve and its list, which outlive the call.
        unsafe { (self.0)(&raw const curve, distance) }
    }
}

#[repr(C)]
pub(crate) struct Config {
    pub(crate) tags: u32,
    pub(crate) hz: u32,
    pub(crate) sectors: u64,
    pub(crate) cylinders: u64,
    pub(crate) sectors_per_cylinder: u64,
    pub(crate) seek: *const c_void,
}

#[repr(C)]
pub(crate) enum How {
    Front = 1,
    Back = 2,
}

#[repr(C)]
pub struct Ops {
    name: *const c_char,
    pub(crate) process_size: usize,
    tunables: *const Tunable,
    nr_tunables: u32,
    nr_internal: u32,
    shares: bool,
    pub(crate) state_size: unsafe extern "C" fn(u32) -> usize,
    pub(crate) init: unsafe extern "C" fn(*mut c_void, *const Config),
    pub(crate) insert: unsafe extern "C" fn(*mut c_void, u64, *const Request, bool),
    pub(crate) dispatch: unsafe extern "C" fn(*mut c_void, u64) -> u32,
    pub(crate) complete: unsafe extern "C" fn(*mut c_void, u64, u32),
    pub(crate) held: unsafe extern "C" fn(*const c_void) -> u32,
    pub(crate) next_timer: unsafe extern "C" fn(*const c_void) -> u64,
    pub(crate) on_timer: unsafe extern "C" fn(*mut c_void, u64),
    pub(crate) may_exceed: unsafe extern "C" fn(*const c_void, *const Process) -> bool,
    pub(crate) front_merge: unsafe extern "C" fn(*mut c_void, *const Request, u32) -> u32,
    pub(crate) allow_merge: unsafe extern "C" fn(*const c_void, u32, *const Request, How) -> bool,
    pub(crate) merged: unsafe extern "C" fn(*mut c_void, u64, *const Request),
    pub(crate) coalesced: unsafe extern "C" fn(*mut c_void, u64, u32, u32),
    pub(crate) exited: unsafe extern "C" fn(*mut c_void, u64, *mut Process),
    pub(crate) get: unsafe extern "C" fn(*const c_void, u32) -> u64,
    pub(crate) set: unsafe extern "C" fn(*mut c_void, u32, u64),
    pub(crate) anticipation: unsafe extern "C" fn(*const c_void, *mut Counts),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    pub name: &'static str,
    pub unit: &'static str,
    pub min: u64,
    pub max: u64,
    /// At 1000 ticks per second, without a geometry.
    pub initial: u64,
}

impl Ops {
    pub fn name(&self) -> &'static str {
        text(self.name)
    }

    /// Processes then exit after their last request.
    pub fn shares(&self) -> bool {
        self.shares
    }

    pub fn state_bytes(&self, tags: u32) -> usize {
        // SAFETY: the core only computes a size.
        unsafe { (self.state_size)(tags) }
    }

    pub fn process_bytes(&self) -> usize {
        self.process_size
    }

    /// The last tunables, which a module exports only on request.
    pub fn nr_internal(&self) -> usize {
        self.nr_internal as usize
    }

    pub fn tunables(&self) -> impl Iterator<Item = Row> + '_ {
        // SAFETY: a core's table has `nr_tunables` rows, and tables are constants.
        let rows = unsafe { std::slice::from_raw_parts(self.tunables, self.nr_tunables as usize) };
        rows.iter().map(|row| Row {
            name: text(row.name),
            unit: text(row.unit),
            min: row.min,
            max: row.max,
            initial: row.initial,
        })
    }
}

impl std::fmt::Debug for Ops {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Ops").field(&self.name()).finish()
    }
}

fn text(of: *const c_char) -> &'static str {
    // SAFETY: names and units are string literals.
    unsafe { CStr::from_ptr(of) }.to_str().expect("cores are written in UTF-8")
}

unsafe extern "C" {
    pub(crate) static core_anticipatory: Ops;
    pub(crate) static core_wpcas: Ops;
    pub(crate) static core_occupancy: Ops;
    fn shim_seek_ns(curve: *const Curve, distance: u64) -> u64;
}
