//! How an experiment ended. The line has `why`, the fields of the reason, and `text` for readers,
//! which is not read back.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// The last line of a complete results file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct End {
    /// Milliseconds from the start of the experiment.
    pub at_ms: u64,
    /// Why it ended.
    #[serde(flatten)]
    pub reason: EndReason,
}

/// Why an experiment ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum EndReason {
    /// Every possible verdict is reached.
    VerdictsReached,
    /// All rounds of a fixed plan are measured.
    RoundsMeasured,
    /// The time budget is spent.
    BudgetSpent {
        /// Time spent on measuring, in seconds.
        measured_s: f64,
    },
    /// The results file has reached its maximum number of trials.
    ResultsFull {
        /// Number of trials.
        trials: u64,
    },
    /// Stopped from outside; it can be resumed.
    Interrupted {
        /// The signal's name.
        by: String,
    },
    /// The device disappeared.
    DeviceVanished {
        /// Details.
        detail: String,
    },
    /// An operation failed.
    Failed {
        /// The error and its causes.
        error: String,
    },
}

/// The end's meaning for the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All planned or required measurements were made.
    Complete,
    /// The time budget ended it.
    BudgetSpent,
    /// Stopped from outside.
    Interrupted,
    /// It could not continue.
    Failed,
}

impl EndReason {
    /// The value of `why`.
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

    /// The end's meaning for the evidence.
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
                write!(
                    f,
                    "{trials} trials, the maximum of one results file; start another experiment"
                )
            }
            EndReason::Interrupted { by } => write!(f, "by {by}; continue with --resume"),
            EndReason::DeviceVanished { detail } => {
                write!(f, "the device disappeared ({detail}); earlier trials are kept")
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
