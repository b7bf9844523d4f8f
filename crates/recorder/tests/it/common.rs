//! A loop device over a file, and programs that use it.

use std::path::Path;
use std::process::{Command, Stdio};

use machine::Root;
use recorder::live::{Live, Options, Source};
use testbed::{Directory, Loop, LoopOptions, require, skip};
use trace::{About, Io, Trace};

pub(crate) struct Disk {
    pub(crate) path: String,
    device: Loop,
    _directory: Directory,
}

impl Disk {
    /// 64 MiB; `None`, with a message, without root.
    pub(crate) fn new() -> Option<Disk> {
        Disk::with(LoopOptions::default())
    }

    pub(crate) fn with(options: LoopOptions) -> Option<Disk> {
        if !require(&["root"]) {
            return None;
        }
        let directory = Directory::new();
        let file = directory.join("disk");
        std::fs::write(&file, vec![7; 64 << 20]).expect("a file");
        let device = Loop::with(&file, options);
        Some(Disk { path: device.path.clone(), device, _directory: directory })
    }

    pub(crate) fn name(&self) -> &str {
        &self.device.name
    }

    pub(crate) fn scheduler(&self, name: &str) {
        self.device.set("scheduler", name);
    }

    pub(crate) fn detach(&self) {
        self.device.detach();
    }

    /// Sequentially with direct I/O, in a process whose id is returned.
    pub(crate) fn read(&self, skip: u64, count: u64) -> u32 {
        let words = [format!("if={}", self.path), format!("skip={skip}"), format!("count={count}")];
        let mut child = Command::new("dd")
            .args(["of=/dev/null", "bs=4k", "iflag=direct", "status=none"])
            .args(words)
            .stdin(Stdio::null())
            .spawn()
            .expect("dd runs");
        let pid = child.id();
        assert!(child.wait().expect("dd ends").success());
        pid
    }

    /// Writes blocks of 4 KiB and flushes.
    pub(crate) fn write(&self, seek: u64, count: u64) {
        let words = [format!("of={}", self.path), format!("seek={seek}"), format!("count={count}")];
        let status = Command::new("dd")
            .args(["if=/dev/zero", "bs=4k", "oflag=direct", "conv=notrunc,fsync", "status=none"])
            .args(words)
            .status();
        assert!(status.expect("dd runs").success());
    }
}

/// Starts recording with a separate journal.
pub(crate) fn start(options: &Options) -> anyhow::Result<Live> {
    let state = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recorder-state");
    Live::start(&Root::real().with_state_dir(state), options)
}

pub(crate) struct Recorded {
    pub(crate) about: About,
    pub(crate) tables: Trace,
    pub(crate) ios: Vec<Io>,
}

impl Recorded {
    /// `None`, with a message, without the source.
    pub(crate) fn of(
        source: Source,
        options: Options,
        work: impl FnOnce(&mut dyn FnMut()),
    ) -> Option<Recorded> {
        let mut live = match start(&Options { source, ..options }) {
            Ok(live) => live,
            Err(why) => {
                skip(&format!("{why:#}"));
                return None;
            }
        };
        let mut ios = Vec::new();
        work(&mut || live.drain(&mut |io| ios.push(*io)).expect("drained"));
        let about = live.finish(&mut |io| ios.push(*io)).expect("finished");
        let mut tables = live.tables().clone();
        tables.ios = ios.clone();
        tables.check().expect("a sound trace");
        Some(Recorded { about, tables, ios })
    }

    /// Records without losses. On a busy machine, the kernel skips single calls of a BPF program
    /// and counts them; then this retries.
    pub(crate) fn whole(
        source: Source,
        mut once: impl FnMut() -> Option<Recorded>,
    ) -> Option<Recorded> {
        let mut recorded = once()?;
        for _ in 0..if source == Source::Bpf { 9 } else { 0 } {
            if recorded.missing() == 0 {
                break;
            }
            recorded = once().expect("it could be recorded before");
        }
        assert_eq!(recorded.missing(), 0, "{:?}", recorded.about);
        Some(recorded)
    }

    /// Number of lost and unfinished requests.
    pub(crate) fn missing(&self) -> usize {
        (self.about.lost + self.about.unfinished) as usize
    }

    pub(crate) fn of_pid(&self, pid: u32) -> Vec<Io> {
        // If a process exits before /proc is read, tracefs knows only the thread.
        let is_of = |io: &&Io| self.tables.processes[io.process as usize].tid == pid;
        self.ios.iter().filter(is_of).copied().collect()
    }

    pub(crate) fn scheduler(&self, io: &Io) -> &str {
        &self.tables.schedulers[usize::from(io.scheduler)]
    }
}
