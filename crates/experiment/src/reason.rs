//! Qualifications of a comparison: omitted data, and why an interval is missing or doubtful.
//! analysis.json has only the text, which reads back as [`Reason::Read`].

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use ::text::counted;

use crate::results::InvalidReason;

/// Why a comparison is invalid, or what qualifies it.
#[derive(Debug, Clone)]
pub enum Reason {
    /// A variant has no value of the metric.
    NoValue {
        /// The variant's name.
        variant: String,
    },
    /// Rounds or observations left out for the same cause.
    LeftOut {
        /// Number left out.
        count: usize,
        /// Total number.
        total: u32,
        /// Whether these are rounds; otherwise observations.
        rounds: bool,
        /// The first one.
        example: Example,
    },
    /// Rounds without a complete pair of variant and baseline.
    Unfinished {
        /// Number of rounds.
        rounds: u32,
        /// The baseline's name.
        baseline: String,
    },
    /// Invalid trials in rounds that also have valid ones.
    InvalidBesideValid {
        /// Number of trials.
        trials: usize,
    },
    /// Variant and baseline have one observation each.
    OneObservationPerVariant,
    /// Variant or baseline has only one observation.
    OneObservationOf {
        /// Which of them.
        variant: String,
    },
    /// Too few rounds for an interval at this confidence.
    TooFewRounds {
        /// Number of rounds.
        rounds: usize,
        /// The confidence, in percent.
        confidence_percent: f64,
    },
    /// A verdict within the budget was unlikely.
    Futile {
        /// The predicted probability of a verdict.
        chance: f64,
        /// The rounds of the budget.
        planned: u32,
    },
    /// Every round has exactly the same ratio.
    SameRatio {
        /// Number of rounds.
        rounds: usize,
        /// The metric.
        metric: String,
    },
    /// Outliers, which are kept.
    Outliers {
        /// Number of outliers.
        outliers: usize,
        /// Number of rounds.
        rounds: usize,
    },
    /// Observations without rounds, compared by Welch's interval.
    Welch,
    /// A repeat without evidence about this variant.
    RepeatLeftOut {
        /// Its name.
        repeat: String,
        /// Why.
        why: String,
    },
    /// Only one repeat has evidence about this variant.
    OneRepeat,
    /// Bounds replace the values of trials without completions.
    Starved {
        /// The variant's name.
        variant: String,
        /// What did not complete: `reads`.
        what: &'static str,
        /// Rounds affected.
        starved: u32,
        /// Rounds that count.
        rounds: usize,
    },
    /// Half an event is assumed instead of none.
    FreeOfEvents {
        /// The variant's name.
        variant: String,
        /// Rounds affected.
        free: u32,
        /// Rounds that count.
        rounds: usize,
    },
    /// The interval is inside the margin, but the model omits CPU time, which distinguishes
    /// schedulers on flash.
    CpuTimeOmitted,
    /// A reason from a file.
    Read {
        /// Its text.
        text: String,
    },
}

/// An omitted sample.
#[derive(Debug, Clone)]
pub struct Example {
    /// Round number from 0; `None` without rounds.
    pub round: Option<u32>,
    /// The variant's name.
    pub variant: String,
    /// Why it was omitted.
    pub cause: Cause,
}

/// Why a sample is omitted.
#[derive(Debug, Clone)]
pub enum Cause {
    /// Its trial, or this metric of it, is invalid.
    Invalid(InvalidReason),
    /// No request completed, neither here nor in the trial compared with.
    NothingCompleted,
    /// Its value has no logarithm.
    NotPositive {
        /// The metric.
        metric: String,
        /// Zero, negative, infinite or not a number.
        value: f64,
    },
}

impl Cause {
    /// Groups samples with the same fault.
    pub fn class(&self) -> &str {
        match self {
            Cause::Invalid(reason) => reason.class(),
            Cause::NothingCompleted => {
                "no request that counts completed in the trial's window: make it longer (--trial-time)"
            }
            Cause::NotPositive { .. } => {
                "a value that cannot be put on a log scale (zero, negative or not finite)"
            }
        }
    }

    fn detail(&self) -> String {
        match self {
            Cause::Invalid(reason) => reason.to_string(),
            Cause::NothingCompleted => self.class().to_owned(),
            Cause::NotPositive { metric, value } => format!("{metric} is {value}"),
        }
    }
}

impl Reason {
    /// Whether this counts invalid rounds or observations of the same class as `invalid`.
    pub fn is_about(&self, invalid: &InvalidReason) -> bool {
        matches!(self, Reason::LeftOut { example: Example { cause: Cause::Invalid(own), .. }, .. } if own.class() == invalid.class())
    }

