//! Flags of `schedlab status`.

use std::path::PathBuf;

use super::shared;
use clap::Args;

pub(super) const STATUS_HELP: &str = "\
Example:
  schedlab status            the newest experiment below schedlab-out

The time left is a maximum: an experiment ends when every verdict is reached. Verdicts of a \
running experiment may change.

Exit status: 0 it is measured or has ended, 1 it was cut off and can be resumed, or the results \
file cannot be read, 2 wrong usage.";

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Experiment's directory [default: the newest below schedlab-out].
    pub(crate) dir: Option<PathBuf>,
    #[arg(help = shared::JSON, long)]
    pub(crate) json: bool,
}
