//! Stand-ins for fleets in the minimal build.

use machine::Root;

pub(crate) fn known_of(_root: &Root, _model: Option<&str>) -> Vec<String> {
    Vec::new()
}
