//! tune.html of a search: what the report needs of it.

use anyhow::Result;
use report::search::{Candidate, Search};

use lab::tune::result::{CandidateOut, Tuned};

/// The whole page.
///
/// # Errors
/// When the plot or the template fails, which no input should cause.
pub(super) fn render(tuned: &Tuned) -> Result<String> {
    let page = report::search::page(&Search {
        title: &format!("{} on {}", tuned.workloads.join(", "), tuned.device),
        answer: &tuned.answer,
        words: &tuned.to_string(),
        trials: tuned.search.trials,
        curve: tuned.search.curve.iter().map(|step| (step.trials, step.effect)).collect(),
        candidates: tuned.search.candidates.iter().map(candidate).collect(),
        confirmed: tuned.confirmation.is_some(),
    })?;
    Ok(page)
}

fn candidate(of: &CandidateOut) -> Candidate<'_> {
    Candidate {
        variant: &of.variant,
        after_trials: of.after_trials,
        rounds: of.rounds,
        effect: of.effect,
        holds: of.holds,
        state: &of.state,
    }
}
