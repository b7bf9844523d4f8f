//! Undoing what dead owners left: `schedlab restore`, and the beginning of every other command.

use std::fmt;
use std::path::PathBuf;

use super::{Lasting, Snapshot, holder};
use crate::device;
use crate::error::Error;
use crate::journal::{self, Entry, Kind, Lock, Undo};
use crate::kept;
use crate::loopdev;
use crate::root::Root;
use crate::session;

/// What became of one journal entry.
#[derive(Debug)]
pub enum Outcome {
    /// The device is as it was before the experiment.
    Restored {
        /// The device.
        device: String,
        /// What had to be written; empty if everything was right already.
        changed: Vec<String>,
    },
    /// The machine was restarted since: the kernel set everything anew, and the entry was dropped.
    OtherBoot {
        /// The device.
        device: String,
    },
    /// The device is gone, and its settings with it: one that returns comes with the kernel's settings. The entry was dropped.
    Gone {
        /// The device.
        device: String,
    },
    /// The owner is alive: nothing to do.
    Busy {
        /// The device or file.
        device: String,
        /// The owner, where it is known.
        pid: Option<u32>,
        /// Until when, where it is a setting for a while.
        lasting: Option<Lasting>,
    },
    /// A temporary loop device was detached and its file deleted.
    LoopRemoved {
        /// The file.
        file: PathBuf,
    },
    /// What a session of programs had left is gone.
    SessionEnded {
        /// The programs that were ended, by name.
        programs: Vec<String>,
        /// Where its file system was to be mounted, if it had one.
        at: Option<PathBuf>,
        /// The device from which its file system was taken, if there was one on it.
        wiped: Option<String>,
    },
    /// The settings of the processors, and the tasks that had to leave some of them, are as before.
    ProcessorsRestored {
        /// What had to be done; empty if everything was right already.
        changed: Vec<String>,
    },
    /// Files that make a setting last are as they were before a `keep` or `forget` that did not end.
    FilesPutBack {
        /// What they are about.
        about: String,
    },
    /// It did not succeed; the entry is still there.
    Failed {
        /// Why, and what to do.
        error: Error,
    },
}

impl Outcome {
    /// Whether the owner of the entry is dead, i.e. an earlier run ended uncleanly; false for a run that is going on.
    pub fn owner_is_dead(&self) -> bool {
        !matches!(self, Outcome::Busy { .. })
    }

    /// The error of an outcome that leaves something undone.
    pub fn into_error(self) -> Option<Error> {
        match self {
            Outcome::Failed { error } => Some(error),
            Outcome::Busy { device, pid, lasting: Some(lasting) } => {
                Some(Error::Held { device, pid_of_other: pid, lasting })
            }
            Outcome::Busy { device, pid, lasting: None } => Some(Error::Busy { device, pid_of_other: pid }),
            _ => None,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Restored { device, changed } if changed.is_empty() => {
                write!(f, "{device} is as it was before the experiment")
            }
            Outcome::Restored { device, changed } => write!(f, "{device} is restored: {}", changed.join(", ")),
            Outcome::OtherBoot { device } => {
                write!(f, "{device}: the machine was restarted since, so the kernel has set everything anew")
            }
            Outcome::Gone { device } => write!(f, "{device} is gone, and its settings with it"),
            Outcome::Busy { device, pid, lasting } => {
                let who = pid.map_or(String::new(), |pid| format!(" (process {pid})"));
                match lasting {
                    None => write!(f, "{device} belongs to a running experiment{who}"),
                    Some(lasting) => write!(
                        f,
                        "{device} is set by schedlab{who} {lasting}; `schedlab set {device} --end` takes it back now"
                    ),
                }
            }
            Outcome::LoopRemoved { file } => write!(f, "the temporary file {} is removed", file.display()),
            Outcome::SessionEnded { programs, at, wiped } => {
                f.write_str("the session of an experiment that did not end is cleaned up: ")?;
                if programs.is_empty() {
                    f.write_str("no program of it was running")?;
                } else {
                    write!(f, "ended {}", programs.join(", "))?;
                }
                if let Some(at) = at {
                    write!(f, "; nothing is mounted at {}", at.display())?;
                }
                wiped.as_ref().map_or(Ok(()), |device| write!(f, "; {device} holds no file system of it any more"))
            }
            Outcome::ProcessorsRestored { changed } if changed.is_empty() => {
                f.write_str("the processors' settings are as they were before the experiment")
            }
            Outcome::ProcessorsRestored { changed } => {
                write!(f, "the processors' settings are restored: {}", changed.join(", "))
            }
            Outcome::FilesPutBack { about } => {
                write!(f, "{about}: what is kept over restarts is as it was before the command that did not end")
            }
            Outcome::Failed { error } => error.fmt(f),
        }
    }
}

