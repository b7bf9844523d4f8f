//! Memory for C: zeroed, aligned to 8, never moved, and overwritten before it is freed.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// A use after free reads this byte and gives wrong results.
const FREED: u8 = 0xA5;

/// No Rust reference points into it.
#[derive(Debug)]
pub(crate) struct Memory {
    start: NonNull<u8>,
    layout: Layout,
}

impl Memory {
    pub(crate) fn new(bytes: usize) -> Memory {
        let layout =
            Layout::from_size_align(bytes.max(8), 8).expect("a core needs a few megabytes at most");
        // SAFETY: the size is not 0.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) });
        Memory { start: start.unwrap_or_else(|| handle_alloc_error(layout)), layout }
    }

    pub(crate) fn start<T>(&self) -> *mut T {
        self.start.as_ptr().cast()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the memory belongs to this value and is not used afterwards.
        unsafe {
            self.start.as_ptr().write_bytes(FREED, self.layout.size());
            dealloc(self.start.as_ptr(), self.layout);
        }
    }
}
