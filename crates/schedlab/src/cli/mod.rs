//! The command line. An option's doc comment is its `--help` text, so it states purpose, unit and
//! default.

mod advise;
mod analyze;
mod arena;
mod atlas;
mod bisect;
mod commands;
mod design;
mod fail_if;
mod fit;
mod fleet;
mod gate;
mod iocost;
mod kernel;
mod monitor;
mod persist;
mod profile;
mod record;
mod repeats;
mod settings;
mod shard;
mod shared;
mod status;
mod sweep;
mod synthesize;
mod trace;
mod tune;
mod watch;

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};

pub(crate) use self::fleet::*;
pub(crate) use advise::*;
pub(crate) use analyze::*;
pub(crate) use atlas::AtlasArgs;
pub(crate) use bisect::BisectArgs;
pub(crate) use commands::CommandsArgs;
pub(crate) use design::*;
pub(crate) use fail_if::*;
pub(crate) use fit::*;
pub(crate) use gate::GateArgs;
pub(crate) use iocost::*;
pub(crate) use kernel::*;
pub(crate) use monitor::MonitorArgs;
pub(crate) use persist::*;
pub(crate) use profile::ProfileArgs;
pub(crate) use record::RecordArgs;
pub(crate) use repeats::{RepeatArgs, Several};
pub(crate) use settings::*;
pub(crate) use shard::{MergeArgs, ShardArgs, ShardCommand, ShardRunArgs};
pub(crate) use status::StatusArgs;
pub(crate) use sweep::SweepArgs;
pub(crate) use synthesize::SynthesizeArgs;
pub(crate) use trace::{ConvertArgs, TraceArgs, TraceCommand};
pub(crate) use tune::*;
pub(crate) use watch::*;

use self::advise::ADVISE_HELP;
use self::analyze::analyze_help;
use self::atlas::ATLAS_HELP;
use self::bisect::BISECT_HELP;
use self::fit::FIT_HELP;
use self::fleet::FLEET_HELP;
use self::gate::GATE_HELP;
use self::iocost::IOCOST_HELP;
use self::sweep::SWEEP_HELP;

/// Find the best Linux scheduler, and its settings, for a disk and a workload.
///
/// schedlab measures a disk under each scheduler in randomised rounds, stops as soon as the verdict
/// is reached, states its confidence, and restores every setting. `--arena sim` runs the schedulers
/// of Linux since 2.4, and those of the literature, on modelled disks; `--arena kernel` runs the
/// schedulers of a real Linux kernel in virtual time; `--arena cpu` compares settings of the CPU
/// scheduler.
#[derive(Debug, Parser)]
#[command(version = crate::version::VERSION, propagate_version = true, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// With --version: print the build as JSON; this program continues and joins only results of
    /// that build.
    #[arg(long, requires = "version")]
    pub(crate) json: bool,
    /// Keep the journal of changed settings, for restoring them after a crash, in this directory.
    #[arg(
        long,
        global = true,
        env = STATE_DIR,
        default_value = DEFAULT_STATE_DIR,
        hide_env_values = true
    )]
    #[arg(value_name = "DIR", help_heading = "Global options")]
    pub(crate) state_dir: PathBuf,
}

/// The environment variable of the state directory, and its default.
pub(crate) const STATE_DIR: &str = "SCHEDLAB_STATE_DIR";
pub(crate) const DEFAULT_STATE_DIR: &str = "/var/lib/schedlab";
/// The kernel of the kernel arena where nothing else is named.
pub(crate) const KERNEL: &str = "SCHEDLAB_KERNEL";
pub(crate) const DEFAULT_KERNEL: &str = "debian:7.3";

/// Commands as grouped in `--help`.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Compare", &["compare", "run", "sweep", "tune", "gate", "bisect", "atlas", "watch"]),
    ("Understand", &["trace", "advise", "fit", "analyze", "report", "status"]),
    ("Apply", &["devices", "show", "set", "persist", "unpersist", "restore"]),
    ("More", &["list", "kernel", "shard", "fleet", "iocost"]),
];

/// The command line with grouped commands in its help, which clap cannot list itself.
pub(crate) fn with_groups(command: clap::Command) -> clap::Command {
    let mut groups = String::new();
    for (title, names) in GROUPS {
        let _ = write!(groups, "\n{title}:\n");
        for name in names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(groups, "  {name:<9}  {about}");
        }
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{groups}\nOptions:\n{{options}}{{after-help}}"
    ))
}

