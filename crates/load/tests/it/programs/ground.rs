//! A session on a loop device, for runners without an arena.
#![allow(dead_code)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use load::programs::{Bench, Measurement, ProcessStats, Runner, RunnerError, Trial, find};
use machine::session::FileSystem;
use machine::{Device, Root, Session};
use testbed::{Directory, Loop, require};

/// A process has one session at a time.
static ONE: Mutex<()> = Mutex::new(());

/// Dropped in this order: the session uses the device, the device a file in the directory.
pub(crate) struct Ground {
    pub(crate) node: String,
    pub(crate) device: Device,
    pub(crate) session: Option<Session>,
    pub(crate) stop: AtomicBool,
    stats: ProcessStats,
    _loop_device: Loop,
    pub(crate) dir: Directory,
    /// Dropped last.
    _turn: MutexGuard<'static, ()>,
}

impl Ground {
    /// A device with a file system, or bare; `None` without root or a program, unless every test
    /// must run.
    pub(crate) fn new(mib: u64, needed: &[&str], file_system: Option<&str>) -> Option<Ground> {
        let mkfs = file_system.map(|kind| format!("mkfs.{kind}"));
        let all = needed.iter().copied().chain(["root"]).chain(mkfs.as_deref());
        if !require(&all.collect::<Vec<_>>()) {
            return None;
        }
        let turn = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let dir = Directory::new();
        let (name, mib) = ("disk.img", mib as usize);
        let loop_device = if file_system.is_some() {
            Loop::blank(&dir, name, mib as u64)
        } else {
            Loop::new(&dir, name, mib)
        };
        let node = loop_device.path.clone();
        let root = Root::real().with_state_dir(dir.path().join("state"));
        let device = machine::device::find(&root, &node).unwrap();
        let session = Some(Session::begin(&root).unwrap());
        let (stop, stats) = (AtomicBool::new(false), ProcessStats::default());
        let mut ground = Ground {
            node,
            device,
            session,
            stop,
            stats,
            _loop_device: loop_device,
            dir,
            _turn: turn,
        };
        if let Some(kind) = file_system {
            let wanted =
                FileSystem { kind: kind.into(), mkfs: String::new(), mount: String::new() };
            let proceed = &mut |_, _| std::ops::ControlFlow::Continue(());
            let mut claim =
                machine::check_writable(&root, &ground.device, machine::Authority::Made, proceed)
                    .unwrap();
            ground
                .session
                .as_mut()
                .unwrap()
                .make_files(&ground.device, &wanted, &mut claim)
                .unwrap();
        }
        Some(ground)
    }

    pub(crate) fn files(mib: u64, needed: &[&str]) -> Option<Ground> {
        Ground::new(mib, needed, Some("ext4"))
    }

    pub(crate) fn session(&self) -> &Session {
        self.session.as_ref().unwrap()
    }

    pub(crate) fn directory(&self) -> &Path {
        self.session().directory().unwrap()
    }

    /// Creates an executable script, not on the device.
    pub(crate) fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    pub(crate) fn bench(&self) -> Bench<'_> {
        let session = self.session();
        let (device, directory) = (Some(&self.device), session.directory());
        Bench {
            session,
            device,
            directory,
            may_write: true,
            stop: &self.stop,
            say: &|_| (),
            stats: &self.stats,
        }
    }

    /// Prepares, and measures a trial from a cold start.
    pub(crate) fn measure(
        &mut self,
        kind: &str,
        pairs: &[(&str, &str)],
    ) -> Result<Measurement, RunnerError> {
        let mut runner = self.prepared(kind, pairs)?;
        self.trial(&mut *runner, Duration::from_secs(60))
    }

    pub(crate) fn prepared(
        &self,
        kind: &str,
        pairs: &[(&str, &str)],
    ) -> Result<Box<dyn Runner>, RunnerError> {
        let row = find(kind).unwrap();
        let mut runner = (row.make)(&row.read(pairs.iter().copied()).unwrap());
        runner.version(&self.bench())?;
        runner.prepare(&self.bench())?;
        Ok(runner)
    }

    pub(crate) fn trial(
        &mut self,
        runner: &mut dyn Runner,
        deadline: Duration,
    ) -> Result<Measurement, RunnerError> {
        runner.reset(&self.bench())?;
        self.cool();
        runner.measure(&self.bench(), &trial(4711, deadline))
    }

    pub(crate) fn cool(&mut self) {
        self.session.as_mut().unwrap().cool().unwrap();
    }

    /// Bytes read and written by the device.
    pub(crate) fn counted(&self) -> (u64, u64) {
        let stat = fs::read_to_string(format!("/sys/block/{}/stat", self.device.name)).unwrap();
        let field =
            |at: usize| stat.split_whitespace().nth(at).unwrap().parse::<u64>().unwrap() * 512;
        (field(2), field(6))
    }

    /// Ends the session; returns processes still running.
    pub(crate) fn end(&mut self) -> Vec<String> {
        self.session.take().unwrap().end().unwrap()
    }
}

pub(crate) fn trial(seed: u64, deadline: Duration) -> Trial {
    Trial {
        seed,
        duration: Duration::from_secs(1),
        warmup: Duration::ZERO,
        deadline,
        ..Trial::default()
    }
}
