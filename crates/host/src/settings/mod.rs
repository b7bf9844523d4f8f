//! Settings: what an arm asks of a device, putting it into effect, proving that it is, and taking it back.
//!
//! The faults that this module exists for were published as results: a failed switch after which the old scheduler was
//! measured under the new name, and a write that changed nothing. So every write is read back, what does not match is data
//! ([`Problem`]) that voids a trial, and nothing is written before the old values are durable in the journal ([`Guard`]).
//! `docs/decisions/0002-settings-journal.md` has the promises and the reasons.

mod apply;
pub mod attribute;
mod change;
mod guard;
mod holder;
mod lasting;
mod legal;
mod recover;
mod snapshot;
mod undo;
mod watch;

#[cfg(test)]
mod change_crash_tests;
#[cfg(test)]
mod change_tests;
#[cfg(test)]
mod crash_tests;
#[cfg(test)]
pub(crate) mod fake_kernel;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use change::{Change, Changed, Done, Held, PlannedWrite};
pub use guard::{Guard, Restored};
pub use holder::{Holder, end, holder};
pub use lasting::Lasting;
pub use recover::{Outcome, restore_all};
pub use snapshot::Snapshot;
pub use watch::Watch;

/// Whether an attribute that reads `found` holds what was asked for, as nearly as the kernel can keep it (ticks, pages).
pub fn is_in_effect(name: &str, wanted: &str, found: &str) -> bool {
    attribute::same_as_kernel_keeps(name, wanted, found)
}

/// What an arm asks of a device.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Setting {
    /// The scheduler by the kernel's own name; none: the device's scheduler, tuned as it was found.
    pub scheduler: Option<String>,
    /// Tunables of the scheduler and attributes of the queue, by their names in sysfs, values as text.
    pub tunables: BTreeMap<String, String>,
}

impl Setting {
    /// A scheduler with the kernel's defaults.
    pub fn of(scheduler: &str) -> Setting {
        Setting { scheduler: Some(scheduler.to_string()), tunables: BTreeMap::new() }
    }

    /// The same, with one tunable.
    pub fn with(mut self, tunable: &str, value: &str) -> Setting {
        self.tunables.insert(tunable.to_string(), value.to_string());
        self
    }
}

/// Why a setting is not in effect. Data, not an error: it voids a trial and does not end an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "problem", rename_all = "kebab-case")]
pub enum Problem {
    /// The kernel refused the write.
    WriteFailed {
        /// `scheduler`, a tunable or a queue attribute.
        attribute: String,
        /// The value to be written.
        wanted: String,
        /// The kernel's answer, and what would be possible.
        error: String,
    },
    /// The write was accepted, but the attribute reads otherwise.
    NotInEffect {
        /// `scheduler`, a tunable or a queue attribute.
        attribute: String,
        /// The value written.
        wanted: String,
        /// The value read back.
        found: String,
    },
    /// It was in effect, and then somebody else changed it.
    ChangedMeanwhile {
        /// `scheduler`, a tunable or a queue attribute.
        attribute: String,
        /// The value that was in effect.
        wanted: String,
        /// What was seen later.
        found: String,
    },
    /// The device went away.
    DeviceGone {
        /// Its name.
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
