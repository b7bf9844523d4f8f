//! How a search went, and what it searched: the words of search.jsonl and tune.json.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchEnd {
    /// The trials are spent.
    Budget,
    /// Every point of the space is decided.
    Exhausted,
    /// So many challengers did not beat the incumbent that no more were tried.
    Patience,
    /// The time of the search is spent.
    Time,
    /// It was stopped from outside and can be resumed.
    Interrupted,
}

impl SearchEnd {
    /// The word in search.jsonl, tune.json and the answer.
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

/// How a search went.
#[derive(Debug, Clone)]
pub struct SearchSummary {
    /// Why it ended.
    pub why: SearchEnd,
    /// Best so far.
    pub curve: Vec<Step>,
    /// Trials of the search, invalid ones included.
    pub trials: u32,
    /// Time of the arena that they took.
    pub spent: Duration,
    /// When each candidate was first measured: after so many trials, by number.
    pub first: Vec<u32>,
}

/// The best so far after some trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// Trials so far.
    pub trials: u32,
    /// The incumbent's number.
    pub candidate: usize,
    /// Its mean log ratio to the default, positive when better.
    pub effect: f64,
}

/// A scheduler of the space.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BranchOut {
    /// Its name.
    pub scheduler: String,
    /// What could be turned, with its levels.
    pub tunables: BTreeMap<String, Vec<String>>,
}
