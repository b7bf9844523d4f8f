//! Flags of `schedlab show` and `schedlab set`.

use clap::Args;

pub(crate) const SHOW_HELP: &str = "\
Examples:
  schedlab show sda
  schedlab show /dev/nvme0n1 --json | jq '.attributes[] | select(.differs)'

* marks a value that differs from the kernel's default, > a value that `schedlab set --for` has \
set, with the former value. Defaults are those of the current scheduler. A default that only the \
driver or the kernel knows is shown by its origin.";

pub(crate) const SET_HELP: &str = "\
Examples:
  schedlab set sdb scheduler=bfq slice_idle=0
      change the scheduler and one tunable; its others get their defaults
  schedlab set sdb nr_requests=128 read_ahead_kb=4096
      change two attributes, and nothing else
  schedlab set sdb scheduler=kyber --for 10m
      revert after 10 minutes, even if this terminal is closed
  schedlab set sdb --end
      revert now
  schedlab set sdb scheduler=bfq --dry-run
      print the writes, in order; needs no root

The command is atomic: if a value is refused or has no effect, every value it has written is \
restored. After a crash, `schedlab restore` or the next schedlab command on that device restores \
the former values. Settings last until the next boot; to persist one, see `schedlab persist`.

Names, ranges and meanings: schedlab show DEVICE";

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Device to show: /dev/NAME, NAME, or /dev/disk/by-id/….
    pub(crate) device: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    /// Device to change: /dev/NAME, NAME, or /dev/disk/by-id/….
    pub(crate) device: String,
    /// Values to set: scheduler=NAME, tunables of that scheduler, or queue attributes; others stay
    /// as they are. If the scheduler changes, its other tunables get their defaults.
    #[arg(value_name = "NAME=VALUE", required_unless_present = "end")]
    pub(crate) values: Vec<String>,
    /// Restore the former values after this time, e.g. 90s, 10m, 2h. A background process does so
    /// even if the terminal is closed; the time continues while the machine sleeps.
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) lasting: Option<String>,
    /// Restore now what `--for` has changed.
    #[arg(long, conflicts_with_all = ["values", "lasting", "dry_run"])]
    pub(crate) end: bool,
    /// Print the writes in order and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
