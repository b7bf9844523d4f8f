//! Makes devices from specifications or descriptions.

use super::description::Description;
use super::error::DeviceError;
use super::model::DeviceModel;
use super::table::DEVICES;
use super::{flash, hdd, measured, null};

/// Makes a device from `NAME`, or `NAME:KEY=VALUE:KEY=VALUE` with keys of its description
/// overridden (`hp97560:queue_depth=8`, `hp97560:seek.knee=400`). It draws from its own stream of
/// the trial's `seed`.
pub fn device(specification: &str, seed: u64) -> Result<Box<dyn DeviceModel>, DeviceError> {
    let name = specification.split(':').next().unwrap_or_default();
    let row = DEVICES
        .iter()
        .find(|row| row.name == name)
        .ok_or_else(|| DeviceError::Unknown { name: name.to_owned() })?;
    device_from_toml(row.toml, &read_changes(specification)?, seed)
}

/// The `KEY=VALUE` pairs of a specification.
pub fn read_changes(specification: &str) -> Result<Vec<(&str, &str)>, DeviceError> {
    let pairs = specification.split(':').skip(1).map(|part| {
        let pair = part.split_once('=').filter(|(key, _)| !key.is_empty());
        pair.ok_or_else(|| DeviceError::Specification { part: part.to_owned() })
    });
    pairs.collect()
}

/// Makes a device from a TOML description, with `KEY=VALUE` overrides.
pub fn device_from_toml(
    toml: &str,
    changes: &[(&str, &str)],
    seed: u64,
) -> Result<Box<dyn DeviceModel>, DeviceError> {
    let mut from = Description::read(toml, changes)?;
    if !from.has("model") {
        return Err(DeviceError::Missing {
            key: "model".to_owned(),
            meaning: format!("one of {}", MODELS.join(", ")),
        });
    }
    let model: Box<dyn DeviceModel> = match from.word_or_first("model", &MODELS)? {
        0 => Box::new(hdd::read(&mut from)?),
        1 => Box::new(flash::read(&mut from, seed)?),
        2 => Box::new(null::read(&mut from, seed)?),
        _ => Box::new(measured::read(&mut from, seed)?),
    };
    from.finish()?;
    Ok(model)
}

const MODELS: [&str; 4] = ["hdd", "flash", "null", "measured"];
