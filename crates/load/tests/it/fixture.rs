//! Real loop devices for tests of the load engine.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use load::{ClientFile, Drive, Measured, PATIENCE, Submission, place_on_device, run};
use machine::probe::{DeviceCounters, DeviceDelta};
use sim::workload::find;
use testbed::{Directory, Loop, eventually};

pub(crate) fn command(program: &str, args: &[&str]) -> String {
    let output =
        Command::new(program).args(args).output().unwrap_or_else(|e| panic!("{program}: {e}"));
    assert!(
        output.status.success(),
        "{program} {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Over a fully allocated file of zeros.
pub(crate) struct Disk {
    pub(crate) path: PathBuf,
    pub(crate) file: PathBuf,
    pub(crate) len: u64,
    device: Loop,
    _directory: Option<Directory>,
}

impl Disk {
    pub(crate) fn new(len: u64) -> Disk {
        let directory = Directory::new();
        let mut disk = Disk::over(&directory.join("disk"), len);
        disk._directory = Some(directory);
        disk
    }

    /// Creates a new file, which the caller removes.
    pub(crate) fn over(file: &Path, len: u64) -> Disk {
        std::fs::write(file, vec![0; len as usize]).unwrap();
        let device = Loop::over(file);
        Disk { path: device.path.clone().into(), file: file.into(), len, device, _directory: None }
    }

    /// The directory below /sys/block.
    pub(crate) fn sys(&self) -> PathBuf {
        self.device.sys()
    }

    pub(crate) fn counters(&self) -> DeviceCounters {
        DeviceCounters::read(&self.sys()).unwrap()
    }

    pub(crate) fn wait_for_reads(&self, reads: u64) {
        eventually("the device has read", || self.counters().reads >= reads);
    }

    /// Drives the whole device, without warm-up, for 200 ms or the given amount.
    pub(crate) fn drive(&self, workload: &str, params: &[(&str, &str)]) -> Drive {
        let kind = find(workload).unwrap();
        let params = kind.params(params.iter().copied()).unwrap();
        let params = if kind.needs_trace() { with_trace(params) } else { params };
        let files = place_on_device(kind, &params, &self.path, self.len, 512).unwrap();
        let mut drive = drive(workload, params, files);
        if drive.params.amount.is_some() {
            drive.duration = Duration::from_secs(600);
        }
        if kind.primary.starts_with("deadline") {
            drive.duration = Duration::from_secs(2);
        }
        drive
    }
}

/// Reads and writes immediately and a little later.
fn with_trace(params: sim::workload::Params) -> sim::workload::Params {
    let text = "0,h,0,Read,0,4096,9\n0,h,1,Write,65536,65536,9\n50000,h,0,Read,4096,4096,9\n90000,h,1,Read,0,8192,9\n";
    let trace = params.replay.parse(text.as_bytes()).unwrap();
    params.with_trace(std::sync::Arc::new(trace))
}

/// Drives for 200 ms without warm-up.
pub(crate) fn drive(
    workload: &str,
    params: sim::workload::Params,
    files: Vec<ClientFile>,
) -> Drive {
    let (duration, warmup) = (Duration::from_millis(200), Duration::ZERO);
    Drive {
        kind: find(workload).unwrap(),
        params,
        files,
        seed: 1,
        duration,
        warmup,
        patience: PATIENCE,
        submission: Submission::IoUring,
    }
}

pub(crate) fn measure(drive: &Drive) -> Measured {
    run(drive, &AtomicBool::new(false)).unwrap()
}

/// Drives until `is_alone` holds for the results, at most ten times.
///
/// Another test that lists devices lets `blkid` read 336 KiB of every device in the same moment,
/// several times in a busy second. What the engine itself reads too much, it reads every time.
pub(crate) fn measure_alone(
    device: &Disk,
    drive: &Drive,
    is_alone: impl Fn(&Measured, &DeviceDelta) -> bool,
) -> (Measured, DeviceDelta) {
    let once = || {
        let before = device.counters();
        let measured = measure(drive);
        (measured, device.counters().since(&before))
    };
    let mut last = once();
    for _ in 1..10 {
        if is_alone(&last.0, &last.1) {
            break;
        }
        last = once();
    }
    last
}
