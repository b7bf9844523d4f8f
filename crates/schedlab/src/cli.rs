//! The command line: every flag with its manual.
//!
//! The doc comment of an option is what `--help` prints, so it says what the option is for, its unit and its default.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::arena::kernel::files::Files;
use crate::trace_file::Format;

/// The laboratory for Linux I/O schedulers: which one, with which settings, is best for this disk and this work?
///
/// It measures your real disk under each scheduler in randomised blocks, stops as soon as the answer is known, says how
/// sure it is, and puts every setting back. With `--arena sim` it runs every scheduler that Linux ever had, and those of the
/// literature, on modelled disks instead; with `--arena kernel` the real ones of a Linux that runs as a process, in virtual time.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Where the journal of changed settings lives, so that they can be put back after a crash.
    #[arg(
        long,
        global = true,
        env = "SCHEDLAB_STATE_DIR",
        default_value = "/var/lib/schedlab",
        hide_env_values = true
    )]
    #[arg(value_name = "DIR", help_heading = "Global options")]
    pub(crate) state_dir: PathBuf,
}

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
    /// Measure schedlab itself: the load engine against fio, the statistics against their promises.
    Bench(BenchArgs),
    /// Runs a guest and leaves nothing of it behind: started by schedlab itself.
    #[command(hide = true)]
    GuestWarden(GuestWardenArgs),
    /// The first program of a guest: started by a guest's kernel.
    #[command(hide = true)]
    GuestInit(GuestInitArgs),
    /// The same for a program of the user's.
    #[command(hide = true)]
    GuestExec(GuestInitArgs),
    /// The same for `bench kernel`.
    #[command(hide = true)]
    GuestBench(GuestInitArgs),
}

const COMPARE_HELP: &str = "\
Schedulers:  NAME[:TUNABLE=VALUE]…   bfq:slice_idle=0:nr_requests=64
             LABEL=NAME…             a=none,b=none compares none with itself (an A/A comparison)
Workloads:   KIND[:PARAM=VALUE]…     oltp:clients=16:block_size=8k    (see: schedlab list workloads)
Devices:     /dev/NAME, /dev/disk/by-id/…, or loop:SIZE for a temporary loop device over a file
             --arena sim, kernel: NAME[:KEY=VALUE]…, e.g. hp97560 or wd4tb7200:queue_depth=1  (see: schedlab list devices),
             or FILE.toml with a device of your own
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

const KERNEL_HELP: &str = "\
Examples:
  schedlab kernel build                                      Debian's 6.1, the default of the kernel arena
  schedlab kernel build --source debian:newest               whose guests run faster
  schedlab kernel build --patch delay.patch                  6.1 with a patch, compiled in seconds once 6.1 is there
  schedlab kernel build --source ~/linux --debug             a tree of your own, with every check
  schedlab kernel list
  schedlab kernel exec --device hp97560 -- lsblk              any program on a modelled disk, in virtual time
  schedlab kernel clean 6.1-patched-0123456789ab

A kernel is kept under a key made of source version, configuration, patches and compiler. A newer version of a package is taken
when the older kernel and source have been removed (kernel clean --all).";

const EXEC_HELP: &str = "\
Examples:
  schedlab kernel exec --device hp97560 --scheduler bfq -- dd if=/dev/disk0 of=/dev/null bs=1M count=64 iflag=direct
  schedlab kernel exec --device hp97560 --fs ext4 -- sh -c 'printf \"set location /tmp/disk0\\nrun\\nquit\\n\" > /tmp/p; postmark /tmp/p'
  schedlab kernel exec --device hp97560 --time-travel plain -- fio --clocksource=clock_gettime --name=r --filename=/dev/disk0 \\
      --rw=randread --direct=1 --runtime=60 --time_based
  schedlab kernel exec -- cat /proc/version";

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
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// What to list.
    pub(crate) what: Listing,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// How an experiment is carried out: shared by `compare` and `run`.
