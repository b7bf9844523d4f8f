//! A block device's counters: `stat` in sysfs (Documentation/block/stat.rst), and errors of SCSI or
//! ATA disks.

use std::path::Path;

use super::{ProbeError, numbers, read};

/// The unit of `stat` on every device.
const SECTOR: u64 = 512;

/// Totals since the device appeared, except `in_flight`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceCounters {
    pub reads: u64,
    /// Reads merged before they were issued.
    pub read_merges: u64,
    pub read_bytes: u64,
    /// Total time of reads.
    pub read_ms: u64,
    pub writes: u64,
    /// Writes merged before they were issued.
    pub write_merges: u64,
    pub written_bytes: u64,
    /// Total time of writes.
    pub write_ms: u64,
    pub in_flight: u64,
    /// Time with at least one request in flight.
    pub busy_ms: u64,
    /// Total time of requests, queued and in flight.
    pub queue_ms: u64,
    /// 0 before Linux 5.5.
    pub flushes: u64,
    /// `None` unless it is a SCSI or ATA disk.
    pub device_errors: Option<u64>,
}

impl DeviceCounters {
    /// Reads a device's directory, e.g. `/sys/block/loop0`.
    ///
    /// # Errors
    /// [`ProbeError::Gone`] if the device was removed.
    pub fn read(device: &Path) -> Result<DeviceCounters, ProbeError> {
        let path = device.join("stat");
        let text = read(&path)?;
        let n = numbers(&text);
        if n.len() < 11 {
            return Err(ProbeError::Malformed { path, text, expected: "eleven or more counters" });
        }
        Ok(DeviceCounters {
            reads: n[0],
            read_merges: n[1],
            read_bytes: n[2] * SECTOR,
            read_ms: n[3],
            writes: n[4],
            write_merges: n[5],
            written_bytes: n[6] * SECTOR,
            write_ms: n[7],
            in_flight: n[8],
            busy_ms: n[9],
            queue_ms: n[10],
            flushes: n.get(15).copied().unwrap_or(0),
            device_errors: scsi_errors(device),
        })
    }

    /// A counter that ran backwards (the device was replaced, or a 32-bit counter wrapped) gives 0,
    /// which shows as I/O that never reached the device.
    pub fn since(&self, earlier: &DeviceCounters) -> DeviceDelta {
        DeviceDelta {
            reads: self.reads.saturating_sub(earlier.reads),
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            writes: self.writes.saturating_sub(earlier.writes),
            written_bytes: self.written_bytes.saturating_sub(earlier.written_bytes),
            merges: (self.read_merges + self.write_merges)
                .saturating_sub(earlier.read_merges + earlier.write_merges),
            flushes: self.flushes.saturating_sub(earlier.flushes),
            busy_ms: self.busy_ms.saturating_sub(earlier.busy_ms),
            queue_ms: self.queue_ms.saturating_sub(earlier.queue_ms),
            device_errors: self
                .device_errors
                .unwrap_or(0)
                .saturating_sub(earlier.device_errors.unwrap_or(0)),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceDelta {
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub written_bytes: u64,
    pub merges: u64,
    pub flushes: u64,
    /// Time with at least one request in flight.
    pub busy_ms: u64,
    /// Divided by elapsed time, the mean number of requests, queued and in flight.
    pub queue_ms: u64,
    pub device_errors: u64,
}

/// `ioerr_cnt` is hexadecimal with 0x.
fn scsi_errors(device: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(device.join("device/ioerr_cnt")).ok()?;
    u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(stat: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("stat"), stat).unwrap();
        dir
    }

    #[test]
    fn counters_stand_in_the_kernels_order_and_sectors_are_512_bytes() {
        let dir = device("  1 2 3 4  5 6 7 8  9 10 11  12 13 14 15  16 17\n");
        std::fs::create_dir(dir.path().join("device")).unwrap();
        std::fs::write(dir.path().join("device/ioerr_cnt"), "0x1f\n").unwrap();
        let found = DeviceCounters::read(dir.path()).unwrap();
        let expected = DeviceCounters {
            reads: 1,
            read_merges: 2,
            read_bytes: 3 * 512,
            read_ms: 4,
            writes: 5,
            write_merges: 6,
            written_bytes: 7 * 512,
            write_ms: 8,
            in_flight: 9,
            busy_ms: 10,
            queue_ms: 11,
            flushes: 16,
            device_errors: Some(31),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn an_older_kernel_has_fewer_counters_and_a_device_without_an_error_counter_has_none() {
        let dir = device("1 2 3 4 5 6 7 8 9 10 11\n");
        let found = DeviceCounters::read(dir.path()).unwrap();
        assert_eq!((found.flushes, found.device_errors), (0, None));
    }

    #[test]
    fn a_device_that_is_gone_and_a_file_that_is_no_stat_are_told_apart() {
        let gone =
            DeviceCounters::read(Path::new("/sys/block/there-is-no-such-device")).unwrap_err();
        assert!(matches!(gone, ProbeError::Gone { .. }), "{gone}");
        let malformed = DeviceCounters::read(device("1 2 bananas\n").path()).unwrap_err();
        assert!(matches!(malformed, ProbeError::Malformed { .. }), "{malformed}");
    }

    #[test]
    fn counters_that_run_backwards_give_nothing_instead_of_a_huge_number() {
        let (few, many) = (
            DeviceCounters::default(),
            DeviceCounters { reads: 5, read_bytes: 9, ..Default::default() },
        );
        assert_eq!(few.since(&many), DeviceDelta::default());
        assert_eq!(many.since(&few).reads, 5);
    }
}
