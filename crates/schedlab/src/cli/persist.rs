//! Flags of `schedlab persist` and `schedlab unpersist`.

use std::path::PathBuf;

use super::shared;
use clap::{Args, ValueEnum};

pub(super) const PERSIST_HELP: &str = "\
Without a setting and --from, the device's current scheduler is persisted with those of its \
tunables that differ from their defaults.

Examples:
  schedlab persist /dev/sdb scheduler=bfq slice_idle=0
  schedlab persist /dev/sdb --from results
      the recommendation of `schedlab compare --out results`
  schedlab persist sdb --print
      needs no root
  schedlab persist vdb scheduler=none --by-path
      match a disk without a serial number by its slot

The rule takes effect when the device next appears; with --now also immediately.";

pub(super) const UNPERSIST_HELP: &str = "\
Examples:
  schedlab unpersist /dev/sdb
      every persisted setting of this disk
  schedlab unpersist wwn-0x5000c500a1b2c3d4
      by its name in `schedlab persist --list`, even if the disk is gone

The setting stays in effect until the next boot.";

#[derive(Debug, Args)]
pub(crate) struct PersistArgs {
    #[arg(help = shared::DEVICE, required_unless_present = "list")]
    pub(crate) device: Option<String>,
    /// Settings to persist: scheduler=NAME, its tunables, or queue attributes.
    #[arg(value_name = "NAME=VALUE", conflicts_with = "from")]
    pub(crate) settings: Vec<String>,
    /// Persist the recommendation of this experiment's directory (of compare, run or tune); refused
    /// unless the verdict is better.
    #[arg(long, value_name = "DIR")]
    pub(crate) from: Option<PathBuf>,
    /// Write the setting in this form.
    #[arg(long = "as", value_name = "FORM", default_value = "udev")]
    pub(crate) form: FormArg,
    /// Match the device by its slot: another device there gets the setting, too.
    #[arg(long, conflicts_with = "by_name")]
    pub(crate) by_path: bool,
    /// Match the device by the kernel's name: any later device of that name gets the setting.
    #[arg(long)]
    pub(crate) by_name: bool,
    /// Apply the setting at every event of the device, to override other rules. This also reverts
    /// `schedlab set` or an experiment when a program that wrote to the device closes it.
    #[arg(long)]
    pub(crate) insist: bool,
    /// Also apply the setting now, as `schedlab set` does.
    #[arg(long, conflicts_with_all = ["print", "dry_run"])]
    pub(crate) now: bool,
    /// Print the files and change nothing.
    #[arg(long, conflicts_with_all = ["json", "dry_run"])]
    pub(crate) print: bool,
    /// Check everything, print the actions, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[arg(help = shared::JSON, long)]
    pub(crate) json: bool,
    /// Replace edited or foreign files; persist results of another machine or a simulator; with
    /// --as boot, print the line although kernels since 5.0 ignore it.
    #[arg(long)]
    pub(crate) force: bool,
    /// List persisted settings and their conflicts with other programs.
    #[arg(long, conflicts_with_all = ["device", "settings", "from", "print", "dry_run"])]
    pub(crate) list: bool,
}

/// The form in which a setting is persisted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormArg {
    /// A udev rule, and an entry in modules-load.d if the scheduler is a module.
    Udev,
    /// A profile for tuned.
    Tuned,
    /// An entry of udev's hardware database with its rule, to paste.
    Hwdb,
    /// The kernel parameter elevator=, for kernels before 5.0.
    Boot,
}

#[derive(Debug, Args)]
pub(crate) struct UnpersistArgs {
    /// Device as for `persist`, or a name from `schedlab persist --list`.
    pub(crate) device: String,
    #[arg(help = shared::JSON, long)]
    pub(crate) json: bool,
    /// Remove files even if they were edited.
    #[arg(long)]
    pub(crate) force: bool,
}
