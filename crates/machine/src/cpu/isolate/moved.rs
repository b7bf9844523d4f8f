//! Moved tasks, as journaled.

use crate::placement::CpuList;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Moved {
    pub(crate) cpus: CpuList,
    /// For tasks that could use no other CPUs.
    pub(super) others: CpuList,
    /// In clock ticks since boot; nothing was moved before the end of this tick.
    pub(super) since: u64,
    /// Of the task ids, as the kernel names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) namespace: Option<String>,
    /// Once for each mask; the last one is restored.
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
    pub(super) fn reduced_mask(&self, mask: &CpuList) -> CpuList {
        mask.difference(&self.cpus).unwrap_or_else(|| self.others.clone())
    }

    /// Whether `mask` is the reduced mask of a noted task, possibly restricted by its cpuset.
    pub(super) fn is_reduced_mask_of(&self, noted: &MovedTask, mask: &CpuList) -> bool {
        *mask == self.reduced_mask(&noted.mask)
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
