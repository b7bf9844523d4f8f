//! Which I/O schedulers Linux has, had, and calls by other names.
//!
//! A scheduler comparison that quietly measures the wrong scheduler is worthless, so a name is
//! either understood exactly, translated with a word to the user, or refused with the nearest
//! choice named. Versions: blk-mq became the only path, and cfq, deadline and anticipatory's last
//! relatives left, in Linux 5.0; anticipatory itself was removed in 2.6.33.

use crate::kind::{Build, Role, Tunable};
use crate::knob::Knob;
use crate::table::find;

/// What a scheduler is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Passes requests through in order of arrival.
    PassThrough,
    /// Sorts by sector and bounds the wait of each request.
    Deadline,
    /// Shares the device among processes.
    Fair,
    /// Holds latency targets by limiting what is in flight.
    LatencyTarget,
}

impl Family {
    /// The word shown to users.
    pub fn name(self) -> &'static str {
        match self {
            Family::PassThrough => "pass-through",
            Family::Deadline => "deadline",
            Family::Fair => "fair share",
            Family::LatencyTarget => "latency target",
        }
    }
}

/// A row of [`LINUX`]: a scheduler that a current kernel can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinuxScheduler {
    /// The kernel's name, as `/sys/block/DEVICE/queue/scheduler` prints it.
    pub name: &'static str,
    /// What it is made for.
    pub family: Family,
    /// One line for `schedlab list schedulers`.
    pub help: &'static str,
    /// The kernel's configuration option, for messages; empty for `none`, which always exists.
    pub config: &'static str,
    /// The module's name, where it can be built as one; empty for `none`.
    pub module: &'static str,
    /// First Linux version with it.
    pub since: &'static str,
}

/// The schedulers of current kernels.
pub static LINUX: &[LinuxScheduler] = &[
    LinuxScheduler {
        name: "none",
        family: Family::PassThrough,
        help: "no scheduler: order of arrival; least CPU time, leaves ordering to the drive",
        config: "",
        module: "",
        since: "3.13",
    },
    LinuxScheduler {
        name: "mq-deadline",
        family: Family::Deadline,
        help: "sorts by sector, prefers reads, and bounds waiting times by deadlines",
        config: "CONFIG_MQ_IOSCHED_DEADLINE",
        module: "mq-deadline",
        since: "4.11",
    },
    LinuxScheduler {
        name: "kyber",
        family: Family::LatencyTarget,
        help: "keeps read and write latencies within targets by limiting the requests in flight; for fast devices",
        config: "CONFIG_MQ_IOSCHED_KYBER",
        module: "kyber-iosched",
        since: "4.12",
    },
    LinuxScheduler {
        name: "bfq",
        family: Family::Fair,
        help: "shares the device's throughput among processes and favours interactive ones; most CPU time",
        config: "CONFIG_IOSCHED_BFQ",
        module: "bfq",
        since: "4.12",
    },
];

impl LinuxScheduler {
    /// Its tunables as the kernel names them, with their defaults for a queue that was made so;
    /// what only the laboratory has is left out. From Linux 7.0 on, mq-deadline's `async_depth` is
    /// an attribute of the queue.
    pub fn tunables(&self, build: &Build) -> Vec<Knob> {
        let has = |row: &Tunable| !matches!(row.role, Role::Reading | Role::Disk | Role::Internal);
        find(self.name).map(|kind| kind.knobs_of(build, has)).unwrap_or_default()
    }
}

/// The schedulers of Linux that have a tunable of this name.
pub fn schedulers_with(tunable: &str) -> Vec<&'static LinuxScheduler> {
    let has = |row: &&LinuxScheduler| {
        row.tunables(&Build::default()).iter().any(|knob| knob.row.name == tunable)
    };
    LINUX.iter().filter(has).collect()
}

/// What a user's word for a scheduler means today.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// A row of [`LINUX`], by its own name.
    Current(&'static LinuxScheduler),
    /// An old name of something that is still there: use `now`, and say so.
    Renamed {
        /// The row of today.
        now: &'static LinuxScheduler,
        /// Why the two are the same thing.
        why: &'static str,
    },
    /// A scheduler that is gone from Linux: the user has to choose.
    Gone {
        /// What happened to it.
        fate: &'static str,
        /// The nearest choice of today.
        nearest: &'static LinuxScheduler,
    },
    /// Unknown to schedlab; a kernel may still offer it (out-of-tree schedulers), so check the
    /// device.
    Unknown,
}

/// Reads a user's word for a scheduler. Exact, lower case: the kernel's own rule.
pub fn resolve(word: &str) -> Named {
    if let Some(row) = row(word) {
        return Named::Current(row);
    }
    let current = |name| row(name).expect("the nearest choice is a row of LINUX");
    match word {
        "noop" => {
            Named::Renamed { now: current("none"), why: "noop became none with blk-mq, Linux 5.0" }
        }
        "deadline" => Named::Renamed {
            now: current("mq-deadline"),
            why: "deadline became mq-deadline with blk-mq, Linux 5.0",
        },
        "cfq" => Named::Gone { fate: "cfq was removed in Linux 5.0", nearest: current("bfq") },
        "anticipatory" | "as" => Named::Gone {
            fate: "anticipatory was removed in Linux 2.6.33, and its successor cfq in Linux 5.0",
            nearest: current("bfq"),
        },
        _ => Named::Unknown,
    }
}

fn row(name: &str) -> Option<&'static LinuxScheduler> {
    LINUX.iter().find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_found_by_its_own_name_and_says_what_it_is() {
        for row in LINUX {
            assert_eq!(resolve(row.name), Named::Current(row));
            assert!(
                !row.help.is_empty() && !row.since.is_empty(),
                "{} needs help and a version",
                row.name
            );
            assert_eq!(
                row.config.is_empty(),
                row.name == "none",
                "{}: only none needs no option",
                row.name
            );
        }
    }

    #[test]
    fn the_kernels_tunables_are_without_the_laboratorys_own() {
        let names = |word| -> Vec<&str> {
            let Named::Current(row) = resolve(word) else { panic!("{word} is a row") };
            row.tunables(&Build::default()).iter().map(|knob| knob.row.name).collect()
        };
        assert!(
            names("none").is_empty()
                && !names("bfq").contains(&"burst")
                && !names("mq-deadline").contains(&"linux")
        );
        assert!(
            names("bfq").contains(&"slice_idle") && names("mq-deadline").contains(&"fifo_batch")
        );
        assert!(
            names("bfq").contains(&"slice_idle_us"),
            "another unit of the same is the kernel's all the same"
        );
        let with: Vec<&str> = schedulers_with("slice_idle").iter().map(|row| row.name).collect();
        assert_eq!(with, ["bfq"]);
    }

    #[test]
    fn old_names_lead_to_todays_schedulers() {
        assert!(matches!(resolve("noop"), Named::Renamed { now, .. } if now.name == "none"));
        assert!(
            matches!(resolve("deadline"), Named::Renamed { now, .. } if now.name == "mq-deadline")
        );
    }

    #[test]
    fn schedulers_that_are_gone_name_the_nearest_choice_and_are_not_replaced_silently() {
        for gone in ["cfq", "anticipatory", "as"] {
            assert!(
                matches!(resolve(gone), Named::Gone { nearest, .. } if nearest.name == "bfq"),
                "{gone}"
            );
        }
    }

    #[test]
    fn a_word_in_the_wrong_case_is_unknown_as_it_is_to_the_kernel() {
        assert_eq!(resolve("None"), Named::Unknown);
        assert_eq!(resolve("adios"), Named::Unknown);
    }
}
