//! Boots a guest and waits for its result.
//!
//! The guest's root is the machine's file tree, and its init the program that boots it. The
//! supervisor confines its kernel's process to writing in a working directory with a task and a
//! result file. Its console is a pipe, whose last lines become part of an error.
//!
//! The guest periodically writes its clock to a file, to distinguish a hang from computing.
//! Reading a pipe would wake the writer, so the guest's kernel would read its clock at times that
//! depend on the machine.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use machine::files::programs;

use crate::Image;
use crate::result::read_result;
use crate::supervisor::{self, GuestSpec, Supervisor};

/// Default of [`Boot::patience`].
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Maximum number of console lines stored.
const KEPT_LINES: usize = 30;
/// Longer console lines are split.
const LONGEST_LINE: u64 = 4096;
/// With the guest's clock at its last beat.
const BEAT: &str = "clock";
const BEAT_BYTES: u64 = 32;
/// Names the working directory in init's environment.
pub const WORKDIR_VARIABLE: &str = "SCHEDLAB_GUEST";
/// Wall clock at the start, in nanoseconds since 1970: 2030-01-01, later than any file on the
/// machine. Constant, because programs print it and file systems store it.
const WALL_CLOCK_NS: u64 = 1_893_456_000_000_000_000;
const LOOK: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeTravel {
    /// Computing takes no time: the clock stops while a process can run, and then advances to the
    /// next timer. A program that polls the clock in a loop hangs.
    #[default]
    InfiniteCpu,
    /// Computing takes as long as on this machine, waiting no time. For programs that wait in
    /// loops; not repeatable.
    Plain,
}

impl TimeTravel {
    fn parameter(self) -> &'static str {
        match self {
            TimeTravel::InfiniteCpu => "time-travel=inf-cpu",
            TimeTravel::Plain => "time-travel",
        }
    }

    fn perhaps(self) -> &'static str {
        match self {
            TimeTravel::InfiniteCpu => {
                "a program in it waits for the time in a loop, which never passes when computing takes no time"
            }
            TimeTravel::Plain => "a program in it computes for long",
        }
    }
}

#[derive(Debug, Clone)]
pub struct Boot<'a> {
    pub kernel: &'a Image,
    /// An absolute path on this machine.
    pub init: &'a Path,
    /// Init's argument, in addition to [`WORKDIR_VARIABLE`].
    pub role: &'static str,
    /// Files or directories that are not world-readable.
    pub readable: &'a [PathBuf],
    /// Even below a directory that only root may enter.
    pub reachable: &'a [PathBuf],
    pub memory_mib: u32,
    /// 1 to [`crate::MAX_CPUS`]; more than one needs a kernel with [`crate::Kernel::smp`].
    pub cpus: u32,
    /// Of random numbers in a guest with several CPUs; others have the machine's.
    pub seed: u64,
    pub time_travel: TimeTravel,
    /// Real time for which the guest may be silent.
    pub patience: Duration,
}

#[derive(Debug, Clone, Default)]
pub struct Ended {
    pub console: Vec<String>,
    /// The clock at the last beat.
    pub clock_ns: u64,
    /// Real time from start to end.
    pub real: Duration,
}

#[derive(Debug, thiserror::Error)]
pub enum BootError {
    #[error("{}: cannot {action}: {cause}", path.display())]
    Io { action: &'static str, path: PathBuf, cause: std::io::Error },
    /// The kernel's command line cannot represent the path.
    #[error("{}: a blank or a quote in the name, which a kernel's command line cannot hold; set {variable} to another directory", path.display())]
    Blank {
        path: PathBuf,
        /// The variable that sets another directory.
        variable: &'static str,
    },
    #[error("guest: the kernel panicked: {message}{}", last_words(.ended))]
    Panic { message: String, ended: Box<Ended> },
    #[error("guest: silent for {} s of real time: it hangs, or {}{}", patience.as_secs(), time_travel.perhaps(), last_words(.ended))]
    Hung { time_travel: TimeTravel, patience: Duration, ended: Box<Ended> },
    #[error("guest: ended by itself with status {status}{}", last_words(.ended))]
    Died { status: i32, ended: Box<Ended> },
    #[error("interrupted")]
    Interrupted,
}

fn last_words(ended: &Ended) -> String {
    let clock = ended.clock_ns as f64 / 1e9;
    let lines: String = ended.console.iter().map(|line| format!("\n  {line}")).collect();
    let lines = if lines.is_empty() { " (it said nothing)".to_owned() } else { lines };
    format!("; its virtual clock was at {clock:.3} s; its last words:{lines}")
}

impl Boot<'_> {
    /// Returns when the guest has powered off. It can write to `workdir`.
    pub fn run(&self, workdir: &Path, stop: &AtomicBool) -> Result<Ended, BootError> {
        self.run_watched(workdir, stop, &mut || false)
    }

