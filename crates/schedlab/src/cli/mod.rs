//! The command line: every flag with its manual.
//!
//! The doc comment of an option is what `--help` prints, so it says what the option is for, its unit and its default.

mod design;
mod keep;
mod kernel;
mod settings;
mod sweep;
mod tune;
mod watch;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use design::*;
pub(crate) use keep::*;
pub(crate) use kernel::*;
pub(crate) use settings::*;
pub(crate) use sweep::SweepArgs;
pub(crate) use tune::*;
pub(crate) use watch::*;

use self::sweep::{SWEEP_HELP, budget};

/// The laboratory for Linux I/O schedulers: which one, with which settings, is best for this disk and this work?
///
/// It measures your real disk under each scheduler in randomised blocks, stops as soon as the answer is known, says how
/// sure it is, and puts every setting back. With `--arena sim` it runs every scheduler that Linux ever had, and those of the
/// literature, on modelled disks instead; with `--arena kernel` the real ones of a Linux that runs as a process, in virtual time.
/// With `--arena cpu` it compares settings of the CPU scheduler.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Where the journal of changed settings lives, so that they can be put back after a crash.
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

/// The variable that names the state directory, and the directory without it.
pub(crate) const STATE_DIR: &str = "SCHEDLAB_STATE_DIR";
pub(crate) const DEFAULT_STATE_DIR: &str = "/var/lib/schedlab";

const EXAMPLES: &str = "\
Examples:
  schedlab compare --device loop:512M --workload oltp,mixed      try it out: a temporary loop device, nothing of yours
  schedlab compare --device /dev/sdb --workload randread         your disk, reading only
  schedlab compare --arena sim --device hp97560 --schedulers deadline,cfq,anticipatory,wpcas --workload iozone
                                                                 old and academic schedulers on a modelled disk
  schedlab compare --arena kernel --device hp97560 --schedulers kyber,kyber@my.patch --workload randread
                                                                 a change of a real scheduler, judged in virtual time
  schedlab run plans/oltp.toml --out results                     an experiment of record
  schedlab study results                                         judge a record again
  schedlab study table.csv --arm scheduler --metric tps          judge a table that somebody else measured
  schedlab restore                                               put settings back after a crash

Exit status: 0 verdicts reached, 1 an operation failed, 2 wrong usage, 3 the evidence is void.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show every block device: kind, identity, scheduler, tunables, what is on it.
    Devices(DevicesArgs),
    /// List what there is: schedulers, modelled devices, workloads, metrics.
    List(ListArgs),
    /// Compare I/O schedulers on a device, and write a report.
    #[command(after_help = COMPARE_HELP)]
    Compare(CompareArgs),
    /// Run the experiment of a plan file.
    Run(RunArgs),
    /// Turn one tunable at a time: what each one really does.
    #[command(after_help = SWEEP_HELP, mut_arg("budget", budget))]
    Sweep(SweepArgs),
    /// Search for the best scheduler and settings, and confirm them against the default.
    Tune(TuneArgs),
    /// Show everything that can be set on a device: value, default, range, meaning.
    #[command(after_help = SHOW_HELP)]
    Show(ShowArgs),
    /// Set a device's scheduler, its tunables and the queue's attributes, until the next restart or for a while.
    #[command(after_help = SET_HELP)]
    Set(SetArgs),
    /// Make a setting last over restarts.
    #[command(after_help = KEEP_HELP)]
    Keep(KeepArgs),
    /// Remove exactly what `keep` wrote.
    #[command(after_help = FORGET_HELP)]
    Forget(ForgetArgs),
    /// Test a device again and again in quiet hours, and tell when the verdict changes.
    #[command(after_help = WATCH_HELP)]
    Watch(WatchArgs),
    /// Show how the verdicts of a device went.
    History(HistoryArgs),
    /// Read a trace of a simulated trial: what happened, and the figures that follow from it.
    #[command(after_help = TRACE_HELP)]
    Trace(TraceArgs),
    /// Judge evidence: a record of schedlab, or any CSV table.
    #[command(after_help = STUDY_HELP)]
    Study(StudyArgs),
    /// Write the reports of a record again (report.html, report.md, study.json, CSV).
    Report(ReportArgs),
    /// Put back settings that a crash left changed.
    ///
    /// schedlab notes the old values on disk before it changes anything. This reads those notes, restores what is still
    /// changed, checks it by reading it back, and removes temporary loop devices that were left over. Every `compare` and
    /// `run` does the same at its start.
    Restore(RestoreArgs),
    /// Build Linux kernels that run as an ordinary process, for the kernel arena: no root, no reboot.
    #[command(after_help = KERNEL_HELP)]
    Kernel(KernelArgs),
    /// Moved: see `selfbench`, a program of its own.
    /// Write the manual pages and completions that packages install into a directory.
    #[cfg(feature = "packaging")]
    #[command(hide = true)]
    PackageFiles(PackageFilesArgs),
    #[command(hide = true)]
    Bench(BenchArgs),
}

const COMPARE_HELP: &str = "\
Schedulers:  NAME[:TUNABLE=VALUE]…   bfq:slice_idle=0:nr_requests=64
             LABEL=NAME…             a=none,b=none compares none with itself (an A/A comparison)
Workloads:   KIND[:PARAM=VALUE]…     oltp:clients=16:block_size=8k    (see: schedlab list workloads)
             PROGRAM[:FILE][:PARAM=VALUE]…  fio:mine.fio, pgbench:scale=10, command:./bench.sh: real programs, on a file system that is made
             on the device (--fs, ext4 by itself); primary=METRIC names the metric that decides
