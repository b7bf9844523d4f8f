//! The journal entry for CPU settings.

use std::sync::{Arc, Mutex};

use crate::journal::payload::{Payload, expect};
use crate::journal::{self, Entry};
use crate::{Error, Root};
use serde::{Deserialize, Serialize};

use crate::cpu::attributes::Original;
use crate::cpu::isolate::Moved;

/// Kind and key: one experiment at a time has the CPU settings.
pub(crate) const KEY: &str = "cpu";

/// Of the previous build: its interrupted experiments are undone, and running ones respected.
/// Remove in the next build.
pub(crate) const PREVIOUS: &str = "processors";

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Made {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) attributes: Vec<Original>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) moved: Option<Moved>,
}

impl Payload for Made {
    fn check(&self, root: &Root, key: &str) -> Result<(), String> {
        expect(key == KEY || key == PREVIOUS, "key", key, KEY)?;
        self.attributes.iter().try_for_each(|original| original.check(root))
    }
}

/// Changes are durable before they are made. Shared with the isolating thread.
#[derive(Debug, Clone)]
pub(super) struct Ledger {
    root: Root,
    made: Arc<Mutex<Made>>,
}

impl Ledger {
    pub(super) fn new(root: &Root) -> Ledger {
        Ledger { root: root.clone(), made: Arc::default() }
    }

    /// The change is durable once this returns. A failed write changes nothing.
    pub(super) fn note(&self, change: impl FnOnce(&mut Made)) -> Result<(), Error> {
        let mut made = self.made.lock().expect("no thread panics while it holds this");
        let mut next = made.clone();
        change(&mut next);
        journal::write(&self.root, KEY, &Entry::new(&self.root, KEY, &next)?)?;
        *made = next;
        Ok(())
    }

    pub(super) fn made(&self) -> Made {
        self.made.lock().expect("no thread panics while it holds this").clone()
    }
}
