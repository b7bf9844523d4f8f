//! Undoes the settings of a dead owner.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Snapshot, device_attributes};
use crate::device;
use crate::error::Error;
use crate::journal::payload::{Payload, expect, is_name, is_value};
use crate::journal::{self, Abandoned, Entry, Kind, Stage, Undone};
use crate::root::Root;

pub const KIND: Kind = Kind {
    name: "settings",
    stage: Stage::Settings,
    single_use: None,
    subject: |entry| Found::of(entry).map(|found| found.device),
    undo: |root, abandoned| Ok(Box::new(undo(root, abandoned)?)),
};

/// The payload of an entry.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Found {
    pub(super) identity: String,
    /// The name when the entry was written.
    pub(super) device: String,
    pub(super) original: Snapshot,
}

impl Found {
    pub(super) fn of(entry: &Entry) -> Option<Found> {
        entry.payload(KIND.name)
    }
}

impl Payload for Found {
    /// Newer kernels have attributes in no table, so a name's form is checked: a file directly in
    /// `queue` or `queue/iosched`.
    fn check(&self, _: &Root, key: &str) -> Result<(), String> {
        let Found { identity, device, original } = self;
        expect(journal::key(identity) == key, "identity", identity, "that of the entry's name")?;
        expect(is_name(device), "device", device, "the name of a disk")?;
        expect(
            original.scheduler.as_deref().is_none_or(is_name),
            "scheduler",
            &original.scheduler,
            "a name",
        )?;
        for (name, value) in original.tunables.iter().chain(&original.queue) {
            expect(
                is_name(name) && name != "scheduler",
                "attribute",
                name,
                "the name of an attribute",
            )?;
            expect(is_value(value), "value", value, "one line")?;
        }
        for (name, value) in &original.device {
            expect(
                device_attributes::row(name).is_some(),
                "attribute",
                name,
                "an attribute of a device",
            )?;
            // Another device's number would be a word with a colon.
            expect(
                is_value(value) && !value.contains(':'),
                "value",
                value,
                "one line without a device's number",
            )?;
        }
        Ok(())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Restoration {
    /// The device is as before the experiment.
    Restored {
        device: String,
        /// Empty if nothing had to be done.
        changed: Vec<String>,
    },
    /// A reboot has reset everything.
    OtherBoot { device: String },
    /// A removed device returns with the kernel's settings.
    Gone { device: String },
}

impl Undone for Restoration {}

impl fmt::Display for Restoration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Restoration::Restored { device, changed } if changed.is_empty() => {
                write!(f, "{device} is as it was before the experiment")
            }
            Restoration::Restored { device, changed } => {
                write!(f, "{device} is restored: {}", changed.join(", "))
            }
            Restoration::OtherBoot { device } => {
                write!(
                    f,
                    "{device}: the machine has been restarted, so the kernel has reset all settings"
                )
            }
            Restoration::Gone { device } => {
                write!(f, "{device} is gone, together with its settings")
            }
        }
    }
}

/// The entry stays if anything fails.
pub(super) fn undo(root: &Root, abandoned: &Abandoned<'_>) -> Result<Restoration, Error> {
    let Abandoned { key, entry, .. } = abandoned;
    let path = journal::path(root, key);
    let Found { identity, device, original } = entry.expect(root, KIND.name, key)?;
    let restoration = if entry.boot_id != root.boot_id()? {
        Restoration::OtherBoot { device }
    } else {
        match device::name_by_identity(root, &identity, &device)? {
            None => Restoration::Gone { device },
            Some(device) => {
                let (changed, found) = original.put_back(root, &device);
                if !found.is_empty() {
                    return Err(Error::NotRestored { device, found, journal: path });
                }
                Restoration::Restored { device, changed }
            }
        }
    };
    journal::remove(root, key)?;
    Ok(restoration)
}
