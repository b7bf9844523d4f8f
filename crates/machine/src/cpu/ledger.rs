//! What was changed on the machine: the payload of the journal's entry.

use std::sync::{Arc, Mutex};

use crate::journal::payload::{Payload, expect};
use crate::journal::{self, Entry};
use crate::{Error, Root};
use serde::{Deserialize, Serialize};

use crate::cpu::attributes::Original;
use crate::cpu::isolate::Moved;

/// The entry's kind and its key: one experiment at a time has the settings of the CPU scheduler.
pub(crate) const KEY: &str = "cpu";

/// The same in the previous build: its interrupted experiments are undone and its running ones
/// respected. Goes with the next build.
pub(crate) const PREVIOUS: &str = "processors";

/// What was changed on the machine, as the journal has it.
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

/// The journal entry: what is noted in it is on the disk before it is done. Shared with the thread
/// that keeps CPUs empty.
#[derive(Debug, Clone)]
pub(super) struct Ledger {
    root: Root,
    made: Arc<Mutex<Made>>,
}

impl Ledger {
    pub(super) fn new(root: &Root) -> Ledger {
        Ledger { root: root.clone(), made: Arc::default() }
    }

    /// Changes what is noted; when this returns, it survives a loss of power. What could not be
    /// written down is not noted.
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
