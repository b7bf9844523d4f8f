//! Parses a device description: TOML with whole numbers, flattened to dotted keys, then `KEY=VALUE`
//! overrides.
//!
//! Written by hand rather than with serde: an error names the key, its line and range, an unknown
//! key gets a suggestion, and overrides pass the same checks. No input can cause a panic.

use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};

use super::error::{DeviceError, Location};

#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Number(i128),
    Switch(bool),
    Text(String),
    /// An array's length; its elements are stored under `KEY.0`, `KEY.1` …
    Array(usize),
    /// A type that no key accepts: float, date.
    Other(&'static str),
}

impl Value {
    fn kind(&self) -> String {
        match self {
            Value::Number(number) => number.to_string(),
            Value::Switch(switch) => switch.to_string(),
            Value::Text(text) => format!("“{text}”"),
            Value::Array(_) => "a list".to_owned(),
            Value::Other(kind) => (*kind).to_owned(),
        }
    }
}

#[derive(Debug)]
struct Entry {
    value: Value,
    place: Location,
    asked: bool,
}

/// Models read every key they know once; the rest are unknown.
#[derive(Debug)]
pub(super) struct Description {
    entries: BTreeMap<String, Entry>,
    /// Every key read, present or not, for suggestions.
    known: Vec<String>,
}

impl Description {
    pub(super) fn read(text: &str, changes: &[(&str, &str)]) -> Result<Description, DeviceError> {
        let document = DeTable::parse(text).map_err(|error| DeviceError::Syntax {
            place: error.span().map_or(Location::Description, |span| line(text, span.start)),
            message: error.message().split_whitespace().collect::<Vec<_>>().join(" "),
        })?;
        let mut entries = BTreeMap::new();
        flatten(text, document.get_ref(), "", &mut entries);
        for (key, value) in changes {
            let value = match *value {
                "true" => Value::Switch(true),
                "false" => Value::Switch(false),
                text => text
                    .replace('_', "")
                    .parse()
                    .map_or_else(|_| Value::Text(text.to_owned()), Value::Number),
            };
            entries.insert(
                (*key).to_owned(),
                Entry { value, place: Location::Specification, asked: false },
            );
        }
        Ok(Description { entries, known: Vec::new() })
    }

    fn take(&mut self, key: &str) -> Option<(Value, Location)> {
        self.known.push(key.to_owned());
        let entry = self.entries.get_mut(key)?;
        entry.asked = true;
        Some((entry.value.clone(), entry.place))
    }

    pub(super) fn place(&self, key: &str) -> Location {
        self.entries.get(key).map_or(Location::Description, |entry| entry.place)
    }

    pub(super) fn inconsistent(&self, key: &str, why: impl Into<String>) -> DeviceError {
        DeviceError::Inconsistent { place: self.place(key), key: key.to_owned(), why: why.into() }
    }

    pub(super) fn number_or(
        &mut self,
        key: &str,
        default: u64,
        min: u64,
        max: u64,
    ) -> Result<u64, DeviceError> {
        match self.take(key) {
            None => Ok(default),
            Some((Value::Number(value), place)) => u64::try_from(value)
                .ok()
                .filter(|value| (min..=max).contains(value))
                .ok_or_else(|| DeviceError::Range { place, key: key.to_owned(), value, min, max }),
            Some((other, place)) => Err(DeviceError::Kind {
                place,
                key: key.to_owned(),
                expected: format!("a whole number from {min} to {max}"),
                found: other.kind(),
            }),
        }
    }

