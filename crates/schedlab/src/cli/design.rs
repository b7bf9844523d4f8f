//! Flags that several commands share: what is measured, where and by which rules, and how it is carried out.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use experiment::plan::ArenaKind;
use lab::arena::open::OpenOptions;

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
    pub(crate) trace: Option<FormatArg>,
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

impl ConductArgs {
    /// What the arena needs to know of them.
    pub(crate) fn opening(&self) -> OpenOptions {
        OpenOptions {
            destroy_data: self.destroy_data.clone(),
            loop_dir: self.loop_dir.clone(),
            cache_dir: self.cache_dir.clone(),
            trace: self.trace.map(Into::into),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// Apache Parquet, compressed.
    Parquet,
    /// Comma-separated text with a head line.
    Csv,
}

impl From<FormatArg> for lab::trace_file::Format {
    fn from(arg: FormatArg) -> Self {
        match arg {
            FormatArg::Parquet => Self::Parquet,
            FormatArg::Csv => Self::Csv,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArenaArg {
    /// The block layer of this machine's kernel and a real device.
    #[value(alias = "host")]
    Disk,
    /// The CPU scheduler of this machine's kernel and its CPUs; --device is left out.
    Cpu,
    /// The laboratory's own schedulers and a modelled device, in virtual time: no root, nothing touched, repeatable bit for bit.
    Sim,
    /// The real schedulers of a Linux that runs as a process, and a modelled device, in virtual time: no root, nothing touched,
    /// repeatable bit for bit. The first time it builds that Linux, which takes minutes.
    Kernel,
}

impl ArenaArg {
    /// The arena that the flags select together: `--device cpu` selects the cpu arena too.
    pub(crate) fn kind(self, device: &str) -> ArenaKind {
        match self {
            ArenaArg::Disk => ArenaKind::Disk.with_device(device),
            ArenaArg::Cpu => ArenaKind::Cpu,
            ArenaArg::Sim => ArenaKind::Sim,
            ArenaArg::Kernel => ArenaKind::Kernel,
        }
    }
}

impl DesignArgs {
    /// The arena that `--arena` and `--device` select together.
    pub(crate) fn arena_kind(&self) -> ArenaKind {
        self.arena.kind(&self.device)
    }
}

/// On what the work is done, and what goes on beside it.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PlaceArgs {
    /// Load beside every workload, separated by commas: schedlab's own workloads, each perhaps with io_weight, io_max or ioprio; with
    /// --arena cpu spin, memory, forks or io.
    #[arg(long, value_delimiter = ',', value_name = "SPEC,…")]
    pub(crate) background: Vec<String>,
    /// Make this file system on the device and work on files in it. A program that needs files gets ext4 without asking.
    #[arg(long, value_name = "KIND")]
    pub(crate) fs: Option<FsArg>,
    /// Further options of mkfs, e.g. --mkfs-options="-O ^has_journal".
    #[arg(long, value_name = "OPTIONS", requires = "fs", allow_hyphen_values = true)]
    pub(crate) mkfs_options: Option<String>,
    /// Options of mount, e.g. --mount-options=noatime.
    #[arg(long, value_name = "OPTIONS", requires = "fs")]
    pub(crate) mount_options: Option<String>,
}

/// What is measured, where, and by which rules: shared by every command that plans an experiment.
#[derive(Debug, Clone, Args)]
pub(crate) struct DesignArgs {
    /// Where trials take place.
    #[arg(long, default_value = "disk")]
    pub(crate) arena: ArenaArg,
    /// The device under test: /dev/NAME, /dev/disk/by-id/…, loop:SIZE or a modelled device; not needed with --arena cpu.
    #[arg(
        long,
        required_unless_present = "arena",
        required_if_eq_any = [("arena", "disk"), ("arena", "host"), ("arena", "sim"), ("arena", "kernel")],
        default_value_if("arena", "cpu", "cpu"),
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) device: String,
    /// Kernel arena: the kernel whose schedulers are compared, as for `schedlab kernel build --source` [default: debian:6.1].
    #[arg(long, value_name = "SOURCE")]
    pub(crate) kernel: Option<String>,
    /// Workloads, separated by commas [default: oltp,mixed; with --arena cpu linpack; for a watch randread].
    #[arg(long, value_delimiter = ',', value_name = "SPEC,…")]
    pub(crate) workload: Vec<String>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// How many clients, for every workload that has clients and does not say clients=N itself.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) clients: Option<u32>,
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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FsArg {
    /// The usual one.
    Ext4,
    /// XFS: 300 MiB at least.
    Xfs,
    /// Btrfs: copies on writing.
    Btrfs,
}

impl FsArg {
    /// The word in plans.
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
    /// Confidence sequences: valid at every look.
    Anytime,
    /// Student's t for a number of blocks fixed beforehand.
    Fixed,
    /// Baseline mean ± 3 standard deviations.
    ThreeSigma,
}
