//! A CPU scheduler loaded by a program: sched_ext, from Linux 6.12 on.
//!
//! The scheduler is in effect while its program runs; the kernel's own returns when the program
//! exits or the scheduler stalls a task. The program belongs to the session, so the journal needs
//! no entry. The kernel ejects a scheduler silently, so trials check for it.
//!
//! Source: Documentation/scheduler/sched-ext.rst (`/sys/kernel/sched_ext/state`, `root/ops`,
//! `root/events`).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::Error;
use crate::Root;
use crate::files::programs;
use crate::session::{Launch, Running, Session};
use crate::settings::Problem;

/// Timeout for loading and for unloading.
const TIMEOUT: Duration = Duration::from_secs(10);

const POLL_INTERVAL: Duration = Duration::from_millis(10);

const NAME: &str = "sched_ext";
const BYPASSED: &str = "SCX_EV_BYPASS_DISPATCH";

/// CAP_SYS_ADMIN and CAP_BPF.
const MAY_LOAD: u64 = 1 << 21 | 1 << 39;

#[derive(Debug)]
pub(super) struct Loaded {
    root: Root,
    binary: PathBuf,
    running: Mutex<Running>,
    /// The kernel's name for it.
    ops: Option<String>,
    /// Dispatches in bypass mode up to the last check.
    bypassed: AtomicU64,
}

fn dir(root: &Root) -> PathBuf {
    root.sys("kernel/sched_ext")
}

/// `enabled`, `enabling`, `disabling` or `disabled`; `None` without sched_ext.
pub(super) fn state(root: &Root) -> Option<String> {
    root.read_optional(dir(root).join("state"))
}

pub(super) fn ops(root: &Root) -> Option<String> {
    root.read_optional(dir(root).join("root/ops"))
}

/// Dispatches that the kernel made itself in place of the scheduler, if it counts them.
fn bypassed(root: &Root) -> u64 {
    let events = root.read_optional(dir(root).join("root/events")).unwrap_or_default();
    let mut words = events.split_ascii_whitespace().skip_while(|word| *word != BYPASSED);
    words.nth(1).and_then(|count| count.parse().ok()).unwrap_or(0)
}

fn refused(binary: &Path, why: String) -> Error {
    Error::Cpu { what: format!("sched_ext:{}", binary.display()), why }
}

/// `ours` is this experiment's scheduler.
pub(super) fn admit(root: &Root, binary: &Path, ours: Option<&Loaded>) -> Result<(), Error> {
    if state(root).is_none() {
        let release = root.kernel_release();
        let why = format!(
            "this kernel ({release}) has no sched_ext (no {}); it requires Linux 6.12 or later, built with CONFIG_SCHED_CLASS_EXT",
            dir(root).display()
        );
        return Err(refused(binary, why));
    }
    find(root, binary)?;
    if !may_load(root) {
        return Err(refused(
            binary,
            "only root may load a scheduler: run as root (sudo schedlab ...)".to_string(),
        ));
    }
    match other(root, ours) {
        Some(why) => Err(refused(binary, why)),
        None => Ok(()),
    }
}

fn other(root: &Root, ours: Option<&Loaded>) -> Option<String> {
    let state = state(root).filter(|state| state != "disabled")?;
    let ops = ops(root);
    if ours.is_some_and(|ours| ours.ops == ops) {
        return None;
    }
    let ops = ops.unwrap_or_else(|| "without a name".to_string());
    Some(format!(
        "another sched_ext scheduler, {ops}, is {state}: end its program first (e.g. systemctl stop scx)"
    ))
}

fn may_load(root: &Root) -> bool {
    let status = root.read_optional(root.proc("self/status")).unwrap_or_default();
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .is_none_or(|set| set & MAY_LOAD != 0)
}

/// A path, or a name in PATH, never in the current directory.
fn find(root: &Root, binary: &Path) -> Result<PathBuf, Error> {
    let name = binary.to_str().filter(|_| binary.components().count() == 1);
    let path = match name {
        Some(name) => programs::find_for_the_user(name)
            .or_else(|| root.tool(name))
            .unwrap_or_else(|| name.into()),
        None => std::path::absolute(binary).map_err(Error::io("find", binary))?,
    };
    if !path.is_absolute() {
        let why = "not found in PATH: give its path with a slash, e.g. sched_ext:./scx_simple";
        return Err(refused(binary, why.to_string()));
    }
    let meta = fs::metadata(&path).map_err(|error| {
        let why = format!("no such program ({error}): name the file that loads the scheduler, e.g. sched_ext:/usr/bin/scx_simple");
        refused(binary, why)
    })?;
    if !meta.is_file() || meta.permissions().mode() & 0o111 == 0 {
        let why =
            "not an executable program: name the file that loads the scheduler (chmod +x it?)"
                .to_string();
        return Err(refused(binary, why));
    }
    Ok(path)
}

