//! A search with its confirmation and pruning, before they are reported.

use experiment::plan::{Arm, Plan};
use experiment::record::{End, Environment};
use lab::tune::outcome::SearchSummary;
use lab::tune::result::{Confirmation, Pruning};
use tuner::Search;

/// What the arena gave back.
pub(super) struct Done {
    pub(super) search: Search,
    pub(super) course: SearchSummary,
    pub(super) environment: Environment,
    pub(super) confirmation: Option<Confirmed>,
}

/// A winner against the default.
pub(super) struct Confirmed {
    /// The winner's number among the candidates.
    pub(super) winner: usize,
    /// The plan of the comparison.
    pub(super) plan: Plan,
    /// How the comparison ended.
    pub(super) end: End,
    /// What it showed; none where it ended early.
    pub(super) shown: Option<Confirmation>,
    /// What of the winner is not needed; none where it is not confirmed, or the pruning was interrupted.
    pub(super) pruning: Option<Pruned>,
}

/// What is left of a winner.
pub(super) struct Pruned {
    pub(super) shown: Pruning,
    pub(super) arm: Arm,
    /// How the last comparison ended, where that was early.
    pub(super) early: Option<End>,
}
