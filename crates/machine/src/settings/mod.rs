//! Settings: what a variant asks of a device, putting it into effect, proving that it is, and
//! taking it back.
//!
//! The faults that this module exists for were published as results: a failed switch after which
//! the old scheduler was measured under the new name, and a write that changed nothing. So every
//! write is read back, what does not match is data ([`Problem`]) that invalidates a trial, and
//! nothing is written before the old values are durable in the journal ([`Guard`]).
//! `docs/decisions/0002-settings-journal.md` has the guarantees and the reasons.

mod applied;
mod apply;
pub mod attribute;
mod change;
pub mod device_attributes;
mod guard;
mod holder;
mod legal;
mod recover;
mod snapshot;
mod undo;
mod watch;

#[cfg(test)]
mod change_tests;
#[cfg(test)]
pub(crate) mod crash_tests;
#[cfg(test)]
mod device_tests;
#[cfg(test)]
pub(crate) mod fake_kernel;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use crate::error::Problem;
pub use attribute::same_as_kernel_keeps as is_in_effect;
pub use change::{Change, Changed, Done, Held, PlannedWrite};
pub use guard::{Guard, Restored};
pub use holder::{Holder, end, holder};
pub use recover::{KIND, Restoration};
pub use snapshot::Snapshot;
pub use watch::Watch;

pub use crate::journal::Lasting;

/// What a variant asks of a device.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Setting {
    /// The scheduler by the kernel's own name; none: the device's scheduler, tuned as it was found.
    pub scheduler: Option<String>,
    /// Tunables of the scheduler, attributes of the queue and of the device, by their names in
    /// sysfs or control groups, values as text.
    pub tunables: BTreeMap<String, String>,
}

impl Setting {
    /// A scheduler with the kernel's defaults.
    pub fn of(scheduler: &str) -> Setting {
        Setting { scheduler: Some(scheduler.to_string()), tunables: BTreeMap::new() }
    }

    pub fn with(mut self, tunable: &str, value: &str) -> Setting {
        self.tunables.insert(tunable.to_string(), value.to_string());
        self
    }
}
