//! Scheduling policies.

use std::fmt;
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// SCHED_OTHER: fair shares by nice level.
    Other,
    /// SCHED_BATCH: without wakeup preemption.
    Batch,
    /// SCHED_IDLE: below every nice level.
    Idle,
    /// SCHED_FIFO, priority 1 to 98: runs until it sleeps.
    Fifo(u8),
    /// SCHED_RR, priority 1 to 98: round-robin.
    Rr(u8),
    /// SCHED_DEADLINE, in nanoseconds. Only for the first thread: the kernel refuses to let it
    /// fork, so its children get a fair policy (SCHED_FLAG_RESET_ON_FORK).
    Deadline {
        /// CPU time per period.
        runtime: u64,
        /// Counted from the start of the period.
        deadline: u64,
        period: u64,
    },
}

impl Policy {
    /// Whether it precedes all fair policies.
    pub fn is_realtime(self) -> bool {
        matches!(self, Policy::Fifo(_) | Policy::Rr(_) | Policy::Deadline { .. })
    }
}

/// 99 is reserved for kernel threads and the overseer.
const HIGHEST: u8 = 98;

impl FromStr for Policy {
    type Err = String;

    fn from_str(text: &str) -> Result<Policy, String> {
        let (name, rest) =
            text.trim().split_once([':', '/']).map_or((text.trim(), None), |(a, b)| (a, Some(b)));
        let priority = || -> Result<u8, String> {
            let number = rest.and_then(|word| word.trim().parse::<u8>().ok());
            number.filter(|number| (1..=HIGHEST).contains(number)).ok_or_else(|| {
                format!("{name} needs a priority from 1 to {HIGHEST}, e.g. {name}:50")
            })
        };
        match (name, rest) {
            ("other" | "normal", None) => Ok(Policy::Other),
            ("batch", None) => Ok(Policy::Batch),
            ("idle", None) => Ok(Policy::Idle),
            ("fifo", _) => priority().map(Policy::Fifo),
            ("rr", _) => priority().map(Policy::Rr),
            ("deadline", Some(rest)) => deadline(rest),
            _ => Err(format!(
                "{text:?} is not a policy; expected other, batch, idle, fifo:PRIORITY, rr:PRIORITY and deadline:RUNTIME/DEADLINE/PERIOD, e.g. \
                 deadline:5ms/10ms/10ms"
            )),
        }
    }
}

fn deadline(rest: &str) -> Result<Policy, String> {
    let times: Option<Vec<u64>> = rest.split('/').map(text::parse_duration_ns).collect();
    match times.as_deref() {
        Some(&[runtime, deadline, period])
            if (1024..=deadline).contains(&runtime) && deadline <= period =>
        {
            Ok(Policy::Deadline { runtime, deadline, period })
        }
        _ => Err(format!(
            "deadline:{rest} is invalid: three times are required, RUNTIME/DEADLINE/PERIOD, each at most the next and the first at least \
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
            Policy::Deadline { runtime, deadline, period } => {
                write!(f, "deadline:{runtime}ns/{deadline}ns/{period}ns")
            }
        }
    }
}
