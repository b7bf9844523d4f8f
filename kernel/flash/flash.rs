// SPDX-License-Identifier: GPL-2.0 OR MIT
//! The flash model for modeldisk, as an object that kbuild links (core/flash-model.o_shipped).
//!
//! crates/guest/build.rs compiles it together with crates/flash-model. core/disk-flash.h declares
//! the functions, and modeldisk-flash.c has what the model needs of the kernel. The caller holds
//! the disk's lock, so that no two calls overlap.
#![no_std]

extern crate alloc;

use alloc::boxed::Box;
use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;
use core::panic::PanicInfo;
use core::{ptr, slice};

use flash_model::{Completion, Flash, Op, Transfer, decode};

unsafe extern "C" {
    fn modeldisk_flash_alloc(size: usize, align: usize) -> *mut u8;
    fn modeldisk_flash_release(memory: *mut u8);
    fn modeldisk_flash_panic(file: *const u8, len: usize, line: u32) -> !;
}

struct Kernel;

// SAFETY: the kernel returns memory of that size and alignment, or NULL.
unsafe impl GlobalAlloc for Kernel {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: takes two numbers.
        unsafe { modeldisk_flash_alloc(layout.size(), layout.align()) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, _: Layout) {
        // SAFETY: the memory is from `alloc`.
        unsafe { modeldisk_flash_release(memory) }
    }
}

#[global_allocator]
static KERNEL: Kernel = Kernel;

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let (file, line) = info.location().map_or(("", 0), |place| (place.file(), place.line()));
    // SAFETY: the file's name is valid for its length.
    unsafe { modeldisk_flash_panic(file.as_ptr(), file.len(), line) }
}

/// Returns whether a device with these sectors and this queue depth can be made from the numbers.
///
/// # Safety
/// `numbers` is valid for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flash_check(
    numbers: *const u8,
    len: usize,
    sectors: u64,
    depth: u64,
) -> bool {
    // SAFETY: as the caller's.
    decode(unsafe { slice::from_raw_parts(numbers, len) }).is_some_and(|(config, ..)| {
        config.sectors() == sectors && u64::from(config.settings.queue_depth) == depth
    })
}

/// Returns a new device, or NULL if none can be made from these numbers.
///
/// # Safety
/// As for [`flash_check`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flash_new(numbers: *const u8, len: usize) -> *mut Flash {
    // SAFETY: as the caller's.
    let Some((config, origin, reseeded)) = decode(unsafe { slice::from_raw_parts(numbers, len) })
    else {
        return ptr::null_mut();
    };
    let mut flash = Box::new(Flash::new(config, origin));
    if let Some(origin) = reseeded {
        flash.reseed(origin);
    }
    Box::into_raw(flash)
}

/// # Safety
/// `flash` is from [`flash_new`], and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flash_drop(flash: *mut Flash) {
    // SAFETY: as the caller's.
    drop(unsafe { Box::from_raw(flash) });
}

/// # Safety
/// `flash` is from [`flash_new`], and no other call uses it; this holds for all functions below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flash_transfer(
    flash: *mut Flash,
    now: u64,
    tag: u32,
    write: bool,
    sector: u64,
    nr_sectors: u32,
) {
    let op = if write { Op::Write } else { Op::Read };
    // SAFETY: as the caller's.
    unsafe { &mut *flash }.transfer(now, 0, Transfer { tag, op, sector, nr_sectors });
}

/// # Safety
/// See [`flash_transfer`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flash_flush(flash: *mut Flash, now: u64, tag: u32) {
    // SAFETY: as the caller's.
    unsafe { &mut *flash }.flush(now, tag);
}

/// Returns the time of the next event, or `u64::MAX`.
///
/// # Safety
/// See [`flash_transfer`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flash_next_event(flash: *const Flash) -> u64 {
    // SAFETY: as the caller's.
    unsafe { &*flash }.next_event().unwrap_or(u64::MAX)
}

/// Processes events due at `now` and calls `done` for each completion.
///
/// # Safety
/// See [`flash_transfer`]. `done` may be called with `context`, and does not use `flash`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flash_advance(
    flash: *mut Flash,
    now: u64,
    done: unsafe extern "C" fn(context: *mut c_void, tag: u32, is_flush: bool, ns: u64),
    context: *mut c_void,
) {
    // SAFETY: as the caller's.
    unsafe { &mut *flash }.advance(now, |Completion { tag, is_flush, ns }| {
        // SAFETY: as the caller's.
        unsafe { done(context, tag, is_flush, ns) };
    });
}

/// Writes cached writes, moved pages, erases, programs, suspends.
///
/// # Safety
/// See [`flash_transfer`]. `counters` is valid for five numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flash_counters(flash: *const Flash, counters: *mut [u64; 5]) {
    // SAFETY: as the caller's.
    let of = unsafe { &*flash }.counters();
    // SAFETY: as the caller's.
    unsafe {
        *counters = [of.cached_writes, of.moved_pages, of.erases, of.programs, of.suspends];
    }
}
