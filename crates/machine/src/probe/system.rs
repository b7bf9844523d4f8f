//! System counters: CPU time, stolen time, throttling.

use std::path::Path;

use super::{ProbeError, numbers, read};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SystemCounters {
    /// CPU time of all CPUs, including idle time.
    pub total_ticks: u64,
    /// Idle or waiting for I/O.
    pub idle_ticks: u64,
    /// Taken by the hypervisor.
    pub steal_ticks: u64,
    /// Because of heat or power; `None` if not counted.
    pub throttle_events: Option<u64>,
}

impl SystemCounters {
    /// `proc` is usually /proc, `sys` /sys.
    pub fn read(proc: &Path, sys: &Path) -> Result<SystemCounters, ProbeError> {
        let path = proc.join("stat");
        let text = read(&path)?;
        let first = text.lines().next().unwrap_or_default();
        // user nice system idle iowait irq softirq steal; user includes the guest time that
        // follows.
        let n = numbers(first);
        if !first.starts_with("cpu ") || n.len() < 8 {
            return Err(ProbeError::Malformed {
                path,
                text: first.into(),
                expected: "cpu and eight counters",
            });
        }
        Ok(SystemCounters {
            total_ticks: n[..8].iter().sum(),
            idle_ticks: n[3] + n[4],
            steal_ticks: n[7],
            throttle_events: throttle_events(&sys.join("devices/system/cpu")),
        })
    }

    pub fn since(&self, earlier: &SystemCounters) -> SystemDelta {
        let total = self.total_ticks.saturating_sub(earlier.total_ticks);
        let share = |now: u64, then: u64| match total {
            0 => 0.0,
            total => now.saturating_sub(then) as f64 / total as f64,
        };
        SystemDelta {
            ticks: total,
            steal_share: share(self.steal_ticks, earlier.steal_ticks),
            busy_share: if total == 0 {
                0.0
            } else {
                1.0 - share(self.idle_ticks, earlier.idle_ticks)
            },
            throttle_events: self
                .throttle_events
                .unwrap_or(0)
                .saturating_sub(earlier.throttle_events.unwrap_or(0)),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SystemDelta {
    /// Of all CPUs (usually 10 ms each): the base of the shares.
    pub ticks: u64,
    /// Taken by the hypervisor, from 0 to 1.
    pub steal_share: f64,
    /// Neither idle nor waiting for I/O, from 0 to 1.
    pub busy_share: f64,
    pub throttle_events: u64,
}

/// Core and package throttling of all CPUs.
fn throttle_events(cpus: &Path) -> Option<u64> {
    let mut sum = None;
    for cpu in std::fs::read_dir(cpus).ok()?.flatten() {
        for name in ["core_throttle_count", "package_throttle_count"] {
            let counter = std::fs::read_to_string(cpu.path().join("thermal_throttle").join(name));
            if let Some(count) = counter.ok().and_then(|text| text.trim().parse::<u64>().ok()) {
                sum = Some(sum.unwrap_or(0) + count);
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(stat: &str, throttled: &[u64]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("stat"), stat).unwrap();
        for (number, count) in throttled.iter().enumerate() {
            let counters =
                dir.path().join(format!("devices/system/cpu/cpu{number}/thermal_throttle"));
            std::fs::create_dir_all(&counters).unwrap();
            std::fs::write(counters.join("core_throttle_count"), format!("{count}\n")).unwrap();
        }
        dir
    }

    #[test]
    fn stolen_time_is_a_share_of_all_cpu_time_and_guest_time_is_not_counted_twice() {
        let before = machine("cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0\n", &[1, 2]);
        let after = machine("cpu  100 0 100 500 100 0 0 200 100 0\ncpu0 0\n", &[1, 5]);
        let read = |dir: &tempfile::TempDir| SystemCounters::read(dir.path(), dir.path()).unwrap();
        let delta = read(&after).since(&read(&before));
        assert_eq!(
            delta,
            SystemDelta { ticks: 1000, steal_share: 0.2, busy_share: 0.4, throttle_events: 3 }
        );
    }

    #[test]
    fn a_machine_without_throttle_counters_has_none() {
        let dir = machine("cpu  1 1 1 1 1 1 1 1\n", &[]);
        assert_eq!(SystemCounters::read(dir.path(), dir.path()).unwrap().throttle_events, None);
    }

    #[test]
    fn this_machine_can_be_read_and_its_time_goes_on() {
        let read = || SystemCounters::read(Path::new("/proc"), Path::new("/sys")).unwrap();
        let before = read();
        assert!(before.total_ticks > 0 && read().total_ticks >= before.total_ticks);
    }

    #[test]
    fn a_stat_of_another_form_is_refused() {
        for text in ["", "cpu 1 2 3\n", "cpuinfo 1 2 3 4 5 6 7 8\n"] {
            let dir = machine(text, &[]);
            assert!(
                matches!(
                    SystemCounters::read(dir.path(), dir.path()),
                    Err(ProbeError::Malformed { .. })
                ),
                "{text:?}"
            );
        }
    }
}
