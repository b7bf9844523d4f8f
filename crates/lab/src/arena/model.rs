//! The device of a plan in virtual time: one of the simulator's, or one that a file describes.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use machine::files::Bounded;
use sim::DeviceModel;
use text::limits::DEVICE_BYTES;

use crate::failure::usage;

/// What a plan's `device` means in the simulator.
#[derive(Debug, Clone)]
pub struct Model {
    /// As in the plan.
    word: String,
    /// The text of the file, where it names one, and the changes after it.
    own: Option<(String, Vec<(String, String)>)>,
    /// A new one, to look at and to copy; shared by the threads that simulate, and by copies.
    prototype: Arc<Mutex<Box<dyn DeviceModel>>>,
}

/// The text of a device's description.
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
    /// Reads the file that the word names, if it names one; whether the device can be made is tried
    /// at once.
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

    /// A device for a trial with this seed.
    pub fn make(&self, seed: u64) -> Result<Box<dyn DeviceModel>> {
        self.look(|device| device.copy(seed))
            .map_or_else(|| made(&self.word, self.own.as_ref(), seed), Ok)
    }

    /// As in the plan.
    pub fn word(&self) -> &str {
        &self.word
    }

    /// The text of the file that describes it, where it has one.
    pub fn description(&self) -> Option<&str> {
        self.own.as_ref().map(|(text, _)| text.as_str())
    }

    /// What a modelled device is called in a sentence: `HP 97560, 1991`; none for one of a file.
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

    /// Looks at a device that nothing has been done to.
    pub fn look<T>(&self, see: impl FnOnce(&dyn DeviceModel) -> T) -> T {
        see(self.prototype.lock().unwrap_or_else(PoisonError::into_inner).as_ref())
    }
}

/// A new device.
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
