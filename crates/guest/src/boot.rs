//! Booting a guest and waiting for its result.
//!
//! A guest's root is the machine's own file tree, read-only, so that the program that boots it is also its init; the one directory
//! that it can write to is its working directory. What it has to do stands there in a file before it starts, what came of it in
//! another when it has ended. Its console is a pipe, whose last lines tell what went wrong. The beats of its clock, by which a guest that
//! hangs is told from one that works for long, stand in a file: whoever empties a pipe wakes its writer, and the guest's kernel would be
//! interrupted, and look at its clock, whenever the machine happens to have read a beat.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::Kernel;
use crate::warden::{self, Warden};

/// How long a guest may be silent, in real time, unless the caller says otherwise.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Lines of the console that are kept.
const KEPT_LINES: usize = 30;
/// The file in the working directory with the guest's clock at its last beat.
const BEAT: &str = "clock";
/// The variable of init's environment that names the working directory.
pub const WORKDIR_VARIABLE: &str = "SCHEDLAB_GUEST";
/// The guest's wall clock when it starts, in nanoseconds since 1970: 2030-01-01, after anything that lies on the machine. It is always
/// the same, since programs show it and file systems keep it.
const WALL_CLOCK_NS: u64 = 1_893_456_000_000_000_000;
/// How often the caller's wish to stop is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// How time passes in a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeTravel {
    /// Computing takes no time: the clock stands still while anybody can run, and jumps to the next timer when nobody can. A program
    /// that waits for the time in a loop hangs.
    #[default]
    InfiniteCpu,
    /// Computing takes as long as it takes on this machine; waiting takes no time. For programs that wait in loops; not repeatable.
    Plain,
}

impl TimeTravel {
    fn parameter(self) -> &'static str {
        match self {
            TimeTravel::InfiniteCpu => "time-travel=inf-cpu",
            TimeTravel::Plain => "time-travel",
        }
    }

    /// Why a guest may be silent that does not hang.
    fn perhaps(self) -> &'static str {
        match self {
            TimeTravel::InfiniteCpu => {
                "a program in it waits for the time in a loop, which never passes when computing takes no time"
            }
            TimeTravel::Plain => "a program in it computes for long",
        }
    }
}

/// A guest that is to be booted.
#[derive(Debug, Clone)]
pub struct Boot<'a> {
    /// Its kernel.
    pub kernel: &'a Kernel,
    /// The program that becomes its init: an absolute path of this machine.
    pub init: &'a Path,
    /// The init's argument; [`WORKDIR_VARIABLE`] in its environment is the working directory.
    pub role: &'static str,
    /// Its memory in MiB.
    pub memory_mib: u32,
    /// How time passes.
    pub time_travel: TimeTravel,
    /// How long it may be silent.
    pub patience: Duration,
}

/// How a guest ended.
#[derive(Debug, Clone, Default)]
pub struct Ended {
    /// The last lines of its console.
    pub console: Vec<String>,
    /// Its clock at the last beat, in nanoseconds.
    pub clock_ns: u64,
    /// Real time from start to end.
    pub real: Duration,
}

