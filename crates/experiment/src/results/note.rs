//! Events between trials. As with [`End`](super::End), a line has `event`, its fields, and `text`;
//! the text is not read back.

use std::fmt;

use ::text::counted;
use serde::{Deserialize, Serialize, Serializer};

use super::invalid::InvalidReason;

/// An event with its time.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Note {
    /// Milliseconds from the start of the experiment.
    pub at_ms: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// An event between two trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// An interrupted experiment is resumed.
    Resumed {
        /// Trials in the results file.
        trials: u64,
        /// UTC date and time; `None` in virtual time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<String>,
    },
    /// Planned rounds per workload, fixed before the first look.
    Planned {
        /// How many.
        rounds: u32,
    },
    /// An experiment continues with a changed budget.
    BudgetChanged {
        /// Seconds for all rounds together.
        time_s: f64,
        /// Maximum rounds per workload.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rounds: Option<u32>,
    },
    /// Given up: a verdict within the planned rounds is improbable.
    FutileVariant {
        /// The workload's label.
        workload: String,
        /// The variant's name.
        variant: String,
        /// Rounds of the workload by then.
        rounds: u32,
        /// The probability of a verdict.
        chance: f64,
    },
    /// Decided, or without a valid trial.
    StoppedVariant {
        /// The workload's label.
        workload: String,
        /// The variant's name.
        variant: String,
        /// Rounds of the workload by then.
        rounds: u32,
    },
    /// Its setting cannot be applied.
    RefusedVariant {
        /// The variant's name.
        variant: String,
        /// Why not.
        cause: InvalidReason,
    },
    /// An uncounted first trial, which fills caches and files.
    Precondition {
        /// The workload's label.
        workload: String,
        /// The variant's name.
        variant: String,
        /// The primary metric, if it has a value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metric: Option<String>,
        /// Value of the metric.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<f64>,
        /// Why it would be invalid.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        invalid: Option<InvalidReason>,
    },
    /// The pilot run had too few events for the primary metric, so trials are longer than chosen.
    LengthenedTrials {
        /// The workload with the fewest events relative to the requirement.
        workload: String,
        /// The metric that decides.
        metric: String,
        /// Events in the pilot run.
        events: u64,
        /// Events required.
        floor: u64,
        /// The chosen length, in ms.
        from_ms: u64,
        /// The length of every trial, in ms.
        to_ms: u64,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Resumed { trials, at } => {
                let at = at.as_ref().map_or(String::new(), |at| format!("{at}; "));
                let (trials, were) =
                    (counted(*trials, "trial"), if *trials == 1 { "was" } else { "were" });
                write!(f, "{at}{trials} {were} there")
            }
            Event::Planned { rounds } => write!(f, "{rounds} rounds of each workload"),
            Event::BudgetChanged { time_s, rounds } => {
                write!(f, "{time_s} s")?;
                rounds.map_or(Ok(()), |rounds| write!(f, ", {rounds} rounds"))
            }
            Event::FutileVariant { workload, variant, rounds, chance } => {
                write!(
                    f,
                    "{workload}: {variant} after round {rounds}, chance of a verdict {chance:.3}"
                )
            }
            Event::StoppedVariant { workload, variant, rounds } => {
                write!(f, "{workload}: {variant} after round {rounds}")
            }
            Event::RefusedVariant { variant, cause } => write!(f, "{variant}: {cause}"),
            Event::Precondition { workload, variant, metric, value, invalid } => {
                write!(f, "{workload} under {variant}, not counted")?;
                match (invalid, metric, value) {
                    (Some(reason), ..) => write!(f, ": {reason}"),
                    (None, Some(metric), Some(value)) => write!(f, ": {metric} {value:.4}"),
                    _ => Ok(()),
                }
            }
            Event::LengthenedTrials { workload, metric, events, floor, from_ms, to_ms } => write!(
                f,
                "{workload}: {events} events in {from_ms} ms, but {metric} needs {floor}: trials of {to_ms} ms"
            ),
        }
    }
}

impl Serialize for Note {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Written<'a> {
            at_ms: u64,
            #[serde(flatten)]
            event: &'a Event,
            text: String,
        }
        Written { at_ms: self.at_ms, event: &self.event, text: self.event.to_string() }
            .serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_written_with_its_word_and_text_and_read_back() {
        let (workload, variant) = ("oltp".to_string(), "bfq".to_string());
        let cause = InvalidReason::Throttled { events: 2 };
        let precondition = |value, invalid| Event::Precondition {
            workload: workload.clone(),
            variant: variant.clone(),
            metric: Some("iops".to_string()),
            value,
            invalid,
        };
        let events = [
            (
                Event::Resumed { trials: 7, at: Some("2026-11-22 18:33:21 UTC".to_string()) },
                "2026-11-22 18:33:21 UTC; 7 trials were there",
            ),
            (Event::Resumed { trials: 7, at: None }, "7 trials were there"),
            (Event::Planned { rounds: 24 }, "24 rounds of each workload"),
            (Event::BudgetChanged { time_s: 60.0, rounds: Some(7) }, "60 s, 7 rounds"),
            (
                Event::FutileVariant {
                    workload: workload.clone(),
                    variant: variant.clone(),
                    rounds: 12,
                    chance: 0.0123,
                },
                "oltp: bfq after round 12, chance of a verdict 0.012",
            ),
            (
                Event::StoppedVariant {
                    workload: workload.clone(),
                    variant: variant.clone(),
                    rounds: 3,
                },
                "oltp: bfq after round 3",
            ),
            (
                Event::RefusedVariant { variant: variant.clone(), cause: cause.clone() },
                "bfq: the CPU was throttled 2 times",
            ),
            (precondition(Some(12.5), None), "oltp under bfq, not counted: iops 12.5000"),
            (precondition(None, Some(cause)), "oltp under bfq, not counted: the CPU was throttled"),
            (
                Event::LengthenedTrials {
                    workload: workload.clone(),
                    metric: "iops".to_string(),
                    events: 33,
                    floor: 100,
                    from_ms: 192,
                    to_ms: 730,
                },
                "oltp: 33 events in 192 ms, but iops needs 100: trials of 730 ms",
            ),
        ];
        for (event, text) in events {
            let note = Note { at_ms: 3, event };
            let written = serde_json::to_string(&note).unwrap();
            assert_eq!(serde_json::from_str::<Note>(&written).unwrap(), note, "{written}");
            assert!(note.event.to_string().starts_with(text), "{}", note.event);
            assert_eq!(written.matches("\"text\"").count(), 1, "{written}");
        }
    }

    #[test]
    fn an_unknown_word_or_a_missing_field_is_refused() {
        for line in [
            r#"{"at_ms":1,"event":"later","text":"x"}"#,
            r#"{"at_ms":1,"event":"resumed","text":"x"}"#,
        ] {
            assert!(serde_json::from_str::<Note>(line).is_err(), "{line}");
        }
    }
}