/// The command line, deaf to environment variables.
pub(crate) fn without_environment() -> clap::Command {
    fn deafen(command: clap::Command) -> clap::Command {
        command.mut_args(|arg| arg.env(None)).mut_subcommands(deafen)
    }
    let mut command = Cli::command();
    command.build();
    deafen(command)
}

const EXAMPLES: &str = "\
Examples:
  schedlab compare --device loop:512M --workload oltp,mixed
      try it on a temporary loop device
  schedlab compare --device /dev/sdb --workload randread
      measure a disk, read-only
  schedlab compare --arena sim --device hp97560 \\
      --schedulers deadline,cfq,anticipatory,wpcas --workload iozone
      simulate old and academic schedulers on a modelled disk
  schedlab compare --arena kernel --device hp97560 \\
      --schedulers kyber,kyber@my.patch --workload randread
      compare a kernel patch in virtual time
  schedlab run plans/oltp.toml --out results
      run an experiment from a plan
  schedlab analyze results
      compare a results file again
  schedlab analyze table.csv
      compare a table of other measurements
  schedlab analyze none-*.json kyber-*.json
      compare what another program measured
  schedlab compare --commands './old' './new'
      compare two programs
  schedlab restore
      restore settings after a crash
  schedlab --version --json
      print the build whose results this program can continue or join

Exit status: 0 done; 1 an operation failed; 2 wrong usage; 3 the evidence is invalid; 4 restore \
left an entry of a running process; 5 worse, 6 not better, 7 inconclusive, 8 partly invalid (--fail-if, \
gate); 9 rounds or cells are missing (shard merge, atlas); 125 the program could not be run, or \
the guest failed (kernel exec); 129, 130, 143 interrupted by SIGHUP, SIGINT, SIGTERM.";

const RESTORE_HELP: &str = "\
Example:
  sudo schedlab restore

Exit status: 0 nothing is left to restore, 1 something could not be restored, 4 something belongs \
to a running process and was left to it.";

/// The arguments of a command are made when it is called.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Show block devices: kind, identity, scheduler, contents.
    #[command(after_help = "Example:\n  schedlab devices sda")]
    Devices(DevicesArgs),
    /// List schedulers, devices, workloads, metrics, settings, formats.
    #[command(after_help = "Example:\n  schedlab list workloads")]
    List(ListArgs),
    /// Compare schedulers on a device, or any programs, with a report.
    #[command(after_help = COMPARE_HELP)]
    Compare(CompareArgs),
    /// Run the experiment of a plan file.
    #[command(after_help = RUN_HELP)]
    Run(RunArgs),
    /// Measure a plan and fail if it is worse than its last results.
    #[command(after_help = GATE_HELP)]
    Gate(Box<GateArgs>),
    /// Spread a plan of virtual time over machines.
    Shard(ShardArgs),
    /// Map which scheduler is best for which disk and workload.
    ///
    /// Every scheduler, the standard workloads and many devices, in virtual time.
    #[command(after_help = ATLAS_HELP)]
    Atlas(AtlasArgs),
    /// Measure the effect of each tunable separately.
    #[command(after_help = SWEEP_HELP)]
    Sweep(SweepArgs),
    /// Search for the best scheduler and settings, and confirm them.
    Tune(TuneArgs),
    /// Show every setting of a device: value, default, range, meaning.
    #[command(after_help = SHOW_HELP)]
    Show(ShowArgs),
    /// Set a scheduler and its settings until the next boot.
    ///
    /// Or for a limited time, with --for.
    #[command(after_help = SET_HELP)]
    Set(SetArgs),
    /// Persist a setting across reboots.
    #[command(after_help = PERSIST_HELP)]
    Persist(PersistArgs),
    /// Remove what `persist` wrote.
    #[command(after_help = UNPERSIST_HELP)]
    Unpersist(UnpersistArgs),
    /// Measure the io.cost model of a device.
    ///
    /// Prints six coefficients and the QoS as lines for the kernel and for systemd.
    #[command(after_help = IOCOST_HELP)]
    Iocost(IocostArgs),
    /// Recommend a scheduler for a live disk or a trace; change nothing.
    ///
    /// Replays recorded I/O under each scheduler on a model of the disk, in virtual time.
    #[command(after_help = ADVISE_HELP)]
    Advise(AdviseArgs),
    /// Measure a disk by reads and write a model of it.
    ///
    /// The model is for --arena sim and kernel; its error is measured on reads that were held out.
    #[command(after_help = FIT_HELP)]
    Fit(FitArgs),
    /// Gather and compare the results of many machines.
    #[command(after_help = FLEET_HELP)]
    Fleet(FleetArgs),
    /// Test a device in quiet hours and report a changed verdict.
    #[command(after_help = WATCH_HELP)]
    Watch(WatchArgs),
    /// Record, profile, convert or model the I/O of a disk.
    Trace(TraceArgs),
    /// Analyze results, a table, or the output of another program.
    #[command(after_help = analyze_help())]
    Analyze(AnalyzeArgs),
    /// Show an experiment's progress: rounds, verdicts, time left.
    #[command(after_help = status::STATUS_HELP)]
    Status(StatusArgs),
    /// Write reports again, or figures and tables for a paper.
    #[command(after_help = REPORT_HELP)]
    Report(ReportArgs),
    /// Restore settings that a crash left changed.
    ///
    /// Every value that still differs from the one in the journal is restored and read back;
    /// leftover temporary loop devices are removed. `compare` and `run` do the same when they
    /// start.
    #[command(after_help = RESTORE_HELP)]
    Restore(RestoreArgs),
    /// Find the kernel patch, commit or version that made it worse.
    #[command(after_help = BISECT_HELP)]
    Bisect(BisectArgs),
    /// Build, list, run or remove the kernels of the kernel arena.
    #[command(after_help = KERNEL_HELP)]
    Kernel(KernelArgs),
    /// Write the manual pages and completions that packages install into a directory.
    #[command(hide = true)]
    PackageFiles(PackageFilesArgs),
}

