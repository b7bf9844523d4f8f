//! The I/O schedulers of Linux, present and past, and their other names.
//!
//! A comparison must not silently measure the wrong scheduler, so a name is understood exactly,
//! translated with a notice, or refused with the nearest alternative. blk-mq became the only path
//! in Linux 5.0, which removed cfq and deadline; anticipatory was removed in 2.6.33.

use crate::kind::{Build, Role, Tunable};
use crate::knob::Knob;
use crate::table::find;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Dispatches in order of arrival.
    PassThrough,
    /// Sorts by sector and bounds each request's wait.
    Deadline,
    /// Shares the device among processes.
    Fair,
    /// Meets latency targets by limiting requests in flight.
    LatencyTarget,
}

impl Family {
    pub fn name(self) -> &'static str {
        match self {
            Family::PassThrough => "pass-through",
            Family::Deadline => "deadline",
            Family::Fair => "fair share",
            Family::LatencyTarget => "latency target",
        }
    }
}

/// A row of [`LINUX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinuxScheduler {
    /// As printed in `/sys/block/DEVICE/queue/scheduler`.
    pub name: &'static str,
    pub family: Family,
    pub help: &'static str,
    /// Empty for `none`.
    pub config: &'static str,
    /// Empty for `none`.
    pub module: &'static str,
    pub since: &'static str,
}

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
    /// The kernel's tunables with their defaults. Since Linux 7.0, mq-deadline's `async_depth` is a
    /// queue attribute.
    pub fn tunables(&self, build: &Build) -> Vec<Knob> {
        let has = |row: &Tunable| !matches!(row.role, Role::Reading | Role::Disk | Role::Internal);
        find(self.name).map(|kind| kind.knobs_of(build, has)).unwrap_or_default()
    }
}

pub fn schedulers_with(tunable: &str) -> Vec<&'static LinuxScheduler> {
    let has = |row: &&LinuxScheduler| {
        row.tunables(&Build::default()).iter().any(|knob| knob.row.name == tunable)
    };
    LINUX.iter().filter(has).collect()
}

/// The current meaning of a scheduler name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    Current(&'static LinuxScheduler),
    /// An old name of an existing scheduler: use `now` and print a notice.
    Renamed {
        now: &'static LinuxScheduler,
        /// Why the two are the same.
        why: &'static str,
    },
    /// A scheduler removed from Linux: the user has to choose another.
    Gone {
        fate: &'static str,
        /// The nearest current alternative.
        nearest: &'static LinuxScheduler,
    },
    /// Unknown to schedlab. A kernel may still offer it (out-of-tree), so check the device.
    Unknown,
}

/// Resolves a scheduler name. Exact and lower case, as in the kernel.
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
