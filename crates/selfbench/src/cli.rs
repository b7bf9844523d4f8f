//! Flags of `selfbench`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Compare schedlab's parts with similar tools and with their guarantees.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) what: Bench,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// Compare the load engine with fio: I/Os per CPU second on the same file.
    Engine(BenchEngineArgs),
    /// Compare the kernel arena with real time and with the plain approach; check the guarantees.
    Kernel(BenchKernelArgs),
    /// Print the LINPACK table, and compare KFLOPS with the same algorithm in C.
    Linpack(BenchLinpackArgs),
    /// Measure time, memory and correctness of a verdict over a synthetic fleet with liars.
    Fleet(BenchFleetArgs),
    /// Measure the profiler's requests per second; check the guarantee.
    Profile(BenchProfileArgs),
    /// Compare loop device throughput with and without each recorder: schedlab, blktrace, and
    /// bpftrace as biosnoop.
    Record(BenchRecordArgs),
    /// Measure the time to read and compare a large results file.
    Analysis {
        /// Trials in the results file.
        #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
        trials: u32,
    },
    /// Compare trials in the simulator and the kernel arena, figure by figure, and each request's
    /// service time to the nanosecond.
    Conformance(BenchConformanceArgs),
    /// Compare a kernel's CPU scheduler in virtual time with this machine's: shares, latencies,
    /// realtime and deadline policies.
    Cpu(BenchCpuArgs),
    /// Compare the modelled disks with real ones: replay DiskSim's validation traces and print
    /// demerit figures.
    Drives(BenchDrivesArgs),
    /// Compare the Linux 2.6.20 schedulers with the original, a program that replays scripts;
    /// minimise and print every difference.
    Oracle(BenchOracleArgs),
    /// Compare `tune` with sweeps and random search on surfaces with a known optimum; check the
    /// guarantees.
    Tune(BenchTuneArgs),
    /// Measure false verdicts, coverage, power and savings on simulated experiments; check the
    /// guarantees.
    Calibration {
        /// Simulated experiments per kind of noise.
        #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
        experiments: u32,
    },
}

#[derive(Debug, Clone, Args)]
pub(crate) struct BenchRecordArgs {
    /// Pairs of measurements per recorder.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Length of each measurement.
    #[arg(long, value_name = "TIME", default_value = "3s")]
    pub(crate) time: String,
    /// The schedlab binary [default: next to this program].
    #[arg(long, value_name = "FILE")]
    pub(crate) schedlab: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct BenchConformanceArgs {
    /// Run a part of the table, in under two minutes.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Only trials whose DISK/WORKLOAD/SCHEDULER contains this text.
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write the table to this file in Markdown.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Write both disks' commands, one per line, to this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) logs: Option<PathBuf>,
    /// The kernel: debian:6.1, debian:6.12, or a source directory.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) kernel: Option<String>,
    /// Directory of built kernels.
    #[arg(long, value_name = "DIR")]
    pub(crate) cache_dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct BenchCpuArgs {
    /// Rounds of each case; medians count.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Length of each trial.
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub(crate) time: String,
    /// The guest's kernel, as for `kernel build --source`.
    #[arg(long, value_name = "SOURCE", default_value = "debian:6.12")]
    pub(crate) kernel: String,
    /// A setting of the guest, e.g. hz=250; repeatable. Choose the machine's.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) guest: Vec<String>,
    /// Only cases whose title contains this text.
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,
    /// The schedlab binary [default: next to this program].
    #[arg(long, value_name = "FILE")]
    pub(crate) schedlab: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchDrivesArgs {
    /// A DiskSim 4.0 tree, or its directory `valid`.
    #[arg(long, value_name = "DIR")]
    pub(crate) disksim: PathBuf,
    /// Only presets whose name contains this text.
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,
    /// Override a key of every preset; repeatable.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) with: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write the table to this file in Markdown.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Write both times of each request, one per line, to this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) logs: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct BenchOracleArgs {
    /// A program that replays scripts on the original schedulers; one per HZ.
    #[arg(long, value_name = "PROGRAM", required = true)]
    pub(crate) program: Vec<PathBuf>,
    /// Scripts per scheduler and program.
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    pub(crate) scripts: u64,
    /// The first seed.
    #[arg(long, value_name = "SEED", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..1 << 60))]
    pub(crate) from: u64,
    /// Only this scheduler.
    #[arg(long, value_name = "SCHEDULER")]
    pub(crate) only: Option<String>,
    /// Print both answers to this script, and exit.
    #[arg(long, value_name = "SCRIPT")]
    pub(crate) script: Option<String>,
    /// Write the scripts and digests of the original's answers to this file.
    #[arg(long, value_name = "FILE", conflicts_with = "script")]
    pub(crate) corpus: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct BenchKernelArgs {
    /// Rounds; each runs every side.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Reads per client; the guarantees are for the default.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) reads: u32,
    /// A kernel besides debian:6.1, as for `kernel build --source`; repeatable.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) kernel: Vec<String>,
    /// Directory of built kernels [default: ~/.cache/schedlab].
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
    /// Minimum length of the last round, reached by doubling repetitions.
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
    /// Trials per machine.
    #[arg(long, default_value = "1000", value_parser = clap::value_parser!(u64).range(4..=50_000))]
    pub(crate) trials: u64,
    /// Machines that report the opposite.
    #[arg(long, default_value = "30")]
    pub(crate) liars: u64,
    /// Create the fleet in this new directory and keep it for `schedlab fleet`.
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
    /// Processes that make the requests.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) processes: u32,
    /// Rounds; the median counts.
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
    /// Only surfaces whose name contains this text.
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
