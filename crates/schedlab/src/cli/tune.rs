//! Flags of `schedlab tune`.

use std::path::PathBuf;

use clap::Args;
use experiment::plan::ArenaKind;

use super::design::{ArenaArg, PlaceArgs};

const EXAMPLES: &str = "\
Examples:
  schedlab tune --arena sim --device hp97560 --workload dss             search in the simulator: nothing touched
  schedlab tune --device /dev/sdb --workload randread --budget 20m      search on a disk, reading only
  schedlab tune --device loop:512M --workload oltp --objective p99      the least p99 of a temporary loop device
  schedlab tune --arena sim --device wd4tb7200 --workload oltp --objective iops --constraint 'p99<200ms'
  schedlab tune --arena sim --device hp97560 --workload oltp --objective 'min:read_p99 + write_p99'
  schedlab tune --device /dev/sdb --schedulers mq-deadline,bfq --tunables fifo_batch,slice_idle --space
                                                                        what would be searched, and how large it is
  schedlab tune … --out out --resume                                    go on after Ctrl-C or a crash

First the search: each trial goes where it decides something, bad settings cost one. The winner of a search is the luckiest of many, so
it is then compared with the default on fresh blocks, as `compare` does it; only what is better there, by the margin and at
alpha, is recommended. If the winner fails, nothing else is tried on the same evidence: search again with another --seed.

OUT holds tune.json, tune.html, search.jsonl (every trial of the search) and confirm/ (an ordinary experiment).
Exit status: 0 also when no improvement is confirmed, 1 an operation failed or was interrupted, 2 wrong usage, 3 the evidence is void.";

/// Search for the best scheduler and settings, and confirm them against the default.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TuneArgs {
    /// Where trials take place.
    #[arg(long, default_value = "disk")]
    pub(crate) arena: ArenaArg,
    /// The device under test: /dev/NAME, /dev/disk/by-id/…, loop:SIZE, or a modelled device.
    #[arg(long)]
    pub(crate) device: String,
    /// Kernel arena: the kernel whose schedulers are searched, as for `schedlab kernel build --source` [default: debian:6.1].
    #[arg(long, value_name = "SOURCE")]
    pub(crate) kernel: Option<String>,
    /// The work, separated by commas; of several, the geometric mean of their ratios to the default counts.
    #[arg(long, value_delimiter = ',', value_name = "SPEC,…", default_value = "oltp")]
    pub(crate) workload: Vec<String>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// How many clients, for every workload that has clients and does not say clients=N itself.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) clients: Option<u32>,
    /// What to search for: throughput, iops, tps, latency, p50, p99, p999, any metric of `schedlab list metrics`, or arithmetic over
    /// them, e.g. 'iops / p99' (more is better; min:EXPR for less) [default: the workload's primary metric].
    #[arg(long, value_name = "METRIC|EXPR")]
    pub(crate) objective: Option<String>,
    /// What must hold, e.g. 'p99<20ms' or 'iops>500'; may be repeated. It is recommended only if the confirmation shows that it holds.
    #[arg(long, value_name = "METRIC<VALUE")]
    pub(crate) constraint: Vec<String>,
    /// Schedulers to choose from, separated by commas [default: every one that the device offers; in virtual time those of current
    /// Linux].
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    pub(crate) schedulers: Vec<String>,
    /// Turn only these tunables and attributes of the queue, separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    pub(crate) tunables: Vec<String>,
    /// Set this tunable or attribute on every candidate instead of turning it; may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) fix: Vec<String>,
    /// What the winner must beat: a scheduler as the kernel sets it up [default: the device's present one; in virtual time mq-deadline
    /// if it is among the schedulers, else the first].
    #[arg(long, value_name = "SCHEDULER")]
    pub(crate) baseline: Option<String>,
    /// Time for search and confirmation together: of the wall, or virtual time [default: 10m on the host; in virtual time by --trials].
    #[arg(long, value_name = "TIME", conflicts_with = "trials")]
    pub(crate) budget: Option<String>,
    /// Trials for search and confirmation together [default in virtual time: a quarter of what sweeps of one tunable at a time would
    /// need, and as many as a confirmation takes].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) trials: Option<u32>,
    /// Seed of every random choice.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Improvements smaller than this are of no interest.
    #[arg(long, value_name = "PERCENT", default_value = "1%")]
    pub(crate) margin: String,
    /// Chance of a false recommendation.
    #[arg(long, value_name = "PERCENT", default_value = "5%")]
    pub(crate) alpha: String,
    /// Length of one trial [default: so that about 150 trials fit into the budget; in virtual time as the device asks].
    #[arg(long, value_name = "TIME")]
    pub(crate) trial_time: Option<String>,
    /// Work before each trial that is not counted [default: a fifth of the trial].
    #[arg(long, value_name = "TIME")]
    pub(crate) warmup: Option<String>,
    /// Print the space that would be searched, its size and the trials, and stop.
    #[arg(long)]
    pub(crate) space: bool,
    /// Where to put tune.json, tune.html, search.jsonl and confirm/ [default: schedlab-out/tune-UTC time].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Go on with a search that was cut off; repeat its command.
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
    /// Print tune.json instead of the answer in words.
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress bar.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl TuneArgs {
    /// The arena that `--arena` and `--device` select together.
    pub(crate) fn arena_kind(&self) -> ArenaKind {
        self.arena.kind(&self.device)
    }
}
