//! How a process is placed among others on the processors: nice level, policy, and which processors it may use.
//!
//! Given to a process between fork and exec, so that no child of it can escape, and read back from the kernel.

use std::fmt;
use std::io;
use std::str::FromStr;

use rustix::process::Pid;

use super::CpuList;

/// What a process gets. What is not named stays as it was inherited.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placement {
    /// From -20 (most) to 19 (least).
    pub nice: Option<i32>,
    /// Its policy.
    pub policy: Option<Policy>,
    /// The processors that it may use.
    pub affinity: Option<CpuList>,
}

/// A scheduling policy, with what belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// SCHED_OTHER: fair shares by nice level.
    Other,
    /// SCHED_BATCH: the same, never preempting upon waking.
    Batch,
    /// SCHED_IDLE: below every nice level.
    Idle,
    /// SCHED_FIFO with a priority from 1 to 98: runs until it sleeps.
    Fifo(u8),
    /// SCHED_RR with a priority from 1 to 98: the same in turns.
    Rr(u8),
    /// SCHED_DEADLINE: so much time in each period, each time before the deadline; in nanoseconds.
    Deadline {
        /// Processor time in each period.
        runtime: u64,
        /// Until when after the beginning of a period it is to have it.
        deadline: u64,
        /// The period.
        period: u64,
    },
}

impl Policy {
    /// Whether it goes before every process of fair shares.
    pub fn is_realtime(self) -> bool {
        matches!(self, Policy::Fifo(_) | Policy::Rr(_) | Policy::Deadline { .. })
    }
}

/// The highest priority of fifo and rr: 99 is left to the kernel's own threads and to what watches over the experiment.
const HIGHEST: u8 = 98;

impl FromStr for Policy {
    type Err = String;

    fn from_str(text: &str) -> Result<Policy, String> {
        let (name, rest) = text.trim().split_once([':', '/']).map_or((text.trim(), None), |(a, b)| (a, Some(b)));
        let priority = || -> Result<u8, String> {
            let number = rest.and_then(|word| word.trim().parse::<u8>().ok());
            number
                .filter(|number| (1..=HIGHEST).contains(number))
                .ok_or_else(|| format!("{name} needs a priority from 1 to {HIGHEST}, e.g. {name}:50"))
        };
        match (name, rest) {
            ("other" | "normal", None) => Ok(Policy::Other),
            ("batch", None) => Ok(Policy::Batch),
            ("idle", None) => Ok(Policy::Idle),
            ("fifo", _) => priority().map(Policy::Fifo),
            ("rr", _) => priority().map(Policy::Rr),
            ("deadline", Some(rest)) => deadline(rest),
            _ => Err(format!(
                "{text:?} is no policy; there are other, batch, idle, fifo:PRIORITY, rr:PRIORITY and deadline:RUNTIME/DEADLINE/PERIOD, e.g. \
                 deadline:5ms/10ms/10ms"
            )),
        }
    }
}

fn deadline(rest: &str) -> Result<Policy, String> {
    let times: Option<Vec<u64>> = rest.split('/').map(workload::parse_duration_ns).collect();
    match times.as_deref() {
        Some(&[runtime, deadline, period]) if (1024..=deadline).contains(&runtime) && deadline <= period => {
            Ok(Policy::Deadline { runtime, deadline, period })
        }
        _ => Err(format!(
            "deadline:{rest} is none: three times are needed, RUNTIME/DEADLINE/PERIOD, each at most the next and the first at least \
             1024ns, e.g. deadline:5ms/10ms/10ms"
        )),
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Policy::Other => f.write_str("other"),
            Policy::Batch => f.write_str("batch"),
            Policy::Idle => f.write_str("idle"),
            Policy::Fifo(priority) => write!(f, "fifo:{priority}"),
            Policy::Rr(priority) => write!(f, "rr:{priority}"),
            Policy::Deadline { runtime, deadline, period } => write!(f, "deadline:{runtime}ns/{deadline}ns/{period}ns"),
        }
    }
}

/// `struct sched_attr` of the kernel, its first version.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

const SIZE: u32 = 48;

impl Attributes {
    fn of(policy: Policy, nice: i32) -> Attributes {
        let plain = Attributes { size: SIZE, nice, ..Attributes::default() };
        match policy {
            Policy::Other => plain,
            Policy::Batch => Attributes { policy: libc::SCHED_BATCH as u32, ..plain },
            Policy::Idle => Attributes { policy: libc::SCHED_IDLE as u32, ..plain },
            Policy::Fifo(priority) => {
                Attributes { policy: libc::SCHED_FIFO as u32, priority: priority.into(), nice: 0, ..plain }
            }
            Policy::Rr(priority) => {
                Attributes { policy: libc::SCHED_RR as u32, priority: priority.into(), nice: 0, ..plain }
            }
            Policy::Deadline { runtime, deadline, period } => {
                Attributes { policy: SCHED_DEADLINE, nice: 0, runtime, deadline, period, ..plain }
            }
        }
    }
}

