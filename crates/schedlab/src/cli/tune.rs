//! Flags of `schedlab tune`.

use std::path::PathBuf;

use clap::Args;
use experiment::plan::ArenaFacts;

use super::arena;
use super::design::PlaceArgs;
use super::monitor::MonitorArgs;
use super::shared;

const EXAMPLES: &str = "\
Examples:
  schedlab tune --arena sim --device hp97560 --workload dss
      search in the simulator
  schedlab tune --device /dev/sdb --workload randread --budget 20m
      search on a disk, read-only
  schedlab tune --device loop:512M --workload oltp --objective p99
      minimize p99 on a temporary loop device
  schedlab tune --arena sim --device wd4tb7200 --workload oltp \\
      --objective iops --constraint 'p99<200ms'
  schedlab tune --device /dev/sdb --schedulers mq-deadline,bfq \\
      --tunables fifo_batch,slice_idle --dry-run
      print the search space and its size
  schedlab tune … --out out --resume
      continue after Ctrl-C or a crash

The best of many results is partly luck, so the winner is compared with the default on fresh \
rounds, as `compare` does; it is recommended only if it is better there. Otherwise no other \
setting is tried on the same evidence: search again with another --seed.

A confirmed winner is pruned with the rest of the budget: settings return to their defaults, in \
groups and one by one, if fresh rounds show that all together lose less than the margin.

OUT holds tune.json, tune.html, search.jsonl (every trial of the search), confirm/ and prune-1/, \
… (experiments).

Exit status: 0 finished, also if no improvement is confirmed, 1 an operation failed, 2 wrong \
usage, 3 the evidence is invalid, 128 and the number of a signal that interrupted.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TuneArgs {
    /// Measure in this arena.
    #[arg(long, default_value = "disk", value_parser = arena::every())]
    pub(crate) arena: &'static ArenaFacts,
    /// Search on this device: /dev/NAME, /dev/disk/by-id/…, loop:SIZE, or a modelled device.
    #[arg(long)]
    pub(crate) device: String,
    #[arg(help = shared::KERNEL, long, value_name = "SOURCE")]
    pub(crate) kernel: Option<String>,
    /// Run these workloads; several are combined by the geometric mean of their ratios to the
    /// default.
    #[arg(long, value_delimiter = ',', value_name = "SPEC,…", default_value = "oltp")]
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
    /// Optimize this: throughput, iops, tps, latency, p50, p99, p999, a metric of `list metrics`,
    /// or arithmetic over them, e.g. 'iops / p99', which is maximized (min:EXPR minimizes)
    /// [default: the workload's primary metric].
    #[arg(long, value_name = "METRIC|EXPR")]
    pub(crate) objective: Option<String>,
    /// Recommend only what the confirmation shows to keep this, e.g. 'p99<20ms' or 'iops>500'; may
    /// be repeated.
    #[arg(long, value_name = "METRIC<VALUE")]
    pub(crate) constraint: Vec<String>,
    /// Choose from these schedulers [default: all of the device; in virtual time those of current
    /// Linux].
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    pub(crate) schedulers: Vec<String>,
    /// Search only these tunables and queue attributes [default: all].
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    pub(crate) tunables: Vec<String>,
    /// Fix this tunable or attribute in every candidate; may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) fix: Vec<String>,
    /// Compare the winner with this scheduler at its defaults [default: the device's current one;
    /// in virtual time mq-deadline if among the schedulers, else the first].
    #[arg(long, value_name = "SCHEDULER")]
    pub(crate) baseline: Option<String>,
    /// Limit the time of search and confirmation together [default: 10m; in virtual time by
    /// --trials].
    #[arg(long, value_name = "TIME", conflicts_with = "trials")]
    pub(crate) budget: Option<String>,
    /// Limit the trials of search and confirmation together [default in virtual time: a quarter of
    /// what sweeps of each tunable take, and the confirmation's].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) trials: Option<u32>,
    #[arg(help = shared::SEED, long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Treat differences below this as equivalent.
    #[arg(long, value_name = "PERCENT", default_value = "1%")]
    pub(crate) margin: String,
    /// Limit the probability of a false recommendation.
    #[arg(long, value_name = "PERCENT", default_value = "5%")]
    pub(crate) alpha: String,
    /// Set the length of one trial [default: about 150 trials fit into the budget; in virtual time
    /// what suits the device].
    #[arg(long, value_name = "TIME")]
    pub(crate) trial_time: Option<String>,
    #[arg(help = shared::WARMUP, long, value_name = "TIME")]
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
    #[arg(help = shared::RUN_AS, long = "as", value_name = "USER")]
    pub(crate) run_as: Option<String>,
    /// Print tune.json instead of the summary.
    #[arg(long)]
    pub(crate) json: bool,
    #[arg(help = shared::QUIET, long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) monitor: MonitorArgs,
}
