//! The kernel's clocks by the C library.
//!
//! rustix looks up all functions of the vDSO at the first reading and panics if one is missing.
//! User-mode Linux has no `__vdso_getcpu` since 6.19, and this program runs in such guests.

use rustix::time::ClockId;

/// A clock's reading in nanoseconds.
#[inline]
#[must_use]
pub fn now_ns(clock: ClockId) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes, and every `ClockId` is a number of the kernel's.
    let failed = unsafe { libc::clock_gettime(clock as libc::clockid_t, &raw mut time) };
    debug_assert_eq!(failed, 0, "Linux has these clocks");
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use rustix::time::clock_gettime;

    use super::*;

    #[test]
    fn clocks_read_what_rustix_reads() {
        for clock in [ClockId::Monotonic, ClockId::Boottime, ClockId::Realtime] {
            let read = || {
                let time = clock_gettime(clock);
                time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
            };
            let (before, now, after) = (read(), now_ns(clock), read());
            assert!((before..=after).contains(&now), "{clock:?}: {before} {now} {after}");
        }
    }
}