/// Waits until the scheduler is in effect. Failures other than [`Error::Io`] are problems.
pub(super) fn load(
    root: &Root,
    binary: &Path,
    session: &Session,
) -> Result<Result<Loaded, Problem>, Error> {
    let failed = |error: String| {
        Ok(Err(Problem::WriteFailed {
            attribute: NAME.to_string(),
            wanted: binary.display().to_string(),
            error,
        }))
    };
    if let Some(why) = other(root, None) {
        return failed(why);
    }
    let program = match find(root, binary) {
        Ok(program) => program,
        Err(error) => return failed(error.to_string()),
    };
    let mut running = match session.start(&Launch { program, ..Launch::default() }) {
        Ok(running) => running,
        Err(error) => return failed(error.to_string()),
    };
    let since = Instant::now();
    loop {
        if state(root).as_deref() == Some("enabled") {
            let ops = ops(root);
            return Ok(Ok(Loaded {
                root: root.clone(),
                binary: binary.into(),
                running: Mutex::new(running),
                ops,
                bypassed: AtomicU64::new(bypassed(root)),
            }));
        }
        let is_alive = running.is_alive();
        if !is_alive || since.elapsed() > TIMEOUT {
            let said = last_words(&mut running);
            let found = state(root).unwrap_or_else(|| "not there".to_string());
            let how = if is_alive {
                format!("did not load it within {} s", TIMEOUT.as_secs())
            } else {
                "ended".to_string()
            };
            end(root, running)?;
            return failed(format!("its program {how}, and sched_ext is {found}; output: {said}"));
        }
        thread::sleep(POLL_INTERVAL);
    }
}

impl Loaded {
    pub(super) fn binary(&self) -> &Path {
        &self.binary
    }

    pub(super) fn check(&self) -> Vec<Problem> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let (state, ops) =
            (state(&self.root).unwrap_or_else(|| "not there".to_string()), ops(&self.root));
        let bypassed = bypassed(&self.root);
        let before = self.bypassed.swap(bypassed, Ordering::Relaxed);
        let found = if !running.is_alive() {
            format!(
                "its program has ended, and sched_ext is {state}; output: {}",
                last_words(&mut running)
            )
        } else if state != "enabled" {
            // Ejected by the kernel, which logs the reason, as most programs do.
            format!("{state} (see dmesg); output of its program: {}", last_words(&mut running))
        } else if ops != self.ops {
            format!("another scheduler, {}", ops.unwrap_or_else(|| "without a name".to_string()))
        } else if bypassed > before {
            format!("bypassed by the kernel for {} dispatches", bypassed - before)
        } else {
            // Frees the buffer of its output.
            let _ = running.stderr();
            return Vec::new();
        };
        let wanted = format!("enabled ({})", self.ops.as_deref().unwrap_or("without a name"));
        vec![Problem::ChangedMeanwhile { attribute: NAME.to_string(), wanted, found }]
    }

    /// Waits for the kernel's own scheduler; [`Error::Cpu`] if it does not return.
    pub(super) fn end(self) -> Result<(), Error> {
        end(&self.root, self.running.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

fn end(root: &Root, running: Running) -> Result<(), Error> {
    running.wait(Duration::ZERO, &AtomicBool::new(false))?;
    let since = Instant::now();
    while let Some(state) = state(root).filter(|state| state != "disabled") {
        if since.elapsed() > TIMEOUT {
            let why = format!(
                "{} s after its program ended the scheduler is still {state}: another program uses it; see `ps` and dmesg, or \
                 remove it with SysRq-S",
                TIMEOUT.as_secs()
            );
            return Err(Error::Cpu { what: NAME.to_string(), why });
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

fn last_words(running: &mut Running) -> String {
    let said = [running.stderr(), running.stdout()];
    let last = said.iter().find_map(|text| text.lines().rev().find(|line| !line.trim().is_empty()));
    last.map_or("nothing".to_string(), |line| line.trim().chars().take(200).collect())
}
