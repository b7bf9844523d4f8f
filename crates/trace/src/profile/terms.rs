//! Thresholds of a profile.

/// Sectors within which requests are near: 4 MiB, the widest window of the anticipatory scheduler's
/// `close` (Linux 2.6.20).
pub const NEAR: u64 = 8192;

/// Idle time in ns with requests queued from which the scheduler is considered to hold them. The
/// block layer and a plug take less.
pub const HELD: u64 = 200_000;

pub const DEVICES: usize = 64;
