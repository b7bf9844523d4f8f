//! The journal: what has to be undone, written down and made durable before it is done.
//!
//! It knows no domain. An entry is a kind and a payload; each owner of a kind ([`Kind`]) says how
//! its entries are undone, and [`restore`] walks the entries of dead owners.
//! `docs/decisions/0002-settings-journal.md` has the guarantees and the reasons.

mod lock;
pub mod payload;
mod restore;
mod store;

use std::path::PathBuf;

use crate::root::Root;

pub use crate::lasting::Lasting;
pub use lock::{Lock, lock_machine};
pub use payload::Payload;
pub use restore::{Abandoned, Kind, Outcome, Stage, Undo, Undone, restore};
pub use store::{Entry, key, path, read, remove, remove_for_good, write};

/// The directories in which the end of an entry removes a file: the entry's and its lock's.
pub fn directories(root: &Root) -> Vec<PathBuf> {
    [store::DIR, lock::DIR].map(|dir| root.state(dir)).into()
}
