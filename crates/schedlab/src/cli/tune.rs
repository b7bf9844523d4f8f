//! Flags of `schedlab tune`.

use std::path::PathBuf;

use clap::Args;
use experiment::plan::ArenaFacts;

use super::arena;
use super::design::PlaceArgs;
use super::monitor::MonitorArgs;

const EXAMPLES: &str = "\
Examples:
  schedlab tune --arena sim --device hp97560 --workload dss
      search in the simulator: changes nothing
  schedlab tune --device /dev/sdb --workload randread --budget 20m
      search on a disk, read-only
  schedlab tune --device loop:512M --workload oltp --objective p99
      minimize p99 on a temporary loop device
  schedlab tune --arena sim --device wd4tb7200 --workload oltp \\
      --objective iops --constraint 'p99<200ms'
  schedlab tune --arena sim --device hp97560 --workload oltp \\
      --objective 'min:read_p99 + write_p99'
  schedlab tune --device /dev/sdb --schedulers mq-deadline,bfq \\
      --tunables fifo_batch,slice_idle --dry-run
      print the search space and its size
  schedlab tune … --out out --resume
      continue after Ctrl-C or a crash

The search measures promising settings more often and gives a bad one a single trial. Since the \
best of many results is partly luck, the winner is then compared with the default on fresh \
rounds, as `compare` does; it is recommended only if it is better there, by the margin and at \
alpha. If it is not, no other setting is tried on the same evidence: search again with another \
--seed.

A confirmed winner is pruned: its settings go back to their defaults, in groups and one by one, \
if fresh rounds show that all of them together lose less than the margin. Pruning gets what \
search and confirmation leave of the budget.

OUT holds tune.json, tune.html, search.jsonl (every trial of the search), confirm/ and prune-1/, \
… (ordinary experiments).

Exit status: 0 finished, also if no improvement is confirmed, 1 an operation failed, 2 wrong \
usage, 3 the evidence is invalid, 128 and the number of a signal that interrupted.";

/// Search for the best scheduler and settings, and confirm the result against the default.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TuneArgs {
    /// Search in this arena.
    #[arg(long, default_value = "disk", value_parser = arena::every())]
    pub(crate) arena: &'static ArenaFacts,
    /// Search on this device: /dev/NAME, /dev/disk/by-id/…, loop:SIZE, or a modelled device.
    #[arg(long)]
    pub(crate) device: String,
    /// Kernel arena: search the schedulers of this kernel, named as for
    /// `schedlab kernel build --source` [default: debian:7.3].
    #[arg(long, value_name = "SOURCE")]
    pub(crate) kernel: Option<String>,
    /// Run these workloads, separated by commas; several are combined by the geometric mean of
    /// their ratios to the default.
    #[arg(long, value_delimiter = ',', value_name = "SPEC,…", default_value = "oltp")]
    pub(crate) workload: Vec<String>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Set the number of clients of every workload that has clients and does not set clients=N
    /// itself (1 to 1024).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) clients: Option<u32>,
    /// Optimize this metric or expression: throughput, iops, tps, latency, p50, p99, p999, any
    /// metric of `schedlab list metrics`, or arithmetic over them, e.g. 'iops / p99', which is
    /// maximized (min:EXPR is minimized) [default: the workload's primary metric].
    #[arg(long, value_name = "METRIC|EXPR")]
    pub(crate) objective: Option<String>,
    /// Require this of the result, e.g. 'p99<20ms' or 'iops>500'; may be repeated. A setting is
    /// recommended only if the confirmation shows that the constraint holds.
    #[arg(long, value_name = "METRIC<VALUE")]
    pub(crate) constraint: Vec<String>,
    /// Choose from these schedulers, separated by commas [default: every scheduler that the device
    /// offers; in virtual time: those of current Linux].
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    pub(crate) schedulers: Vec<String>,
    /// Search only these tunables and queue attributes, separated by commas [default: all].
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    pub(crate) tunables: Vec<String>,
    /// Set this tunable or attribute in every candidate instead of searching it; may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) fix: Vec<String>,
    /// Compare the winner with this scheduler at its defaults [default: the device's current
    /// scheduler; in virtual time: mq-deadline if it is among the schedulers, else the first].
    #[arg(long, value_name = "SCHEDULER")]
    pub(crate) baseline: Option<String>,
    /// Limit the time of search and confirmation together, in wall-clock or virtual time [default:
    /// 10m on the host; in virtual time set by --trials].
    #[arg(long, value_name = "TIME", conflicts_with = "trials")]
    pub(crate) budget: Option<String>,
    /// Limit the number of trials of search and confirmation together [default in virtual time: a
    /// quarter of what sweeps of each tunable would need, plus those of the confirmation].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) trials: Option<u32>,
    /// Seed every random choice with this number.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Treat improvements smaller than this as none.
    #[arg(long, value_name = "PERCENT", default_value = "1%")]
    pub(crate) margin: String,
    /// Limit the probability of a false recommendation.
    #[arg(long, value_name = "PERCENT", default_value = "5%")]
    pub(crate) alpha: String,
    /// Set the length of one trial [default: a length of which about 150 trials fit into the
    /// budget; in virtual time: a length that suits the device].
    #[arg(long, value_name = "TIME")]
    pub(crate) trial_time: Option<String>,
    /// Run the workload for this time before each trial, uncounted [default: a fifth of the trial].
    #[arg(long, value_name = "TIME")]
    pub(crate) warmup: Option<String>,
    /// Print the search space, its size and the number of trials, and measure nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write tune.json, tune.html, search.jsonl and confirm/ into this directory [default:
    /// schedlab-out/tune-UTC time].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Continue the interrupted search in --out; repeat its other options.
    #[arg(long, requires = "out")]
    pub(crate) resume: bool,
    /// Allow workloads that write to this device: all data on it is lost.
    #[arg(long, value_name = "DEVICE")]
    pub(crate) destroy_data: Option<String>,
    /// Create the backing file of loop:SIZE in this directory; its disk is the one that is
    /// measured.
    #[arg(long, value_name = "DIR", default_value = "/var/tmp")]
    pub(crate) loop_dir: PathBuf,
    /// Kernel arena: store built kernels in this directory [default: ~/.cache/schedlab].
    #[arg(long, value_name = "DIR", env = "SCHEDLAB_CACHE_DIR", hide_env_values = true)]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Run the programs that workloads name as this user: without root's rights, terminal and open
    /// files.
    #[arg(long = "as", value_name = "USER")]
    pub(crate) run_as: Option<String>,
    /// Print tune.json instead of the summary.
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress bar and no remarks.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) monitor: MonitorArgs,
}
