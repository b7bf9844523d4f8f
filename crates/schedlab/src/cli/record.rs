//! Flags of `schedlab trace record`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use recorder::live::Source;

pub(super) const RECORD_HELP: &str = "\
Examples:
  sudo schedlab trace record sda --for 60s --out sda.parquet
      a minute of a disk
  sudo schedlab trace record /dev/sda2 --out db.parquet \\
      --cgroup system.slice/postgresql.service
      a database on a partition, until Ctrl-C
  sudo schedlab trace record nvme0n1 sdb --pid 4711 --for 10m --out b.parquet
      one process on two disks

Each request has the time at which it was queued, got its tag, entered the scheduler, was issued \
to the driver and completed; its sector, size, kind and flags; the process, control group, I/O \
context and priority of who asked; and the scheduler in effect. Times that the kernel does not \
show are left out. Data is not recorded. The file is for root alone: it says what every process \
on the disk did.

Recording takes root, or CAP_BPF and CAP_PERFMON; rights are given up once it has begun. Events \
that are lost are counted and reported.

Exit status: 0 recorded, also when Ctrl-C ends it; 1 an operation failed, or the trace ended \
before its time: it is valid up to there; 2 wrong usage.";

/// Where events come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SourceArg {
    /// BPF; tracefs where BPF cannot be had.
    Auto,
    /// BPF: one record a request. Needs Linux 5.16 or later with type information
    /// (CONFIG_DEBUG_INFO_BTF).
    Bpf,
    /// The events of /sys/kernel/tracing: more overhead, and without I/O contexts, control groups
    /// and the times of tags.
    Tracefs,
}

impl From<SourceArg> for Source {
    fn from(source: SourceArg) -> Source {
        match source {
            SourceArg::Auto => Source::Auto,
            SourceArg::Bpf => Source::Bpf,
            SourceArg::Tracefs => Source::Tracefs,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// Disks or partitions to record, at most 8: sda, /dev/sda2, /dev/disk/by-id/…; of a partition,
    /// its disk's requests within it.
    #[arg(required = true, value_name = "DEVICE")]
    pub(crate) devices: Vec<String>,
    /// Record for this time [default: until Ctrl-C].
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) length: Option<String>,
    /// Record only what these processes and their threads ask for, separated by commas.
    #[arg(long, value_name = "PID,…", value_delimiter = ',', conflicts_with = "cgroup")]
    pub(crate) pid: Vec<u32>,
    /// Record only what processes of these control groups and of those below ask for: paths below
    /// /sys/fs/cgroup.
    #[arg(long, value_name = "PATH,…", value_delimiter = ',')]
    pub(crate) cgroup: Vec<String>,
    /// Write the trace to this new file: .parquet. With .perfetto-trace also tracks for
    /// ui.perfetto.dev, made of FILE.parquet at the end.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Get events from here.
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) source: SourceArg,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress bar and no remarks.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