    /// Like [`Boot::run`], and calls `look` several times a second and after the end. `look`
    /// returns whether there is a sign of life in the working directory.
    pub fn run_watched(
        &self,
        workdir: &Path,
        stop: &AtomicBool,
        look: &mut dyn FnMut() -> bool,
    ) -> Result<Ended, BootError> {
        let io = |action, path: &Path| {
            let path = path.to_owned();
            move |cause| BootError::Io { action, path, cause }
        };
        let workdir = workdir.canonicalize().map_err(io("find", workdir))?;
        // The program's path may contain blanks, unlike a link.
        let init = workdir.join("init");
        std::os::unix::fs::symlink(self.init, &init).map_err(io("make the link", &init))?;
        let line = self.line(&workdir, &init)?;
        let began = Instant::now();
        let spec = GuestSpec {
            parent: std::process::id(),
            workdir: workdir.clone(),
            readable: [&[self.init.to_owned()], self.readable].concat(),
            reachable: self.reachable.to_vec(),
            memory_mib: self.memory_mib,
            line,
        };
        let mut supervisor = programs::command_with_empty_env(self.init)
            .args(supervisor::arguments(&spec).map_err(io("start", self.init))?)
            .stdin(self.kernel.as_input().map_err(io("start", self.init))?)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .env("PATH", programs::path_of_the_user())
            .spawn()
            .map(Supervisor)
            .map_err(io("start", self.init))?;
        let (sender, lines) = mpsc::sync_channel(KEPT_LINES);
        let pipes: [Box<dyn std::io::Read + Send>; 2] = [
            Box::new(supervisor.0.stdout.take().expect("it was asked for as a pipe")),
            Box::new(supervisor.0.stderr.take().expect("it was asked for as a pipe")),
        ];
        for pipe in pipes {
            let sender = sender.clone();
            thread::spawn(move || {
                let mut pipe = BufReader::new(pipe);
                let mut line = Vec::new();
                while (&mut pipe)
                    .take(LONGEST_LINE)
                    .read_until(b'\n', &mut line)
                    .is_ok_and(|read| read > 0)
                {
                    if sender.send(String::from_utf8_lossy(&line).trim_end().to_owned()).is_err() {
                        return;
                    }
                    line.clear();
                }
            });
        }
        drop(sender);
        let mut state = GuestState::default();
        let end = self.wait_for_end(&workdir, &lines, &mut state, stop, look);
        state.beat(&workdir);
        if end.is_err() {
            supervisor.end();
        }
        look();
        let status = supervisor.0.wait().map_err(io("wait for", self.init))?;
        let ended = Box::new(state.ended(began.elapsed()));
        match end {
            Err(WaitError::Stopped) => Err(BootError::Interrupted),
            Err(WaitError::Silent) => Err(BootError::Hung {
                time_travel: self.time_travel,
                patience: self.patience,
                ended,
            }),
            Ok(()) => match (state.panic, status.code()) {
                (Some(message), _) => Err(BootError::Panic { message, ended }),
                (None, Some(0)) => Ok(*ended),
                (None, Some(ABORTED)) if has_halted(&ended.console) => Ok(*ended),
                (None, code) => Err(BootError::Died { status: code.unwrap_or(-1), ended }),
            },
        }
    }

    fn line(&self, workdir: &Path, init: &Path) -> Result<Vec<String>, BootError> {
        let plain = |path: &Path, variable| {
            let text = path
                .to_str()
                .filter(|text| !text.contains(|c: char| c.is_whitespace() || "\"',".contains(c)));
            text.map(str::to_owned)
                .ok_or_else(|| BootError::Blank { path: path.to_owned(), variable })
        };
        let directory = plain(workdir, "SCHEDLAB_CACHE_DIR")?;
        let mut line = vec![
            format!("mem={}M", self.memory_mib),
            "rootfstype=hostfs".to_owned(),
            "rootflags=/".to_owned(),
            "ro".to_owned(),
            "con=null".to_owned(),
            "con0=null,fd:1".to_owned(),
            "quiet".to_owned(),
            "norandmaps".to_owned(),
            "panic=-1".to_owned(),
            "noreboot".to_owned(),
            format!("uml_dir={directory}/uml/"),
            format!("init={}", plain(init, "SCHEDLAB_CACHE_DIR")?),
            self.time_travel.parameter().to_owned(),
            format!("time-travel-start={WALL_CLOCK_NS}"),
        ];
        if self.cpus > 1 {
            line.push(format!("ncpus={}", self.cpus));
            line.push(format!("seed={}", self.seed));
        }
        if has_seccomp(&self.kernel.release) {
            line.push("seccomp=auto".to_owned());
        }
        // The kernel passes unknown words to init as arguments, and pairs as its environment.
        line.extend([self.role.to_owned(), format!("{WORKDIR_VARIABLE}={directory}")]);
        Ok(line)
    }

