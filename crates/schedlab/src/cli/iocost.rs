//! Flags of `schedlab iocost`.

use std::path::PathBuf;

use clap::Args;
use experiment::plan::{ArenaFacts, DISK, SIM};

use super::arena::{self, Choice};

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

Reads and writes are measured without a scheduler, without merging and without a cost model at \
work, and every setting is restored. The lines that are printed are for io.cost.model and \
io.cost.qos in the root of control groups v2, and for a file in /etc/udev/hwdb.d.

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
    /// Measure reads only: nothing is written, and the lines leave the coefficients of writes to
    /// the kernel's preset.
    #[arg(long, conflicts_with = "destroy_data")]
    pub(crate) reads_only: bool,
    /// Allow writes to this device: all data on it is lost.
    #[arg(long, value_name = "DEVICE")]
    pub(crate) destroy_data: Option<String>,
    /// Create the backing file of loop:SIZE in this directory; its disk is the one that is
    /// measured.
    #[arg(long, value_name = "DIR", default_value = "/var/tmp")]
    pub(crate) loop_dir: PathBuf,
    /// Measure every load this many times; the median counts.
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repetitions: u32,
    /// Measure each load for this time, after a warm-up of a fifth of it [default: 10s; with
    /// --arena sim: that of the model].
    #[arg(long, value_name = "TIME")]
    pub(crate) trial_time: Option<String>,
    /// Submit with this many clients, each with 64 requests open; more than one where one CPU
    /// cannot keep the device busy.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) clients: u32,
    /// Choose the offsets of random requests by this seed.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress bar and no remarks.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
