//! Undoing what dead owners left: `schedlab restore`, and the beginning of every other command.

use crate::error::Error;
use crate::journal::{self, Kind, Outcome};
use crate::root::Root;
use crate::{loopdev, persist, session, settings, tracing};

/// This crate's kinds of entries.
pub const KINDS: [Kind; 5] =
    [session::KIND, settings::KIND, persist::KIND, loopdev::KIND, tracing::KIND];

/// Undoes every entry of this crate's kinds and of `others` whose owner is dead.
///
/// # Errors
/// [`Error::Io`] when the journal's directory exists and cannot be read.
pub fn restore_all(root: &Root, others: &[Kind]) -> Result<Vec<Outcome>, Error> {
    journal::restore(root, &[&KINDS, others].concat())
}
