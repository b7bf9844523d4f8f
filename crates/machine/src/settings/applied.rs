//! What was in effect when a trial began.

use super::Snapshot;

/// The state that a trial must find at its end.
#[derive(Debug, Clone)]
pub(super) struct Applied {
    pub(super) snapshot: Snapshot,
    pub(super) activation: Option<u64>,
}