    /// A mandatory whole number.
    pub(super) fn number(
        &mut self,
        key: &str,
        meaning: &str,
        min: u64,
        max: u64,
    ) -> Result<u64, DeviceError> {
        let value = self.number_or(key, min, min, max)?;
        if self.has(key) {
            return Ok(value);
        }
        // It may be present but misspelt.
        let unasked = self
            .entries
            .iter()
            .filter(|(_, entry)| !entry.asked)
            .map(|(written, _)| written.as_str());
        let close =
            text::nearest(key, unasked.filter(|written| written.len().abs_diff(key.len()) <= 2));
        Err(match close {
            Some(written) => DeviceError::UnknownKey {
                place: self.place(written),
                key: written.to_owned(),
                nearest: Some(key.to_owned()),
            },
            None => DeviceError::Missing {
                key: key.to_owned(),
                meaning: format!("{meaning} ({min} to {max})"),
            },
        })
    }

    pub(super) fn switch_or(&mut self, key: &str, default: bool) -> Result<bool, DeviceError> {
        match self.take(key) {
            None => Ok(default),
            Some((Value::Switch(value), _)) => Ok(value),
            Some((Value::Number(value @ (0 | 1)), _)) => Ok(value == 1),
            Some((other, place)) => Err(DeviceError::Kind {
                place,
                key: key.to_owned(),
                expected: "true or false".to_owned(),
                found: other.kind(),
            }),
        }
    }

    /// The word's index; 0 if the key is absent.
    pub(super) fn word_or_first(
        &mut self,
        key: &str,
        words: &[&str],
    ) -> Result<usize, DeviceError> {
        let (value, place) = match self.take(key) {
            None => return Ok(0),
            Some(found) => found,
        };
        let index = match &value {
            Value::Text(text) => words.iter().position(|word| word == text),
            _ => None,
        };
        index.ok_or_else(|| DeviceError::Kind {
            place,
            key: key.to_owned(),
            expected: format!("one of {}", words.join(", ")),
            found: value.kind(),
        })
    }

    /// An array's length; 0 if the key is absent.
    pub(super) fn length(&mut self, key: &str, max: usize) -> Result<usize, DeviceError> {
        match self.take(key) {
            None => Ok(0),
            Some((Value::Array(length), _)) if length <= max => Ok(length),
            Some((Value::Array(length), place)) => Err(DeviceError::Range {
                place,
                key: format!("the length of {key}"),
                value: length as i128,
                min: 0,
                max: max as u64,
            }),
            Some((other, place)) => Err(DeviceError::Kind {
                place,
                key: key.to_owned(),
                expected: "a list".to_owned(),
                found: other.kind(),
            }),
        }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// Fails on an unknown key; call it last.
    pub(super) fn finish(&self) -> Result<(), DeviceError> {
        match self.entries.iter().find(|(_, entry)| !entry.asked) {
            None => Ok(()),
            Some((key, entry)) => Err(DeviceError::UnknownKey {
                place: entry.place,
                key: key.clone(),
                nearest: text::nearest(key, self.known.iter().map(String::as_str))
                    .map(str::to_owned),
            }),
        }
    }
}

fn flatten(text: &str, table: &DeTable<'_>, prefix: &str, entries: &mut BTreeMap<String, Entry>) {
    for (key, value) in table.iter() {
        put(text, format!("{prefix}{}", key.get_ref()), value, entries);
    }
}

fn put(
    text: &str,
    key: String,
    value: &toml::Spanned<DeValue<'_>>,
    entries: &mut BTreeMap<String, Entry>,
) {
    let place = line(text, value.span().start);
    let flat = match value.get_ref() {
        DeValue::Table(table) => return flatten(text, table, &format!("{key}."), entries),
        DeValue::Array(array) => {
            for (index, element) in array.iter().enumerate() {
                put(text, format!("{key}.{index}"), element, entries);
            }
            Value::Array(array.len())
        }
        DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
            .map_or(Value::Other("so large a number"), Value::Number),
        DeValue::Boolean(switch) => Value::Switch(*switch),
        DeValue::String(string) => Value::Text(string.to_string()),
        DeValue::Float(_) => Value::Other("a number with a point"),
        DeValue::Datetime(_) => Value::Other("a date"),
    };
    entries.insert(key, Entry { value: flat, place, asked: false });
}

fn line(text: &str, at: usize) -> Location {
    Location::Line(1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count())
}
