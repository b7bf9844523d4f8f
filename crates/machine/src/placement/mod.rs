//! Nice level, policy and affinity of a process.
//!
//! Applied between fork and exec, so that no child can escape, and read back from the kernel.

use std::io;

use rustix::process::Pid;

use crate::root::Root;
use crate::sys::set_nice;
use attributes::Attributes;

mod attributes;
mod counters;
mod list;
mod mask;
mod online;
mod overseer;
mod policy;
mod refused;
#[cfg(test)]
mod tests;

pub use counters::TaskCounters;
pub use list::CpuList;
pub use mask::{Mask, Touch};
pub use online::{CAP_SYS_NICE, check_online, has_capability, online};
pub(crate) use overseer::{Overseer, bound_realtime};
pub use policy::Policy;

/// Unset fields are inherited.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placement {
    /// From -20 (highest priority) to 19 (lowest).
    pub nice: Option<i32>,
    pub policy: Option<Policy>,
    pub affinity: Option<CpuList>,
    /// Of a fair policy, in nanoseconds, from 0.1 to 100 ms (Linux 6.12 or later).
    pub slice: Option<u64>,
}

impl Placement {
    pub fn is_plain(&self) -> bool {
        *self == Placement::default()
    }

    /// Applies it to the calling process, between fork and exec, where allocation is forbidden. The
    /// error names what was refused.
    pub(crate) fn apply(&self, mask: &Mask) -> Result<(), (&'static str, io::Error)> {
        if self.affinity.is_some() {
            mask.give(0).map_err(|cause| (AFFINITY, cause))?;
        }
        if self.policy.is_some() || self.slice.is_some() {
            self.attributes()
                .give(0)
                .map_err(|cause| (if self.policy.is_some() { POLICY } else { SLICE }, cause))?;
        } else if let Some(nice) = self.nice {
            set_nice(nice).map_err(|cause| (NICE, cause))?;
        }
        Ok(())
    }

    /// Applies it to the calling process; the error says what was refused.
    pub fn apply_to_self(&self) -> Result<(), String> {
        self.apply(&self.mask()).map_err(|(what, cause)| format!("{what}: {cause}"))
    }

    fn attributes(&self) -> Attributes {
        Attributes::of(
            self.policy.unwrap_or(Policy::Other),
            self.nice.unwrap_or(0),
            self.slice.unwrap_or(0),
        )
    }

    /// All CPUs if unset.
    pub(crate) fn mask(&self) -> Mask {
        let every = || CpuList::of(0..=8191).expect("there are some");
        Mask::of(&self.affinity.clone().unwrap_or_else(every))
    }

    /// Setting, expected and found value of parts not in effect; empty if the process has exited.
    pub fn deviations(&self, pid: Pid) -> Vec<(&'static str, String, String)> {
        let mut deviations = Vec::new();
        let Ok(found) = Attributes::of_task(pid.as_raw_nonzero().get()) else { return deviations };
        let wanted = self.attributes();
        if let Some(policy) = self.policy
            && !wanted.is_same_policy(&found)
        {
            deviations.push(("policy", policy.to_string(), found.in_words()));
        }
        let is_fair = !self.policy.is_some_and(Policy::is_realtime);
        if let Some(nice) = self.nice.filter(|nice| is_fair && *nice != found.nice) {
            deviations.push(("nice", nice.to_string(), found.nice.to_string()));
        }
        if let Some(slice) = self.slice.filter(|slice| is_fair && *slice != found.runtime) {
            let shown = if found.runtime == 0 {
                "none: this kernel has no slices of a task's own (Linux 6.12 or later is needed)"
                    .to_string()
            } else {
                format!("{} ns", found.runtime)
            };
            deviations.push(("slice", format!("{slice} ns"), shown));
        }
        if let Some(affinity) = &self.affinity
            && let Some(found) = affinity_of(pid).filter(|found| found != affinity)
        {
            deviations.push(("affinity", affinity.to_string(), found.to_string()));
        }
        deviations
    }
}

/// E.g. `3ms`.
pub fn read_slice(text: &str) -> Result<u64, String> {
    let ns = text::parse_duration_ns(text).filter(|ns| (100_000..=100_000_000).contains(ns));
    ns.ok_or_else(|| "a slice is a time from 100us to 100ms, e.g. 3ms".to_string())
}

/// This process's slice in nanoseconds, inherited by programs; `None` without per-task slices.
pub fn own_slice() -> Option<u64> {
    let own = Attributes::of_task(0).ok()?;
    (own.is_fair() && own.runtime != 0).then_some(own.runtime)
}

const AFFINITY: &str = "it cannot be bound to its CPUs (affinity)";
const POLICY: &str = "its policy is refused";
const SLICE: &str = "its slice is refused";
const NICE: &str = "its nice level is refused";

/// `None` if the task has exited.
pub fn affinity_of(pid: Pid) -> Option<CpuList> {
    Mask::of_task(u32::try_from(pid.as_raw_nonzero().get()).ok()?).ok()?.list()
}

/// Deviations from the usual placement, inherited by programs: setting, usual and actual value.
pub fn own_place(root: &Root) -> Vec<(&'static str, String, String)> {
    let (nice, policy, affinity) = (Some(0), Some(Policy::Other), CpuList::online(root));
    let usual = Placement { nice, policy, affinity, ..Placement::default() };
    usual.deviations(rustix::process::getpid())
}
