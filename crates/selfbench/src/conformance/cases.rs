//! The trials: schedulers, disks and workloads.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use experiment::plan::Plan;
use lab::arena::agreement;

const SCHEDULERS: &[&str] =
    &["none", "mq-deadline", "kyber", "bfq", "anticipatory", "wpcas", "occupancy"];

/// Schedulers that wait for an arm's next request.
const FOR_ARMS: &[&str] = &["anticipatory", "wpcas"];

/// In its ten seconds, flash serves more requests than the log takes.
const LONG: &str = "iozone-10";

/// A workload: label, parameters as in a plan, maximum time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    pub(super) name: &'static str,
    words: &'static str,
    /// Seconds; work with an amount ends earlier.
    seconds: u64,
    quick: bool,
    /// Schedulers with a known difference: none (the simulator has no plugs) and bfq (merges before
    /// the first dispatch).
    without: &'static [&'static str],
}

impl Work {
    /// Whether time rather than work ends it.
    pub(super) fn is_cut(&self) -> bool {
        self.seconds < 3600
    }

    pub(super) fn duration(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

const WORKS: &[Work] = &[
    Work {
        name: "randread-1",
        words: "randread:clients=1:amount=2M",
        seconds: 3600,
        quick: true,
        without: &[],
    },
    Work {
        name: "randread-16",
        words: "randread:clients=16:amount=256k",
        seconds: 3600,
        quick: false,
        without: &[],
    },
    Work {
        name: "randread-40",
        words: "randread:clients=40:amount=128k",
        seconds: 3600,
        quick: true,
        without: &[],
    },
    Work {
        name: "seqread-4",
        words: "seqread:clients=4:block_size=64k:amount=8M",
        seconds: 3600,
        quick: false,
        without: &[],
    },
    Work {
        name: "think-mix",
        words: "think-mix:clients=2:file_size=8M:amount=2M",
        seconds: 3600,
        quick: true,
        without: &[],
    },
    Work {
        name: "oltp-16",
        words: "oltp:clients=16:sync_every=4:amount=256k",
        seconds: 3600,
        quick: true,
        without: &[],
    },
    Work {
        name: "oltp-8x4",
        words: "oltp:clients=8:iodepth=4:amount=256k",
        seconds: 3600,
        quick: false,
        without: &["none"],
    },
    Work { name: "mixed-1", words: "mixed:iodepth=1", seconds: 10, quick: false, without: &[] },
    Work {
        name: "mixed-2",
        words: "mixed:iodepth=2",
        seconds: 10,
        quick: false,
        without: &["none", "bfq"],
    },
    Work {
        name: "dss-4",
        words: "dss:clients=4:amount=8M",
        seconds: 3600,
        quick: false,
        without: &[],
    },
    Work {
        name: "iozone-10",
        words: "iozone:clients=10:file_size=4M",
        seconds: 10,
        quick: false,
        without: &[],
    },
];

#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    pub(super) disk: &'static str,
    pub(super) workload: &'static Work,
    pub(super) scheduler: &'static str,
}

impl Case {
    /// Returns `disk/workload/scheduler`.
    pub(super) fn name(&self) -> String {
        format!("{}/{}/{}", self.disk, self.workload.name, self.scheduler)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side<'k> {
    /// The simulator, with the rules of this Linux version.
    Sim { linux: u32 },
    /// The kernel arena, with this kernel or the default.
    Kernel(Option<&'k str>),
}

pub(super) fn of(disk: &'static str, quick: bool) -> Vec<Case> {
    let is_flash = agreement::FLASH.contains(&disk);
    let works =
        WORKS.iter().filter(move |work| (work.quick || !quick) && !(is_flash && work.name == LONG));
    works
        .flat_map(move |workload| {
            let schedulers = SCHEDULERS.iter().filter(move |scheduler| {
                let is_useless = is_flash && FOR_ARMS.contains(scheduler);
                !is_useless && !workload.without.contains(scheduler)
            });
            schedulers.map(move |scheduler| Case { disk, workload, scheduler })
        })
        .collect()
}

pub(super) fn plan(disk: &str, rows: &[Case], side: &Side<'_>) -> Result<Plan> {
    let has_arm = sim::device::device(disk, 0)?.geometry().cylinders > 0;
    let arena = if matches!(side, Side::Sim { .. }) { "sim" } else { "kernel" };
    let mut text = format!("name = \"conformance\"\narena = \"{arena}\"\ndevice = \"{disk}\"\n");
    if let Side::Kernel(Some(kernel)) = side {
        text += &format!("kernel = \"{kernel}\"\n");
    }
    // A plan needs at least two variants; extra ones are not run.
    let mut variants: Vec<&str> =
        rows.iter().map(|row| row.scheduler).chain(["none", "mq-deadline"]).collect();
    variants.sort_unstable();
    variants.dedup();
    for variant in variants {
        text += &format!("[[variant]]\nname = \"{variant}\"\nscheduler = \"{variant}\"\n");
        let mut tunables = match side {
            Side::Sim { linux } => agreement::as_in_guest(variant, *linux, has_arm),
            Side::Kernel(_) => BTreeMap::new(),
        };
        // The guest's CPU is busy while a request is dispatched, the simulator's before it is
        // inserted.
        tunables.insert("cpu_percent".to_owned(), "0".to_owned());
        let words: Vec<String> =
            tunables.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        text += &format!("tunables = {{ {} }}\n", words.join(", "));
    }
    let mut works: Vec<&Work> = rows.iter().map(|row| row.workload).collect();
    works.dedup_by_key(|work| work.name);
    for work in works {
        let spec = experiment::plan::parse_workload(work.words)?;
        text += &format!(
            "[[workload]]\nname = \"{}\"\nkind = \"{}\"\n[workload.params]\n",
            work.name, spec.kind
        );
        for (key, value) in &spec.params {
            text += &format!("{key} = \"{value}\"\n");
        }
    }
    Ok(Plan::from_toml(&text)?)
}