const COMPARE_HELP: &str = "\
Schedulers:
  NAME[:TUNABLE=VALUE]…  bfq:slice_idle=0:nr_requests=64
  LABEL=NAME…            a=none,b=none: an A/A comparison of none with itself

Workloads (schedlab list workloads):
  KIND[:PARAM=VALUE]…    oltp:clients=16:block_size=8k
  PROGRAM[:FILE][:PARAM=VALUE]…
      fio:mine.fio, pgbench:scale=10, command:./bench.sh, on a file system on the device (--fs); \
primary=METRIC sets the deciding metric

Background:
  seqwrite:clients=2:file_size=256M:io_weight=50,randread:ioprio=idle

Devices:
  /dev/NAME, /dev/disk/by-id/…, or loop:SIZE for a temporary loop device
  --arena sim, kernel: FILE.toml, or NAME[:KEY=VALUE]… of schedlab list devices, e.g. \
wd4tb7200:queue_depth=1

CPUs (--arena cpu):
  Variants are settings of schedlab list settings joined by +: \
default,nice=-20,mine=affinity=0+policy=fifo:50; workloads linpack, messaging, wakeup, cyclic, \
request, frames or command:run=…; --background spin,memory,forks,io

Simulator (--arena sim):
  Variants take the tunables of schedlab list schedulers --json, and hz, nr_requests, queue_depth, \
turnaround_us; times are virtual; each round is a seed, shared by all variants

Kernel (--arena kernel):
  NAME@PATCH is NAME of a kernel with that patch, built on first use; NAME@DIR has all patches \
of a directory, NAME@DIR#3 the first three; NAME:kernel=debian/6.12 sets the kernel of one \
variant, SCHEDLAB_KERNEL the default of --kernel; variants also take nr_requests, queue_depth, \
turnaround_us, clients=kernel|syscalls and fs=ext4 (files instead of the bare disk); times and \
rounds as above

Programs:
  --commands 'A' 'B' compares time, CPU time and peak memory of two or more command lines; a \
failed run is invalid, and each command first runs once uncounted

Workloads that write destroy the data on a device. They run only on a temporary loop device \
(loop:SIZE) or the device of --destroy-data.

Examples:
  sudo schedlab compare --device /dev/sdb --schedulers mq-deadline,bfq \\
      --workload randread --budget 2m --out results
  sudo schedlab compare --device /dev/sdb --workload randread --out results \\
      --repeat 3 --every 12h
      three times, 12 hours apart
  schedlab compare --commands './old input' './new input' --budget 2m
      which program is faster
  schedlab compare --commands './old input' './new input' --names old,new \\
      --metric cpu --rounds 20 --fail-if worse
      in CI: 20 runs of each, by CPU time; exit status 5 if new is worse";

