//! What the engine issued against what the device counted.
//!
//! Too little at the device: the requests were served from a cache, or went elsewhere, and say nothing about a scheduler. Too
//! much: somebody else used the device, and the comparison is not between schedulers alone. Reads and writes are compared
//! each on its own, so that another's writes cannot stand in for reads that never came.

use std::path::Path;

use super::device::DeviceDelta;
use crate::engine::{Drive, Issued};

/// What the kernel and its helpers may add without being foreign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Allowance {
    /// Bytes read beyond what was asked for.
    pub read_bytes: u64,
    /// Bytes written beyond what was asked for.
    pub written_bytes: u64,
}

/// When a device that was open for writing is closed, udev looks for signatures on it.
const SIGNATURE_PROBE: u64 = 1 << 20;

impl Allowance {
    /// What a drive on the device with this directory (e.g. `/sys/block/loop0`) may cause: udev's look for signatures, and
    /// for buffered clients two read-ahead windows each, which are fetched and never asked for.
    pub fn of(drive: &Drive, device: &Path) -> Allowance {
        let kib = |name: &str| {
            let text = std::fs::read_to_string(device.join("queue").join(name)).ok();
            text.and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0)
        };
        let window = if drive.params.direct { 0 } else { kib("read_ahead_kb").max(kib("max_sectors_kb")) << 10 };
        Allowance { read_bytes: SIGNATURE_PROBE + 2 * window * drive.files.len() as u64, written_bytes: 0 }
    }
}

/// The comparison.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Account {
    /// Bytes that the engine issued, reads and writes.
    pub issued_bytes: u64,
    /// Bytes that the device counted, reads and writes.
    pub device_bytes: u64,
    /// The share of the issued bytes that the device counted; 0 to 1, and 1 where nothing was issued.
    pub reached_share: f64,
    /// Bytes beyond those issued and allowed, as a share of all that the device counted; 0 to 1.
    pub foreign_share: f64,
}

/// Compares what was issued in a whole drive with what the device counted around it.
pub fn account(issued: &Issued, device: &DeviceDelta, allowance: Allowance) -> Account {
    let directions = [
        (issued.read_bytes, device.read_bytes, allowance.read_bytes),
        (issued.written_bytes, device.written_bytes, allowance.written_bytes),
    ];
    let issued_bytes = issued.read_bytes + issued.written_bytes;
    let device_bytes = device.read_bytes + device.written_bytes;
    let reached: u64 = directions.iter().map(|&(ours, all, _)| ours.min(all)).sum();
    let foreign: u64 = directions.iter().map(|&(ours, all, allowed)| all.saturating_sub(ours + allowed)).sum();
    let share = |part: u64, whole: u64, of_nothing: f64| {
        if whole == 0 { of_nothing } else { part as f64 / whole as f64 }
    };
    Account {
        issued_bytes,
        device_bytes,
        reached_share: share(reached, issued_bytes, 1.0),
        foreign_share: share(foreign, device_bytes, 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn issued(read_bytes: u64, written_bytes: u64) -> Issued {
        Issued { read_bytes, written_bytes, ..Issued::default() }
    }

    fn device(read_bytes: u64, written_bytes: u64) -> DeviceDelta {
        DeviceDelta { read_bytes, written_bytes, ..DeviceDelta::default() }
    }

    #[test]
    fn direct_io_that_all_reached_the_device_is_accounted_for_exactly() {
        let account = account(&issued(300, 700), &device(300, 700), Allowance::default());
        assert_eq!((account.reached_share, account.foreign_share), (1.0, 0.0));
    }

    #[test]
    fn reads_from_the_cache_show_as_a_share_that_never_reached() {
        let account = account(&issued(1000, 0), &device(100, 0), Allowance::default());
        assert_eq!((account.reached_share, account.foreign_share), (0.1, 0.0));
    }

    #[test]
    fn foreign_writes_do_not_stand_in_for_reads_that_never_came() {
        let account = account(&issued(1000, 0), &device(0, 1000), Allowance::default());
        assert_eq!((account.reached_share, account.foreign_share), (0.0, 1.0));
    }

    #[test]
    fn read_ahead_is_allowed_and_what_goes_beyond_is_foreign() {
        let allowance = Allowance { read_bytes: 200, written_bytes: 0 };
        assert_eq!(account(&issued(800, 0), &device(1000, 0), allowance).foreign_share, 0.0);
        assert_eq!(account(&issued(300, 0), &device(1000, 0), allowance).foreign_share, 0.5);
    }

    proptest! {
        #[test]
        fn shares_are_shares_and_more_at_the_device_is_never_less_foreign(
            ours in 0u64..1 << 40, writes in 0u64..1 << 40, all in 0u64..1 << 40, more in 0u64..1 << 40, allowed in 0u64..1 << 30,
        ) {
            let allowance = Allowance { read_bytes: allowed, written_bytes: 0 };
            let few = account(&issued(ours, writes), &device(all, writes), allowance);
            let many = account(&issued(ours, writes), &device(all + more, writes), allowance);
            for account in [few, many] {
                prop_assert!((0.0..=1.0).contains(&account.reached_share), "{account:?}");
                prop_assert!((0.0..=1.0).contains(&account.foreign_share), "{account:?}");
            }
            prop_assert!(many.foreign_share >= few.foreign_share, "{few:?} {many:?}");
            prop_assert!(many.reached_share >= few.reached_share, "{few:?} {many:?}");
        }
    }
}
