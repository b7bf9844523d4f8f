//! Flags of `selfbench`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Compare schedlab's own parts with the tools that people use for the same, and with what is
/// guaranteed of them.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) what: Bench,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// I/Os per CPU second of the load engine and of fio, in turn, on the same file; prints the
    /// ratios.
    Engine(BenchEngineArgs),
    /// The kernel arena against real time and against the plain way to do the same, in turn; prints
    /// the ratios and whether they are what was guaranteed.
    Kernel(BenchKernelArgs),
    /// LINPACK's table on this machine, and its KFLOPS beside those of the same algorithm in C, in
    /// turn; prints the ratio.
    Linpack(BenchLinpackArgs),
    /// A verdict over a made-up fleet with liars: its time, memory and truth.
    Fleet(BenchFleetArgs),
    /// Requests that are profiled in a second, against what is guaranteed.
    Profile(BenchProfileArgs),
    /// Throughput of a loop device without and with each recorder, in turn: ours, blktrace, and
    /// bpftrace with what biosnoop does.
    Record(BenchRecordArgs),
    /// Time to read and compare a large results file.
    Analysis {
        /// Trials in the results file.
        #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
        trials: u32,
    },
    /// The same trials in the simulator and in the kernel arena, figure by figure; every request's
    /// service time to the nanosecond.
    Conformance(BenchConformanceArgs),
    /// The modelled disks against real ones: DiskSim's validation traces through the presets;
    /// prints the demerit figures.
    Drives(BenchDrivesArgs),
    /// The schedulers of Linux 2.6.20 against the original, given as a program that replays
    /// scripts: random scripts until the seeds are used up; every difference is minimised and
    /// printed.
    Oracle(BenchOracleArgs),
    /// The search of `tune` against sweeps and random search, on surfaces whose optimum is known;
    /// prints the regrets and whether they are what was guaranteed.
    Tune(BenchTuneArgs),
    /// False-verdict and coverage rates on simulated experiments, against the guaranteed ones;
    /// power and savings.
    Calibration {
        /// Simulated experiments for each kind of noise.
        #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
        experiments: u32,
    },
}

#[derive(Debug, Clone, Args)]
pub(crate) struct BenchRecordArgs {
    /// Pairs of measurements of each recorder.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Length of each measurement.
    #[arg(long, value_name = "TIME", default_value = "3s")]
    pub(crate) time: String,
    /// The program schedlab [default: the one beside this program].
    #[arg(long, value_name = "FILE")]
    pub(crate) schedlab: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
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
pub(crate) struct BenchDrivesArgs {
    /// A tree of DiskSim 4.0, or its directory valid.
    #[arg(long, value_name = "DIR")]
    pub(crate) disksim: PathBuf,
    /// Only presets whose name holds this text.
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,
    /// Change a key of every preset; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) with: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the table to this file as well, in Markdown.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Write both times of each request, one a line, to this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) logs: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct BenchOracleArgs {
    /// A program that replays scripts on the original schedulers; one for each HZ.
    #[arg(long, value_name = "PROGRAM", required = true)]
    pub(crate) program: Vec<PathBuf>,
    /// Scripts for each scheduler and program.
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    pub(crate) scripts: u64,
    /// The first seed.
    #[arg(long, value_name = "SEED", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..1 << 60))]
    pub(crate) from: u64,
    /// Only this scheduler.
    #[arg(long, value_name = "SCHEDULER")]
    pub(crate) only: Option<String>,
    /// Print both answers to this script, and stop.
    #[arg(long, value_name = "SCRIPT")]
    pub(crate) script: Option<String>,
    /// Write the scripts and digests of what the original did to this file.
    #[arg(long, value_name = "FILE", conflicts_with = "script")]
    pub(crate) corpus: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct BenchKernelArgs {
    /// Rounds; each runs every side.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Reads of each client; what is guaranteed is guaranteed for the default.
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

#[derive(Debug, Args)]
pub(crate) struct BenchLinpackArgs {
    /// Leading dimension of the matrix; systems have half as many unknowns.
    #[arg(long, default_value_t = 200)]
    pub(crate) array: u32,
    /// Repetitions double until a round takes as long.
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub(crate) least: String,
    /// Pairs of measurements, ours and C's.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchFleetArgs {
    /// Machines.
    #[arg(long, default_value = "1000", value_parser = clap::value_parser!(u64).range(3..=100_000))]
    pub(crate) machines: u64,
    /// Trials of each.
    #[arg(long, default_value = "1000", value_parser = clap::value_parser!(u64).range(4..=50_000))]
    pub(crate) trials: u64,
    /// Machines that report the opposite.
    #[arg(long, default_value = "30")]
    pub(crate) liars: u64,
    /// Make the fleet in this new directory, and leave it there for `schedlab fleet`.
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchProfileArgs {
    /// Requests to profile; each takes about 100 bytes of memory.
    #[arg(long, default_value_t = 4_000_000, value_parser = clap::value_parser!(u64).range(1..=50_000_000))]
    pub(crate) requests: u64,
    /// Processes that make them.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) processes: u32,
    /// Rounds, of which the median counts.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchTuneArgs {
    /// Searches of each kind on each surface.
    #[arg(long, default_value_t = 25, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Only surfaces whose name holds this text.
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
