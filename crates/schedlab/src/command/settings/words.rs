//! Parses settings from the command line.

use anyhow::Result;
use elevator::Named;
use machine::Error;
use machine::settings::Setting;

use crate::failure::usage;
use crate::out;

/// Old scheduler names are replaced with a warning.
pub(crate) fn read(values: &[String]) -> Result<Setting> {
    let mut setting = Setting::default();
    for word in values {
        let Some((name, value)) =
            word.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty())
        else {
            return Err(usage(format!(
                "{word:?}: not a setting; write NAME=VALUE, e.g. nr_requests=128"
            )));
        };
        let twice = match name {
            "scheduler" => setting.scheduler.replace(current_name(value)?).is_some(),
            _ => setting.tunables.insert(name.to_owned(), value.to_owned()).is_some(),
        };
        if twice {
            return Err(usage(format!("{name}: given twice; leave one out")));
        }
    }
    Ok(setting)
}

pub(crate) fn current_name(word: &str) -> Result<String> {
    match elevator::resolve(word) {
        Named::Current(_) | Named::Unknown => Ok(word.to_owned()),
        Named::Renamed { now, why } => {
            out::note(format_args!("note: {word} is set as {}: {why}", now.name));
            Ok(now.name.to_owned())
        }
        Named::Gone { fate, nearest } => Err(usage(format!(
            "{word} cannot be set: {fate}; the nearest alternative is {} ({})",
            nearest.name, nearest.help
        ))),
    }
}

/// Errors in the request are usage errors, those of the machine are failures.
pub(crate) fn failed(error: Error) -> anyhow::Error {
    match error {
        Error::UnknownDevice { .. }
        | Error::Partition { .. }
        | Error::NoScheduler { .. }
        | Error::UnknownScheduler { .. }
        | Error::UnknownTunable { .. }
        | Error::TunableOfOther { .. }
        | Error::NotShown { .. }
        | Error::NotHere { .. }
        | Error::ReadOnlyAttribute { .. }
        | Error::OutOfRange { .. }
        | Error::NoWayBack { .. } => usage(error.to_string()),
        other => other.into(),
    }
}
