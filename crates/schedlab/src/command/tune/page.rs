//! tune.html.

use anyhow::Result;
use report::search::{Candidate, Search};

use lab::tune::result::{CandidateOut, Tuned, Why};

pub(super) fn render(tuned: &Tuned) -> Result<String> {
    let page = report::search::page(&Search {
        title: &format!("{} on {}", tuned.workloads.join(", "), tuned.device),
        headline: &headline(tuned),
        answer: &tuned.answer,
        words: &tuned.to_string(),
        trials: tuned.search.trials,
        curve: tuned.search.curve.iter().map(|step| (step.trials, step.effect)).collect(),
        candidates: tuned.search.candidates.iter().map(candidate).collect(),
        confirmed: tuned.confirmation.is_some(),
    })?;
    Ok(page)
}

/// Without the setting, which may be long and follows.
fn headline(tuned: &Tuned) -> String {
    let place = format!("for {} on {}", tuned.workloads.join(" and "), tuned.device);
    let Some(found) = &tuned.recommended else {
        return format!("Keep {} {place}: no other setting is confirmed.", tuned.default);
    };
    let settings = match found.tunables.len() {
        0 => String::new(),
        nr => format!(" with {}", text::counted(nr as u64, "setting")),
    };
    let Why { change, default, .. } = &found.verdict;
    let objective =
        experiment::metric::label_of(&tuned.objective).unwrap_or_else(|| tuned.objective.clone());
    format!("Use {}{settings} {place}: {objective} {change} against {default}.", found.scheduler)
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
