//! Flags of `schedlab fit`.

use std::path::PathBuf;

use super::shared;
use clap::{Args, ValueEnum};

pub(super) const FIT_HELP: &str = "\
Examples:
  sudo schedlab fit /dev/sdb --out sdb.toml
      a model of a disk, by reads alone
  sudo schedlab fit loop:512M
      try it on a temporary loop device
  sudo schedlab fit /dev/nvme0n1 --writes-from day.parquet
      with the writes of a trace
  schedlab fit day.parquet --out nvme0n1.toml
      from a trace alone, without the disk
  schedlab compare --arena sim --device sdb.toml --workload oltp
      use the model

Nothing on the device is changed. A hard disk takes minutes to hours, other devices usually less \
than a minute. A trace gives a model of its busiest disk under that load, without positions; a \
third of the trace is held out.

Exit status: 0 a model was made, 1 an operation failed, 2 wrong usage.";

/// Where the device of a fit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FitArena {
    /// A real device, or loop:SIZE.
    Disk,
    /// A modelled device, in virtual time.
    Sim,
}

/// What a device is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FitKind {
    /// A spindle: seek curve, rotation, zones, read-ahead.
    Hdd,
    /// Latencies by size and depth.
    Ssd,
}

#[derive(Debug, Args)]
pub(crate) struct FitArgs {
    /// Device to measure: /dev/NAME, /dev/disk/by-id/…, loop:SIZE, or a modelled device with
    /// --arena sim; or a trace file.
    #[arg(value_name = "DEVICE|TRACE")]
    pub(crate) device: String,
    /// Write the model to this file [default: print it].
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) out: Option<PathBuf>,
    /// Measure in this arena.
    #[arg(long, value_enum, default_value = "disk")]
    pub(crate) arena: FitArena,
    /// Treat the device as this kind [default: as the device reports].
    #[arg(long = "as", value_enum, value_name = "KIND")]
    pub(crate) kind: Option<FitKind>,
    /// Learn write latencies, and how writes slow reads, from this trace [default: writes count as
    /// reads].
    #[arg(long, value_name = "TRACE")]
    pub(crate) writes_from: Option<PathBuf>,
    #[arg(help = shared::LOOP_DIR, long, value_name = "DIR", default_value = "/var/tmp")]
    pub(crate) loop_dir: PathBuf,
    #[arg(help = shared::SEED, long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
    #[arg(help = shared::JSON, long)]
    pub(crate) json: bool,
    #[arg(help = shared::QUIET, long, short)]
    pub(crate) quiet: bool,
}
