//! The journal: changes to undo, recorded durably before they are made.
//!
//! An entry consists of a kind and a payload; each [`Kind`] undoes its entries, and [`restore`]
//! goes through those of dead owners. See `docs/decisions/0002-settings-journal.md`.

mod lock;
pub mod payload;
mod restore;
mod store;

use std::path::PathBuf;

use crate::root::Root;

pub use crate::lasting::Lasting;
pub use lock::{Lock, lock_machine, owner_on_machine};
pub use payload::Payload;
pub use restore::{Abandoned, Kind, Outcome, Stage, Undo, Undone, restore};
pub use store::{Entry, key, path, read, remove, remove_for_good, write};

/// The end of an entry removes a file from each.
pub fn directories(root: &Root) -> Vec<PathBuf> {
    [store::DIR, lock::DIR].map(|dir| root.state(dir)).into()
}
