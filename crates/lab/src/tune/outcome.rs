//! The outcome and space of a search, as stored in search.jsonl and tune.json.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchEnd {
    /// The trials are used up.
    Budget,
    /// Every point of the space is decided.
    Exhausted,
    /// Too many challengers in a row failed to beat the incumbent.
    Patience,
    /// The time is used up.
    Time,
    /// Stopped by the user; can be resumed.
    Interrupted,
}

impl SearchEnd {
    /// The word used in search.jsonl, tune.json and the answer.
    pub fn name(self) -> &'static str {
        match self {
            SearchEnd::Budget => "budget",
            SearchEnd::Exhausted => "exhausted",
            SearchEnd::Patience => "patience",
            SearchEnd::Time => "time",
            SearchEnd::Interrupted => "interrupted",
        }
    }
}

#[derive(Debug, Clone)]
pub struct SearchSummary {
    pub why: SearchEnd,
    /// The best setting over time.
    pub curve: Vec<Step>,
    /// Trials of the search, invalid ones included.
    pub trials: u32,
    /// Arena time used.
    pub spent: Duration,
    /// For each candidate, the number of trials before its first one.
    pub first: Vec<u32>,
}

/// The incumbent after a number of trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    pub trials: u32,
    /// Index of the incumbent.
    pub candidate: usize,
    /// Mean log ratio to the default, positive when better.
    pub effect: f64,
}

/// A scheduler of the space.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BranchOut {
    pub scheduler: String,
    /// Searched tunables with their levels.
    pub tunables: BTreeMap<String, Vec<String>>,
}
