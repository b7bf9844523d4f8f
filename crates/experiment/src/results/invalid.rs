//! Why a trial is invalid: reasons with their data, and as text.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a trial, or one metric of it, is no evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum InvalidReason {
    /// A setting was not in effect when the trial began, although the write succeeded.
    NotInEffect {
        /// The attribute, e.g. `scheduler`.
        attribute: String,
        /// The variant's value.
        wanted: String,
        /// The value read back.
        found: String,
    },
    /// The setting could not be written.
    WriteFailed {
        /// The attribute.
        attribute: String,
        /// The variant's value.
        wanted: String,
        /// The kernel's error.
        error: String,
    },
    /// Changed by another program during the trial.
    ChangedMeanwhile {
        /// The attribute.
        attribute: String,
        /// The variant's value.
        wanted: String,
        /// The value found during or after the trial.
        found: String,
    },
    /// I/O was served from a cache.
    NeverReached {
        /// Bytes moved by the workload.
        issued_bytes: u64,
        /// Bytes counted by the device in the same time.
        device_bytes: u64,
    },
    /// The device or the kernel reported errors.
    DeviceErrors {
        /// Failed requests.
        count: u64,
        /// The first error, in words.
        first: String,
    },
    /// The device disappeared or shrank during the trial.
    DeviceVanished {
        /// Details.
        detail: String,
    },
    /// Foreign I/O on the device.
    ForeignIo {
        /// Share of foreign I/O in the device's bytes.
        share: f64,
        /// The bound.
        limit: f64,
    },
    /// Too much CPU time was stolen by the hypervisor.
    Steal {
        /// Share of all CPU time, 0 to 1.
        share: f64,
        /// The bound.
        limit: f64,
    },
    /// The CPU was throttled for heat or power.
    Throttled {
        /// How many throttling events.
        events: u64,
    },
    /// Too few requests for this percentile.
    TooFewIos {
        /// The invalid metric; the others are valid.
        metric: String,
        /// How many there were.
        count: u64,
        /// How many it takes.
        needed: u64,
    },
    /// The trial was interrupted.
    Interrupted {
        /// The cause.
        by: String,
    },
    /// The measured program printed no figures.
    ProgramFailed {
        /// Details, with its last lines.
        detail: String,
    },
    /// A reason from foreign data.
    Foreign {
        /// Its text.
        text: String,
    },
}

impl InvalidReason {
    /// Whether it invalidates `metric`. Most reasons invalidate the whole trial; too few requests
    /// only one percentile.
    pub fn applies_to(&self, metric: &str) -> bool {
        match self {
            InvalidReason::TooFewIos { metric: only, .. } => only == metric,
            _ => true,
        }
    }

    /// Groups trials with the same fault.
    pub fn class(&self) -> &str {
        match self {
            InvalidReason::NotInEffect { .. } => "setting not in effect",
            InvalidReason::WriteFailed { .. } => "setting refused by the kernel",
            InvalidReason::ChangedMeanwhile { .. } => "setting changed by another program",
            InvalidReason::NeverReached { .. } => "I/O never reached the device",
            InvalidReason::DeviceErrors { .. } => "device errors",
            InvalidReason::DeviceVanished { .. } => "device vanished",
            InvalidReason::ForeignIo { .. } => "others used the device",
            InvalidReason::Steal { .. } => "CPU time stolen by the hypervisor",
            InvalidReason::Throttled { .. } => "CPU throttled",
            InvalidReason::TooFewIos { .. } => "too few requests for this percentile",
            InvalidReason::Interrupted { .. } => "trial interrupted",
            InvalidReason::ProgramFailed { .. } => "the program gave no figures",
            InvalidReason::Foreign { text } => text,
        }
    }
}

impl fmt::Display for InvalidReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InvalidReason::NotInEffect { attribute, wanted, found } => {
                write!(
                    f,
                    "{attribute} was {found} although {wanted} was written without an error: the setting was not in effect"
                )
            }
            InvalidReason::WriteFailed { attribute, wanted, error } => {
                write!(
                    f,
                    "{attribute} could not be set to {wanted} ({error}): the setting was never measured"
                )
            }
            InvalidReason::ChangedMeanwhile { attribute, wanted, found } => {
                write!(
                    f,
                    "{attribute} was {found} during or after the trial although {wanted} was set: another program changed it"
                )
            }
            InvalidReason::NeverReached { issued_bytes, device_bytes } => write!(
                f,
                "the device moved {} while the workload moved {}: a cache served the rest, so the scheduler was not \
                 measured",
                text::format_bytes_decimal(*device_bytes),
                text::format_bytes_decimal(*issued_bytes)
            ),
            InvalidReason::DeviceErrors { count, first } => {
                write!(
                    f,
                    "{count} request{} failed (first: {first}): failed requests have no speed",
                    plural(*count)
                )
            }
            InvalidReason::DeviceVanished { detail } => {
                write!(f, "the device disappeared ({detail}): the trial is incomplete")
            }
            InvalidReason::ForeignIo { share, limit } => write!(
                f,
                "other programs moved {} of the device's bytes, more than the bound of {}: their work was measured too",
                percent(*share),
                percent(*limit)
            ),
            InvalidReason::Steal { share, limit } => write!(
                f,
                "the hypervisor took {} of the CPU time, more than the bound of {}: the machine was not ours",
                percent(*share),
                percent(*limit)
            ),
            InvalidReason::Throttled { events } => write!(
                f,
                "the CPU was throttled {events} time{} by heat or power: its speed changed during the trial",
                plural(*events)
            ),
            InvalidReason::TooFewIos { metric, count, needed } => {
                write!(f, "{count} requests, but {metric} needs at least {needed}")
            }
            InvalidReason::Interrupted { by } => {
                write!(f, "the trial was cut off by {by} before its end")
            }
            InvalidReason::ProgramFailed { detail } => {
                write!(f, "the program gave no figures: {detail}")
            }
            InvalidReason::Foreign { text } => f.write_str(text),
        }
    }
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_by_another_program_is_told_as_such() {
        let reason = InvalidReason::ChangedMeanwhile {
            attribute: "scheduler".to_string(),
            wanted: "none".to_string(),
            found: "bfq".to_string(),
        };
        let words = "scheduler was bfq during or after the trial although none was set: another program changed it";
        assert_eq!(reason.to_string(), words);
    }

    #[test]
    fn bytes_are_told_in_a_unit_that_one_can_read() {
        let reason = InvalidReason::NeverReached { issued_bytes: 536_870_912, device_bytes: 999 };
        assert!(
            reason
                .to_string()
                .starts_with("the device moved 999 B while the workload moved 536.9 MB: "),
            "{reason}"
        );
    }

    #[test]
    fn too_few_requests_spoil_one_percentile_and_every_other_reason_spoils_the_trial() {
        let few = InvalidReason::TooFewIos {
            metric: "latency_p999_us".to_string(),
            count: 10,
            needed: 10_000,
        };
        assert!(few.applies_to("latency_p999_us") && !few.applies_to("iops"));
        assert!(InvalidReason::Throttled { events: 1 }.applies_to("iops"));
        assert!(InvalidReason::Throttled { events: 1 }.to_string().contains("throttled 1 time by"));
    }
}
