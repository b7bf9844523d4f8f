//! Flags of `schedlab trace profile`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use trace::formats::Format;

use super::record::SourceArg;
use super::shared;

pub(super) const PROFILE_HELP: &str = "\
Examples:
  schedlab trace profile sda.parquet
      a trace of schedlab trace record
  schedlab trace profile trace.blktrace.0 --html profile.html
      a trace of another tool, as a page with heat maps
  sudo schedlab trace profile sda --watch
      on a dashboard; r restarts, p pauses, s sorts, q quits
  schedlab compare --arena sim --device hp97560 --schedulers deadline \\
      --workload dss --trace csv --out out
  schedlab trace profile out/traces/dss-deadline.csv
      a simulated trial

Think time: from the completion of a process's last outstanding request to its next one. SEQ: \
requests that begin where the process's last one ends; NEAR: at most 4 MiB away. Stages are \
those of btt: Q2G queued to tag, I2D in the scheduler, D2C at the disk. DECEIVED: after a \
completion the disk got another process's request, and the process requested nearby data within \
20 ms. Anticipation rules (always: waits 6 ms; wpcas: as the scheduler; best: waits exactly if \
it pays) are compared by the next requests and service times of this trace.

Exit status: 0 profiled, 1 an operation failed, 2 wrong usage.";

#[derive(Debug, Args)]
pub(crate) struct ProfileArgs {
    /// Trace, or a live disk: sda, /dev/sda2, /dev/disk/by-id/….
    #[arg(value_name = "TRACE|DEVICE")]
    pub(crate) what: String,
    /// Write a page with plots and heat maps to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Show this many processes and control groups per disk.
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) top: u32,
    /// Print JSON, with the counts of the heat maps.
    #[arg(long)]
    pub(crate) json: bool,
    #[arg(
        help = shared::FORMAT,
        long,
        value_name = "FORMAT",
        default_value = "auto",
        value_parser = PossibleValuesParser::new(Format::names()),
    )]
    pub(crate) format: String,
    #[arg(help = shared::SKIP_BAD, long)]
    pub(crate) skip_bad: bool,
    /// Profile a disk for this time [default: 10s; with --watch until q].
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) length: Option<String>,
    /// Show a dashboard of a disk.
    #[arg(long, conflicts_with = "json")]
    pub(crate) watch: bool,
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
    #[arg(help = shared::SOURCE, long, value_enum, default_value = "auto")]
    pub(crate) source: SourceArg,
    #[arg(help = shared::QUIET, long, short)]
    pub(crate) quiet: bool,
}

impl ProfileArgs {
    /// The trace's path. A device is a node in /dev, or a bare name without a dot that is not an
    /// existing file.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        let path = PathBuf::from(&self.what);
        let is_device = path.starts_with("/dev")
            || (!self.what.contains('/') && !path.exists() && !self.what.contains('.'));
        (!is_device).then_some(path)
    }
}
