//! Flags shared by several commands: what is measured, where, and how.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};
use experiment::plan::{self, ArenaFacts, KERNEL, KERNEL_CPU};
use lab::arena::open::OpenOptions;
use lab::failure::usage;
use lab::resolve::programs::{Agreement, ProgramOptions};
use load::programs::Needs;

use super::arena;
use super::fail_if::FailIfArgs;
use super::monitor::MonitorArgs;
use super::shared;

// How an experiment is carried out: shared by `compare` and `run`.
#[derive(Debug, Args)]
pub(crate) struct ConductArgs {
    /// Write plan.toml, results.jsonl, analysis.json and the reports into this directory [default:
    /// schedlab-out/UTC time].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Continue the interrupted experiment in --out.
    #[arg(long, requires = "out")]
    pub(crate) resume: bool,
    #[arg(help = shared::DESTROY_DATA, long, value_name = "DEVICE")]
    pub(crate) destroy_data: Option<String>,
    #[arg(help = shared::LOOP_DIR, long, value_name = "DIR", default_value = "/var/tmp")]
    pub(crate) loop_dir: PathBuf,
    #[arg(
        help = shared::CACHE_DIR,
        long,
        value_name = "DIR",
        env = "SCHEDLAB_CACHE_DIR",
        hide_env_values = true,
    )]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Virtual arenas: write the events of the first trial of each workload and variant to
    /// OUT/traces; the kernel arena takes perfetto and an additional trial.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) trace: Option<FormatArg>,
    #[arg(help = shared::RUN_AS, long = "as", value_name = "USER")]
    pub(crate) run_as: Option<String>,
    #[arg(help = shared::ANALYSIS_JSON, long)]
    pub(crate) json: bool,
    #[arg(help = shared::VERBOSE, long, short)]
    pub(crate) verbose: bool,
    #[arg(help = shared::QUIET, long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) monitor: MonitorArgs,
    #[command(flatten)]
    pub(crate) fail_if: FailIfArgs,
}

impl ConductArgs {
    /// Options for opening the arena; `agreement` covers the programs that the plan names.
    pub(crate) fn opening(&self, agreement: Agreement) -> OpenOptions {
        OpenOptions {
            programs: ProgramOptions { agreement, user: self.run_as.clone() },
            destroy_data: self.destroy_data.clone(),
            loop_dir: self.loop_dir.clone(),
            cache_dir: self.cache_dir.clone(),
            trace: self.trace.map(Into::into),
            threads: None,
            program: None,
        }
    }
}

// Consent to what a plan from a file starts.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct ConsentArgs {
    /// Run the plan's commands, programs with arguments, scripts, scheduler programs and patched
    /// kernels as root; not needed without root.
    #[arg(long)]
    pub(crate) allow_commands: bool,
}

impl ConsentArgs {
    pub(crate) fn agreement(self) -> Agreement {
        if self.allow_commands { Agreement::Given } else { Agreement::Missing }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// Apache Parquet, compressed.
    Parquet,
    /// Comma-separated values with a header line.
    Csv,
    /// Tracks for ui.perfetto.dev: clients, scheduler, its waits, disk, actuator.
    Perfetto,
}

impl DesignArgs {
    /// `--arena kernel` means the CPU scheduler if every workload is one of CPUs.
    pub(crate) fn complete_arena(&mut self) -> Result<()> {
        if self.arena != &KERNEL {
            return Ok(());
        }
        let of_cpus = |word: &String| {
            plan::parse_workload(word).is_ok_and(|spec| {
                spec.params.get("on").is_some_and(|on| on == "cpu")
                    || load::programs::find(&spec.kind).is_some_and(|row| row.needs == Needs::Cpus)
            })
        };
        let is_of_cpus = !self.workload.is_empty() && self.workload.iter().all(of_cpus);
        match (is_of_cpus, self.device.is_empty()) {
            (false, true) => Err(usage(
                "--device: missing; name a modelled device, e.g. --device hp97560, or compare CPU schedulers with --workload wakeup",
            )),
            (false, false) => Ok(()),
            (true, has_none) => {
                self.arena = &KERNEL_CPU;
                if has_none {
                    plan::CPU_DEVICE.clone_into(&mut self.device);
                }
                Ok(())
            }
        }
    }
}

impl From<FormatArg> for lab::trace_file::Format {
    fn from(arg: FormatArg) -> Self {
        match arg {
            FormatArg::Parquet => Self::Parquet,
            FormatArg::Csv => Self::Csv,
            FormatArg::Perfetto => Self::Perfetto,
        }
    }
}

// The file system under the workload, and the load beside it.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PlaceArgs {
    /// Run these loads during every workload: schedlab's own workloads, also with io_weight, io_max
    /// or ioprio; with --arena cpu spin, memory, forks or io.
    #[arg(long, value_delimiter = ',', value_name = "SPEC,…")]
    pub(crate) background: Vec<String>,
    /// Make this file system on the device and run the workloads on its files [default: none; ext4
    /// for programs that need files].
    #[arg(long, value_name = "KIND")]
    pub(crate) fs: Option<FsArg>,
    /// Pass these options to mkfs, e.g. --mkfs-options="-O ^has_journal".
    #[arg(long, value_name = "OPTIONS", requires = "fs", allow_hyphen_values = true)]
    pub(crate) mkfs_options: Option<String>,
    /// Pass these options to mount, e.g. --mount-options=noatime.
    #[arg(long, value_name = "OPTIONS", requires = "fs")]
    pub(crate) mount_options: Option<String>,
}

