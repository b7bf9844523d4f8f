//! A kernel file, or one word of it, that can be set.
//!
//! Most files show the written value. `features` accepts one word (`NAME` or `NO_NAME`) and shows
//! all; `preempt` accepts a mode and shows all, with the current one in brackets. A value is always
//! the text that would set it.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Root;
use crate::settings::attribute::same;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Item {
    /// E.g. `kernel.sched_rr_timeslice_ms`.
    pub(super) name: String,
    pub(super) path: PathBuf,
    #[serde(default, skip_serializing_if = "Shape::is_plain")]
    pub(super) shape: Shape,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Shape {
    /// As written.
    #[default]
    Plain,
    /// The file shows all values, the current one in brackets.
    Marked,
    /// With or without `NO_`; the values are `on` and `off`.
    Word(String),
}

impl Shape {
    fn is_plain(&self) -> bool {
        *self == Shape::Plain
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Write {
    pub(super) item: Item,
    pub(super) value: String,
}

impl Item {
    pub(super) fn plain(name: impl Into<String>, path: PathBuf) -> Item {
        Item { name: name.into(), path, shape: Shape::Plain }
    }

    /// Whether both are the same setting under different names.
    pub(super) fn same_setting(&self, other: &Item) -> bool {
        (&self.path, &self.shape) == (&other.path, &other.shape)
    }

    /// `None` if absent, unreadable, empty or without the word.
    pub(super) fn read(&self, root: &Root) -> Option<String> {
        let text = root.read_optional(&self.path)?;
        match &self.shape {
            Shape::Plain => Some(text),
            Shape::Marked => {
                let marked =
                    |word: &&str| word.starts_with(['(', '[']) && word.ends_with([')', ']']);
                let word = text.split_whitespace().find(marked)?;
                Some(word.trim_matches(['(', ')', '[', ']']).to_string())
            }
            Shape::Word(name) => {
                text.split_whitespace().find_map(|word| match word.strip_prefix("NO_") {
                    Some(off) => (off == name).then(|| "off".to_string()),
                    None => (word == name).then(|| "on".to_string()),
                })
            }
        }
    }

    pub(super) fn write(&self, root: &Root, value: &str) -> io::Result<()> {
        match &self.shape {
            Shape::Word(name) if value == "off" => {
                root.files().write_attribute(&self.path, &format!("NO_{name}"))
            }
            Shape::Word(name) => root.files().write_attribute(&self.path, name),
            Shape::Plain | Shape::Marked => root.files().write_attribute(&self.path, value),
        }
    }
}

impl Write {
    pub(super) fn holds(&self, root: &Root) -> bool {
        self.item.read(root).is_some_and(|found| equal_values(&self.value, &found))
    }
}

/// Compares texts, numbers or lists of numbers.
pub(super) fn equal_values(one: &str, other: &str) -> bool {
    let (one, other): (Vec<&str>, Vec<&str>) =
        (one.split_whitespace().collect(), other.split_whitespace().collect());
    one.len() == other.len() && one.iter().zip(&other).all(|(one, other)| same(one, other))
}
