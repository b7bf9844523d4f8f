//! Undoes the changes of dead owners: `schedlab restore`, and the start of every other command.

use crate::error::Error;
use crate::journal::{self, Kind, Outcome};
use crate::root::Root;
use crate::{loopdev, persist, session, settings, tracing};

pub const KINDS: [Kind; 5] =
    [session::KIND, settings::KIND, persist::KIND, loopdev::KIND, tracing::KIND];

/// Undoes entries of this crate's kinds and `others`. [`Error::Io`] if the journal exists but
/// cannot be read.
pub fn restore_all(root: &Root, others: &[Kind]) -> Result<Vec<Outcome>, Error> {
    journal::restore(root, &[&KINDS, others].concat())
}
