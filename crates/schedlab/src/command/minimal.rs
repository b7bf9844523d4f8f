//! What the minimal build has in place of fleets.

use machine::Root;

/// This build knows of no fleet.
pub(crate) fn known_of(_root: &Root, _model: Option<&str>) -> Vec<String> {
    Vec::new()
}