    /// The text without its example, for comparison.
    pub fn without_example(&self) -> String {
        match self {
            Reason::LeftOut { count, total, rounds, example } => {
                let what = if *rounds {
                    format!("of {total} rounds invalid")
                } else {
                    format!("of {total} observations invalid")
                };
                format!("{count} {what}: {}", example.cause.class())
            }
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NoValue { variant } => write!(f, "no value of {variant}"),
            Reason::LeftOut { count, rounds, example, .. } => {
                let first = if *rounds && *count > 1 { "first in " } else { "in " };
                write!(f, "{} ({first}{example})", self.without_example())
            }
            Reason::Unfinished { rounds, baseline } => {
                write!(f, "{rounds} unfinished: no whole pair with {baseline} in the same round")
            }
            Reason::InvalidBesideValid { trials } => {
                write!(f, "{trials} invalid, with valid trials in the same rounds; omitted")
            }
            Reason::OneObservationPerVariant => f.write_str("one observation per variant: no variance, so no interval"),
            Reason::OneObservationOf { variant } => write!(f, "one observation of {variant}: no variance, so no interval"),
            Reason::TooFewRounds { rounds, confidence_percent } => {
                let (rounds, are) = (counted(*rounds as u64, "round"), if *rounds == 1 { "is" } else { "are" });
                write!(f, "{rounds} {are} too few for an interval at {confidence_percent:.1} % confidence")
            }
            Reason::Futile { chance, .. } => write!(
                f,
                "given up: the chance of a verdict within the budget was {:.1} %",
                chance * 100.0
            ),
            Reason::SameRatio { rounds, metric } => {
                write!(f, "all {rounds} rounds show exactly the same ratio: {metric} may be too coarse a measure")
            }
            Reason::Outliers { outliers, rounds } => {
                write!(f, "{outliers} of {rounds} rounds far from the others, flagged and kept")
            }
            Reason::Welch => f.write_str("Welch's interval: without rounds there is no sequence to follow"),
            Reason::RepeatLeftOut { repeat, why } => write!(f, "{repeat} omitted: {why}"),
            Reason::OneRepeat => {
                f.write_str("one repeat that counts: what differs between repeats is unknown, so no interval")
            }
            Reason::Starved { variant, what, starved, rounds } => write!(
                f,
                "{variant} completed no {what} in {starved} of {rounds} rounds: the change is a bound, and the truth is further out"
            ),
            Reason::FreeOfEvents { variant, free, rounds } => write!(
                f,
                "{variant} has 0 in {free} of {rounds} rounds: half an event is assumed, so the size of the change is uncertain"
            ),
            Reason::CpuTimeOmitted => f.write_str(
                "inside the margin, but without CPU time, which decides on flash (set cpu_percent=100, the default)",
            ),
            Reason::Read { text } => f.write_str(text),
        }
    }
}

impl fmt::Display for Example {
    /// Rounds are counted from 1 in text, from 0 in results files.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(round) = self.round {
            write!(f, "round {}, ", round + 1)?;
        }
        let detail = self.cause.detail();
        if detail == self.cause.class() {
            f.write_str(&self.variant)
        } else {
            write!(f, "{}: {detail}", self.variant)
        }
    }
}

/// Compares texts, since a reason read from analysis.json has nothing else.
impl PartialEq for Reason {
    fn eq(&self, other: &Reason) -> bool {
        self.to_string() == other.to_string()
    }
}

impl From<&str> for Reason {
    fn from(text: &str) -> Reason {
        Reason::Read { text: text.to_string() }
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Reason, D::Error> {
        Ok(Reason::Read { text: String::deserialize(deserializer)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left_out(share: f64) -> Reason {
        let cause = Cause::Invalid(InvalidReason::Steal { share, limit: 0.25 });
        let example = Example { round: Some(0), variant: "bfq".to_string(), cause };
        Reason::LeftOut { count: 2, total: 8, rounds: true, example }
    }

    #[test]
    fn a_reason_is_its_text_in_analysis_json() {
        let text = serde_json::to_string(&left_out(0.5)).unwrap();
        assert!(text.starts_with("\"2 of 8 rounds invalid: CPU time stolen by the hypervisor (first in round 1, bfq: the hypervisor took 50.0 %"), "{text}");
        assert_eq!(serde_json::from_str::<Reason>(&text).unwrap(), left_out(0.5));
    }

    #[test]
    fn reasons_that_differ_in_their_example_are_alike_and_know_what_they_are_about() {
        assert_ne!(left_out(0.5), left_out(0.6));
        assert_eq!(left_out(0.5).without_example(), left_out(0.6).without_example());
        assert!(left_out(0.5).is_about(&InvalidReason::Steal { share: 0.9, limit: 0.1 }));
        assert!(!left_out(0.5).is_about(&InvalidReason::Throttled { events: 1 }));
        assert!(
            !Reason::from("2 of 8 rounds invalid: CPU throttled")
                .is_about(&InvalidReason::Throttled { events: 1 })
        );
    }
}
