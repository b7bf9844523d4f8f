//! Flags of `schedlab watch` and `schedlab history`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::design::DesignArgs;

pub(super) const WATCH_HELP: &str = "\
Examples:
  schedlab watch add --device /dev/sdb --workload randread               once a week between 02:00 and 05:00, reading only
  schedlab watch add --device sdb --workload randread --every daily --between 01:00-04:00 --tell 'mail -s schedlab root'
  schedlab watch add --device sdb --workload oltp --destroy-data sdb     a workload that writes: all data on it will be lost
  schedlab watch list                                                    what is watched, and the last verdicts
  schedlab watch run sdb --now                                           test now, quiet or not
  schedlab watch remove sdb                                              the history stays
  schedlab history sdb --out history.html                                verdict history

A watch is a plan, bound to the identity of its device, with a systemd service and timer. It waits for a quiet moment inside of its
window: a low load average, and hardly any I/O of others on the device. It changes settings only while it measures, unless it was
added with --apply.";

#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    #[command(subcommand)]
    pub(crate) what: WatchCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WatchCommand {
    /// Begin to watch a device.
    Add(Box<WatchAddArgs>),
    /// What is watched, when it is tested next, and the last verdict.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Test once: what the timer starts. Waits for a quiet moment inside of the window.
    Run {
        /// The watch.
        name: String,
        /// At once, whatever the hour and the load.
        #[arg(long)]
        now: bool,
    },
    /// Stop watching: the service, the timer and the watch are removed; the history stays.
    Remove {
        /// The watch.
        name: String,
        /// Also when somebody has edited its units.
        #[arg(long)]
        force: bool,
    },
}

/// What to do when a test recommends another setting than the one in effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ApplyArg {
    /// Tell, and change nothing.
    Never,
    /// Set it, until the next restart.
    Set,
}

#[derive(Debug, Args)]
pub(crate) struct WatchAddArgs {
    /// Its name [default: the device's].
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// What to compare, separated by commas [default: every scheduler that the device offers].
    #[arg(long, value_delimiter = ',', value_name = "SPEC,…")]
    pub(crate) schedulers: Vec<String>,
    /// What the others are compared with [default: the device's present scheduler if it is among them, else the first].
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// The hours in which to test, local time.
    #[arg(long, value_name = "FROM-TO", default_value = "02:00-05:00")]
    pub(crate) between: String,
    /// How often: daily, weekly (on Sundays), monthly (on the first), or Mon, Tue, …
    #[arg(long, value_name = "WHEN", default_value = "weekly")]
    pub(crate) every: String,
    /// Test only while the load average of the last minute is below this, for each CPU.
    #[arg(long, value_name = "LOAD", default_value_t = 0.3)]
    pub(crate) max_load: f64,
    /// Test only while others keep the device busy for less than this share of the time.
    #[arg(long, value_name = "PERCENT", default_value = "5%")]
    pub(crate) max_busy: String,
    /// What to do when a test recommends another setting than the one in effect.
    #[arg(long, value_name = "WHAT", default_value = "never")]
    pub(crate) apply: ApplyArg,
    /// When the verdict changes, start this shell command; it gets the text on its standard input.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) tell: Option<String>,
    /// Allow workloads that write to this device, at every test: everything on it will be lost.
    #[arg(long, value_name = "DEVICE")]
    pub(crate) destroy_data: Option<String>,
    /// Reports of so many tests are kept; the table of verdicts keeps all.
    #[arg(long, value_name = "N", default_value_t = 52, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) keep_reports: u32,
    /// Print what would be written, and stop.
    #[arg(long)]
    pub(crate) print: bool,
    #[command(flatten)]
    pub(crate) design: DesignArgs,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// The device: /dev/NAME, NAME, or /dev/disk/by-id/… [default: every device with a history].
    pub(crate) device: Option<String>,
    /// Write a page with the plot: how each scheduler's effect went, test by test.
    #[arg(long, value_name = "FILE.html")]
    pub(crate) out: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
