//! Attributes of a queue and its scheduler: how their texts compare, and which of them belong to the scheduler.

use std::path::PathBuf;

use crate::device::queue_dir;
use crate::root::Root;

/// Queue attributes that the kernel sets anew when the scheduler changes: the size of the scheduler's window, its share for
/// asynchronous requests, and write-back throttling, which bfq switches off.
const SCHEDULERS_OWN: [&str; 3] = ["async_depth", "nr_requests", "wbt_lat_usec"];

/// Which directory an attribute is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// `queue/iosched`: tunables of the scheduler.
    Scheduler,
    /// `queue`: attributes of the queue.
    Queue,
}

impl Place {
    /// The path of an attribute of a disk.
    pub(crate) fn path(self, root: &Root, device: &str, name: &str) -> PathBuf {
        let queue = queue_dir(root, device);
        match self {
            Place::Scheduler => queue.join("iosched").join(name),
            Place::Queue => queue.join(name),
        }
    }
}

/// Whether a queue attribute belongs to the scheduler, i.e. a change of scheduler sets it anew.
pub(crate) fn is_schedulers_own(name: &str) -> bool {
    SCHEDULERS_OWN.contains(&name)
}

/// The order in which queue attributes are written: `read_ahead_kb` last, because the kernel computes it anew when a limit of the
/// queue (`max_sectors_kb`, `rotational`) is written, whatever it was before.
pub(crate) fn order(name: &str) -> (bool, &str) {
    (name == "read_ahead_kb", name)
}

/// Whether what was read back is what was written: the same text or the same number.
pub(crate) fn same(wanted: &str, found: &str) -> bool {
    wanted.trim() == found.trim() || number(wanted).is_some_and(|value| number(found) == Some(value))
}

/// Whether what was read back is what was written as nearly as the kernel can keep it: times are kept in ticks of up to 10 ms
/// (`read_expire` 501 reads 504 at 250 Hz), read-ahead in pages. A clamped value (`nr_requests` 1 reads 4) is not: the user
/// asked for something else than what is measured.
pub(crate) fn same_as_kernel_keeps(name: &str, wanted: &str, found: &str) -> bool {
    if same(wanted, found) {
        return true;
    }
    let (Some(wanted), Some(found)) = (number(wanted), number(found)) else { return false };
    let off = (found - wanted).unsigned_abs();
    match name {
        "read_ahead_kb" => found <= wanted && off < rustix::param::page_size().div_ceil(1024) as u128,
        "timeout_sync" => off < 10,
        _ if name.contains("_expire") => off < 10,
        _ => false,
    }
}

/// A whole number as the kernel reads it: decimal or 0x… hexadecimal.
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
    fn read_ahead_is_written_last() {
        let mut names = ["read_ahead_kb", "rotational", "add_random"];
        names.sort_by_key(|name| order(name));
        assert_eq!(names[2], "read_ahead_kb");
    }
}
