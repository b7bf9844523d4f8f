//! Flags of `schedlab advise`.

use std::path::PathBuf;

use clap::Args;
use experiment::plan::{ArenaFacts, KERNEL, SIM};

use super::arena::{self, Choice};

pub(super) const ADVISE_HELP: &str = "\
Examples:
  sudo schedlab advise /dev/sdb --for 5m --out advice
      record the disk, fit a model to it, and advise
  schedlab advise day.parquet --out advice
      advise on a trace, with a model of the disk made of it
  schedlab advise day.parquet --model sdb.toml --out advice
      with a model of schedlab fit
  schedlab advise day.parquet --model wd4tb7200 --arena sim
      with a modelled disk of schedlab list devices

The trace is replayed under every scheduler on the model, in virtual time: by the schedulers \
of a real kernel where one is built (schedlab kernel build), else by schedlab's own. Nothing on \
the machine is changed. The answer has at most five lines: the recorded work, the advice, what it \
makes worse, and the commands that apply and undo it. The directory has the report of the replay in `replay`, and in \
confirm.toml the plan of the comparison on the real disk, where this machine has it.

Exit status: 0 advice was reached, 1 an operation failed, 2 wrong usage, 3 the evidence is invalid.";

/// Arenas in which a trace can be replayed.
static ARENAS: [Choice; 2] = [
    Choice { arena: &KERNEL, help: "The schedulers of a real kernel" },
    Choice { arena: &SIM, help: "Our own schedulers" },
];

#[derive(Debug, Args)]
pub(crate) struct AdviseArgs {
    /// A trace in any format that schedlab reads, or a disk, which is recorded and fitted
    /// first.
    #[arg(value_name = "TRACE|DEVICE")]
    pub(crate) subject: String,
    /// Model of the disk: a file of `schedlab fit`, or a name of `schedlab list devices` [default:
    /// one that is fitted to the trace, or to DEVICE where it is a hard disk].
    #[arg(long, value_name = "FILE.toml|NAME")]
    pub(crate) model: Option<String>,
    /// Record DEVICE for this time.
    #[arg(long = "for", value_name = "TIME", default_value = "60s")]
    pub(crate) length: String,
    /// Replay in this arena [default: kernel where a kernel is built, else sim].
    #[arg(long, value_parser = arena::among(&ARENAS))]
    pub(crate) arena: Option<&'static ArenaFacts>,
    /// Compare these schedulers: NAME[:TUNABLE=VALUE]…, as for `compare` [default: those of Linux,
    /// with the tunables that matter].
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) schedulers: Vec<String>,
    /// Keep the recorded times, instead of what each request waited for.
    #[arg(long)]
    pub(crate) open_loop: bool,
    /// Confirm on this device [default: the one that was recorded].
    #[arg(long, value_name = "DEVICE")]
    pub(crate) confirm_on: Option<String>,
    /// Write trace, model, report and plan into this directory [default:
    /// schedlab-out/advice-UTC time].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Find built kernels in this directory [default: ~/.cache/schedlab].
    #[arg(long, value_name = "DIR", env = "SCHEDLAB_CACHE_DIR", hide_env_values = true)]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Choose by this seed what is random.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Also print every scheduler, the reasons, and how far to trust the replay.
    #[arg(long, conflicts_with = "json")]
    pub(crate) verbose: bool,
    /// Show no progress bar and no remarks.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
