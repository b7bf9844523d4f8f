//! Flags of `schedlab show` and `schedlab set`.

use super::shared;
use clap::Args;

pub(crate) const SHOW_HELP: &str = "\
Example:
  schedlab show /dev/nvme0n1 --json | jq '.attributes[] | select(.differs)'

* marks a value other than the kernel's default for the current scheduler, > one that `schedlab \
set --for` has set, with the former value. A default that only the driver or kernel knows is \
shown by its origin.";

pub(crate) const SET_HELP: &str = "\
Examples:
  schedlab set sdb scheduler=bfq slice_idle=0
      change the scheduler and one tunable; its others get their defaults
  schedlab set sdb nr_requests=128 read_ahead_kb=4096
      change two attributes, and nothing else
  schedlab set sdb scheduler=kyber --for 10m
      revert after 10 minutes
  schedlab set sdb --end
      revert now

The command is atomic: if a value is refused or has no effect, all values are restored. After a \
crash, `schedlab restore` or the next schedlab command on the device restores the former values. \
Names, ranges and meanings: schedlab show DEVICE";

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    #[arg(help = shared::DEVICE)]
    pub(crate) device: String,
    #[arg(help = shared::JSON, long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    #[arg(help = shared::DEVICE)]
    pub(crate) device: String,
    /// Values to set: scheduler=NAME, its tunables, or queue attributes. A new scheduler's other
    /// tunables get their defaults; everything else stays.
    #[arg(value_name = "NAME=VALUE", required_unless_present = "end")]
    pub(crate) values: Vec<String>,
    /// Restore the former values after this time, e.g. 90s, 10m, 2h, even if the terminal is
    /// closed; the clock runs while the machine sleeps.
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) lasting: Option<String>,
    /// Restore now what --for has changed.
    #[arg(long, conflicts_with_all = ["values", "lasting", "dry_run"])]
    pub(crate) end: bool,
    /// Print the writes in order and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[arg(help = shared::JSON, long)]
    pub(crate) json: bool,
}
