//! A variant's settings for a device, applied, verified and restored.
//!
//! Published results contain two errors: a failed switch, after which the old scheduler was
//! measured under the new name, and a write without effect. Every write is therefore read back, a
//! difference is data ([`Problem`]) that invalidates a trial, and old values are journaled durably
//! before the first write ([`Guard`]). See `docs/decisions/0002-settings-journal.md`.

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
pub use apply::{DEPTH_NOTE, leaves_stale_depth};
pub use attribute::same_as_kernel_keeps as is_in_effect;
pub use change::{Change, Changed, Done, Held, PlannedWrite};
pub use guard::{Guard, Restored};
pub use holder::{Holder, end, holder};
pub use recover::{KIND, Restoration};
pub use snapshot::Snapshot;
pub use watch::Watch;

pub use crate::journal::Lasting;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Setting {
    /// `None`: the original one with its tuning.
    pub scheduler: Option<String>,
    /// Of scheduler, queue and device, by names in sysfs or control groups.
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
