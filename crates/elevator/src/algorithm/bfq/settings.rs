//! Tunables of bfq. Source: Linux 6.1, 6.12 and 7.3 block/bfq-iosched.c; confirmed: names and units
//! as in sysfs.
//!
//! Values read back as set, not rounded to jiffies. The default of timeout_sync is HZ / 8 jiffies:
//! 120 ms with HZ 100.

use super::{Bfq, MS};
use crate::choose::BackSeek;
use crate::clock::Clock;
use crate::kind::{Role, Tunable};
use crate::vocabulary::LINUX_VERSION;

const INT_MAX: u64 = i32::MAX as u64;
pub(super) const NEW: u64 = LINUX_VERSION;
pub(super) const DEFAULT_SLICE_IDLE_NS: u64 = 8 * MS;

pub(super) const TUNABLES: &[Tunable] = &[
    Tunable::confirmed(
        "fifo_expire_sync",
        "ms",
        1,
        INT_MAX,
        "a synchronous request that waited this long goes first in its queue",
    ),
    Tunable::confirmed("fifo_expire_async", "ms", 1, INT_MAX, "as fifo_expire_sync, for asynchronous requests"),
    Tunable::confirmed("back_seek_max", "KiB", 0, INT_MAX, "longest backward seek"),
    Tunable::confirmed(
        "back_seek_penalty",
        "factor",
        1,
        INT_MAX,
        "factor by which a backward distance counts more than a forward one",
    ),
    Tunable::confirmed("slice_idle", "ms", 0, INT_MAX, "time to idle for the next request of a queue; 0: none"),
    Tunable::confirmed("slice_idle_us", "µs", 0, INT_MAX, "slice_idle in microseconds: the same setting")
        .with_role(Role::Alias("slice_idle")),
    Tunable::confirmed(
        "max_budget",
        "sectors",
        0,
        INT_MAX,
        "largest budget of a queue; 0: from the device's peak rate",
    ),
    Tunable::confirmed("timeout_sync", "ms", 1, INT_MAX, "longest service of a queue at a time"),
    Tunable::confirmed("low_latency", "switch", 0, 1, "1: raise the weight of interactive queues; 0: do not"),
    Tunable::confirmed(
        "strict_guarantees",
        "switch",
        0,
        1,
        "1: one request at a time, and always idle; 0: idle where it helps",
    ),
    Tunable::confirmed(
        "burst",
        "switch",
        0,
        1,
        "1: queues created in a burst are not raised, as in Linux; 0: they are",
    )
    .with_role(Role::Reading),
    Tunable::ASYNC_DEPTH,
    Tunable::linux_version(
        "601, 612, 703: as that Linux; 601: what counts as groups that differ, and large requests injected; 703: async_depth can be set",
    ),
    Tunable::confirmed(
        "still_clock",
        "switch",
        0,
        1,
        "1: the clock stands still while a request is inserted, as in a guest in virtual time; 0: it runs",
    )
    .with_role(Role::Reading),
];

#[derive(Debug)]
pub(super) struct Settings {
    pub(super) fifo_expire_sync_ms: u64,
    pub(super) fifo_expire_async_ms: u64,
    pub(super) back_seek_max_kib: u64,
    pub(super) back_seek_penalty: u64,
    pub(super) slice_idle_ns: u64,
    /// 0: automatic.
    pub(super) max_budget: u64,
    pub(super) timeout_sync_ms: u64,
    pub(super) low_latency: bool,
    pub(super) strict_guarantees: bool,
    pub(super) burst: bool,
    pub(super) async_depth: u64,
    pub(super) linux: u64,
    pub(super) still_clock: bool,
}

impl Settings {
    pub(super) fn back_seek(&self) -> BackSeek {
        BackSeek { max_sectors: 2 * self.back_seek_max_kib, penalty: self.back_seek_penalty }
    }

    pub(super) fn get(&self, tunable: &str) -> u64 {
        match tunable {
            "fifo_expire_sync" => self.fifo_expire_sync_ms,
            "fifo_expire_async" => self.fifo_expire_async_ms,
            "back_seek_max" => self.back_seek_max_kib,
            "back_seek_penalty" => self.back_seek_penalty,
            "slice_idle" => self.slice_idle_ns / MS,
            "slice_idle_us" => self.slice_idle_ns / 1000,
            "max_budget" => self.max_budget,
            "timeout_sync" => self.timeout_sync_ms,
            "low_latency" => u64::from(self.low_latency),
            "strict_guarantees" => u64::from(self.strict_guarantees),
            "burst" => u64::from(self.burst),
            "async_depth" => self.async_depth,
            "linux" => self.linux,
            "still_clock" => u64::from(self.still_clock),
            _ => unreachable!("bfq has no tunable {tunable}"),
        }
    }
}

impl Settings {
    pub(super) fn new(clock: Clock, tags: u64) -> Settings {
        Settings {
            fifo_expire_sync_ms: 125,
            fifo_expire_async_ms: 250,
            back_seek_max_kib: 16 * 1024,
            back_seek_penalty: 2,
            slice_idle_ns: DEFAULT_SLICE_IDLE_NS,
            max_budget: 0,
            timeout_sync_ms: Settings::default_timeout_ms(clock),
            low_latency: true,
            strict_guarantees: false,
            burst: true,
            async_depth: (tags * 3 / 4).max(1),
            linux: NEW,
            still_clock: false,
        }
    }

    /// HZ / 8 in whole jiffies, at least one, in ms.
    pub(super) fn default_timeout_ms(clock: Clock) -> u64 {
        clock.to_ms(clock.hz() / 8).max(1)
    }
}

impl Bfq {
    /// Linux 6.1.
    pub(super) fn is_old(&self) -> bool {
        self.settings.linux < NEW
    }

    pub(super) fn change(&mut self, tunable: &str, value: u64) {
        match tunable {
            "fifo_expire_sync" => self.settings.fifo_expire_sync_ms = value,
            "fifo_expire_async" => self.settings.fifo_expire_async_ms = value,
            "back_seek_max" => self.settings.back_seek_max_kib = value,
            "back_seek_penalty" => self.settings.back_seek_penalty = value,
            "slice_idle" => self.settings.slice_idle_ns = value * MS,
            "slice_idle_us" => self.settings.slice_idle_ns = value * 1000,
            "max_budget" => self.set_max_budget(value),
            "timeout_sync" => {
                self.settings.timeout_sync_ms = value;
                self.resize_budget();
            }
            "low_latency" => self.set_low_latency(value == 1),
            "burst" => self.settings.burst = value == 1,
            "still_clock" => self.settings.still_clock = value == 1,
            "async_depth" => self.settings.async_depth = value,
            "linux" => {
                self.settings.linux = value;
                self.tree.count_groups_as(value < NEW);
            }
            "strict_guarantees" => {
                // Guarantees require a minimum of idling.
                if value == 1 && !self.settings.strict_guarantees {
                    self.settings.slice_idle_ns = self.settings.slice_idle_ns.max(8 * MS);
                }
                self.settings.strict_guarantees = value == 1;
            }
            _ => unreachable!("bfq has no tunable {tunable}"),
        }
    }
}
