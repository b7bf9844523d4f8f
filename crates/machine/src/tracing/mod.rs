//! A tracefs instance for one trace: separate buffers, events and filters.
//!
//! It outlives its process and its events cost time, so it is journaled before it is created. The
//! entry contains no path: the instance with the entry's name is removed, if the name has
//! schedlab's form and the process in it has exited. BPF programs and maps end with their process,
//! and need no entry.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::files::Dir;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::journal::payload::{Payload, expect};
use crate::journal::{self, Abandoned, Entry, Kind, Lock, Stage, Undone};
use crate::root::Root;

/// Before process id, its start time and a number.
const NAMES: &str = "schedlab-record-";

/// Instances created by this process.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// An exited process must close the buffers before removal.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

pub const KIND: Kind = Kind {
    name: "tracing-instance",
    stage: Stage::Settings,
    single_use: Some(NAMES),
    subject: |entry| entry.payload("tracing-instance").map(|Made { instance }| describe(&instance)),
    undo: |root, Abandoned { key, entry, lock }| {
        let Made { instance } = entry.expect(root, "tracing-instance", key)?;
        let owner = Owner::of_name(&instance).filter(|owner| owner.is_alive(root));
        if let Some(Owner { pid, .. }) = owner {
            return Err(Error::Busy { device: describe(&instance), pid_of_other: Some(pid) });
        }
        undo(root, &instance, &entry.boot_id, lock)?;
        Ok(Box::new(Removed { instance }))
    },
};

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Made {
    instance: String,
}

impl Payload for Made {
    /// The entry's name, which no other program uses.
    fn check(&self, _: &Root, key: &str) -> Result<(), String> {
        let Made { instance } = self;
        let is_ours = instance == key && Owner::of_name(instance).is_some();
        expect(
            is_ours,
            "instance",
            instance,
            "schedlab-record-PROCESS-START-NUMBER, as the entry is named",
        )
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Owner {
    pid: u32,
    /// In ticks since boot; unique together with the id.
    start: u64,
}

impl Owner {
    fn current(root: &Root) -> Owner {
        let pid = std::process::id();
        Owner { pid, start: start_of(root, pid).unwrap_or(0) }
    }

    fn of_name(name: &str) -> Option<Owner> {
        let is_number =
            |word: &&str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        let words: Vec<&str> = name.strip_prefix(NAMES)?.split('-').collect();
        let [pid, start, number] = words[..] else { return None };
        [pid, start, number].iter().all(is_number).then_some(())?;
        Some(Owner { pid: pid.parse().ok()?, start: start.parse().ok()? })
    }

    fn is_alive(&self, root: &Root) -> bool {
        start_of(root, self.pid) == Some(self.start)
    }
}

#[derive(Debug)]
pub struct Removed {
    pub instance: String,
}

impl Undone for Removed {}

impl fmt::Display for Removed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is removed", describe(&self.instance))
    }
}

/// Removed on drop, once its files are closed.
#[derive(Debug)]
pub struct TracingInstance {
    root: Root,
    dir: Dir,
    name: String,
    lock: Lock,
}

impl TracingInstance {
    /// [`Error::NoTracefs`], [`Error::Io`], and the errors of writing the journal.
    pub fn create(root: &Root) -> Result<TracingInstance, Error> {
        let dir = instances(root)?;
        let Owner { pid, start } = Owner::current(root);
        let name = format!("{NAMES}{pid}-{start}-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let lock = Lock::take(root, &name, &describe(&name))?;
        let made = Made { instance: name.clone() };
        let entry = Entry::new(root, KIND.name, &made)
            .and_then(|entry| journal::write(root, &name, &entry));
        entry.inspect_err(|_| lock.retire())?;
        // From here on, its `Drop` cleans up.
        let instance = TracingInstance { root: root.clone(), dir, name, lock };
        let made = root.files().make_dir(&instance.dir, &instance.name);
        made.map_err(Error::io("create", instance.path()))?;
        Ok(instance)
    }

    pub fn path(&self) -> PathBuf {
        self.dir.file(&self.name)
    }

    /// Dropping it only removes a name in these directories.
    pub fn removes_in(&self) -> Vec<PathBuf> {
        [vec![self.dir.path().to_path_buf()], journal::directories(&self.root)].concat()
    }
}

impl Drop for TracingInstance {
    /// Failures stay in the journal.
    fn drop(&mut self) {
        let _ =
            self.root.boot_id().and_then(|boot| undo(&self.root, &self.name, &boot, &self.lock));
    }
}

/// Removes the instance, entry and `lock`. A crash can come between any two steps, so each may
/// already have been done.
fn undo(root: &Root, name: &str, boot_id: &str, lock: &Lock) -> Result<(), Error> {
    if boot_id == root.boot_id()? {
        remove(root, name)?;
    }
    journal::remove(root, name)?;
    lock.retire();
    Ok(())
}

fn remove(root: &Root, name: &str) -> Result<(), Error> {
    let dir = instances(root)?;
    let since = Instant::now();
    loop {
        match root.files().remove_dir(&dir, name) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error)
                if error.kind() == io::ErrorKind::ResourceBusy
                    && since.elapsed() < CLOSE_TIMEOUT =>
            {
                thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(Error::io("remove", dir.file(name))(error)),
        }
    }
}

fn instances(root: &Root) -> Result<Dir, Error> {
    let places =
        ["kernel/tracing/instances", "kernel/debug/tracing/instances"].map(|place| root.sys(place));
    let place = places.iter().find(|place| place.is_dir()).ok_or(Error::NoTracefs)?;
    Ok(Dir::open(place)?)
}

fn describe(instance: &str) -> String {
    format!("the tracing instance {instance}")
}

/// The start time in ticks since boot.
fn start_of(root: &Root, pid: u32) -> Option<u64> {
    start_in(&root.read_optional(root.proc(format!("{pid}/stat")))?)
}

/// Field 22 of /proc/PID/stat; the second is a name that may contain parentheses.
pub fn start_in(stat: &str) -> Option<u64> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
pub(crate) mod tests;
