//! A plan's modelled device, built in or described by a file.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use machine::files::Bounded;
use sim::DeviceModel;
use text::limits::DEVICE_BYTES;

use crate::failure::usage;

#[derive(Debug, Clone)]
pub struct Model {
    /// As written in the plan.
    word: String,
    /// Description and changes to it.
    own: Option<(String, Vec<(String, String)>)>,
    /// A fresh device to inspect and copy.
    prototype: Arc<Mutex<Box<dyn DeviceModel>>>,
}

fn description(name: &str) -> Result<String> {
    if name.starts_with("/dev/") {
        return Err(usage(format!(
            "{name}: a real device, which the simulator cannot measure; use --arena disk, or a model of schedlab list devices"
        )));
    }
    let cannot =
        |why: String| usage(format!("{name}: cannot read the description of a device: {why}"));
    DEVICE_BYTES.read_text_file(name).map_err(|e| cannot(e.to_string()))
}

impl Model {
    /// Reads the description and checks that the device can be created.
    pub fn read(word: &str) -> Result<Model> {
        let name = word.split(':').next().unwrap_or_default();
        let own = if name.ends_with(".toml") || name.contains('/') {
            let text = description(name)?;
            let changes = sim::device::read_changes(word)
                .map_err(|e| usage(format!("--device {word}: {e}")))?;
            let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
            Some((text, changes.into_iter().map(owned).collect()))
        } else {
            None
        };
        let prototype = made(word, own.as_ref(), 0)?;
        Ok(Model { word: word.to_owned(), own, prototype: Arc::new(Mutex::new(prototype)) })
    }

    pub fn make(&self, seed: u64) -> Result<Box<dyn DeviceModel>> {
        self.look(|device| device.copy(seed))
            .map_or_else(|| made(&self.word, self.own.as_ref(), seed), Ok)
    }

    pub fn word(&self) -> &str {
        &self.word
    }

    /// Contents of the description file.
    pub fn description(&self) -> Option<&str> {
        self.own.as_ref().map(|(text, _)| text.as_str())
    }

    /// Built-in devices only, such as `HP 97560, 1991`.
    pub fn title(&self) -> Option<String> {
        let name = self.word.split(':').next().unwrap_or_default();
        let row = sim::device::DEVICES.iter().find(|row| row.name == name && self.own.is_none())?;
        let title = row.help.split(':').next().unwrap_or_default();
        Some(
            ["an ", "a "]
                .into_iter()
                .find_map(|article| title.strip_prefix(article))
                .unwrap_or(title)
                .to_owned(),
        )
    }

    /// Inspects a fresh device.
    pub fn look<T>(&self, see: impl FnOnce(&dyn DeviceModel) -> T) -> T {
        see(self.prototype.lock().unwrap_or_else(PoisonError::into_inner).as_ref())
    }
}

fn made(
    word: &str,
    own: Option<&(String, Vec<(String, String)>)>,
    seed: u64,
) -> Result<Box<dyn DeviceModel>> {
    match own {
        None => sim::device::device(word, seed).map_err(|e| usage(e.to_string())),
        Some((text, changes)) => {
            let changes: Vec<(&str, &str)> =
                changes.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
            sim::device::device_from_toml(text, &changes, seed)
                .map_err(|e| usage(format!("{word}: {e}")))
        }
    }
}