#[derive(Debug, Args)]
pub(crate) struct ConductArgs {
    /// Where to put plan.toml, record.jsonl, study.json and the reports [default: schedlab-out/UTC time].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Go on with an experiment that was cut off; its record is in --out.
    #[arg(long, requires = "out")]
    pub(crate) resume: bool,
    /// Allow workloads that write to this device: everything on it will be lost.
    #[arg(long, value_name = "DEVICE")]
    pub(crate) destroy_data: Option<String>,
    /// Directory for the file behind loop:SIZE; it should lie on the disk in question.
    #[arg(long, value_name = "DIR", default_value = "/var/tmp")]
    pub(crate) loop_dir: PathBuf,
    /// Kernel arena: where built kernels are kept [default: ~/.cache/schedlab].
    #[arg(long, value_name = "DIR", env = "SCHEDLAB_CACHE_DIR", hide_env_values = true)]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Simulator: write the events of the first trial of each workload and arm into the directory `traces` of --out.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) trace: Option<Format>,
    /// Print study.json instead of the table.
    #[arg(long)]
    pub(crate) json: bool,
    /// Show every metric, not only the deciding ones.
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// No progress bar.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArenaArg {
    /// This machine's kernel and a real device.
    Host,
    /// The laboratory's own schedulers and a modelled device, in virtual time: no root, nothing touched, repeatable bit for bit.
    Sim,
    /// The real schedulers of a Linux that runs as a process, and a modelled device, in virtual time: no root, nothing touched,
    /// repeatable bit for bit. The first time it builds that Linux, which takes minutes.
    Kernel,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Where trials take place.
    #[arg(long, default_value = "host")]
    pub(crate) arena: ArenaArg,
    /// The device under test: /dev/NAME, /dev/disk/by-id/…, loop:SIZE, or a modelled device.
    #[arg(long)]
    pub(crate) device: String,
    /// Kernel arena: the kernel whose schedulers are compared, as for `schedlab kernel build --source` [default: debian:6.1].
    #[arg(long, value_name = "SOURCE")]
    pub(crate) kernel: Option<String>,
    /// What to compare, separated by commas [default: every scheduler that the device offers; in virtual time those of current
    /// Linux].
    #[arg(long, value_delimiter = ',', value_name = "SPEC,…")]
    pub(crate) schedulers: Vec<String>,
    /// The work, separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "SPEC,…", default_value = "oltp,mixed")]
    pub(crate) workload: Vec<String>,
    /// How many clients, for every workload that has clients and does not say clients=N itself.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) clients: Option<u32>,
    /// What the others are compared with [default: the device's present scheduler if it is among them, else the first].
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// Time for measuring, all workloads together [default: 60s; with --blocks N as long as N blocks take; in the simulator, where
    /// it is virtual time, enough for 30 blocks].
    #[arg(long, value_name = "TIME")]
    pub(crate) budget: Option<String>,
    /// Number of blocks of each workload: auto stops as soon as every verdict is reached; N measures exactly N.
    #[arg(long, value_name = "auto|N", default_value = "auto")]
    pub(crate) blocks: String,
    /// Seed of every random choice.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Differences smaller than this are of no interest.
    #[arg(long, value_name = "PERCENT", default_value = "1%")]
    pub(crate) margin: String,
    /// Chance of a false verdict, over all schedulers of one metric.
    #[arg(long, value_name = "PERCENT", default_value = "5%")]
    pub(crate) alpha: String,
    /// How intervals are computed. `fixed` and `three-sigma` are there for comparison with older studies.
    #[arg(long, value_name = "METHOD", default_value = "anytime")]
    pub(crate) method: MethodArg,
    /// Length of one trial [default: so that about a dozen blocks fit into the budget; in the simulator as the device asks].
    #[arg(long, value_name = "TIME")]
    pub(crate) trial_time: Option<String>,
    /// Work before each trial that is not counted [default: a fifth of the trial].
    #[arg(long, value_name = "TIME")]
    pub(crate) warmup: Option<String>,
    /// Print the plan and stop; `schedlab run` takes it from a file.
    #[arg(long)]
    pub(crate) plan_only: bool,
    #[command(flatten)]
    pub(crate) conduct: ConductArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum MethodArg {
    /// Confidence sequences: valid at every look.
    Anytime,
    /// Student's t for a number of blocks fixed beforehand.
    Fixed,
    /// Baseline mean ± 3 standard deviations.
    ThreeSigma,
}

#[derive(Debug, Args)]
pub(crate) struct GuestWardenArgs {
    /// The process that it belongs to.
    pub(crate) parent: u32,
    /// The guest's working directory.
    pub(crate) workdir: PathBuf,
    /// The guest's kernel and its command line.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    pub(crate) command: Vec<std::ffi::OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct GuestInitArgs {
    /// The guest's working directory, with its order.
    #[arg(long, env = guest::WORKDIR_VARIABLE)]
    pub(crate) workdir: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The plan, e.g. written by `schedlab compare … --plan-only`.
    pub(crate) plan: PathBuf,
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
pub(crate) struct KernelArgs {
    /// Where kernels are kept, about 300 MB each [default: $XDG_CACHE_HOME/schedlab, else ~/.cache/schedlab].
    #[arg(long, global = true, env = "SCHEDLAB_CACHE_DIR", value_name = "DIR", hide_env_values = true)]
    pub(crate) cache_dir: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) what: KernelCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KernelCommand {
    /// Build a kernel, boot it once, and keep it; at once if it was built before.
    ///
    /// The source is Debian's package linux-source-X.Y: the installed one, or one that apt fetches (no root needed, signatures
    /// checked). The kernel is User-mode Linux with the block layer, all its schedulers and ext4; the first build takes minutes,
    /// one with a patch seconds more, since only what the patch touches is compiled.
    #[command(after_help = KERNEL_HELP)]
    Build {
        /// debian:6.1, debian:6.12, debian:newest, or the directory of a kernel tree, which is read and not written.
        #[arg(long, value_name = "WORD", default_value = "debian:6.1")]
        source: String,
        /// A patch for it, as `patch -p1` takes them; several are applied in order. Every context line must be as it is in the
        /// source. Options that it adds to a Kconfig are switched on.
        #[arg(long, value_name = "FILE")]
        patch: Vec<PathBuf>,
        /// With KASAN, lockdep, sleep-in-atomic checks and fault injection: for finding mistakes, not for measuring.
        #[arg(long)]
        debug: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// Say nothing but the result.
        #[arg(long, short)]
        quiet: bool,
    },
    /// Show the kernels that were built.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Run any program in a guest: on a modelled disk, under a scheduler of your choice, in virtual time.
    ///
    /// The guest sees this machine's files, read-only; /tmp, /var/tmp, /run and /dev/shm are writable and forgotten. Its modelled disk is
    /// /dev/disk0 ($SCHEDLAB_DEVICE), kept in its memory; with --fs it is mounted on /tmp/disk0 ($SCHEDLAB_DIR). Standard output,
    /// standard error and the exit status are the program's (125: it could not be run, or the guest came to grief); standard
    /// input is empty, and there is no network.
    #[command(after_help = EXEC_HELP)]
    Exec(ExecArgs),
    /// Remove kernels: one, or all together with the fetched source. Without either, only what killed builds have left.
    Clean {
        /// The key of a kernel, as `kernel list` shows it.
        #[arg(conflicts_with = "all")]
        key: Option<String>,
        /// Everything.
        #[arg(long)]
        all: bool,
    },
}

/// How time passes in a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimeTravelArg {
    /// Computing takes no time, so the same program gives the same result; one that waits for the time in a loop hangs.
    InfCpu,
    /// Computing takes its time and waiting takes none: for fio and others that wait in loops; not repeatable.
    Plain,
}

#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// A modelled disk, as for `compare --arena kernel`: hp97560, null:service_ns=50000, FILE.toml [default: none].
    #[arg(long, value_name = "MODEL")]
    pub(crate) device: Option<String>,
    /// Its scheduler with tunables: NAME[:TUNABLE=VALUE]…, NAME@PATCH for one of a patched kernel.
    #[arg(long, value_name = "SPEC", default_value = "none")]
    pub(crate) scheduler: String,
    /// Make this file system on the disk and mount it.
    #[arg(long, value_name = "KIND", requires = "device")]
    pub(crate) fs: Option<Files>,
    /// The kernel, as for `kernel build --source`.
    #[arg(long, value_name = "SOURCE", default_value = "debian:6.1")]
    pub(crate) kernel: String,
    /// With the checks for kernel tests, as for `kernel build --debug`.
    #[arg(long)]
    pub(crate) debug: bool,
    /// How time passes.
    #[arg(long, default_value = "inf-cpu")]
    pub(crate) time_travel: TimeTravelArg,
    /// End a guest that has been silent for so long, in real time: nothing printed, and its clock stood still.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) timeout: String,
    /// The guest's memory in MiB; what is written to its disk is kept there, too.
    #[arg(long, value_name = "MIB", default_value_t = 512, value_parser = clap::value_parser!(u32).range(64..=65536))]
    pub(crate) memory: u32,
    /// Say nothing of our own unless something is wrong.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// The program and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) what: Bench,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// I/Os per processor second of the load engine and of fio, in turn, on the same file; prints the ratios.
    Engine(BenchEngineArgs),
    /// The kernel arena against real time and against the plain way to do the same, in turn; prints the ratios and whether they are
    /// what was promised.
    Kernel(BenchKernelArgs),
    /// Time to read and judge a large record.
    Study {
        /// Trials in the record.
        #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
        trials: u32,
    },
    /// The same trials in the simulator and in the kernel arena, figure by figure; every request's service time to the nanosecond.
    Conformance(BenchConformanceArgs),
    /// False-verdict and coverage rates on simulated experiments, against the promised ones; power and savings.
    Calibration {
        /// Simulated experiments for each kind of noise.
        #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
        experiments: u32,
    },
}

#[derive(Debug, Clone, Args)]
pub(crate) struct BenchConformanceArgs {
    /// A part of the table, in under two minutes.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Only trials whose DISK/WORKLOAD/SCHEDULER holds this text.
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the table to this file as well, in Markdown.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Keep what both disks did, one command a line, in this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) logs: Option<PathBuf>,
    /// The kernel: debian:6.1, debian:6.12, or a directory with its source.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) kernel: Option<String>,
    /// Where built kernels are kept.
    #[arg(long, value_name = "DIR")]
    pub(crate) cache_dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct BenchKernelArgs {
    /// Rounds; each runs every side.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Reads of each client; what is promised is promised for the default.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) reads: u32,
    /// A kernel besides debian:6.1, as for `kernel build --source`; may be repeated.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) kernel: Vec<String>,
    /// Where built kernels are kept [default: ~/.cache/schedlab].
    #[arg(long, value_name = "DIR", env = "SCHEDLAB_CACHE_DIR", hide_env_values = true)]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchEngineArgs {
    /// Rounds; each runs both engines on each case.
    #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Length of one measurement.
    #[arg(long, value_name = "TIME", default_value = "200ms")]
    pub(crate) time: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
