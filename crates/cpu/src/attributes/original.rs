//! What a file held before an experiment.

use serde::{Deserialize, Serialize};

use super::item::{Item, Write, means_same};

/// What a file held before it was written for the first time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Original {
    #[serde(flatten)]
    pub(super) item: Item,
    pub(super) value: String,
    /// What was written to it, or was about to be: everything else is another program's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) written: Vec<String>,
}

impl Original {
    pub(super) fn write(&self) -> Write {
        Write { item: self.item.clone(), value: self.value.clone() }
    }

    pub(super) fn will_be(&mut self, value: &str) {
        if !self.written.iter().any(|known| means_same(known, value)) {
            self.written.push(value.to_string());
        }
    }
}