const SCHED_DEADLINE: u32 = 6;

impl Placement {
    /// Whether nothing is asked for.
    pub fn is_plain(&self) -> bool {
        *self == Placement::default()
    }

    /// Gives it to the calling process: between fork and exec, where nothing may be allocated. Err names what was refused.
    pub(crate) fn take(&self, mask: &libc::cpu_set_t) -> Result<(), (&'static str, io::Error)> {
        let last = io::Error::last_os_error;
        if self.affinity.is_some() {
            // SAFETY: the set lives as long as the call, and its size is given.
            let done = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), mask) };
            if done != 0 {
                return Err(("it cannot be bound to its processors (affinity)", last()));
            }
        }
        if let Some(policy) = self.policy {
            let attributes = Attributes::of(policy, self.nice.unwrap_or(0));
            // SAFETY: the structure lives as long as the call, and begins with its size.
            let done = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
            if done != 0 {
                return Err(("its policy is refused", last()));
            }
        } else if let Some(nice) = self.nice {
            // SAFETY: the call has three integers for arguments and touches no memory.
            let done = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
            if done != 0 {
                return Err(("its nice level is refused", last()));
            }
        }
        Ok(())
    }

    /// Its processors as the kernel takes them.
    pub(crate) fn mask(&self) -> libc::cpu_set_t {
        // SAFETY: a set of bits, of which none is set.
        let mut mask: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        let bits = 8 * size_of::<libc::cpu_set_t>();
        for cpu in self.affinity.iter().flat_map(CpuList::iter).map(|cpu| cpu as usize).filter(|cpu| *cpu < bits) {
            // SAFETY: the number is below the set's size.
            unsafe { libc::CPU_SET(cpu, &mut mask) };
        }
        mask
    }

    /// What of it a process does not have: what was asked for, what it was, what is found. Nothing for a process that is gone.
    pub fn missing(&self, pid: Pid) -> Vec<(&'static str, String, String)> {
        let mut missing = Vec::new();
        let raw = pid.as_raw_nonzero().get();
        let mut attributes = Attributes { size: SIZE, ..Attributes::default() };
        // SAFETY: the structure lives as long as the call, which writes at most as many bytes as it is told.
        let read = unsafe { libc::syscall(libc::SYS_sched_getattr, raw, &raw mut attributes, SIZE, 0) };
        if read != 0 {
            return missing;
        }
        if let Some(policy) = self.policy {
            let wanted = Attributes::of(policy, self.nice.unwrap_or(0));
            let same = (wanted.policy, wanted.priority, wanted.runtime, wanted.deadline, wanted.period)
                == (attributes.policy, attributes.priority, attributes.runtime, attributes.deadline, attributes.period);
            if !same {
                missing.push((
                    "policy",
                    policy.to_string(),
                    format!("policy {} of priority {}", attributes.policy, attributes.priority),
                ));
            }
        }
        if let Some(nice) =
            self.nice.filter(|_| !self.policy.is_some_and(Policy::is_realtime)).filter(|nice| *nice != attributes.nice)
        {
            missing.push(("nice", nice.to_string(), attributes.nice.to_string()));
        }
        if let Some(affinity) = &self.affinity
            && let Some(found) = affinity_of(pid).filter(|found| found != affinity)
        {
            missing.push(("affinity", affinity.to_string(), found.to_string()));
        }
        missing
    }
}

/// The processors that a task may use; none if it is gone.
pub(crate) fn affinity_of(pid: Pid) -> Option<CpuList> {
    let set = rustix::thread::sched_getaffinity(Some(pid)).ok()?;
    CpuList::of((0..rustix::thread::CpuSet::MAX_CPU as u32).filter(|cpu| set.is_set(*cpu as usize)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_read_and_written_the_same() {
        for text in ["other", "batch", "idle", "fifo:50", "rr:1"] {
            assert_eq!(text.parse::<Policy>().unwrap().to_string(), text);
        }
        let parsed: Policy = "deadline:5ms/10ms/20ms".parse().unwrap();
        assert_eq!(parsed, Policy::Deadline { runtime: 5_000_000, deadline: 10_000_000, period: 20_000_000 });
        assert_eq!("fifo/50".parse::<Policy>(), Ok(Policy::Fifo(50)));
        for (text, said) in [
            ("fifo", "fifo:50"),
            ("fifo:0", "1 to 98"),
            ("rr:99", "1 to 98"),
            ("deadline:20ms/10ms/10ms", "each at most the next"),
            ("batch:3", "is no policy"),
            ("realtime", "is no policy"),
        ] {
            assert!(text.parse::<Policy>().unwrap_err().contains(said), "{text}");
        }
    }
}