/// Why a guest gave no result.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// The working directory or the program could not be used.
    #[error("{}: cannot {action}: {cause}", path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's answer.
        cause: std::io::Error,
    },
    /// The kernel's command line has no way to write it.
    #[error("{}: a blank or a quote in the name, which a kernel's command line cannot hold; set {variable} to another directory", path.display())]
    Blank {
        /// The directory.
        path: PathBuf,
        /// What names another one.
        variable: &'static str,
    },
    /// The kernel stopped with a panic.
    #[error("guest: the kernel panicked: {message}{}", last_words(.ended))]
    Panic {
        /// The kernel's own words.
        message: String,
        /// What was seen until then.
        ended: Box<Ended>,
    },
    /// It printed nothing for too long.
    #[error("guest: silent for {} s of real time: it hangs, or {}{}", patience.as_secs(), time_travel.perhaps(), last_words(.ended))]
    Hung {
        /// How time passed in it.
        time_travel: TimeTravel,
        /// How long it was waited for.
        patience: Duration,
        /// What was seen until then.
        ended: Box<Ended>,
    },
    /// It ended, but not by switching itself off.
    #[error("guest: ended by itself with status {status}{}", last_words(.ended))]
    Died {
        /// The status of its process.
        status: i32,
        /// What was seen until then.
        ended: Box<Ended>,
    },
    /// The caller asked to stop.
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
    /// Boots the guest and waits until it has switched itself off. `workdir` is the directory that it can write to.
    ///
    /// # Errors
    /// When it did not come to that.
    pub fn run(&self, workdir: &Path, stop: &AtomicBool) -> Result<Ended, BootError> {
        self.run_watched(workdir, stop, &mut || false)
    }

    /// The same; `look` is called many times a second while the guest runs and once after its end, and says whether it has seen a sign
    /// of life in the working directory.
    ///
    /// # Errors
    /// As for [`Boot::run`].
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
        // The program's own path may hold blanks; a link to it in the working directory does not.
        let init = workdir.join("init");
        std::os::unix::fs::symlink(self.init, &init).map_err(io("make the link", &init))?;
        let line = self.line(&workdir, &init)?;
        let began = Instant::now();
        let mut warden = Command::new(self.init)
            .args(warden::arguments(&workdir, &self.kernel.linux, &line))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| name == "TMPDIR" || name == "PATH"))
            .spawn()
            .map(Warden)
            .map_err(io("start", self.init))?;
        let (tell, told) = mpsc::channel();
        let pipes: [Box<dyn std::io::Read + Send>; 2] = [
            Box::new(warden.0.stdout.take().expect("it was asked for as a pipe")),
            Box::new(warden.0.stderr.take().expect("it was asked for as a pipe")),
        ];
        for pipe in pipes {
            let tell = tell.clone();
            thread::spawn(move || {
                for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
                    if tell.send(String::from_utf8_lossy(&line).trim_end().to_owned()).is_err() {
                        return;
                    }
                }
            });
        }
        drop(tell);
        let mut seen = Seen::default();
        let heard = self.listen(&workdir, &told, &mut seen, stop, look);
        seen.beat(&workdir);
        if heard.is_err() {
            warden.end();
        }
        look();
        let status = warden.0.wait().map_err(io("wait for", self.init))?;
        let ended = Box::new(seen.ended(began.elapsed()));
        match heard {
            Err(Quiet::Stopped) => Err(BootError::Interrupted),
            Err(Quiet::TooLong) => {
                Err(BootError::Hung { time_travel: self.time_travel, patience: self.patience, ended })
            }
            Ok(()) => match (seen.panic, status.code()) {
                (Some(message), _) => Err(BootError::Panic { message, ended }),
                (None, Some(0)) => Ok(*ended),
                (None, code) => Err(BootError::Died { status: code.unwrap_or(-1), ended }),
            },
        }
    }

    /// The kernel's command line.
    fn line(&self, workdir: &Path, init: &Path) -> Result<Vec<String>, BootError> {
        let plain = |path: &Path, variable| {
            let text = path.to_str().filter(|text| !text.contains(|c: char| c.is_whitespace() || "\"',".contains(c)));
            text.map(str::to_owned).ok_or_else(|| BootError::Blank { path: path.to_owned(), variable })
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
        if has_seccomp(&self.kernel.release) {
            line.push("seccomp=auto".to_owned());
        }
        // Words that the kernel does not know become the init's arguments, and pairs its environment.
        line.extend([self.role.to_owned(), format!("{WORKDIR_VARIABLE}={directory}")]);
        Ok(line)
    }

    fn listen(
        &self,
        workdir: &Path,
        told: &mpsc::Receiver<String>,
        seen: &mut Seen,
        stop: &AtomicBool,
        look: &mut dyn FnMut() -> bool,
    ) -> Result<(), Quiet> {
        let mut heard = Instant::now();
        loop {
            // Both are asked: what they have seen counts once.
            if seen.beat(workdir) | look() {
                heard = Instant::now();
            }
            match told.recv_timeout(LOOK) {
                Ok(line) => {
                    heard = Instant::now();
                    seen.hear(line);
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) if heard.elapsed() >= self.patience => return Err(Quiet::TooLong),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if stop.load(Ordering::Relaxed) {
                return Err(Quiet::Stopped);
            }
        }
    }
}

/// Why nobody listens any more.
enum Quiet {
    Stopped,
    TooLong,
}

/// What the console said.
#[derive(Debug, Default)]
struct Seen {
    lines: VecDeque<String>,
    clock_ns: u64,
    panic: Option<String>,
}

impl Seen {
    fn hear(&mut self, line: String) {
        // What the kernel says after its last sentence is where it stood, not why.
        if line.is_empty() || self.panic.is_some() {
            return;
        }
        if self.lines.len() == KEPT_LINES {
            self.lines.pop_front();
        }
        self.panic = line.split_once("Kernel panic - not syncing: ").map(|(_, message)| message.to_owned());
        self.lines.push_back(line);
    }

    /// Looks at the guest's clock; whether it has beaten since the last time.
    fn beat(&mut self, workdir: &Path) -> bool {
        // Between the guest's opening and writing the file is empty, which is no beat.
        let clock = std::fs::read_to_string(workdir.join(BEAT)).ok().and_then(|text| text.trim().parse().ok());
        let beaten = clock.is_some_and(|clock| clock != self.clock_ns);
        self.clock_ns = clock.unwrap_or(self.clock_ns);
        beaten
    }

    fn ended(&self, real: Duration) -> Ended {
        Ended { console: self.lines.iter().cloned().collect(), clock_ns: self.clock_ns, real }
    }
}

/// Tells the machine outside what time it is in the guest: to be called inside, now and then.
pub(crate) fn beat(workdir: &Path, clock_ns: u64) {
    // Closing the file is what brings it to the machine. Where that fails nobody is told, and the guest is ended for its silence.
    drop(std::fs::write(workdir.join(BEAT), clock_ns.to_string()));
}

/// Whether this User-mode Linux can run processes without tracing them, which is faster: since 6.16.
fn has_seccomp(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|number| number.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    version >= (6, 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept() {
        let mut seen = Seen::default();
        for n in 0..100 {
            seen.hear(format!("line {n}"));
        }
        assert_eq!((seen.lines.len(), seen.lines[0].as_str()), (KEPT_LINES, "line 70"));
    }

    #[test]
    fn a_clock_that_moves_is_a_sign_of_life_and_one_that_stands_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let mut seen = Seen::default();
        assert!(!seen.beat(dir.path()), "nothing was written yet");
        beat(dir.path(), 5);
        assert!(seen.beat(dir.path()) && !seen.beat(dir.path()));
        std::fs::write(dir.path().join(BEAT), "").unwrap();
        assert!(!seen.beat(dir.path()), "a beat that is being written");
        beat(dir.path(), 7);
        assert!(seen.beat(dir.path()));
        assert_eq!(seen.clock_ns, 7);
    }

    #[test]
    fn a_panic_is_known_by_its_first_words() {
        let mut seen = Seen::default();
        seen.hear("[    0.1] Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100".to_owned());
        seen.hear("Kernel panic - not syncing: another one".to_owned());
        seen.hear(" [<603783c0>] ? dump_stack_lvl+0x44/0x50".to_owned());
        assert_eq!(seen.panic.as_deref(), Some("Attempted to kill init! exitcode=0x00000100"));
        assert_eq!(seen.lines.len(), 1);
    }

    #[test]
    fn only_newer_kernels_are_asked_to_do_without_tracing() {
        let can = ["6.1.192-schedlab", "6.12.117", "6.16.0", "7.2.1-schedlab", "nonsense"].map(has_seccomp);
        assert_eq!(can, [false, false, true, true, false]);
    }
}
