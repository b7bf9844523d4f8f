//! The outcome of a search, for search.jsonl and tune.json.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchEnd {
    Budget,
    Exhausted,
    /// Too many challengers in a row failed.
    Patience,
    Time,
    /// Stopped by the user; can be resumed.
    Interrupted,
}

impl SearchEnd {
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
    /// Includes invalid trials.
    pub trials: u32,
    /// Arena time used.
    pub spent: Duration,
    /// For each candidate, the trials before its first one.
    pub first: Vec<u32>,
}

/// The incumbent after some trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    pub trials: u32,
    pub candidate: usize,
    /// Mean log ratio to the default, positive when better.
    pub effect: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BranchOut {
    pub scheduler: String,
    /// Searched, with their levels.
    pub tunables: BTreeMap<String, Vec<String>>,
}
