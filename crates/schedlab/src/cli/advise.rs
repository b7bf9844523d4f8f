//! Flags of `schedlab advise`.

use std::path::PathBuf;

use clap::Args;
use experiment::plan::{ArenaFacts, KERNEL, SIM};

use super::arena::{self, Choice};
use super::shared;

pub(super) const ADVISE_HELP: &str = "\
Examples:
  sudo schedlab advise /dev/sdb --for 5m --out advice
      record the disk, fit a model to it, and advise
  schedlab advise day.parquet --out advice
      fit a model to the trace, and advise
  schedlab advise day.parquet --model sdb.toml --out advice
      with a model of schedlab fit

Prints at most five lines: the recorded I/O, the advice, what it makes worse, and the commands \
that apply and undo it. The directory has the report in `replay` and, if this machine has the \
disk, the plan of a comparison on it in confirm.toml.

Exit status: 0 advice was reached, 1 an operation failed, 2 wrong usage, 3 the evidence is invalid.";

/// Arenas in which a trace can be replayed.
static ARENAS: [Choice; 2] = [
    Choice { arena: &KERNEL, help: "The schedulers of a real kernel" },
    Choice { arena: &SIM, help: "Our own schedulers" },
];

#[derive(Debug, Args)]
pub(crate) struct AdviseArgs {
    /// Trace in any format of `list traces`, or a disk to record and fit first.
    #[arg(value_name = "TRACE|DEVICE")]
    pub(crate) subject: String,
    /// Replay on this model: a file of `schedlab fit` or a name of `list devices` [default: fitted
    /// to the trace, or to DEVICE if it is a hard disk].
    #[arg(long, value_name = "FILE.toml|NAME")]
    pub(crate) model: Option<String>,
    /// Record DEVICE for this time.
    #[arg(long = "for", value_name = "TIME", default_value = "60s")]
    pub(crate) length: String,
    /// Replay in this arena [default: kernel if one is built, else sim].
    #[arg(long, value_parser = arena::among(&ARENAS))]
    pub(crate) arena: Option<&'static ArenaFacts>,
    /// Compare these schedulers, as in `compare` [default: those of Linux, with the tunables that
    /// matter].
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) schedulers: Vec<String>,
    /// Replay at the recorded times instead of waiting for each request's predecessors.
    #[arg(long)]
    pub(crate) open_loop: bool,
    /// Plan the confirmation on this device [default: the recorded one].
    #[arg(long, value_name = "DEVICE")]
    pub(crate) confirm_on: Option<String>,
    /// Write trace, model, report and plan into this directory [default: schedlab-out/advice-UTC
    /// time].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[arg(
        help = shared::CACHE_DIR,
        long,
        value_name = "DIR",
        env = "SCHEDLAB_CACHE_DIR",
        hide_env_values = true,
    )]
    pub(crate) cache_dir: Option<PathBuf>,
    #[arg(help = shared::SEED, long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
    #[arg(help = shared::JSON, long)]
    pub(crate) json: bool,
    /// Also print every scheduler, the reasons, and how far to trust the replay.
    #[arg(long, conflicts_with = "json")]
    pub(crate) verbose: bool,
    #[arg(help = shared::QUIET, long, short)]
    pub(crate) quiet: bool,
}
