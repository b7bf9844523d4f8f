//! An allocator that counts what each thread holds. A test program installs it with
//! `#[global_allocator]`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes held and their peak. Signed, as a thread may free what another one has allocated.
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// The system's allocator, with counters of its own for each thread: tests that run next to each
/// other do not disturb the count.
#[derive(Debug)]
pub struct Counting;

fn count(bytes: isize) {
    // Counters without a destructor can be used until their thread is gone.
    HELD.set(HELD.get() + bytes);
    PEAK.set(PEAK.get().max(HELD.get()));
}

// SAFETY: every call goes to the system's allocator unchanged; the counters need no memory of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller keeps the rules for this layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the pointer came from `alloc` above with this layout, so from the system's
        // allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Bytes that this thread allocated during a call and still holds after it, and the maximum during
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    pub now: isize,
    pub peak: isize,
}

/// What a call allocates, if the program's allocator is [`Counting`]. Its value is dropped after
/// the count.
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
