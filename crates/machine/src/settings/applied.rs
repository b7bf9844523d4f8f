//! The applied state.

use super::Snapshot;

/// When a trial began, and expected at its end.
#[derive(Debug, Clone)]
pub(super) struct Applied {
    pub(super) snapshot: Snapshot,
    pub(super) activation: Option<u64>,
}