    fn wait_for_end(
        &self,
        workdir: &Path,
        lines: &mpsc::Receiver<String>,
        state: &mut GuestState,
        stop: &AtomicBool,
        look: &mut dyn FnMut() -> bool,
    ) -> Result<(), WaitError> {
        let mut last_sign = Instant::now();
        loop {
            // Both must be called.
            if state.beat(workdir) | look() {
                last_sign = Instant::now();
            }
            match lines.recv_timeout(LOOK) {
                Ok(line) => {
                    last_sign = Instant::now();
                    state.add_line(line);
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) if last_sign.elapsed() >= self.patience => {
                    return Err(WaitError::Silent);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if stop.load(Ordering::Relaxed) {
                return Err(WaitError::Stopped);
            }
        }
    }
}

/// The status of SIGABRT in a shell's notation.
const ABORTED: i32 = 128 + 6;

/// Whether the kernel has halted, with devices shut down and data written. User-mode Linux then
/// kills its remaining processes, and on a busy machine occasionally aborts, which is harmless.
fn has_halted(console: &[String]) -> bool {
    console.last().is_some_and(|line| line.ends_with("reboot: System halted"))
}

enum WaitError {
    Stopped,
    Silent,
}

#[derive(Debug, Default)]
struct GuestState {
    lines: VecDeque<String>,
    clock_ns: u64,
    panic: Option<String>,
}

impl GuestState {
    fn add_line(&mut self, line: String) {
        // A stack trace follows the kernel's last message.
        if line.is_empty() || self.panic.is_some() {
            return;
        }
        if self.lines.len() == KEPT_LINES {
            self.lines.pop_front();
        }
        self.panic =
            line.split_once("Kernel panic - not syncing: ").map(|(_, message)| message.to_owned());
        self.lines.push_back(line);
    }

    /// Returns whether the clock has changed since the last call.
    fn beat(&mut self, workdir: &Path) -> bool {
        // The file is empty between the guest's open and write.
        let clock = read_result(workdir, BEAT, BEAT_BYTES)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok());
        let clock = clock.and_then(|text| text.trim().parse().ok());
        let beaten = clock.is_some_and(|clock| clock != self.clock_ns);
        self.clock_ns = clock.unwrap_or(self.clock_ns);
        beaten
    }

    fn ended(&self, real: Duration) -> Ended {
        Ended { console: self.lines.iter().cloned().collect(), clock_ns: self.clock_ns, real }
    }
}

/// The guest calls this periodically.
pub(crate) fn beat(workdir: &Path, clock_ns: u64) {
    // A guest whose writes fail is ended as silent.
    drop(std::fs::write(workdir.join(BEAT), clock_ns.to_string()));
}

/// Whether processes need no ptrace, which is faster: since 6.16.
fn has_seccomp(release: &str) -> bool {
    let mut numbers =
        release.split(|c: char| !c.is_ascii_digit()).map_while(|number| number.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    version >= (6, 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_kernel_whose_last_message_says_so_has_halted() {
        let has = |lines: &[&str]| {
            has_halted(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>())
        };
        assert!(has(&["mounted", "reboot: System halted"]));
        assert!(
            !has(&["reboot: System halted", "Kernel mode fault"])
                && !has(&["mounted"])
                && !has(&[])
        );
    }

    #[test]
    fn the_last_lines_are_kept() {
        let mut state = GuestState::default();
        for n in 0..100 {
            state.add_line(format!("line {n}"));
        }
        assert_eq!((state.lines.len(), state.lines[0].as_str()), (KEPT_LINES, "line 70"));
    }

    #[test]
    fn a_clock_that_moves_is_a_sign_of_life_and_one_that_stands_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let mut state = GuestState::default();
        assert!(!state.beat(dir.path()), "nothing was written yet");
        beat(dir.path(), 5);
        assert!(state.beat(dir.path()) && !state.beat(dir.path()));
        std::fs::write(dir.path().join(BEAT), "").unwrap();
        assert!(!state.beat(dir.path()), "a beat that is being written");
        beat(dir.path(), 7);
        assert!(state.beat(dir.path()));
        assert_eq!(state.clock_ns, 7);
    }

    #[test]
    fn a_panic_is_known_by_its_first_words() {
        let mut state = GuestState::default();
        state.add_line(
            "[    0.1] Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100"
                .to_owned(),
        );
        state.add_line("Kernel panic - not syncing: another one".to_owned());
        state.add_line(" [<603783c0>] ? dump_stack_lvl+0x44/0x50".to_owned());
        assert_eq!(state.panic.as_deref(), Some("Attempted to kill init! exitcode=0x00000100"));
        assert_eq!(state.lines.len(), 1);
    }

    #[test]
    fn only_newer_kernels_are_asked_to_do_without_tracing() {
        let can = ["6.1.192-schedlab", "6.12.117", "6.16.0", "7.2.1-schedlab", "nonsense"]
            .map(has_seccomp);
        assert_eq!(can, [false, false, true, true, false]);
    }
}
