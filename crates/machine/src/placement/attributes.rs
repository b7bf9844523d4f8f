//! `struct sched_attr`: a task's policy.

use super::Policy;
pub(super) use crate::sys::SchedAttr as Attributes;

const SCHED_DEADLINE: u32 = 6;

/// `SCHED_FLAG_RESET_ON_FORK`.
const RESET_ON_FORK: u64 = 1;

impl Attributes {
    /// Nice level and slice (0: default) apply to fair policies only.
    pub(super) fn of(policy: Policy, nice: i32, slice: u64) -> Attributes {
        let fair = Attributes { nice, runtime: slice, ..Attributes::default() };
        let first = Attributes::default();
        match policy {
            Policy::Other => fair,
            Policy::Batch => Attributes { policy: libc::SCHED_BATCH as u32, ..fair },
            Policy::Idle => Attributes { policy: libc::SCHED_IDLE as u32, ..fair },
            Policy::Fifo(priority) => {
                Attributes { policy: libc::SCHED_FIFO as u32, priority: priority.into(), ..first }
            }
            Policy::Rr(priority) => {
                Attributes { policy: libc::SCHED_RR as u32, priority: priority.into(), ..first }
            }
            Policy::Deadline { runtime, deadline, period } => Attributes {
                policy: SCHED_DEADLINE,
                flags: RESET_ON_FORK,
                runtime,
                deadline,
                period,
                ..first
            },
        }
    }

    /// Children get a fair policy.
    pub(super) fn reset_on_fork(self) -> Attributes {
        Attributes { flags: self.flags | RESET_ON_FORK, ..self }
    }

    /// The kernel reports a slice for fair tasks even if none was set.
    pub(super) fn is_same_policy(&self, other: &Attributes) -> bool {
        // The kernel does not report times of an exited deadline task.
        let has_times = |of: &Attributes| {
            of.policy == SCHED_DEADLINE && self.runtime != 0 && other.runtime != 0
        };
        let times = |of: &Attributes| has_times(of).then_some((of.runtime, of.deadline, of.period));
        (self.policy, self.priority, times(self)) == (other.policy, other.priority, times(other))
    }

    pub(super) fn is_fair(&self) -> bool {
        [libc::SCHED_OTHER, libc::SCHED_BATCH].contains(&(self.policy as i32))
    }

    pub(super) fn in_words(&self) -> String {
        let names = ["other", "fifo", "rr", "batch", "4", "idle", "deadline", "ext"];
        let name = names
            .get(self.policy as usize)
            .map_or_else(|| self.policy.to_string(), |name| (*name).to_string());
        match self.policy {
            1 | 2 => format!("{name}:{}", self.priority),
            SCHED_DEADLINE => {
                format!("{name}:{}ns/{}ns/{}ns", self.runtime, self.deadline, self.period)
            }
            _ => name,
        }
    }
}
