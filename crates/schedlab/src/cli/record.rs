//! Flags of `schedlab trace record`.

use std::path::PathBuf;

use super::shared;
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

Each request is recorded with the times at which it was queued, got its tag, entered the \
scheduler, was issued and completed, as far as the kernel shows them; its sector, size, kind and \
flags; the submitter's process, control group, I/O context and priority; and the scheduler. Data \
is not recorded. The file is readable by root only.

Recording takes root, or CAP_BPF and CAP_PERFMON, which are dropped once it has begun. Lost \
events are counted and reported.

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
    /// Disks or partitions, at most 8: sda, /dev/sda2, /dev/disk/by-id/….
    #[arg(required = true, value_name = "DEVICE")]
    pub(crate) devices: Vec<String>,
    /// Record for this time [default: until Ctrl-C].
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) length: Option<String>,
    #[arg(
        help = shared::PID,
        long,
        value_name = "PID,…",
        value_delimiter = ',',
        conflicts_with = "cgroup",
    )]
    pub(crate) pid: Vec<u32>,
    #[arg(help = shared::CGROUP, long, value_name = "PATH,…", value_delimiter = ',')]
    pub(crate) cgroup: Vec<String>,
    /// Write the trace to this new file: .parquet, or .perfetto-trace for that and tracks for
    /// ui.perfetto.dev.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,
    #[arg(help = shared::SOURCE, long, value_enum, default_value = "auto")]
    pub(crate) source: SourceArg,
    #[arg(help = shared::JSON, long)]
    pub(crate) json: bool,
    #[arg(help = shared::QUIET, long, short)]
    pub(crate) quiet: bool,
}
