//! Real loop devices for the tests of the load engine, removed when a test ends, however it ends.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use host::probe::DeviceCounters;
use loadgen::{ClientFile, Drive, Measured, PATIENCE, place_on_device, run};
use workload::find;

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// True if the test can run; prints the reason if not.
pub(crate) fn can_run(tools: &[&str]) -> bool {
    let mut missing = Vec::new();
    if !rustix::process::geteuid().is_root() {
        missing.push("root".to_owned());
    }
    let there =
        |tool: &str| ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].iter().any(|dir| Path::new(dir).join(tool).exists());
    missing.extend(tools.iter().filter(|tool| !there(tool)).map(|tool| format!("the tool {tool}")));
    if missing.is_empty() {
        return true;
    }
    let reason = missing.join(", ");
    assert!(std::env::var_os("SCHEDLAB_MUST_RUN_ALL").is_none_or(|v| v != "1"), "cannot run: needs {reason}");
    eprintln!("SKIPPED: needs {reason}");
    false
}

/// Runs a command that must succeed; its output.
pub(crate) fn command(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().unwrap_or_else(|e| panic!("{program}: {e}"));
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A directory of its own for each test.
pub(crate) fn directory() -> tempfile::TempDir {
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    tempfile::Builder::new().prefix(&format!("schedlab-engine-{number}-")).tempdir_in("/var/tmp").unwrap()
}

/// A loop device over a file, with direct I/O to it.
pub(crate) struct Loop {
    pub(crate) path: PathBuf,
    pub(crate) file: PathBuf,
    pub(crate) len: u64,
    _dir: Option<tempfile::TempDir>,
}

impl Loop {
    /// Over a new file of zeros that has all its blocks.
    pub(crate) fn new(len: u64) -> Loop {
        let dir = directory();
        let file = dir.path().join("disk");
        let mut device = Loop::over(&file, len);
        device._dir = Some(dir);
        device
    }

    /// Over a new file at this place; the place is the caller's to remove.
    pub(crate) fn over(file: &Path, len: u64) -> Loop {
        std::fs::write(file, vec![0; len as usize]).unwrap();
        let name = file.to_str().unwrap();
        let path = command("losetup", &["-f", "--show", "--direct-io=on", name]).into();
        Loop { path, file: file.into(), len, _dir: None }
    }

    /// Its directory below /sys/block.
    pub(crate) fn sys(&self) -> PathBuf {
        Path::new("/sys/block").join(self.path.file_name().unwrap())
    }

    pub(crate) fn counters(&self) -> DeviceCounters {
        DeviceCounters::read(&self.sys()).unwrap()
    }

    /// Waits until the device has completed this many reads.
    pub(crate) fn wait_for_reads(&self, reads: u64) {
        let began = Instant::now();
        while self.counters().reads < reads {
            assert!(began.elapsed() < Duration::from_secs(60), "waited a minute for reads");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// A drive of this workload on the whole device: 200 ms, or until the given amount is done; no warm-up.
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

impl Drop for Loop {
    fn drop(&mut self) {
        let detached = Command::new("losetup").arg("-d").arg(&self.path).status();
        if !detached.is_ok_and(|status| status.success()) {
            eprintln!("could not detach {}", self.path.display());
        }
    }
}

/// Two processes that read and write at once and a little later.
fn with_trace(params: workload::Params) -> workload::Params {
    let text = "0,h,0,Read,0,4096,9\n0,h,1,Write,65536,65536,9\n50000,h,0,Read,4096,4096,9\n90000,h,1,Read,0,8192,9\n";
    let trace = params.replay.parse(text.as_bytes()).unwrap();
    params.with_trace(std::sync::Arc::new(trace))
}

/// A drive of 200 ms without warm-up.
pub(crate) fn drive(workload: &str, params: workload::Params, files: Vec<ClientFile>) -> Drive {
    let (duration, warmup) = (Duration::from_millis(200), Duration::ZERO);
    Drive { kind: find(workload).unwrap(), params, files, seed: 1, duration, warmup, patience: PATIENCE }
}

/// Runs a drive to its own end.
pub(crate) fn measure(drive: &Drive) -> Measured {
    run(drive, &AtomicBool::new(false)).unwrap()
}
