//! Flags of `schedlab watch`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::design::{ConsentArgs, DesignArgs};
use super::shared;

pub(super) const WATCH_HELP: &str = "\
Examples:
  schedlab watch add --device /dev/sdb --workload randread
      once a week between 02:00 and 05:00, read-only
  schedlab watch add --device sdb --workload randread --every daily \\
      --between 01:00-04:00 --tell 'mail -s schedlab root'
  schedlab watch add --device sdb --workload oltp --destroy-data sdb
      a workload that writes: all data on it will be lost
  schedlab watch run sdb --now
  schedlab watch history sdb --out history.html

A watch is a plan, bound to the identity of its device, with a systemd service and timer. Within \
its hours it waits for a low load average and little other I/O on the device. Settings change \
only while it measures, unless it was added with --apply set.";

#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct WatchArgs {
    #[command(subcommand)]
    pub(crate) what: WatchCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WatchCommand {
    /// Add a watch of a device.
    Add(Box<WatchAddArgs>),
    /// List the watches with the next test and the last verdict.
    List {
        #[arg(help = shared::JSON, long)]
        json: bool,
    },
    /// Run one test in a quiet moment; the timer starts this.
    Run {
        /// Name of the watch, or its device.
        #[arg(value_name = "WATCH")]
        watch: String,
        /// Test now, regardless of hour and load.
        #[arg(long)]
        now: bool,
        #[command(flatten)]
        consent: ConsentArgs,
        #[arg(help = shared::RUN_AS, long = "as", value_name = "USER")]
        run_as: Option<String>,
    },
    /// Show the verdict history of a device.
    History(HistoryArgs),
    /// Remove a watch with its service and timer; keep the history.
    Remove {
        /// Name of the watch, or its device.
        #[arg(value_name = "WATCH")]
        watch: String,
        /// Remove the units even if they were edited.
        #[arg(long)]
        force: bool,
    },
}

/// What to do when a test recommends another setting than the one in effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ApplyArg {
    /// Report the recommendation and change nothing.
    Never,
    /// Apply the setting until the next boot.
    Set,
}

#[derive(Debug, Args)]
#[command(mut_arg("dry_run", |arg| arg.help("Print the files that would be written, and write none")))]
pub(crate) struct WatchAddArgs {
    /// Name the watch [default: the device's name].
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Compare these schedulers [default: all of the device].
    #[arg(long, value_delimiter = ',', value_name = "SPEC,…")]
    pub(crate) schedulers: Vec<String>,
    #[arg(help = shared::BASELINE, long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// Test within these hours, local time.
    #[arg(long, value_name = "FROM-TO", default_value = "02:00-05:00")]
    pub(crate) between: String,
    /// Test this often: daily, weekly (on Sundays), monthly (on the first), or Mon, Tue, ….
    #[arg(long, value_name = "WHEN", default_value = "weekly")]
    pub(crate) every: String,
    /// Test only while the 1-minute load average per CPU is below this.
    #[arg(long, value_name = "LOAD", default_value_t = 0.3)]
    pub(crate) max_load: f64,
    /// Test only while other I/O keeps the device busy for less than this share of the time.
    #[arg(long, value_name = "PERCENT", default_value = "5%")]
    pub(crate) max_busy: String,
    /// Do this if a test recommends a different setting.
    #[arg(long, value_name = "WHAT", default_value = "never")]
    pub(crate) apply: ApplyArg,
    /// Run this shell command when the verdict changes, with the report on standard input.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) tell: Option<String>,
    #[arg(help = shared::DESTROY_DATA, long, value_name = "DEVICE")]
    pub(crate) destroy_data: Option<String>,
    /// Write each test's result to this file as OpenMetrics, e.g. for node_exporter's textfile
    /// collector.
    #[arg(long, value_name = "FILE.prom")]
    pub(crate) textfile: Option<PathBuf>,
    /// Keep the reports of this number of tests; the table of verdicts keeps all.
    #[arg(long, value_name = "N", default_value_t = 52, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) keep_reports: u32,
    #[arg(help = shared::RUN_AS, long = "as", value_name = "USER")]
    pub(crate) run_as: Option<String>,
    #[command(flatten)]
    pub(crate) design: DesignArgs,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// Device: /dev/NAME, NAME, or /dev/disk/by-id/… [default: every device with a history].
    pub(crate) device: Option<String>,
    /// Write an HTML page that plots each scheduler's effect over the tests.
    #[arg(long, value_name = "FILE.html")]
    pub(crate) out: Option<PathBuf>,
    /// Find changes with one false alarm per this number of tests, at least 20, on average; a lower
    /// number finds changes sooner.
    #[arg(long, value_name = "TESTS", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(20..))]
    pub(crate) false_alarm_every: u32,
    /// Print JSON: the tests (`entries`) and what changed (`changes`).
    #[arg(long)]
    pub(crate) json: bool,
}
