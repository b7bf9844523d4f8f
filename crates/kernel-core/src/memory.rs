//! Memory that C points into: zeroed, aligned to 8, at one place for ever, and spoilt before it goes.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// What memory is filled with that nobody may look at any more.
const SPOILT: u8 = 0xA5;

/// A piece of memory. Nothing in Rust refers into it.
#[derive(Debug)]
pub(crate) struct Memory {
    start: NonNull<u8>,
    layout: Layout,
}

impl Memory {
    /// So many bytes, zeroed.
    pub(crate) fn new(bytes: usize) -> Memory {
        let layout = Layout::from_size_align(bytes.max(8), 8).expect("a core needs a few megabytes at most");
        // SAFETY: the size is not 0.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) });
        Memory { start: start.unwrap_or_else(|| handle_alloc_error(layout)), layout }
    }

    /// Its first byte.
    pub(crate) fn start<T>(&self) -> *mut T {
        self.start.as_ptr().cast()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it is this piece's own memory, and nobody has it from here on. A core that goes on looking at it sees nonsense.
        unsafe {
            self.start.as_ptr().write_bytes(SPOILT, self.layout.size());
            dealloc(self.start.as_ptr(), self.layout);
        }
    }
}
