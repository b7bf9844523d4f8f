//! Why there is no such device: each error names the key, the line where there is one, and what
//! would be right.

use super::table::DEVICES;

/// Why there is no such device.
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
        /// The part that cannot be read.
        part: String,
    },
    /// The description is not TOML.
    #[error("{place}: {message}")]
    Syntax {
        /// Where.
        place: Location,
        /// What the TOML reader says, on one line.
        message: String,
    },
    /// A key that this model does not have.
    #[error("{place}: unknown key {key}{}", text::suggestion(nearest.as_deref()))]
    UnknownKey {
        /// Where.
        place: Location,
        /// The key as written.
        key: String,
        /// The most alike of those that there are.
        nearest: Option<String>,
    },
    /// A key that must be there is not.
    #[error("key {key}: missing; add it: {meaning}")]
    Missing {
        /// The key.
        key: String,
        /// What it says.
        meaning: String,
    },
    /// A value of the wrong kind.
    #[error("{place}: {key} must be {expected}, not {found}")]
    Kind {
        /// Where.
        place: Location,
        /// The key.
        key: String,
        /// What it must be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// A number out of range.
    #[error("{place}: {key} = {value} is out of range: {min} to {max}")]
    Range {
        /// Where.
        place: Location,
        /// The key.
        key: String,
        /// The value as written.
        value: i128,
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
    },
    /// Values that are right each by itself do not make a device.
    #[error("{place}: {key}: {why}")]
    Inconsistent {
        /// Where.
        place: Location,
        /// The key that is to blame, or the first of them.
        key: String,
        /// Why.
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
    /// Nowhere: a default, or what follows from several values.
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
