//! Verdicts in words and signs.

use experiment::analysis::Verdict;

/// The word of a verdict.
pub(crate) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Invalid => "invalid",
    }
}

/// A sign that goes with the word, for readers who do not see the colour.
pub(crate) fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "▲",
        Verdict::Worse => "▼",
        Verdict::Equivalent => "=",
        Verdict::Inconclusive => "?",
        Verdict::Invalid => "✕",
    }
}
