//! Device errors. Each names the key, the line if there is one, and the remedy.

use super::table::DEVICES;

/// Why a device could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// No row has this name.
    #[error(
        "device model {name:?}: unknown name; `schedlab list devices` lists the models (real devices and loop:SIZE need --arena disk){}",
        text::did_you_mean(name, DEVICES.iter().map(|row| row.name))
    )]
    Unknown {
        /// The name as written.
        name: String,
    },
    /// A specification is not `NAME:KEY=VALUE:KEY=VALUE`.
    #[error("“{part}”: not KEY=VALUE; write a device as NAME or NAME:KEY=VALUE:KEY=VALUE")]
    Specification {
        /// The unreadable part.
        part: String,
    },
    /// The description is not TOML.
    #[error("{place}: {message}")]
    Syntax {
        /// Its location.
        place: Location,
        /// The TOML parser's message, on one line.
        message: String,
    },
    /// A key unknown to this model.
    #[error("{place}: unknown key {key}{}", text::suggestion(nearest.as_deref()))]
    UnknownKey {
        /// Its location.
        place: Location,
        /// The key as written.
        key: String,
        /// The closest known key.
        nearest: Option<String>,
    },
    /// A mandatory key is missing.
    #[error("key {key}: missing; add it: {meaning}")]
    Missing {
        /// The key.
        key: String,
        /// Its meaning.
        meaning: String,
    },
    /// A value of the wrong kind.
    #[error("{place}: {key} must be {expected}, not {found}")]
    Kind {
        /// Its location.
        place: Location,
        /// The key.
        key: String,
        /// The expected type.
        expected: String,
        /// The type found.
        found: String,
    },
    /// A number out of range.
    #[error("{place}: {key} = {value} is out of range: {min} to {max}")]
    Range {
        /// Its location.
        place: Location,
        /// The key.
        key: String,
        /// The value as written.
        value: i128,
        /// Minimum.
        min: u64,
        /// Maximum.
        max: u64,
    },
    /// Values that are valid alone but contradict each other.
    #[error("{place}: {key}: {why}")]
    Inconsistent {
        /// Its location.
        place: Location,
        /// The first key concerned.
        key: String,
        /// The contradiction.
        why: String,
    },
}

/// Where a value was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Location {
    /// A line of the description, from 1.
    Line(usize),
    /// A `KEY=VALUE` of the specification.
    Specification,
    /// No place: a default, or derived from several values.
    Description,
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Location::Line(line) => write!(f, "line {line} of the device's description"),
            Location::Specification => f.write_str("in the device's specification"),
            Location::Description => f.write_str("in the device's description"),
        }
    }
}
