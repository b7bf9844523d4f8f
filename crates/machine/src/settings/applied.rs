//! The applied state.

use super::Snapshot;

/// The state when a trial began, expected unchanged at its end.
#[derive(Debug, Clone)]
pub(super) struct Applied {
    pub(super) snapshot: Snapshot,
    pub(super) activation: Option<u64>,
}
