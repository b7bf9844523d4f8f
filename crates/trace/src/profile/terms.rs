//! Where the lines are drawn that a profile counts by.

/// Sectors within which a request is near another: 4 MiB, the widest window of the anticipatory
/// scheduler's `close` (Linux 2.6.20).
pub const NEAR: u64 = 8192;

/// Nanoseconds from which on an idle disk with requests in its queue is one that the scheduler
/// makes wait. The way of a request through the block layer and a plug take less.
pub const HELD: u64 = 200_000;

/// Disks that are profiled.
pub const DEVICES: usize = 64;
