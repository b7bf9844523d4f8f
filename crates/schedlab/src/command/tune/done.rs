//! A search and its confirmation, before they are reported.

use experiment::plan::Plan;
use experiment::record::{End, Environment};
use lab::tune::outcome::SearchSummary;
use tuner::Search;

/// What the arena gave back.
pub(super) struct Done {
    pub(super) search: Search,
    pub(super) course: SearchSummary,
    pub(super) environment: Environment,
    pub(super) confirmation: Option<(usize, Plan, End)>,
}
