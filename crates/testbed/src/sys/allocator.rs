//! An allocator that counts the bytes each thread holds. A test program installs it with
//! `#[global_allocator]`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes held and their peak. Signed, because a thread may free another thread's allocation.
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// The system allocator with counters per thread, so that concurrent tests do not interfere.
#[derive(Debug)]
pub struct Counting;

fn count(bytes: isize) {
    // Without a destructor, the counters are usable until their thread ends.
    HELD.set(HELD.get() + bytes);
    PEAK.set(PEAK.get().max(HELD.get()));
}

// SAFETY: every call is passed to the system's allocator unchanged; the counters allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller upholds the contract for this layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: `alloc` above returned this pointer for this layout, so the system's allocator
        // did.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Bytes allocated by this thread during a call and still held, and the peak during the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    pub now: isize,
    pub peak: isize,
}

/// Counts a call's allocations, if the program's allocator is [`Counting`]. The call's value is
/// dropped after counting.
pub fn count_held<T>(call: impl FnOnce() -> T) -> (T, Held) {
    let before = HELD.get();
    PEAK.set(before);
    let value = call();
    (value, Held { now: HELD.get() - before, peak: PEAK.get() - before })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static COUNTING: Counting = Counting;

    #[test]
    fn held_bytes_are_those_of_this_thread_and_its_peak() {
        let other = std::thread::spawn(|| {
            std::iter::repeat_with(|| vec![1u8; 1 << 16]).take(1000).map(|v| v.len()).sum::<usize>()
        });
        let (kept, held) = count_held(|| {
            drop(std::hint::black_box(vec![0u8; 5000]));
            std::hint::black_box(vec![0u8; 1000])
        });
        assert_eq!(held, Held { now: 1000, peak: 5000 });
        let ((), freed) = count_held(|| drop(kept));
        assert_eq!(freed, Held { now: -1000, peak: 0 });
        assert_eq!(other.join().unwrap(), 1000 << 16);
    }
}
