//! What the tests on real loop devices share: a place of their own, small loop devices, and skipping aloud.
//!
//! The loop devices here are made by `losetup` over sparse files, not by [`host::LoopDevice`]: they need no data in them, and a fault in
//! the code under test must not break the fixture of every other test.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use host::{Authority, Claim, Device, Error, Root};

/// A directory of the test's own with a machine whose state is kept there.
pub(crate) struct Bench {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) root: Root,
}

impl Bench {
    /// Makes the directory on a real file system, or says why the test cannot be done here.
    pub(crate) fn set_up(needed: &[&str]) -> Option<Bench> {
        if !rustix::process::geteuid().is_root() {
            return skip("these tests change real loop devices and need root");
        }
        for tool in ["losetup", "blkid"].iter().chain(needed) {
            if !["/usr/sbin", "/sbin", "/usr/bin", "/bin"].iter().any(|dir| Path::new(dir).join(tool).exists()) {
                return skip(&format!("{tool} is not installed"));
            }
        }
        let dir =
            tempfile::Builder::new().prefix("schedlab-test-").tempdir_in("/var/tmp").expect("/var/tmp is writable");
        let root = Root::real().with_state_dir(dir.path().join("state"));
        Some(Bench { dir, root })
    }

    pub(crate) fn blank_loop(&self, mib: u64) -> BlankLoop {
        let file =
            self.dir.path().join(format!("blank-{mib}-{}.img", fs::read_dir(self.dir.path()).expect("own").count()));
        File::create(&file).and_then(|made| made.set_len(mib << 20)).expect("a sparse file");
        let text = run("losetup", &["--find", "--show", "--direct-io=on", &file.display().to_string()]);
        let blank = BlankLoop { node: PathBuf::from(text.trim()), file };
        blank.forget_partitions();
        blank
    }

    /// A claim on a device that the test made.
    pub(crate) fn claim(&self, device: &Device) -> Result<Claim, Error> {
        host::check_writable(&self.root, device, Authority::Made, &mut |_, _| ControlFlow::Continue(()))
    }

    pub(crate) fn device(&self, blank: &BlankLoop) -> Device {
        host::device::find(&self.root, blank.word()).expect("the loop device is attached")
    }
}

pub(crate) struct BlankLoop {
    pub(crate) node: PathBuf,
    pub(crate) file: PathBuf,
}

impl BlankLoop {
    pub(crate) fn word(&self) -> &str {
        self.node.to_str().expect("node names are plain")
    }

    pub(crate) fn name(&self) -> &str {
        self.node.file_name().and_then(|name| name.to_str()).expect("node names are plain")
    }

    pub(crate) fn queue(&self, attribute: &str) -> PathBuf {
        Path::new("/sys/block").join(self.name()).join("queue").join(attribute)
    }

    pub(crate) fn set(&self, attribute: &str, value: &str) {
        fs::write(self.queue(attribute), value).unwrap_or_else(|error| panic!("{attribute} = {value}: {error}"));
    }

    pub(crate) fn shows(&self, attribute: &str) -> String {
        fs::read_to_string(self.queue(attribute)).expect("an attribute").trim().to_string()
    }

    /// Every readable file of the queue and the scheduler with its text, read-only ones too.
    pub(crate) fn whole_queue(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        for dir in ["", "iosched"] {
            let Ok(entries) = fs::read_dir(self.queue(dir)) else { continue };
            for entry in entries.flatten() {
                let readable =
                    entry.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o444 != 0);
                if let Ok(text) = fs::read_to_string(entry.path())
                    && readable
                {
                    all.insert(format!("{dir}/{}", entry.file_name().to_string_lossy()), text);
                }
            }
        }
        all
    }

    /// Removes partitions: a loop device keeps them for its next user too.
    fn forget_partitions(&self) {
        let _ = Command::new("partx").arg("--delete").arg(&self.node).output();
    }

    /// Whether the kernel offers these schedulers; skips aloud if not.
    pub(crate) fn offers(&self, schedulers: &[&str]) -> bool {
        let offered = self.shows("scheduler");
        let missing = schedulers.iter().find(|name| !offered.contains(*name));
        missing.is_none_or(|name| skip::<()>(&format!("this kernel has no {name}")).is_some())
    }
}

impl Drop for BlankLoop {
    fn drop(&mut self) {
        // A loop device keeps its scheduler for the next user: leave it as a fresh one has it.
        let _ = fs::write(self.queue("scheduler"), "none");
        self.forget_partitions();
        let _ = Command::new("losetup").arg("--detach").arg(&self.node).status();
    }
}

/// Runs a program that has to succeed; gives what it wrote. A device that somebody else looks at for a moment (udev does, at a new one) is
/// waited for.
pub(crate) fn run(program: &str, args: &[&str]) -> String {
    let mut output = try_run(program, args);
    for _ in 0..50 {
        if output.status.success() || !String::from_utf8_lossy(&output.stderr).contains("apparently in use") {
            break;
        }
        thread::sleep(Duration::from_millis(100));
        output = try_run(program, args);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {}: {said}", args.join(" "));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn try_run(program: &str, args: &[&str]) -> Output {
    Command::new(program).args(args).output().unwrap_or_else(|error| panic!("{program}: {error}"))
}

/// Waits until something holds; a test that waits forever fails with the sentence.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(60), "waited a minute until {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Says why a test is not done; where everything must be done, that is a failure.
pub(crate) fn skip<T>(why: &str) -> Option<T> {
    assert!(std::env::var_os("SCHEDLAB_MUST_RUN_ALL").is_none(), "SCHEDLAB_MUST_RUN_ALL is set, but: {why}");
    eprintln!("SKIPPED: {why}");
    None
}