/// Undoes everything in the journal whose owner is dead. Sessions first: their programs may be working on a device, and a mounted loop device
/// cannot be detached. Then settings, and temporary loop devices last, since a loop device keeps its settings after its file is detached. One entry that fails does not keep the others from being undone.
///
/// # Errors
/// [`Error::Io`] when the journal's directory exists and cannot be read.
pub fn restore_all(root: &Root, others: &[Kind]) -> Result<Vec<Outcome>, Error> {
    journal::sweep(root);
    let mut outcomes = Vec::new();
    let mut dead = Vec::new();
    for key in journal::keys(root)? {
        let lock = match Lock::take(root, &key, &key) {
            Ok(lock) => lock,
            Err(Error::Busy { device, pid_of_other }) => {
                let device = device_of(root, &key).unwrap_or(device);
                let lasting = holder::lasting(root, &key);
                outcomes.push(Outcome::Busy { device, pid: pid_of_other, lasting });
                continue;
            }
            Err(error) => {
                outcomes.push(Outcome::Failed { error });
                continue;
            }
        };
        match journal::read(root, &key) {
            Ok(Some(entry)) => dead.push((lock, key, entry)),
            // Its owner ended in good order between our look at the directory and now.
            Ok(None) => lock.retire(),
            Err(error) => outcomes.push(Outcome::Failed { error }),
        }
    }
    dead.sort_by_key(|(_, _, entry)| match entry.undo {
        Undo::Session(_) => 0,
        Undo::Settings { .. } | Undo::Files { .. } | Undo::Processors(_) => 1,
        Undo::LoopFile { .. } => 2,
    });
    outcomes.extend(dead.into_iter().map(|(lock, key, entry)| undo_dead(root, &lock, &key, entry, others)));
    Ok(outcomes)
}

/// Undoes an entry whose owner is dead, under its lock.
fn undo_dead(root: &Root, lock: &Lock, key: &str, entry: Entry, others: &[Kind]) -> Outcome {
    let failed = |error| Outcome::Failed { error };
    match entry.undo {
        Undo::Session(made) => match session::undo(root, key, &made, &entry.boot_id, lock) {
            Ok(left) => Outcome::SessionEnded { programs: left.programs, at: made.mount_point(), wiped: left.wiped },
            Err(error) => failed(error),
        },
        Undo::Settings { .. } => undo_settings(root, key, entry),
        Undo::Processors(made) => match others.iter().find(|kind| kind.name == "processors") {
            Some(kind) => (kind.undo)(root, &made, &entry.boot_id, lock)
                .map_or_else(failed, |changed| Outcome::ProcessorsRestored { changed }),
            None => failed(Error::Journal { path: journal::path(root, key), why: "its kind is not known".to_string() }),
        },
        Undo::Files { about, files, directories } => {
            let undone = kept::undo(root, key, &files, &directories);
            lock.retire();
            undone.map_or_else(failed, |()| Outcome::FilesPutBack { about })
        }
        Undo::LoopFile { file } => {
            let undone = loopdev::undo(root, key, &file, &entry.boot_id, lock);
            undone.map_or_else(failed, |()| Outcome::LoopRemoved { file })
        }
    }
}

/// Undoes one entry of settings. The caller has its lock.
pub(super) fn undo_settings(root: &Root, key: &str, entry: Entry) -> Outcome {
    match try_undo_settings(root, key, entry) {
        Ok(outcome) => outcome,
        Err(error) => Outcome::Failed { error },
    }
}

fn try_undo_settings(root: &Root, key: &str, entry: Entry) -> Result<Outcome, Error> {
    let Undo::Settings { identity, device, original } = entry.undo else {
        let why = "it is not an entry of settings".to_string();
        return Err(Error::Journal { path: journal::path(root, key), why });
    };
    if entry.boot_id != root.boot_id()? {
        journal::remove(root, key)?;
        return Ok(Outcome::OtherBoot { device });
    }
    match device::name_by_identity(root, &identity, &device)? {
        None => {
            journal::remove(root, key)?;
            Ok(Outcome::Gone { device })
        }
        Some(name) => put_back(root, key, name, &original),
    }
}

fn put_back(root: &Root, key: &str, device: String, original: &Snapshot) -> Result<Outcome, Error> {
    let (changed, found) = original.put_back(root, &device);
    if !found.is_empty() {
        return Err(Error::NotRestored { device, found, journal: journal::path(root, key) });
    }
    journal::remove(root, key)?;
    Ok(Outcome::Restored { device, changed })
}

/// The user's name of what an entry is about, read without its lock.
fn device_of(root: &Root, key: &str) -> Option<String> {
    match journal::read(root, key).ok()??.undo {
        Undo::Settings { device, .. } => Some(device),
        Undo::LoopFile { file } => Some(file.display().to_string()),
        Undo::Session(made) => Some(made.device().unwrap_or_else(|| "a session of programs".to_string())),
        Undo::Processors(_) => Some("the setting of the machine's processors".to_string()),
        Undo::Files { about, .. } => Some(about),
    }
}