const RUN_HELP: &str = "\
Examples:
  schedlab run plans/oltp.toml --out results
  schedlab run plans/oltp.toml --out results --repeat 3
      three times, 8 hours apart; then the pool of all";

const REPORT_HELP: &str = "\
Examples:
  schedlab report results
  schedlab report results --figures paper --format svg,pdf
  schedlab report results --export bencher > bmf.json
      bencher run --adapter json --file bmf.json
  schedlab report results --export customBiggerIsBetter
      for benchmark-action/github-action-benchmark
  schedlab report results \\
      --export openmetrics > /var/lib/node_exporter/schedlab.prom
  schedlab report results --export otlp > spans.json
      curl -d @spans.json -H content-type:application/json HOST:4318/v1/traces";

#[derive(Debug, Args)]
pub(crate) struct DevicesArgs {
    /// Show only this device.
    pub(crate) device: Option<String>,
    #[arg(help = shared::JSON, long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Listing {
    /// I/O schedulers: of the literature and of every Linux in the simulator, and which of them
    /// this kernel offers.
    Schedulers,
    /// Modelled devices of the simulator.
    Devices,
    /// Workloads with their parameters and defaults.
    Workloads,
    /// Metrics with their units.
    Metrics,
    /// CPU settings, the variants of `--arena cpu`, and which of them this machine has.
    Settings,
    /// Formats of other programs that `analyze` reads.
    Formats,
    /// Formats of traces of requests, read by replay:file=, trace, profile; and which of them are
    /// written.
    Traces,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Table to list.
    pub(crate) what: Listing,
    #[arg(help = shared::JSON, long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(mut_arg("device", commands::device))]
pub(crate) struct CompareArgs {
    /// Compare these schedulers; with --arena cpu, CPU settings [default: all of the device; in
    /// virtual time those of current Linux].
    #[arg(long, value_delimiter = ',', value_name = "SPEC,…")]
    pub(crate) schedulers: Vec<String>,
    #[arg(help = shared::BASELINE, long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    #[command(flatten)]
    pub(crate) commands: CommandsArgs,
    #[command(flatten)]
    pub(crate) repeats: RepeatArgs,
    #[command(flatten)]
    pub(crate) design: DesignArgs,
    #[command(flatten)]
    pub(crate) conduct: ConductArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Plan file; `schedlab compare … --dry-run` prints one.
    pub(crate) plan: PathBuf,
    /// Limit the measuring time [default: the plan's].
    #[arg(long, value_name = "TIME")]
    pub(crate) budget: Option<String>,
    #[command(flatten)]
    pub(crate) consent: ConsentArgs,
    /// Print the completed plan and its programs, and measure nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) repeats: RepeatArgs,
    #[command(flatten)]
    pub(crate) conduct: ConductArgs,
}

/// Export formats with their help.
fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(
        report::export::FORMATS.iter().map(|row| PossibleValue::new(row.name).help(row.help)),
    )
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Directory of the experiment.
    pub(crate) dir: PathBuf,
    /// Write figures, tables for LaTeX (booktabs) and Markdown, a methods paragraph and BibTeX
    /// references for a paper into this directory instead of the reports.
    #[arg(long, value_name = "DIR")]
    pub(crate) figures: Option<PathBuf>,
    /// Write figures in these formats; PDF needs rsvg-convert.
    #[arg(
        long,
        value_name = "FORMAT,…",
        value_delimiter = ',',
        default_value = "svg",
        requires = "figures"
    )]
    pub(crate) format: Vec<FigureFormat>,
    /// Print each variant's deciding metric in this format instead of writing reports.
    #[arg(long, value_name = "FORMAT", value_parser = formats(), conflicts_with = "figures")]
    pub(crate) export: Option<String>,
    /// With --export openmetrics: value of the label `experiment` [default: the plan's title].
    #[arg(long, value_name = "NAME", requires = "export")]
    pub(crate) name: Option<String>,
}

/// The format of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FigureFormat {
    /// A drawing for web pages and editors.
    Svg,
    /// A drawing for LaTeX, with its fonts.
    Pdf,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    #[arg(help = shared::JSON, long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PackageFilesArgs {
    /// Directory to write into; created if missing.
    pub(crate) dir: PathBuf,
}

#[cfg(test)]
mod tests;
