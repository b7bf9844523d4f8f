//! How an experiment ended.
//!
//! A line of the results file has the word `why`, the fields of the reason, and `text`, the same in
//! words for readers of the file. Only the word and the fields are read back.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// The last line of a results file that was not cut off.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct End {
    /// Milliseconds after the start of the experiment.
    pub at_ms: u64,
    /// Why it ended.
    #[serde(flatten)]
    pub reason: EndReason,
}

/// Why an experiment ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum EndReason {
    /// Every verdict that the evidence can give is reached.
    VerdictsReached,
    /// Every round of a plan with a fixed number of rounds is measured.
    RoundsMeasured,
    /// The time budget is spent.
    BudgetSpent {
        /// Time spent on measuring, in seconds.
        measured_s: f64,
    },
    /// The results file has as many trials as one may have.
    ResultsFull {
        /// How many.
        trials: u64,
    },
    /// It was stopped from outside and can be resumed.
    Interrupted {
        /// The name of the signal.
        by: String,
    },
    /// The device went away.
    DeviceVanished {
        /// What was observed.
        detail: String,
    },
    /// An operation failed.
    Failed {
        /// The error and its causes.
        error: String,
    },
}

/// What the end of an experiment means for its evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Everything that was planned, or that the evidence asked for, is measured.
    Complete,
    /// The time budget ended it.
    BudgetSpent,
    /// It was stopped from outside.
    Interrupted,
    /// It could not go on.
    Failed,
}

impl EndReason {
    /// The word under `why`.
    pub fn word(&self) -> &'static str {
        match self {
            EndReason::VerdictsReached => "verdicts-reached",
            EndReason::RoundsMeasured => "rounds-measured",
            EndReason::BudgetSpent { .. } => "budget-spent",
            EndReason::ResultsFull { .. } => "results-full",
            EndReason::Interrupted { .. } => "interrupted",
            EndReason::DeviceVanished { .. } => "device-vanished",
            EndReason::Failed { .. } => "failed",
        }
    }

    /// What the end means for the evidence.
    pub fn ending(&self) -> Ending {
        match self {
            EndReason::VerdictsReached | EndReason::RoundsMeasured => Ending::Complete,
            EndReason::BudgetSpent { .. } | EndReason::ResultsFull { .. } => Ending::BudgetSpent,
            EndReason::Interrupted { .. } => Ending::Interrupted,
            EndReason::DeviceVanished { .. } | EndReason::Failed { .. } => Ending::Failed,
        }
    }
}

impl Ending {
    /// Whether the experiment ended before its plan did.
    pub fn is_early(self) -> bool {
        matches!(self, Ending::Interrupted | Ending::Failed)
    }
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EndReason::VerdictsReached => {
                f.write_str("every verdict that can be reached is reached")
            }
            EndReason::RoundsMeasured => f.write_str("every round of the plan is measured"),
            EndReason::BudgetSpent { measured_s } => write!(f, "{measured_s:.1} s of measuring"),
            EndReason::ResultsFull { trials } => {
                write!(f, "{trials} trials, the most of one results file; begin another experiment")
            }
            EndReason::Interrupted { by } => write!(f, "by {by}; go on with --resume"),
            EndReason::DeviceVanished { detail } => {
                write!(f, "the device went away ({detail}); what was measured before is kept")
            }
            EndReason::Failed { error } => f.write_str(error),
        }
    }
}

impl Serialize for End {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Written<'a> {
            at_ms: u64,
            #[serde(flatten)]
            reason: &'a EndReason,
            text: String,
        }
        Written { at_ms: self.at_ms, reason: &self.reason, text: self.reason.to_string() }
            .serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reasons() -> [EndReason; 7] {
        [
            EndReason::VerdictsReached,
            EndReason::RoundsMeasured,
            EndReason::BudgetSpent { measured_s: 6.474 },
            EndReason::ResultsFull { trials: 50_000 },
            EndReason::Interrupted { by: "SIGINT".to_string() },
            EndReason::DeviceVanished { detail: "sdb".to_string() },
            EndReason::Failed { error: "no space left".to_string() },
        ]
    }

    #[test]
    fn every_reason_is_written_with_its_word_and_text_and_read_back() {
        for reason in reasons() {
            let end = End { at_ms: 3, reason: reason.clone() };
            let written = serde_json::to_string(&end).unwrap();
            assert_eq!(serde_json::from_str::<End>(&written).unwrap(), end, "{written}");
            let value: serde_json::Value = serde_json::from_str(&written).unwrap();
            assert_eq!(
                (value["why"].as_str(), value["text"].as_str()),
                (Some(reason.word()), Some(reason.to_string().as_str()))
            );
            assert_eq!(written.matches("\"text\"").count(), 1, "{written}");
        }
    }

    #[test]
    fn an_unknown_word_or_a_missing_field_is_refused() {
        for line in [
            r#"{"at_ms":1,"why":"later-word","text":"x"}"#,
            r#"{"at_ms":1,"why":"budget-spent","text":"6.5 s"}"#,
        ] {
            assert!(serde_json::from_str::<End>(line).is_err(), "{line}");
        }
    }
}
