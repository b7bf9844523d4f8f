//! Compares the engine's I/O with the device's counters.
//!
//! If the device moved less, requests were served from a cache or went elsewhere; if more, other
//! programs used it. Reads and writes are compared separately, so that one cannot make up for the
//! other.

use std::path::Path;

use machine::probe::DeviceDelta;
use sim::workload::{Issued, Measured, Params};

/// Bytes that the kernel and its helpers may add.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Allowance {
    pub read_bytes: u64,
    pub written_bytes: u64,
}

/// After writing, udev searches a closed device for signatures.
const SIGNATURE_PROBE: u64 = 1 << 20;

/// Of the page cache, in bytes; too small on CPUs with larger pages.
const PAGE: u64 = 4096;

impl Allowance {
    /// `device` is a directory such as `/sys/block/loop0`.
    ///
    /// Always allows udev's search for signatures. Buffered reads may add read-ahead: a whole
    /// window per request, and up to two per client at the end of a pass, but no more than the
    /// device's size per pass, which starts with a cold cache. Buffered writes of partial pages
    /// read and write whole pages. Other programs' I/O within these limits goes unnoticed; direct
    /// I/O and writes of whole pages have none.
    pub fn of(params: &Params, nr_clients: u64, measured: &Measured, device: &Path) -> Allowance {
        if params.direct {
            return Allowance { read_bytes: SIGNATURE_PROBE, written_bytes: 0 };
        }
        let written_bytes = rest_of_pages(params, measured);
        let read_bytes = [read_ahead(nr_clients, measured, device), written_bytes];
        Allowance {
            read_bytes: read_bytes.into_iter().fold(SIGNATURE_PROBE, u64::saturating_add),
            written_bytes,
        }
    }
}

fn read_ahead(nr_clients: u64, measured: &Measured, device: &Path) -> u64 {
    if measured.issued.reads == 0 {
        return 0;
    }
    let number = |name: &str| {
        let text = std::fs::read_to_string(device.join(name)).ok();
        text.and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    // Beyond the window, read-ahead has the device's maximum request size.
    let window = number("queue/read_ahead_kb").max(number("queue/max_sectors_kb")) << 10;
    // Plus an unmeasured pass.
    let passes = u64::from(measured.passes) + 1;
    let ends = (2 * nr_clients).saturating_mul(passes);
    let windows = window.saturating_mul(measured.issued.reads.saturating_add(ends));
    windows.min(number("size").saturating_mul(512).saturating_mul(passes))
}

fn rest_of_pages(params: &Params, measured: &Measured) -> u64 {
    let parts =
        [params.block_size, params.write_size].into_iter().any(|size| u64::from(size) % PAGE != 0);
    if parts { measured.issued.writes.saturating_mul(2 * PAGE) } else { 0 }
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Account {
    pub issued_bytes: u64,
    pub device_bytes: u64,
    /// The issued bytes that the device counted, from 0 to 1; 1 if none were issued.
    pub reached_share: f64,
    /// Bytes beyond those issued and allowed, by the device's, from 0 to 1.
    pub foreign_share: f64,
}

pub fn account(issued: &Issued, device: &DeviceDelta, allowance: Allowance) -> Account {
    let directions = [
        (issued.read_bytes, device.read_bytes, allowance.read_bytes),
        (issued.written_bytes, device.written_bytes, allowance.written_bytes),
    ];
    let issued_bytes = issued.read_bytes + issued.written_bytes;
    let device_bytes = device.read_bytes + device.written_bytes;
    let reached: u64 = directions.iter().map(|&(ours, all, _)| ours.min(all)).sum();
    let foreign: u64 =
        directions.iter().map(|&(ours, all, allowed)| all.saturating_sub(ours + allowed)).sum();
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

    /// The allowance of three buffered clients on a device of 64 MiB with a window of 1 MiB,
    /// without the search for signatures.
    fn allowed(
        workload: &str,
        params: &[(&str, &str)],
        passes: u32,
        reads: u64,
        writes: u64,
    ) -> (u64, u64) {
        let device = tempfile::tempdir().unwrap();
        std::fs::create_dir(device.path().join("queue")).unwrap();
        let numbers =
            [("size", 64 << 11), ("queue/read_ahead_kb", 1024), ("queue/max_sectors_kb", 512)];
        for (name, value) in numbers {
            std::fs::write(device.path().join(name), format!("{value}\n")).unwrap();
        }
        let kind = sim::workload::find(workload).unwrap();
        let params = kind.params(params.iter().copied().chain([("clients", "3")])).unwrap();
        let mut measured = Measured::default();
        (measured.passes, measured.issued.reads, measured.issued.writes) = (passes, reads, writes);
        let allowance = Allowance::of(&params, 3, &measured, device.path());
        (allowance.read_bytes - SIGNATURE_PROBE, allowance.written_bytes)
    }

    #[test]
    fn read_ahead_is_a_window_a_request_and_two_a_client_and_pass_but_never_more_than_the_device_in_a_pass()
     {
        let buffered = [("direct", "false"), ("phase", "randread")];
        assert_eq!(allowed("iozone", &buffered, 1, 7, 0), ((7 + 2 * 3 * 2) << 20, 0));
        assert_eq!(allowed("iozone", &buffered, 9, 7, 0), ((7 + 2 * 3 * 10) << 20, 0));
        assert_eq!(allowed("iozone", &buffered, 9, 1_000_000, 0), (10 * (64 << 20), 0));
    }

    #[test]
    fn direct_readers_and_writers_of_whole_pages_move_nothing_that_they_did_not_ask_for() {
        assert_eq!(
            allowed("iozone", &[("direct", "true"), ("phase", "randread")], 9, 1000, 0),
            (0, 0)
        );
        assert_eq!(
            allowed("iozone", &[("direct", "false"), ("phase", "write")], 9, 0, 1000),
            (0, 0)
        );
        let parts = [("direct", "false"), ("phase", "write"), ("block_size", "512")];
        assert_eq!(allowed("iozone", &parts, 9, 0, 1000), (1000 * 2 * PAGE, 1000 * 2 * PAGE));
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
