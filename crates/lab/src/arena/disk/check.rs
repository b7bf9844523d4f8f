//! Checks whether a device supports a variant.

use anyhow::Result;
use machine::{Device, Error};

use crate::failure::{is_usage, usage};

/// The scheduler must be offered, or loadable as a module.
pub(super) fn check_scheduler(device: &Device, scheduler: &str) -> Result<()> {
    if let Some(why) = &device.no_scheduler {
        return Err(usage(format!(
            "{}: no I/O scheduler to compare: {why}",
            device.path.display()
        )));
    }
    let offered = || {
        device.available_schedulers.iter().chain(&device.unloaded_schedulers).map(String::as_str)
    };
    if offered().any(|name| name == scheduler) {
        return Ok(());
    }
    let nearest = text::did_you_mean(scheduler, offered());
    let config = elevator::LINUX.iter().find(|row| row.name == scheduler).map(|row| row.config);
    let build = config
        .map_or_else(String::new, |config| format!("; this kernel was built without {config}"));
    Err(usage(format!(
        "{}: unknown scheduler {:?} (expected one of {}){build}{nearest}",
        device.path.display(),
        scheduler,
        offered().collect::<Vec<_>>().join(", ")
    )))
}

pub(super) fn of_variant(variant: &str, error: anyhow::Error) -> anyhow::Error {
    if is_usage(&error) { usage(format!("variant {variant}: {error:#}")) } else { error }
}

pub(super) fn as_usage(error: Error) -> anyhow::Error {
    match error {
        Error::UnknownDevice { .. }
        | Error::Partition { .. }
        | Error::NoScheduler { .. }
        | Error::UnknownTunable { .. }
        | Error::TunableOfOther { .. }
        | Error::ReadOnlyAttribute { .. }
        | Error::NoWayBack { .. }
        | Error::NotHere { .. }
        | Error::NotShown { .. }
        | Error::OutOfRange { .. }
        | Error::Refused { .. }
        | Error::ReadOnly { .. }
        | Error::ConsentForOther { .. } => usage(error.to_string()),
        other => other.into(),
    }
}
