//! From a specification or a description to a device.

use super::description::Description;
use super::error::DeviceError;
use super::model::DeviceModel;
use super::table::DEVICES;
use super::{flash, hdd, measured, null};

/// Makes the device that a specification names: `NAME`, or `NAME:KEY=VALUE:KEY=VALUE` with keys of
/// its description changed (`hp97560:queue_depth=8`, `hp97560:seek.knee=400`). `seed` is the
/// trial's; a device draws from its own named stream.
///
/// # Errors
/// [`DeviceError`] names what is wrong and what would be right.
pub fn device(specification: &str, seed: u64) -> Result<Box<dyn DeviceModel>, DeviceError> {
    let name = specification.split(':').next().unwrap_or_default();
    let row = DEVICES
        .iter()
        .find(|row| row.name == name)
        .ok_or_else(|| DeviceError::Unknown { name: name.to_owned() })?;
    device_from_toml(row.toml, &read_changes(specification)?, seed)
}

/// The `KEY=VALUE` pairs of a specification.
///
/// # Errors
/// [`DeviceError::Specification`].
pub fn read_changes(specification: &str) -> Result<Vec<(&str, &str)>, DeviceError> {
    let pairs = specification.split(':').skip(1).map(|part| {
        let pair = part.split_once('=').filter(|(key, _)| !key.is_empty());
        pair.ok_or_else(|| DeviceError::Specification { part: part.to_owned() })
    });
    pairs.collect()
}

/// Makes the device that a user's own description (TOML) gives, with `KEY=VALUE` pairs of a
/// specification on top.
///
/// # Errors
/// [`DeviceError`], with the line.
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

/// The models that a description can name.
const MODELS: [&str; 4] = ["hdd", "flash", "null", "measured"];
