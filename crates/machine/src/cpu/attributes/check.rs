//! Checks whether the applied values are in effect.

use crate::Root;
use crate::settings::Problem;

use super::item::Write;

pub(crate) fn check(root: &Root, targets: &[Write]) -> Vec<Problem> {
    let changed = |write: &Write| Problem::ChangedMeanwhile {
        attribute: write.item.name.clone(),
        wanted: write.value.clone(),
        found: write.found(root),
    };
    targets.iter().filter(|write| !write.holds(root)).map(changed).collect()
}

impl Write {
    pub(super) fn found(&self, root: &Root) -> String {
        self.item.read(root).unwrap_or_else(|| "unreadable".to_string())
    }
}
