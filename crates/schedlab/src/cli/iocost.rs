//! Flags of `schedlab iocost`.

use std::path::PathBuf;

use clap::Args;
use experiment::plan::{ArenaFacts, DISK, SIM};

use super::arena::{self, Choice};
use super::shared;

pub(super) const IOCOST_HELP: &str = "\
Examples:
  sudo schedlab iocost loop:1G
      try it on a temporary loop device
  sudo schedlab iocost /dev/nvme0n1 --reads-only
      measure the reads of a disk that holds data
  sudo schedlab iocost /dev/sdb --destroy-data /dev/sdb
      measure reads and writes: all data on it is lost
  schedlab iocost --arena sim nvme
      measure a modelled device

Measures without scheduler, merging and cost model, and restores every setting. The printed \
lines are for io.cost.model and io.cost.qos in the root of control groups v2, and for \
/etc/udev/hwdb.d.

Exit status: 0 measured, 1 an operation failed, 2 wrong usage, 3 the evidence is invalid.";

static ARENAS: [Choice; 2] = [
    Choice { arena: &DISK, help: "A real device, or loop:SIZE" },
    Choice { arena: &SIM, help: "A modelled device, in virtual time" },
];

#[derive(Debug, Args)]
pub(crate) struct IocostArgs {
    /// Device to measure: /dev/NAME, /dev/disk/by-id/…, loop:SIZE, or a modelled device with
    /// --arena sim.
    pub(crate) device: String,
    /// Measure in this arena.
    #[arg(long, default_value = "disk", value_parser = arena::among(&ARENAS))]
    pub(crate) arena: &'static ArenaFacts,
    /// Measure only reads and write nothing; coefficients of writes stay the kernel's preset.
    #[arg(long, conflicts_with = "destroy_data")]
    pub(crate) reads_only: bool,
    #[arg(help = shared::DESTROY_DATA, long, value_name = "DEVICE")]
    pub(crate) destroy_data: Option<String>,
    #[arg(help = shared::LOOP_DIR, long, value_name = "DIR", default_value = "/var/tmp")]
    pub(crate) loop_dir: PathBuf,
    /// Measure each load this many times, 1 to 1000, and take the median.
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repetitions: u32,
    /// Measure each load for this time, after a warm-up of a fifth of it [default: 10s; with
    /// --arena sim the model's].
    #[arg(long, value_name = "TIME")]
    pub(crate) trial_time: Option<String>,
    /// Submit from this many clients, 1 to 1024, with 64 requests each; raise it if one CPU cannot
    /// keep the device busy.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) clients: u32,
    #[arg(help = shared::SEED, long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
    #[arg(help = shared::JSON, long)]
    pub(crate) json: bool,
    #[arg(help = shared::QUIET, long, short)]
    pub(crate) quiet: bool,
}
