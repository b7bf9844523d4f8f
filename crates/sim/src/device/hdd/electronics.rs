//! What a drive adds to its mechanics: overheads, the bus, and what its caches do.

/// The electronics of a drive, as the description gives them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Electronics {
    pub(super) queue_depth: u32,
    /// Whether the drive picks the nearest of its commands; otherwise the oldest.
    pub(super) nearest_first: bool,
    /// Commands of which it picks the nearest: the oldest ones.
    pub(super) order_window: u64,
    /// Overheads after a read, after a write.
    pub(super) read_overhead_ns: [u64; 2],
    pub(super) hit_overhead_ns: [u64; 2],
    pub(super) write_overhead_ns: [u64; 2],
    /// From the data being there to the first of them on the bus, where the drive had let go of it.
    pub(super) reconnect_ns: u64,
    /// From the last data on the bus to the end of a read; from the last data on the medium to the
    /// end of a write.
    pub(super) read_completion_ns: u64,
    pub(super) write_completion_ns: u64,
    /// What a write takes from the end of its overhead to the first sector at least.
    pub(super) write_seek_least_ns: u64,
    /// Of the bus, or of the host where the drive is used through one: for reads, for writes.
    pub(super) bus_bytes_per_s: [u64; 2],
    /// Sectors of a write, if it has as many, that must be in the buffer before the medium begins.
    pub(super) write_watermark: u64,
    /// Percent of a read that must be in the buffer before the bus is used for it.
    pub(super) read_watermark: u64,
    /// Sectors to read on after a read.
    pub(super) read_ahead: u64,
    /// Reading on goes to the end of a track instead.
    pub(super) read_to_track_end: bool,
    /// A hit starts reading on again where it had ended.
    pub(super) read_on_idle_hit: bool,
    /// A read that begins with the sector that is just being read is served by reading on.
    pub(super) almost_hits: bool,
    pub(super) immediate_reporting: bool,
    /// Runs of sectors in the write cache at most.
    pub(super) write_runs: u64,
    pub(super) trial_ms: u64,
}

impl Electronics {
    /// Sectors of a read that must be in the buffer before the bus is used for it: at least one.
    pub(super) fn mark(&self, nr: u64, segment_size: u64) -> u64 {
        (nr.min(segment_size) * self.read_watermark / 100).max(1)
    }

    /// What the tables for the kernel's driver have of it besides what they had from the start.
    pub(super) fn later_numbers(&self) -> [u64; 15] {
        [
            self.read_overhead_ns[1],
            self.hit_overhead_ns[1],
            self.write_overhead_ns[1],
            self.reconnect_ns,
            self.read_completion_ns,
            self.write_completion_ns,
            self.write_seek_least_ns,
            self.read_watermark,
            self.read_to_track_end.into(),
            self.read_on_idle_hit.into(),
            self.almost_hits.into(),
            self.write_runs,
            self.bus_bytes_per_s[1],
            self.write_watermark,
            self.order_window,
        ]
    }
}
