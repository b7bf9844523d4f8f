//! Removed or configuration-dependent names, with their replacements.
//!
//! Tuning guides outlive their kernels. `sysctl -w` reports only "cannot stat" for a removed name,
//! and a script that ignores this measures nothing.
//!
//! Sources: the commits "sched: Move SCHED_DEBUG sysctl to debugfs" and "sched,debug: Convert
//! sysctl sched_domains to debugfs" (5.13), "sched/fair: Commit to EEVDF" and its successor, which
//! renames min_granularity to base_slice (6.6), "sched: Remove sysctl.sched_features" (2.6.33), the
//! change of `sched_energy_aware` (October 2023). `Recalled`: no source at hand.

#[derive(Debug, Clone, Copy)]
pub(super) struct Gone {
    /// A sysctl, or a file below /sys/kernel/debug/sched. A trailing `.` or `_` matches any suffix.
    pub(super) name: &'static str,
    /// What happened to it, as the second half of a sentence.
    pub(super) what: &'static str,
    /// Nearest setting before Linux 6.6, and since; may be empty.
    pub(super) replacements: [&'static str; 2],
}

const NOTHING: [&str; 2] = ["", ""];

const fn both(key: &'static str) -> [&'static str; 2] {
    [key, key]
}

const TO_DEBUGFS: &str = "moved from /proc/sys to /sys/kernel/debug/sched in Linux 5.13";
const WITH_EEVDF: &str = "moved from /proc/sys to /sys/kernel/debug/sched in Linux 5.13 and was removed in Linux 6.6, whose \
                          scheduler is EEVDF";
const CFS_ONLY: &str = "was a file of CFS, removed in Linux 6.6, whose scheduler is EEVDF";
const UCLAMP: &str = "requires Linux 5.3 or later, built with CONFIG_UCLAMP_TASK";

static GONE: &[Gone] = &[
    Gone {
        name: "kernel.sched_latency_ns",
        what: WITH_EEVDF,
        replacements: ["debug:latency_ns", "debug:base_slice_ns"],
    },
    Gone {
        name: "kernel.sched_min_granularity_ns",
        what: "moved from /proc/sys to /sys/kernel/debug/sched in Linux 5.13, and is called base_slice_ns there since Linux 6.6",
        replacements: ["debug:min_granularity_ns", "debug:base_slice_ns"],
    },
    Gone {
        name: "kernel.sched_wakeup_granularity_ns",
        what: WITH_EEVDF,
        replacements: ["debug:wakeup_granularity_ns", "debug:base_slice_ns"],
    },
    Gone {
        name: "kernel.sched_tunable_scaling",
        what: TO_DEBUGFS,
        replacements: both("debug:tunable_scaling"),
    },
    Gone {
        name: "kernel.sched_migration_cost_ns",
        what: TO_DEBUGFS,
        replacements: both("debug:migration_cost_ns"),
    },
    Gone {
        name: "kernel.sched_nr_migrate",
        what: TO_DEBUGFS,
        replacements: both("debug:nr_migrate"),
    },
    Gone {
        name: "kernel.numa_balancing_scan_delay_ms",
        what: TO_DEBUGFS,
        replacements: both("debug:numa_balancing/scan_delay_ms"),
    },
    Gone {
        name: "kernel.numa_balancing_scan_period_min_ms",
        what: TO_DEBUGFS,
        replacements: both("debug:numa_balancing/scan_period_min_ms"),
    },
    Gone {
        name: "kernel.numa_balancing_scan_period_max_ms",
        what: TO_DEBUGFS,
        replacements: both("debug:numa_balancing/scan_period_max_ms"),
    },
    Gone {
        name: "kernel.numa_balancing_scan_size_mb",
        what: TO_DEBUGFS,
        replacements: both("debug:numa_balancing/scan_size_mb"),
    },
    Gone {
        name: "kernel.sched_domain.",
        what: TO_DEBUGFS,
        replacements: both("debug:domains/cpu0/domain0/imbalance_pct"),
    },
    Gone {
        name: "kernel.sched_features",
        what: "was removed from /proc/sys in Linux 2.6.33; features are set one at a time",
        replacements: both("feature:NAME"),
    },
    // Unused since 6.6 according to the removing commit; removal in 6.7: recalled.
    Gone {
        name: "kernel.sched_child_runs_first",
        what: "has had no effect since Linux 6.6, whose scheduler is EEVDF, and was removed later; deadlines decide which task runs first",
        replacements: both("feature:PLACE_DEADLINE_INITIAL"),
    },
    Gone {
        name: "kernel.sched_schedstats",
        what: "requires a kernel built with CONFIG_SCHEDSTATS",
        replacements: NOTHING,
    },
    Gone {
        name: "kernel.sched_energy_aware",
        what: "requires a kernel built with CONFIG_ENERGY_MODEL, and takes effect only with CPUs of different capacity, no SMT and \
               the governor schedutil; elsewhere a write changes nothing",
        replacements: NOTHING,
    },
    Gone { name: "kernel.sched_util_clamp_", what: UCLAMP, replacements: NOTHING },
    Gone {
        name: "kernel.sched_uclamp_",
        what: UCLAMP,
        replacements: both("sysctl:kernel.sched_util_clamp_min"),
    },
    Gone {
        name: "kernel.sched_autogroup_enabled",
        what: "requires a kernel built with CONFIG_SCHED_AUTOGROUP",
        replacements: NOTHING,
    },
    Gone {
        name: "kernel.sched_cfs_bandwidth_slice_us",
        what: "requires a kernel built with CONFIG_CFS_BANDWIDTH",
        replacements: NOTHING,
    },
    // Recalled: removed in 4.19 with the average of realtime load.
    Gone {
        name: "kernel.sched_time_avg_ms",
        what: "was removed in Linux 4.19 together with the average that it configured",
        replacements: NOTHING,
    },
    // Recalled: 4.13.
    Gone {
        name: "kernel.sched_shares_window_ns",
        what: "was removed in the 4.x kernels: the load of groups is averaged over a fixed time",
        replacements: NOTHING,
    },
    // Recalled: 2.6.39.
    Gone {
        name: "kernel.sched_compat_yield",
        what: "was removed in Linux 2.6.39: yielding has had one meaning since",
        replacements: NOTHING,
    },
    // Recalled: about 6.14.
    Gone {
        name: "kernel.sched_itmt_enabled",
        what: "exists only on x86 machines with favoured cores; newer kernels have it as /sys/kernel/debug/x86/sched_itmt_enabled",
        replacements: NOTHING,
    },
    Gone {
        name: "kernel.numa_balancing",
        what: "requires a kernel built with CONFIG_NUMA_BALANCING",
        replacements: NOTHING,
    },
    Gone { name: "latency_ns", what: CFS_ONLY, replacements: ["", "debug:base_slice_ns"] },
    Gone {
        name: "wakeup_granularity_ns",
        what: CFS_ONLY,
        replacements: ["", "debug:base_slice_ns"],
    },
    Gone {
        name: "idle_min_granularity_ns",
        what: CFS_ONLY,
        replacements: ["", "debug:base_slice_ns"],
    },
    Gone {
        name: "min_granularity_ns",
        what: "is called base_slice_ns since Linux 6.6",
        replacements: ["", "debug:base_slice_ns"],
    },
    Gone {
        name: "base_slice_ns",
        what: "exists since Linux 6.6; before, the nearest setting is min_granularity_ns",
        replacements: ["debug:min_granularity_ns", ""],
    },
    Gone {
        name: "preempt",
        what: "requires a kernel built with CONFIG_PREEMPT_DYNAMIC",
        replacements: NOTHING,
    },
    Gone {
        name: "numa_balancing/",
        what: "requires a kernel built with CONFIG_NUMA_BALANCING",
        replacements: NOTHING,
    },
];

impl Gone {
    /// The replacement on a kernel of this release.
    pub(super) fn replacement(&self, release: &str) -> Option<&'static str> {
        let mut numbers = release.split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        let key = self.replacements[usize::from(version >= (6, 6))];
        (!key.is_empty()).then_some(key)
    }
}

