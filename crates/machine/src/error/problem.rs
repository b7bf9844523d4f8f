//! Problems: settings that are not in effect.

use std::fmt;

use serde::Serialize;

/// Not an error: invalidates a trial without ending the experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "problem", rename_all = "kebab-case")]
pub enum Problem {
    WriteFailed {
        /// `scheduler`, a tunable or a queue attribute.
        attribute: String,
        wanted: String,
        error: String,
    },
    /// The write succeeded without effect.
    NotInEffect {
        attribute: String,
        wanted: String,
        found: String,
    },
    /// Another program has changed it.
    ChangedMeanwhile {
        attribute: String,
        wanted: String,
        found: String,
    },
    DeviceGone {
        device: String,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::WriteFailed { attribute, wanted, error } => {
                write!(f, "{attribute} cannot be set to {wanted}: {error}")
            }
            Problem::NotInEffect { attribute, wanted, found } => {
                write!(f, "{attribute} was set to {wanted} without effect: it reads {found}")
            }
            Problem::ChangedMeanwhile { attribute, wanted, found } => {
                write!(f, "{attribute} was {wanted} and was changed by another program: {found}")
            }
            Problem::DeviceGone { device } => write!(f, "{device} is gone"),
        }
    }
}
