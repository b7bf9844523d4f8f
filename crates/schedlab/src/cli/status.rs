//! Flags of `schedlab status`.

use std::path::PathBuf;

use clap::Args;

pub(super) const STATUS_HELP: &str = "\
Examples:
  schedlab status            the newest experiment below schedlab-out
  schedlab status results    how far it is, from its results file alone
  schedlab status results --json

Rounds, verdicts so far and the time left at most; it may end earlier, when every verdict is \
reached. Verdicts of an experiment that goes on may change.

Exit status: 0 it is measured or has ended, 1 it was cut off and can be resumed, or the results file \
cannot be read, 2 wrong usage.";

/// What to look at.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Directory of the experiment, as given by --out [default: the newest below schedlab-out].
    pub(crate) dir: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
