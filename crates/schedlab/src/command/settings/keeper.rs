//! The background process that holds a temporary setting (`schedlab set --for`).
//!
//! The binary re-executes itself with a hidden subcommand and inherits three descriptors only. The
//! keeper calls setsid, takes the device's locks, writes, and reports over a pipe. The command
//! prints the report and then releases the keeper by a byte over the other pipe; until then the end
//! of either process reverts the setting. It ends by `CLOCK_BOOTTIME`, which counts suspended time,
//! or on SIGTERM or SIGINT, and ignores SIGHUP; it then restores the values and removes the journal
//! entry. After `kill -9` the entry remains for `schedlab restore`. A reboot resets sysfs anyway.

use std::env;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{self, PathBuf};
use std::process::{Child, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use machine::Root;
use machine::device::{self, Device};
use machine::files::programs;
use machine::restore_all;
use machine::settings::{Change, Done, Held, Lasting, Setting};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::words::{failed, read};
use crate::cli::{DEFAULT_STATE_DIR, STATE_DIR};
use crate::failure::{FAILED, REACHED, USAGE, status_of, usage};

/// The hidden subcommand.
const ROLE: &str = "setting-keeper";

#[derive(Debug, Serialize, Deserialize)]
enum KeeperReply {
    Set { done: Done, lasting: Lasting },
    Refused { message: String, status: u8 },
}

/// Reverts the setting if dropped before its release.
pub(super) struct HeldSetting {
    pub(super) done: Done,
    pub(super) lasting: Lasting,
    pub(super) pid: u32,
    keeper: Child,
}

impl HeldSetting {
    pub(super) fn release(mut self) -> Result<()> {
        let mut pipe = self.keeper.stdin.take().expect("the keeper was started with a pipe");
        pipe.write_all(b"!")
            .context("keeper: the process that holds the temporary setting has ended; see `schedlab restore`")
    }
}

/// The keeper owns the setting when this returns.
pub(super) fn start(
    root: &Root,
    device: &Device,
    setting: &Setting,
    duration: Duration,
) -> Result<HeldSetting> {
    let exe = env::current_exe().context("schedlab: cannot find its own executable")?;
    let state = path::absolute(root.state("")).context("state directory: no absolute path")?;
    let scheduler = setting.scheduler.iter().map(|name| format!("scheduler={name}"));
    let named = setting.tunables.iter().map(|(name, value)| format!("{name}={value}"));
    let mut keeper = programs::self_command(&exe)
        .arg(ROLE)
        .env(STATE_DIR, state)
        .arg(&device.path)
        .arg(duration.as_millis().to_string())
        .args(scheduler.chain(named))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("keeper: cannot start the process that holds the setting")?;
    let pid = keeper.id();
    let mut line = String::new();
    let pipe = keeper.stdout.take().expect("it was started with a pipe");
    let heard = BufReader::new(pipe).read_line(&mut line);
    match heard.ok().and_then(|_| serde_json::from_str(&line).ok()) {
        Some(KeeperReply::Set { done, lasting }) => Ok(HeldSetting { done, lasting, pid, keeper }),
        Some(KeeperReply::Refused { message, status }) => {
            let _ = keeper.wait();
            Err(if status == USAGE { usage(message) } else { anyhow!(message) })
        }
        None => {
            // The keeper was killed: restore what it left.
            drop(keeper.stdin.take());
            let _ = keeper.wait();
            let outcomes = restore_all(root, &machine::cpu::UNDO)?;
            let left: Vec<String> = outcomes.iter().map(ToString::to_string).collect();
            bail!(
                "keeper: the process that holds the setting was killed; nothing is set ({})",
                left.join("; ")
            )
        }
    }
}

pub(crate) fn dispatch() -> Option<ExitCode> {
    let mut words = env::args_os().skip(1);
    if words.next().is_none_or(|role| role != ROLE) {
        return None;
    }
    let state = env::var_os(STATE_DIR).map_or_else(|| DEFAULT_STATE_DIR.into(), PathBuf::from);
    let root = Root::real().with_state_dir(&state);
    let held = Request::read(words).and_then(|request| run(&root, &request));
    Some(lab::inside::status(held))
}

struct Request {
    device: String,
    duration: Duration,
    values: Vec<String>,
}

impl Request {
    fn read(words: impl Iterator<Item = OsString>) -> Result<Request> {
        let mut words = words.map(|word| word.to_string_lossy().into_owned());
        let (device, ms) = (words.next(), words.next().and_then(|ms| ms.parse().ok()));
        let (device, ms) = device
            .zip(ms)
            .with_context(|| format!("{ROLE}: expected DEVICE MILLISECONDS VALUE…"))?;
        Ok(Request { device, duration: Duration::from_millis(ms), values: words.collect() })
    }
}

fn run(root: &Root, args: &Request) -> Result<u8> {
    // Fails only for a session leader, which it should be anyway.
    let _ = rustix::process::setsid();
    env::set_current_dir("/").context("/ is gone")?;
    let ending = Ending::prepare()?;
    let held = match hold(root, args) {
        Ok(held) => held,
        Err(error) => {
            let status = status_of(&error);
            tell(&KeeperReply::Refused { message: format!("{error:#}"), status })?;
            return Ok(status);
        }
    };
    let null =
        OpenOptions::new().read(true).write(true).open("/dev/null").context("/dev/null is gone")?;
    rustix::stdio::dup2_stderr(&null)?;
    let told = tell(&KeeperReply::Set { done: held.done().clone(), lasting: held.lasting() });
    if told.is_err() || !released() {
        held.end()?;
        return Ok(FAILED);
    }
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    let waited = ending.wait(held.lasting());
    // Even if waiting failed: an unattended setting must not stay.
    held.end()?;
    waited.map(|()| REACHED)
}

fn hold(root: &Root, args: &Request) -> Result<Held> {
    let device = device::find(root, &args.device).map_err(failed)?;
    let change = Change::plan(root, &device, &read(&args.values)?).map_err(failed)?;
    change.hold(args.duration).map_err(failed)
}

fn tell(what: &KeeperReply) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(what)?)?;
    Ok(out.flush()?)
}

/// False if the parent has died.
fn released() -> bool {
    matches!(io::stdin().read(&mut [0]), Ok(1))
}

/// The time or a signal. Prepared before anything is set, so that no signal is missed.
struct Ending {
    signals: UnixStream,
}

impl Ending {
    fn prepare() -> Result<Ending> {
        let (signals, handler) = UnixStream::pair().context("socket: cannot create")?;
        for signal in [SIGTERM, SIGINT] {
            let handler = handler.try_clone().context("socket: cannot copy")?;
            signal_hook::low_level::pipe::register(signal, handler)
                .context("signal handler: cannot install")?;
        }
        signal_hook::flag::register(SIGHUP, Arc::new(AtomicBool::new(false)))
            .context("signal handler: cannot install")?;
        Ok(Ending { signals })
    }

    fn wait(&self, lasting: Lasting) -> Result<()> {
        let timer = timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC)
            .context("timer: cannot create")?;
        let at = Timespec {
            tv_sec: i64::try_from(lasting.until_ms / 1000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(lasting.until_ms % 1000 * 1_000_000).expect("below a second"),
        };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: at };
        timerfd_settime(&timer, TimerfdTimerFlags::ABSTIME, &once).context("timer: cannot set")?;
        loop {
            let mut either = [
                PollFd::from_borrowed_fd(timer.as_fd(), PollFlags::IN),
                PollFd::new(&self.signals, PollFlags::IN),
            ];
            match poll(&mut either, None) {
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno).context("keeper: cannot wait"),
            }
        }
    }
}