Background:  --background seqwrite:clients=2:file_size=256M:io_weight=50,randread:ioprio=idle
Devices:     /dev/NAME, /dev/disk/by-id/…, or loop:SIZE for a temporary loop device over a file
             --arena sim, kernel: NAME[:KEY=VALUE]…, e.g. hp97560 or wd4tb7200:queue_depth=1  (see: schedlab list devices),
             or FILE.toml with a device of your own
CPUs:        --arena cpu: arms are settings with + between them: default,nice=-20,mine=affinity=0+policy=fifo:50 (see: schedlab list
             settings); workloads linpack, messaging, wakeup, cyclic or command:run=…; --background spin,memory,forks,io
Simulator:   every tunable of `schedlab list schedulers --json`, and hz, nr_requests, queue_depth, turnaround_us on any arm;
             times (--budget, --trial-time, --warmup) are virtual; each block is a seed, the same for all arms
Kernel:      NAME@PATCH is NAME of a kernel with that patch, built when it is needed; --kernel names another kernel than debian:6.1;
             besides its tunables every arm takes nr_requests, queue_depth, turnaround_us, clients=kernel|syscalls and
             fs=ext4 (files on a file system instead of the bare disk); times are virtual, and blocks are seeds, as above

Workloads that write destroy the data on a device. They run on a temporary loop device, on a device that holds nothing,
or on the one that you name in --destroy-data.";

const TRACE_HELP: &str = "\
Examples:
  schedlab compare --arena sim --device hp97560 --schedulers deadline,wpcas --workload dss --trace parquet --out out
  schedlab trace out/traces/dss-wpcas.parquet
  schedlab trace out/traces/dss-wpcas.parquet --to wpcas.csv

Columns: at_ns (virtual time), event (submit, insert, merge, wait, issue, complete, done, timer, flush, flushed, exit), process, tag, op,
sector, nr_sectors.";

const STUDY_HELP: &str = "\
Examples:
  schedlab study results
  schedlab study hdparm.csv --arm scheduler --metric buffered_disk_reads_mb_per_s --workload machine --block run
  schedlab study linpack.csv --arm setting --metric kflops --block reps --baseline default";

#[derive(Debug, Args)]
pub(crate) struct DevicesArgs {
    /// Only this device.
    pub(crate) device: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Listing {
    /// I/O schedulers: those of the literature and of every Linux in the simulator, and which of them this kernel offers.
    Schedulers,
    /// Modelled devices of the simulator.
    Devices,
    /// Workloads with their parameters and defaults.
    Workloads,
    /// Metrics with their units.
    Metrics,
    /// Settings of the machine's CPUs, what arms of `--device cpu` are made of, and which of them this machine has.
    Settings,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// What to list.
    pub(crate) what: Listing,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// What to compare, separated by commas [default: every scheduler that the device offers; in virtual time those of current
    /// Linux]. With --arena cpu settings of the CPU scheduler.
    #[arg(long, value_delimiter = ',', value_name = "SPEC,…")]
    pub(crate) schedulers: Vec<String>,
    /// What the others are compared with [default: the device's present scheduler if it is among them, else the first].
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    #[command(flatten)]
    pub(crate) design: DesignArgs,
    #[command(flatten)]
    pub(crate) conduct: ConductArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The plan, e.g. written by `schedlab compare … --plan-only`.
    pub(crate) plan: PathBuf,
    /// Measure so long instead of as long as the plan says.
    #[arg(long, value_name = "TIME")]
    pub(crate) budget: Option<String>,
    #[command(flatten)]
    pub(crate) conduct: ConductArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    /// A .parquet or .csv file that `--trace` has written.
    pub(crate) file: PathBuf,
    /// Write the same events into this new file; its name (.parquet, .csv) tells the format.
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StudyArgs {
    /// Directory of an experiment, record.jsonl, or a CSV table.
    #[arg(required = true)]
    pub(crate) sources: Vec<PathBuf>,
    /// CSV: the column that names what is compared.
    #[arg(long, value_name = "COL")]
    pub(crate) arm: Option<String>,
    /// CSV: the column of numbers to judge; can be given more than once, the first one decides.
    #[arg(long, value_name = "COL")]
    pub(crate) metric: Vec<String>,
    /// CSV: the column that says which rows were measured together (once for each arm).
    #[arg(long, value_name = "COL")]
    pub(crate) block: Option<String>,
    /// CSV: the column that separates different work, or different machines.
    #[arg(long, value_name = "COL")]
    pub(crate) workload: Option<String>,
    /// CSV: rows with text in this column are void, and the text is the reason.
    #[arg(long, value_name = "COL")]
    pub(crate) void_if: Option<String>,
    /// CSV: metrics of which less is better, where the name does not tell.
    #[arg(long, value_name = "COL")]
    pub(crate) lower_is_better: Vec<String>,
    /// CSV: what the others are compared with [default: the first arm of the table].
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// Practical margin [default: the plan's, or 1%].
    #[arg(long, value_name = "PERCENT")]
    pub(crate) margin: Option<String>,
    /// Chance of a false verdict over all arms of one metric [default: the plan's, or 5%].
    #[arg(long, value_name = "PERCENT")]
    pub(crate) alpha: Option<String>,
    /// How intervals are computed [default: the plan's, or anytime].
    #[arg(long, value_name = "METHOD")]
    pub(crate) method: Option<MethodArg>,
    /// Print study.json instead of the table.
    #[arg(long)]
    pub(crate) json: bool,
    /// Show every metric and each arm's mean and deviation.
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Also write reports into this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Directory of an experiment.
    pub(crate) dir: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// The name of the benchmark, and its options.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<String>,
}

/// `schedlab package-files`.
#[cfg(feature = "packaging")]
#[derive(Debug, Args)]
pub(crate) struct PackageFilesArgs {
    /// The directory to write into, made if it is missing.
    pub(crate) dir: PathBuf,
}