// The design of an experiment: shared by every command that plans one.
#[derive(Debug, Clone, Args)]
pub(crate) struct DesignArgs {
    /// Measure in this arena.
    #[arg(long, default_value = "disk", value_parser = arena::every())]
    pub(crate) arena: &'static ArenaFacts,
    /// Measure this device: /dev/NAME, /dev/disk/by-id/…, loop:SIZE, or a modelled device; none for
    /// CPU workloads.
    #[arg(
        long,
        required_unless_present = "arena",
        required_if_eq_any = [("arena", "disk"), ("arena", "sim")],
        default_value_ifs([("arena", "cpu", "cpu"), ("arena", "kernel-cpu", "cpu")]),
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) device: String,
    #[arg(help = shared::KERNEL, long, value_name = "SOURCE")]
    pub(crate) kernel: Option<String>,
    /// Run these workloads [default: oltp,mixed; if the device may not be written to, randread,dss;
    /// for a watch randread; for CPUs linpack].
    #[arg(long, value_delimiter = ',', value_name = "SPEC,…")]
    pub(crate) workload: Vec<String>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[arg(
        help = shared::CLIENTS,
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=1024),
    )]
    pub(crate) clients: Option<u32>,
    /// Limit the measuring time of all workloads together [default: 60s; with --rounds N what they
    /// take; in virtual time enough for 30 rounds].
    #[arg(long, value_name = "TIME")]
    pub(crate) budget: Option<String>,
    /// Measure exactly N rounds per workload, or until every verdict is reached (auto).
    #[arg(long, value_name = "auto|N", default_value = "auto")]
    pub(crate) rounds: String,
    /// Measure even with too few rounds for intervals: figures and traces, no verdicts.
    #[arg(long)]
    pub(crate) figures_only: bool,
    #[arg(help = shared::SEED, long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Treat differences below this as equivalent.
    #[arg(long, value_name = "PERCENT", default_value = "1%")]
    pub(crate) margin: String,
    /// Limit the probability of a false verdict, over all variants of one metric.
    #[arg(long, value_name = "PERCENT", default_value = "5%")]
    pub(crate) alpha: String,
    /// Compute intervals with this method; `fixed` and `three-sigma` are those of older analyses.
    #[arg(long, value_name = "METHOD", default_value = "spending")]
    pub(crate) method: MethodArg,
    /// Keep intervals valid beyond the budget (--method anytime), for --resume with larger budgets;
    /// reaches fewer verdicts in the same time.
    #[arg(long, conflicts_with = "method")]
    pub(crate) open_ended: bool,
    /// Set the length of one trial [default: a dozen rounds fit into the budget; longer if the
    /// deciding metric needs it].
    #[arg(long, value_name = "TIME")]
    pub(crate) trial_time: Option<String>,
    #[arg(help = shared::WARMUP, long, value_name = "TIME")]
    pub(crate) warmup: Option<String>,
    /// Print the plan as TOML, for `schedlab run`, with detectable differences as a comment, and
    /// measure nothing; with --json both as JSON.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FsArg {
    /// ext4.
    Ext4,
    /// XFS: needs at least 300 MiB.
    Xfs,
    /// Btrfs: copy on write.
    Btrfs,
}

impl FsArg {
    pub(crate) fn name(self) -> &'static str {
        match self {
            FsArg::Ext4 => "ext4",
            FsArg::Xfs => "xfs",
            FsArg::Btrfs => "btrfs",
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum MethodArg {
    /// Group-sequential: a look after each round of a budget that is known in advance.
    Spending,
    /// Confidence sequences, valid after every round.
    Anytime,
    /// Student's t, for a number of rounds fixed in advance.
    Fixed,
    /// Mean of the baseline ± 3 standard deviations.
    ThreeSigma,
}
