//! Attributes of a queue, its scheduler and its device: location, order and comparison.

use std::io;
use std::path::PathBuf;

use super::device_attributes::{self, Row};
use crate::device::queue_dir;
use crate::root::Root;

/// Reset by the kernel when the scheduler changes. bfq disables write-back throttling.
const SCHEDULERS_OWN: [&str; 3] = ["async_depth", "nr_requests", "wbt_lat_usec"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Directory {
    /// In `queue/iosched`.
    Scheduler,
    /// In `queue`.
    Queue,
    /// See [`device_attributes`].
    Device,
}

impl Directory {
    pub(crate) fn path(self, root: &Root, device: &str, name: &str) -> PathBuf {
        let queue = queue_dir(root, device);
        match self {
            Directory::Scheduler => queue.join("iosched").join(name),
            Directory::Queue => queue.join(name),
            Directory::Device => row(name).path(root, device),
        }
    }

    /// `None` if absent, unreadable or empty.
    pub(crate) fn read(self, root: &Root, device: &str, name: &str) -> Option<String> {
        match self {
            Directory::Device => row(name).read(root, device),
            _ => root.read_optional(self.path(root, device, name)),
        }
    }

    pub(crate) fn write(
        self,
        root: &Root,
        device: &str,
        name: &str,
        value: &str,
    ) -> io::Result<()> {
        match self {
            Directory::Device => row(name).write(root, device, value),
            _ => root.files().write_attribute(&self.path(root, device, name), value),
        }
    }

    pub(crate) fn same(self, name: &str, wanted: &str, found: &str) -> bool {
        match self {
            Directory::Device => row(name).same(wanted, found),
            _ => same(wanted, found),
        }
    }
}

fn row(name: &str) -> &'static Row {
    device_attributes::row(name).expect("a name has this directory only if it has a row")
}

/// Whether a change of scheduler resets it.
pub(crate) fn is_schedulers_own(name: &str) -> bool {
    SCHEDULERS_OWN.contains(&name)
}

/// Not queue limits, so writing them keeps read-ahead.
const NO_LIMITS: [&str; 8] = [
    "async_depth",
    "io_poll",
    "io_poll_delay",
    "io_timeout",
    "nomerges",
    "nr_requests",
    "rq_affinity",
    "wbt_lat_usec",
];

/// The kernel recomputes read-ahead when this attribute is written.
pub(crate) fn is_limit(name: &str) -> bool {
    name != "read_ahead_kb" && !NO_LIMITS.contains(&name)
}

/// `read_ahead_kb` is last, because the kernel recomputes it when a queue limit (`max_sectors_kb`,
/// `rotational`) is written; `async_depth`, a queue attribute since Linux 7.0, follows
/// `nr_requests`, which resets it; bfq's `strict_guarantees` precedes `slice_idle`, which it may
/// raise.
pub(crate) fn order(name: &str) -> (u8, &str) {
    let rank = match name {
        "strict_guarantees" => 0,
        "async_depth" => 2,
        "read_ahead_kb" => 3,
        _ => 1,
    };
    (rank, name)
}

/// The same text or number.
pub fn same(wanted: &str, found: &str) -> bool {
    wanted.trim() == found.trim()
        || number(wanted).is_some_and(|value| number(found) == Some(value))
}

/// Allows the kernel's rounding: of times to ticks of up to 10 ms (`read_expire` 501 reads 504 at
/// 250 Hz), of read-ahead to pages. A clamped value (`nr_requests` 1 reads 4) is different, because
/// the user did not request it.
pub fn same_as_kernel_keeps(name: &str, wanted: &str, found: &str) -> bool {
    if let Some(row) = device_attributes::row(name) {
        return row.same(wanted, found);
    }
    if same(wanted, found) {
        return true;
    }
    let (Some(wanted), Some(found)) = (number(wanted), number(found)) else { return false };
    let off = (found - wanted).unsigned_abs();
    match name {
        // The request was for the kernel's default.
        "wbt_lat_usec" if wanted == -1 => true,
        "read_ahead_kb" => {
            found <= wanted && off < rustix::param::page_size().div_ceil(1024) as u128
        }
        "timeout_sync" => off < 10,
        _ if name.contains("_expire") => off < 10,
        _ => false,
    }
}

/// Decimal, or hexadecimal with 0x.
fn number(text: &str) -> Option<i128> {
    let text = text.trim();
    match text.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_number_in_another_spelling_is_the_same() {
        assert!(same("0x10", "16") && same("+5", "5") && same(" write back\n", "write back"));
        assert!(!same("write back", "write through") && !same("1", "") && !same("", "0"));
    }

    #[test]
    fn rounding_to_ticks_and_pages_is_accepted_and_clamping_is_not() {
        assert!(same_as_kernel_keeps("read_expire", "501", "504"));
        assert!(same_as_kernel_keeps("timeout_sync", "125", "128"));
        assert!(same_as_kernel_keeps("read_ahead_kb", "5", "4"));
        assert!(!same_as_kernel_keeps("read_ahead_kb", "5", "8"));
        assert!(!same_as_kernel_keeps("nr_requests", "1", "4"));
        assert!(!same_as_kernel_keeps("read_expire", "501", "500000"));
        assert!(!same_as_kernel_keeps("nomerges", "3", "1"));
    }

    #[test]
    fn what_moves_others_is_written_before_them() {
        let mut names = [
            "read_ahead_kb",
            "async_depth",
            "slice_idle",
            "nr_requests",
            "rotational",
            "strict_guarantees",
        ];
        names.sort_by_key(|name| order(name));
        assert_eq!(
            names,
            [
                "strict_guarantees",
                "nr_requests",
                "rotational",
                "slice_idle",
                "async_depth",
                "read_ahead_kb"
            ]
        );
        assert!(is_limit("max_sectors_kb") && is_limit("rotational"));
        assert!(!is_limit("nr_requests") && !is_limit("read_ahead_kb"));
    }

    #[test]
    fn the_default_that_was_asked_for_by_its_own_number_is_in_effect_whatever_it_is() {
        assert!(same_as_kernel_keeps("wbt_lat_usec", "-1", "75000"));
        assert!(!same_as_kernel_keeps("wbt_lat_usec", "5", "75000"));
    }
}
