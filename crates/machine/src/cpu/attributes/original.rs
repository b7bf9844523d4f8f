//! Original values.

use serde::{Deserialize, Serialize};

use crate::Root;
use crate::journal::payload::{expect, is_name, is_value};

use super::item::{Item, Shape, Write, equal_values};
use super::{debugfs, frequency, sysctl};

/// A file's contents before the first write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Original {
    #[serde(flatten)]
    pub(super) item: Item,
    pub(super) value: String,
    /// All values written; any other is another program's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) written: Vec<String>,
}

impl Original {
    /// Accepts files that an attribute resolves to, and single lines.
    pub(crate) fn check(&self, root: &Root) -> Result<(), String> {
        let Item { name, path, shape } = &self.item;
        let is_known = sysctl::is_path_of(root, name, path)
            || debugfs::is_path(root, path)
            || frequency::is_path(root, path);
        expect(
            is_known,
            "file",
            path,
            "a setting of the CPU scheduler or of the CPUs' frequencies",
        )?;
        if let Shape::Word(word) = shape {
            expect(is_name(word), "word", word, "the name of a feature")?;
        }
        expect(is_value(&self.value), "value", &self.value, "one line")
    }

    pub(super) fn write(&self) -> Write {
        Write { item: self.item.clone(), value: self.value.clone() }
    }

    pub(super) fn will_be(&mut self, value: &str) {
        if !self.written.iter().any(|known| equal_values(known, value)) {
            self.written.push(value.to_string());
        }
    }
}
