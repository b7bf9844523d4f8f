//! How an experiment ended.
//!
//! A line of the record has the word `why`, the fields of the reason, and `text`, the same in words for readers of the file.
//! Only the word and the fields are read back. Version 0.1.0 wrote no fields: what it wrote is kept as [`EndReason::Untyped`].

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// The last line of a record that was not cut off.
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
    /// Every block of a plan with a fixed number of blocks is measured.
    BlocksMeasured,
    /// The time budget is spent.
    BudgetSpent {
        /// Time spent on measuring, in seconds.
        measured_s: f64,
    },
    /// The record has as many trials as one may have.
    RecordFull {
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
    /// A reason that this version does not know, or whose fields are missing.
    #[serde(untagged)]
    Untyped {
        /// The word as written.
        why: String,
        /// The text as written.
        #[serde(default)]
        text: String,
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
    pub fn word(&self) -> &str {
        match self {
            EndReason::VerdictsReached => "verdicts-reached",
            EndReason::BlocksMeasured => "blocks-measured",
            EndReason::BudgetSpent { .. } => "budget-spent",
            EndReason::RecordFull { .. } => "record-full",
            EndReason::Interrupted { .. } => "interrupted",
            EndReason::DeviceVanished { .. } => "device-vanished",
            EndReason::Failed { .. } => "failed",
            EndReason::Untyped { why, .. } => why,
        }
    }

    /// What the end means for the evidence. A word that this version does not know counts as complete.
    pub fn ending(&self) -> Ending {
        match self.word() {
            "budget-spent" | "record-full" => Ending::BudgetSpent,
            "interrupted" => Ending::Interrupted,
            "device-vanished" | "failed" => Ending::Failed,
            _ => Ending::Complete,
        }
    }

    /// The reason as this version would have written it in an experiment with (or without) a fixed number of blocks: version
    /// 0.1.0 wrote `verdicts-reached` for both.
    pub(super) fn of_plan(self, fixed_blocks: bool) -> EndReason {
        if fixed_blocks && self == EndReason::VerdictsReached { EndReason::BlocksMeasured } else { self }
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
            EndReason::VerdictsReached => f.write_str("every verdict that can be reached is reached"),
            EndReason::BlocksMeasured => f.write_str("every block of the plan is measured"),
            EndReason::BudgetSpent { measured_s } => write!(f, "{measured_s:.1} s of measuring"),
            EndReason::RecordFull { trials } => {
                write!(f, "{trials} trials, the most of one record; begin another experiment")
            }
            EndReason::Interrupted { by } => write!(f, "by {by}; go on with --resume"),
            EndReason::DeviceVanished { detail } => {
                write!(f, "the device went away ({detail}); what was measured before is kept")
            }
            EndReason::Failed { error } => f.write_str(error),
            EndReason::Untyped { text, .. } => f.write_str(text),
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
            #[serde(skip_serializing_if = "Option::is_none")]
            text: Option<String>,
        }
        let text = match &self.reason {
            EndReason::Untyped { .. } => None,
            reason => Some(reason.to_string()),
        };
        Written { at_ms: self.at_ms, reason: &self.reason, text }.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reasons() -> [EndReason; 8] {
        [
            EndReason::VerdictsReached,
            EndReason::BlocksMeasured,
            EndReason::BudgetSpent { measured_s: 6.474 },
            EndReason::RecordFull { trials: 50_000 },
            EndReason::Interrupted { by: "SIGINT".to_string() },
            EndReason::DeviceVanished { detail: "sdb".to_string() },
            EndReason::Failed { error: "no space left".to_string() },
            EndReason::Untyped { why: "later-word".to_string(), text: "in words".to_string() },
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
    fn a_reason_of_version_0_1_0_keeps_its_text_and_means_the_same() {
        for (why, text, ending) in [
            ("budget-spent", "6.5 s of measuring", Ending::BudgetSpent),
            ("interrupted", "by SIGINT; go on with --resume", Ending::Interrupted),
            ("failed", "cannot write /x: no space", Ending::Failed),
        ] {
            let line = serde_json::json!({ "at_ms": 1, "why": why, "text": text });
            let end: End = serde_json::from_value(line).unwrap();
            assert_eq!((end.reason.word(), end.reason.to_string().as_str(), end.reason.ending()), (why, text, ending));
        }
        let end: End = serde_json::from_str(
            r#"{"at_ms":1,"why":"verdicts-reached","text":"every block of the plan is measured"}"#,
        )
        .unwrap();
        assert_eq!(end.reason.clone().of_plan(true), EndReason::BlocksMeasured);
        assert_eq!(end.reason.of_plan(false), EndReason::VerdictsReached);
    }
}
