//! Starts, queries and reliably stops a server of the cluster.
//!
//! Without `pg_ctl`, it is a child of the session whose messages are read here. Its children leave
//! its process group, and are found by their working directory.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use machine::session::{Launch, Running};
use rustix::fd::OwnedFd;
use rustix::fs::OFlags;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::tools::{Tools, full, run};
use crate::programs::error::RunnerError;
use crate::programs::kind::Bench;

const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// For a failed server to exit.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes read of the server's status file.
const NOTE: u64 = 4096;

/// Last lines of the server to show.
const LAST_LINES: usize = 8;

/// A server that is killed on drop.
pub(super) struct Server<'a> {
    bench: Bench<'a>,
    data: PathBuf,
    socket: PathBuf,
    running: Option<Running>,
    began: Instant,
}

impl<'a> Server<'a> {
    /// Waits until it accepts connections.
    pub(super) fn start(
        bench: &Bench<'a>,
        launch: &Launch,
        data: &Path,
        socket: &Path,
        patience: Duration,
    ) -> Result<Server<'a>, RunnerError> {
        let began = Instant::now();
        let running = Some(bench.session.start(launch)?);
        let (data, socket) = (data.to_path_buf(), socket.to_path_buf());
        let mut server = Server { bench: *bench, data, socket, running, began };
        loop {
            if server.is_ready() {
                return Ok(server);
            }
            if bench.stop.load(Ordering::Relaxed) {
                return Err(RunnerError::Interrupted);
            }
            if !server.is_alive() {
                let said = server.end(Signal::QUIT, EXIT_TIMEOUT);
                return Err(said.into_error());
            }
            if began.elapsed() > patience {
                let said = server.end(Signal::QUIT, EXIT_TIMEOUT);
                let (program, seconds) = ("postgres (starting)".to_string(), patience.as_secs());
                return Err(RunnerError::TooLong { program, seconds, tail: said.tail() });
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    pub(super) fn client_args(&self) -> Vec<OsString> {
        let host: OsString = self.socket.clone().into();
        vec!["-h".into(), host, "-U".into(), "postgres".into()]
    }

    /// One line per row, columns separated by `|`.
    pub(super) fn query(
        &self,
        tools: &Tools,
        sql: &str,
        patience: Duration,
    ) -> Result<String, RunnerError> {
        let mut launch = tools.launch("psql", self.client_args());
        launch.args.extend(["-XAtq", "-v", "ON_ERROR_STOP=1", "-c", sql].map(OsString::from));
        Ok(run(&self.bench, "psql", &launch, patience)?.stdout)
    }

    /// Connections are ended, everything is written.
    pub(super) fn stop(mut self, patience: Duration) -> Result<(), RunnerError> {
        let said = self.end(Signal::INT, patience);
        if self.bench.stop.load(Ordering::Relaxed) {
            return Err(RunnerError::Interrupted);
        }
        if said.too_long {
            let (program, seconds) = ("postgres (stopping)".to_string(), patience.as_secs());
            return Err(RunnerError::TooLong { program, seconds, tail: said.tail() });
        }
        if said.ok { Ok(()) } else { Err(said.into_error()) }
    }

    /// Ends the server after a client has failed, and adds the server's reason.
    pub(super) fn explain(mut self, error: RunnerError) -> RunnerError {
        let mut alive = self.is_alive();
        if matches!(error, RunnerError::Interrupted) {
            return error;
        }
        // A server closes connections before it exits.
        let since = Instant::now();
        while alive && since.elapsed() < Duration::from_millis(500) {
            thread::sleep(POLL_INTERVAL);
            alive = self.is_alive();
        }
        let said = self.end(Signal::QUIT, EXIT_TIMEOUT);
        if let Some(full) = full(&said.text) {
            return full;
        }
        if !alive {
            return said.into_error();
        }
        match error {
            RunnerError::Failed { program, status, tail } => {
                let complaint = said
                    .complaints()
                    .last()
                    .map_or(String::new(), |line| format!("\n  the server: {line}"));
                RunnerError::Failed { program, status, tail: tail + &complaint }
            }
            other => other,
        }
    }

    fn is_alive(&mut self) -> bool {
        self.running.as_mut().is_some_and(Running::is_alive)
    }

    /// Reads the server's status file, as `pg_ctl` does. The database user controls the file: a
    /// bounded part is read, without blocking, and used for nothing else.
    fn is_ready(&self) -> bool {
        let mut note = String::new();
        let nofollow = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(nofollow)
            .open(self.data.join("postmaster.pid"));
        let read = opened.and_then(|file| file.take(NOTE).read_to_string(&mut note));
        read.is_ok() && note.lines().nth(7).is_some_and(|state| state.trim() == "ready")
    }

    /// Sends SIGKILL if the signal is not enough; no process remains.
    fn end(&mut self, signal: Signal, patience: Duration) -> Said {
        let Some(running) = self.running.take() else { return Said::default() };
        running.signal(signal);
        let until = self.began.elapsed() + patience;
        // An interrupt may cut short only a regular stop.
        let never = AtomicBool::new(false);
        let stop = if signal == Signal::INT { self.bench.stop } else { &never };
        let said = match running.wait(until, stop) {
            Ok(ended) => Said {
                ok: ended.status.success(),
                too_long: ended.too_long,
                status: ended.status.to_string(),
                text: ended.stderr,
            },
            Err(error) => Said { status: error.to_string(), ..Said::default() },
        };
        end_processes_in(&self.data);
        said
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        self.end(Signal::KILL, EXIT_TIMEOUT);
    }
}

/// How the server ended, and its output.
#[derive(Debug, Default)]
struct Said {
    ok: bool,
    too_long: bool,
    status: String,
    text: String,
}

impl Said {
    fn complaints(&self) -> Vec<&str> {
        let kinds = ["PANIC:", "FATAL:", "ERROR:"];
        self.text.lines().filter(|line| kinds.iter().any(|kind| line.contains(kind))).collect()
    }

    fn tail(&self) -> String {
        let lines: Vec<&str> = self.text.lines().filter(|line| !line.trim().is_empty()).collect();
        if lines.is_empty() {
            return "; no output".to_string();
        }
        let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
        format!("; its last lines:\n  {}", last.join("\n  "))
    }

    fn into_error(self) -> RunnerError {
        let tail = self.tail();
        full(&self.text).unwrap_or(RunnerError::Failed {
            program: "postgres".to_string(),
            status: self.status,
            tail,
        })
    }
}

/// Kills servers in or below the directory, and waits until they are gone.
pub(super) fn end_processes_in(dir: &Path) {
    let since = Instant::now();
    while since.elapsed() < EXIT_TIMEOUT {
        let there = processes_in(dir);
        if there.is_empty() {
            return;
        }
        for server in there {
            let _ = pidfd_send_signal(server, Signal::KILL);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Servers with a working directory in `dir` that run as its owner, which excludes visitors. A
/// pidfd is opened before each check, so a signal reaches the checked process or none.
pub(super) fn processes_in(dir: &Path) -> Vec<OwnedFd> {
    let Ok(owner) = fs::metadata(dir).map(|meta| meta.uid()) else { return Vec::new() };
    let link = |pid: i32, name: &str| fs::read_link(format!("/proc/{pid}/{name}"));
    // An exiting process still has a directory, and holds the mount, but has no executable.
    let is_server = |pid: i32| link(pid, "exe").map_or(true, |exe| exe.ends_with("postgres"));
    let is_owners = |pid: i32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
        users.is_some_and(|users| users.split_whitespace().all(|user| user.parse() == Ok(owner)))
    };
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid: i32| {
            Some((pid, pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?))
        })
        .filter(|(pid, _)| {
            link(*pid, "cwd").is_ok_and(|cwd| cwd.starts_with(dir)) && is_server(*pid)
        })
        .filter(|(pid, _)| is_owners(*pid))
        .map(|(_, server)| server)
        .collect()
}
