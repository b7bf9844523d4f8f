//! Flags of `schedlab show` and `schedlab set`, and of the process that holds a setting for a while.

use clap::Args;

pub(crate) const SHOW_HELP: &str = "\
Examples:
  schedlab show sda
  schedlab show /dev/nvme0n1 --json | jq '.attributes[] | select(.differs)'

  * marks what differs from the kernel's default, > what `schedlab set --for` has set, with what it was before.
  Defaults are those of the scheduler in effect. Where only the driver or the kernel knows the default, its origin is shown.";

pub(crate) const SET_HELP: &str = "\
Examples:
  schedlab set sdb scheduler=bfq slice_idle=0            another scheduler, one tunable; the rest of it at the kernel's defaults
  schedlab set sdb nr_requests=128 read_ahead_kb=4096    these two, and nothing else
  schedlab set sdb scheduler=kyber --for 10m             try it out: taken back by itself, even if this terminal is closed
  schedlab set sdb --end                                 take that back now
  schedlab set sdb scheduler=bfq --dry-run               what would be written, in order; needs no root

All or nothing: what cannot be set, or has no effect, takes everything back that this command has written. A crash at any point is
undone by `schedlab restore`, or by the next start on that device. After a restart the machine has its own settings again:
to make a setting last, see `schedlab keep`.

Names, ranges and meanings: schedlab show DEVICE";

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The device: /dev/NAME, NAME, or /dev/disk/by-id/….
    pub(crate) device: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    /// The device: /dev/NAME, NAME, or /dev/disk/by-id/….
    pub(crate) device: String,
    /// scheduler=NAME, a tunable of that scheduler, or an attribute of the queue; only what is named is touched. If the scheduler is
    /// another than the present one, its other tunables have the kernel's defaults.
    #[arg(value_name = "NAME=VALUE", required_unless_present = "end")]
    pub(crate) values: Vec<String>,
    /// Take it back by itself after this time, e.g. 90s, 10m, 2h. A small process of its own waits for that, whatever becomes of the
    /// terminal; time goes on while the machine sleeps.
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) lasting: Option<String>,
    /// Take back now what `--for` has set.
    #[arg(long, conflicts_with_all = ["values", "lasting", "dry_run"])]
    pub(crate) end: bool,
    /// Only print what would be written, in order.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
