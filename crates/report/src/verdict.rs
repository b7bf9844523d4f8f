//! Verdicts as words and signs.

use experiment::analysis::Verdict;

pub(crate) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Invalid => "invalid",
    }
}

/// For readers who cannot distinguish the colours.
pub(crate) fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "▲",
        Verdict::Worse => "▼",
        Verdict::Equivalent => "=",
        Verdict::Inconclusive => "?",
        Verdict::Invalid => "✕",
    }
}
