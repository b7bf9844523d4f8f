//! The kernel's counters of a task.

use crate::root::Root;

/// Since the task's start. After exit and until reaped, those of the first thread remain readable.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskCounters {
    /// Time on a CPU.
    pub run_ns: Option<u64>,
    /// Run-queue wait.
    pub wait_ns: Option<u64>,
    pub migrations: Option<u64>,
    pub voluntary: Option<u64>,
    pub involuntary: Option<u64>,
}

impl TaskCounters {
    /// `None` if the kernel does not count it.
    pub fn read(root: &Root, pid: u32) -> TaskCounters {
        let text =
            |name: &str| root.read_optional(root.proc(format!("{pid}/{name}"))).unwrap_or_default();
        let (schedstat, sched, status) = (text("schedstat"), text("sched"), text("status"));
        let stat: Vec<u64> =
            schedstat.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let line = |text: &str, name: &str| -> Option<u64> {
            let value = text.lines().find_map(|line| line.strip_prefix(name))?;
            value.trim_start_matches([' ', ':', '\t']).trim().parse().ok()
        };
        TaskCounters {
            run_ns: stat.first().copied(),
            wait_ns: stat.get(1).copied(),
            migrations: line(&sched, "se.nr_migrations"),
            voluntary: line(&status, "voluntary_ctxt_switches"),
            involuntary: line(&status, "nonvoluntary_ctxt_switches"),
        }
    }

    /// Counters by their names in a results file.
    pub fn counters(&self) -> impl Iterator<Item = (String, f64)> {
        [
            ("task_run_ms", self.run_ns.map(|ns| ns as f64 / 1e6)),
            ("task_wait_ms", self.wait_ns.map(|ns| ns as f64 / 1e6)),
            ("task_migrations", self.migrations.map(|n| n as f64)),
            ("task_voluntary_switches", self.voluntary.map(|n| n as f64)),
            ("task_involuntary_switches", self.involuntary.map(|n| n as f64)),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_string(), value?)))
    }
}
