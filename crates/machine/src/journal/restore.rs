//! Undoes what dead owners left, each entry by its kind.

use std::any::Any;
use std::fmt;

use super::lock::{self, Lock};
use super::store::{self, Entry};
use crate::error::Error;
use crate::lasting::Lasting;
use crate::root::Root;

#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub name: &'static str,
    pub stage: Stage,
    /// Prefix of keys used only once; their lock files are deleted with the entry.
    pub single_use: Option<&'static str>,
    /// The user's name for it.
    pub subject: fn(&Entry) -> Option<String>,
    /// Undoes and removes an entry. A crash can come between any two steps, so each may already
    /// have been done.
    pub undo: Undo,
}

/// Returns what was done.
pub type Undo = fn(&Root, &Abandoned<'_>) -> Result<Box<dyn Undone>, Error>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// First: programs may use a device, and mounted devices cannot be detached.
    Programs,
    Settings,
    /// Last: settings of a loop device survive detaching its file.
    Devices,
}

/// A dead owner's entry, under our lock.
#[derive(Debug)]
pub struct Abandoned<'a> {
    pub key: &'a str,
    pub entry: &'a Entry,
    pub lock: &'a Lock,
}

/// A sentence for the user, and facts for code that knows the type.
pub trait Undone: Any + fmt::Debug + fmt::Display {}

#[derive(Debug)]
pub enum Outcome {
    /// The entry is gone.
    Undone(Box<dyn Undone>),
    /// The owner is alive.
    Busy { subject: String, pid: Option<u32>, lasting: Option<Lasting> },
    /// The entry still exists.
    Failed { error: Error },
}

impl Outcome {
    /// I.e. an earlier run ended uncleanly.
    pub fn owner_is_dead(&self) -> bool {
        !matches!(self, Outcome::Busy { .. })
    }

    /// If it is of this type.
    pub fn undone<T: Undone>(&self) -> Option<&T> {
        match self {
            Outcome::Undone(undone) => (undone.as_ref() as &dyn Any).downcast_ref(),
            _ => None,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Undone(undone) => undone.fmt(f),
            Outcome::Busy { subject, pid, lasting } => {
                let process = pid.map_or(String::new(), |pid| format!(" (process {pid})"));
                match lasting {
                    None => write!(f, "{subject} belongs to a running experiment{process}"),
                    Some(lasting) => write!(
                        f,
                        "{subject} is set by schedlab{process} {lasting}; `schedlab set {subject} --end` restores it now"
                    ),
                }
            }
            Outcome::Failed { error } => error.fmt(f),
        }
    }
}

/// All entries of dead owners, in the order of [`Stage`]. Failures do not stop the others.
pub fn restore(root: &Root, kinds: &[Kind]) -> Result<Vec<Outcome>, Error> {
    sweep(root, kinds);
    let kind_of = |entry: &Entry| kinds.iter().find(|kind| kind.name == entry.kind());
    let mut outcomes = Vec::new();
    let mut dead = Vec::new();
    for key in store::keys(root)? {
        let lock = match Lock::take(root, &key, &key) {
            Ok(lock) => lock,
            Err(Error::Busy { device, pid_of_other }) => {
                // Read without its lock, so it may be gone.
                let entry = store::read(root, &key).ok().flatten();
                let subject = entry
                    .as_ref()
                    .and_then(|entry| (kind_of(entry)?.subject)(entry))
                    .unwrap_or(device);
                let lasting = entry.and_then(|entry| entry.lasting_now(root));
                outcomes.push(Outcome::Busy { subject, pid: pid_of_other, lasting });
                continue;
            }
            Err(error) => {
                outcomes.push(Outcome::Failed { error });
                continue;
            }
        };
        match store::read(root, &key) {
            Ok(Some(entry)) => match kind_of(&entry) {
                Some(kind) => dead.push((kind, lock, key, entry)),
                None => {
                    let known: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
                    let why = format!(
                        "its kind is {:?}, expected one of {}",
                        entry.kind(),
                        known.join(", ")
                    );
                    outcomes.push(Outcome::Failed {
                        error: Error::Journal { path: store::path(root, &key), why },
                    });
                }
            },
            // Its owner finished after we listed the directory.
            Ok(None) if is_single_use(kinds, &key) => lock.retire(),
            Ok(None) => {}
            Err(error) => outcomes.push(Outcome::Failed { error }),
        }
    }
    dead.sort_by_key(|(kind, ..)| kind.stage);
    outcomes.extend(dead.iter().map(|(kind, lock, key, entry)| {
        let undone = (kind.undo)(root, &Abandoned { key, entry, lock });
        undone.map_or_else(|error| Outcome::Failed { error }, Outcome::Undone)
    }));
    Ok(outcomes)
}

fn is_single_use(kinds: &[Kind], key: &str) -> bool {
    kinds.iter().filter_map(|kind| kind.single_use).any(|prefix| key.starts_with(prefix))
}

/// Unfinished entries of dead owners, and locks without an entry.
fn sweep(root: &Root, kinds: &[Kind]) {
    let journal = store::dir(root).ok().flatten();
    let has_entry = |key: &str| journal.as_ref().is_some_and(|dir| dir.has(&store::name(key)));
    for name in journal.iter().flat_map(|dir| dir.names().unwrap_or_default()) {
        if let Some(key) =
            name.strip_suffix(store::UNFINISHED).and_then(|key| key.strip_suffix('.'))
            && let Ok(lock) = Lock::take(root, key, key)
        {
            let _ = journal.as_ref().map(|dir| dir.remove(&name));
            if is_single_use(kinds, key) {
                lock.retire();
            }
        }
    }
    for key in lock::keys(root) {
        if is_single_use(kinds, &key)
            && !has_entry(&key)
            && let Ok(lock) = Lock::take(root, &key, &key)
            && !has_entry(&key)
        {
            lock.retire();
        }
    }
}
