//! `struct sched_attr`: what the kernel takes and tells of a task's policy.

use std::io;

use super::Policy;

const SCHED_DEADLINE: u32 = 6;

/// What a task starts gets fair shares.
const RESET_ON_FORK: u64 = 1;

/// The structure's first version.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    pub(super) nice: i32,
    priority: u32,
    /// Of deadline tasks; of fair ones the slice.
    pub(super) runtime: u64,
    deadline: u64,
    period: u64,
}

const SIZE: u32 = 48;

impl Attributes {
    /// A nice level and a slice (0: the kernel's own) count for fair policies only.
    pub(super) fn of(policy: Policy, nice: i32, slice: u64) -> Attributes {
        let fair = Attributes { size: SIZE, nice, runtime: slice, ..Attributes::default() };
        let first = Attributes { size: SIZE, ..Attributes::default() };
        match policy {
            Policy::Other => fair,
            Policy::Batch => Attributes { policy: libc::SCHED_BATCH as u32, ..fair },
            Policy::Idle => Attributes { policy: libc::SCHED_IDLE as u32, ..fair },
            Policy::Fifo(priority) => {
                Attributes { policy: libc::SCHED_FIFO as u32, priority: priority.into(), ..first }
            }
            Policy::Rr(priority) => Attributes { policy: libc::SCHED_RR as u32, priority: priority.into(), ..first },
            Policy::Deadline { runtime, deadline, period } => {
                Attributes { policy: SCHED_DEADLINE, flags: RESET_ON_FORK, runtime, deadline, period, ..first }
            }
        }
    }

    /// The same, what it starts getting fair shares.
    pub(super) fn reset_on_fork(self) -> Attributes {
        Attributes { flags: self.flags | RESET_ON_FORK, ..self }
    }

    /// Of a task, 0 for the calling one.
    pub(super) fn of_task(task: i32) -> io::Result<Attributes> {
        let mut found = Attributes { size: SIZE, ..Attributes::default() };
        // SAFETY: the structure lives as long as the call, which writes at most as many bytes as its size says.
        let done = unsafe { libc::syscall(libc::SYS_sched_getattr, task, &raw mut found, SIZE, 0) };
        if done != 0 { Err(io::Error::last_os_error()) } else { Ok(found) }
    }

    /// Gives it to a task, 0 for the calling one. Nothing is allocated.
    pub(super) fn give(&self, task: i32) -> io::Result<()> {
        // SAFETY: the structure lives as long as the call, and begins with its size.
        let done = unsafe { libc::syscall(libc::SYS_sched_setattr, task, &raw const *self, 0) };
        if done != 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Whether both have the same policy, with what belongs to it. The kernel reports a slice for fair tasks whose slice was never set.
    pub(super) fn is_same_policy(&self, other: &Attributes) -> bool {
        // Of a deadline task that has ended and was not reaped the kernel tells no times any more.
        let has_times = |of: &Attributes| of.policy == SCHED_DEADLINE && self.runtime != 0 && other.runtime != 0;
        let times = |of: &Attributes| has_times(of).then_some((of.runtime, of.deadline, of.period));
        (self.policy, self.priority, times(self)) == (other.policy, other.priority, times(other))
    }

    /// Whether nice level and slice count.
    pub(super) fn is_fair(&self) -> bool {
        [libc::SCHED_OTHER, libc::SCHED_BATCH].contains(&(self.policy as i32))
    }

    pub(super) fn in_words(&self) -> String {
        let names = ["other", "fifo", "rr", "batch", "4", "idle", "deadline", "ext"];
        let name = names.get(self.policy as usize).map_or_else(|| self.policy.to_string(), |name| (*name).to_string());
        match self.policy {
            1 | 2 => format!("{name}:{}", self.priority),
            SCHED_DEADLINE => format!("{name}:{}ns/{}ns/{}ns", self.runtime, self.deadline, self.period),
            _ => name,
        }
    }
}