pub(super) fn find(name: &str) -> Option<&'static Gone> {
    let is = |row: &&Gone| {
        row.name == name || row.name.ends_with(['.', '_', '/']) && name.starts_with(row.name)
    };
    GONE.iter().find(is)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::KEYS;

    #[test]
    fn every_row_is_found_by_its_name_and_its_successors_are_keys_of_settings() {
        for (i, row) in GONE.iter().enumerate() {
            let name = if row.name.ends_with(['.', '_', '/']) {
                format!("{}x", row.name)
            } else {
                row.name.to_string()
            };
            assert_eq!(find(&name).unwrap().name, row.name, "row {i}");
            for key in row.replacements.into_iter().filter(|key| !key.is_empty()) {
                let (begin, rest) = key.split_once(':').unwrap();
                assert!(
                    KEYS.iter().any(|known| known.name == format!("{begin}:")) && !rest.is_empty(),
                    "{key}"
                );
            }
        }
        let latency = find("kernel.sched_latency_ns").unwrap();
        assert_eq!(latency.replacement("6.5.13-x86"), Some("debug:latency_ns"));
        assert_eq!(latency.replacement("6.6.0"), Some("debug:base_slice_ns"));
        assert_eq!(latency.replacement("7.0-rc1"), Some("debug:base_slice_ns"));
        assert!(find("kernel.sched_latency").is_none() && find("latency").is_none());
    }
}
