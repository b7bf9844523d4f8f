//! What was moved, as the journal has it.

use crate::placement::CpuList;
use serde::{Deserialize, Serialize};

/// What was moved, as the journal has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Moved {
    pub(crate) cpus: CpuList,
    /// What a task gets that could use no others.
    pub(super) others: CpuList,
    /// When it began, in clock ticks since the machine's start: nothing was moved before this tick
    /// was over.
    pub(super) since: u64,
    /// The PID namespace whose tasks these are, as the kernel names it; a number of a task means
    /// another one elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) namespace: Option<String>,
    /// Every task that was to be moved, once for each mask that it had; the last one is what it
    /// gets back.
    pub(super) tasks: Vec<MovedTask>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MovedTask {
    pub(super) task: u32,
    pub(super) process: u32,
    pub(super) start: u64,
    pub(super) name: String,
    pub(super) mask: CpuList,
}

impl MovedTask {
    pub(super) fn key(&self) -> (u32, u64) {
        (self.task, self.start)
    }
}

impl Moved {
    /// What a task with this mask is left with.
    pub(super) fn left_to(&self, mask: &CpuList) -> CpuList {
        mask.without(&self.cpus).unwrap_or_else(|| self.others.clone())
    }

    /// Whether a mask is what a noted task was left with. One that could use no others may have got
    /// fewer than all others: its cpuset's.
    pub(super) fn is_left_of(&self, noted: &MovedTask, mask: &CpuList) -> bool {
        *mask == self.left_to(&noted.mask)
            || (noted.mask.is_within(&self.cpus) && mask.is_within(&self.others))
    }

    pub(super) fn last_of(&self, task: u32, start: u64) -> Option<&MovedTask> {
        self.tasks.iter().rfind(|noted| noted.key() == (task, start))
    }

    pub(super) fn has(&self, task: u32, start: u64) -> bool {
        self.last_of(task, start).is_some()
    }

    pub(super) fn in_words(&self) -> String {
        self.cpus.in_words()
    }
}
