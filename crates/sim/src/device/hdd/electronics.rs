//! A drive's electronics: overheads, bus and cache policy.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Electronics {
    pub(super) queue_depth: u32,
    /// Shortest positioning time first; otherwise the oldest first.
    pub(super) nearest_first: bool,
    /// Number of oldest commands considered.
    pub(super) order_window: u64,
    /// After a read, and after a write.
    pub(super) read_overhead_ns: [u64; 2],
    pub(super) hit_overhead_ns: [u64; 2],
    pub(super) write_overhead_ns: [u64; 2],
    /// Time from data ready to the bus, after a disconnect.
    pub(super) reconnect_ns: u64,
    /// Time from the last data on the bus (reads) or medium (writes).
    pub(super) read_completion_ns: u64,
    pub(super) write_completion_ns: u64,
    /// Minimum from the end of its overhead to the first sector.
    pub(super) write_seek_least_ns: u64,
    /// Bus rates for reads and writes, limited by the host.
    pub(super) bus_bytes_per_s: [u64; 2],
    /// Sectors buffered before the medium begins, at most all.
    pub(super) write_watermark: u64,
    /// Percent buffered before the bus is used.
    pub(super) read_watermark: u64,
    pub(super) read_ahead: u64,
    pub(super) read_to_track_end: bool,
    /// A hit restarts finished read-ahead.
    pub(super) read_on_idle_hit: bool,
    /// A read that begins with the sector under the head continues read-ahead.
    pub(super) almost_hits: bool,
    pub(super) immediate_reporting: bool,
    pub(super) write_runs: u64,
    pub(super) trial_ms: u64,
}

impl Electronics {
    /// Sectors buffered before the bus is used: at least one.
    pub(super) fn mark(&self, nr: u64, segment_size: u64) -> u64 {
        (nr.min(segment_size) * self.read_watermark / 100).max(1)
    }

    /// Numbers appended to the kernel driver's tables since their first version.
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
