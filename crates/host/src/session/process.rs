//! Programs that belong to an experiment: started in a process group of their own, fed, waited for within a deadline, and ended with
//! all that they have started.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::error::Error;
use crate::root::Root;

/// By this variable of the environment everything that a session has started is found again.
const MARK: &str = "SCHEDLAB_SESSION";

/// What share of the device a process gets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Share {
    /// Weight of its control group for I/O, 1 to 10000.
    pub io_weight: Option<u32>,
    /// Bounds of its control group: `rbps`, `wbps`, `riops`, `wiops`, e.g. `wbps=10M wiops=100`.
    pub io_max: Option<String>,
    /// `idle`, `best-effort:0…7` or `realtime:0…7`.
    pub ioprio: Option<String>,
}

/// A program that is to be started.
#[derive(Debug, Clone, Default)]
pub struct Launch {
    /// Its file.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables beside those that every program gets (PATH, HOME, LC_ALL=C).
    pub env: Vec<(String, OsString)>,
    /// Its working directory.
    pub dir: PathBuf,
    /// The user that it runs as, by name; this process's own if none is named.
    pub user: Option<String>,
    /// Its share of the device.
    pub share: Share,
    /// What it reads on standard input.
    pub input: Vec<u8>,
}

/// A program on its way.
#[derive(Debug)]
pub struct Running {
    child: Child,
    began: Instant,
    stdout: File,
    stderr: File,
}

/// How a program ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// What it printed.
    pub stdout: String,
    /// What it complained.
    pub stderr: String,
    /// From its start to its end.
    pub wall: Duration,
    /// It was ended by us: its deadline was over.
    pub too_long: bool,
    /// It was ended by us: the experiment was interrupted.
    pub stopped: bool,
}

impl Running {
    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it is still there.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends a signal to it alone.
    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.child.id() as i32) {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    /// Waits for its end; when the deadline is over or `stop` is set, it is ended with its process group.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be waited for.
    pub fn wait(mut self, deadline: Duration, stop: &AtomicBool) -> Result<Ended, Error> {
        let (mut too_long, mut stopped) = (false, false);
        let status = loop {
            if let Some(status) = self.child.try_wait().map_err(Error::io("wait for", "the program"))? {
                break status;
            }
            too_long |= self.began.elapsed() > deadline;
            stopped |= stop.load(Ordering::Relaxed);
            if too_long || stopped {
                self.kill();
            }
            thread::sleep(Duration::from_millis(1));
        };
        let wall = self.began.elapsed();
        self.kill();
        let [stdout, stderr] = [&mut self.stdout, &mut self.stderr].map(text_of);
        Ok(Ended { status, stdout, stderr, wall, too_long, stopped })
    }

    /// What it has printed so far.
    pub fn printed(&mut self) -> String {
        text_of(&mut self.stdout)
    }

    /// What it has complained so far.
    pub fn complained(&mut self) -> String {
        text_of(&mut self.stderr)
    }

    fn kill(&self) {
        if let Some(pid) = Pid::from_raw(self.child.id() as i32) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

/// Read without moving the place at which the program writes on.
fn text_of(file: &mut File) -> String {
    let mut bytes = vec![0; file.metadata().map_or(0, |meta| meta.len() as usize)];
    let read = file.read_at(&mut bytes, 0).unwrap_or(0);
    String::from_utf8_lossy(&bytes[..read]).into_owned()
}

pub(super) fn start(_root: &Root, key: &str, launch: &Launch) -> Result<Running, Error> {
    let file = || tempfile::tempfile().map_err(Error::io("create", std::env::temp_dir()));
    let (stdout, stderr, mut input) = (file()?, file()?, file()?);
    let again = |file: &File| file.try_clone().map_err(Error::io("open", "a temporary file"));
    input
        .write_all(&launch.input)
        .and_then(|()| input.seek(SeekFrom::Start(0)))
        .map_err(Error::io("write", "a temporary file"))?;
    let mut command = Command::new(&launch.program);
    command
        .args(&launch.args)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", "/")
        .env("LC_ALL", "C")
        .env(MARK, key)
        .envs(launch.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&launch.dir)
        .stdin(Stdio::from(input))
        .stdout(Stdio::from(again(&stdout)?))
        .stderr(Stdio::from(again(&stderr)?))
        .process_group(0);
    let child = command.spawn().map_err(Error::io("start", &launch.program))?;
    Ok(Running { child, began: Instant::now(), stdout, stderr })
}

pub(super) fn end_all(_root: &Root, _key: &str) -> Vec<String> {
    Vec::new()
}
