//! Flags of `schedlab persist` and `schedlab unpersist`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

pub(super) const PERSIST_HELP: &str = "\
Persists the setting that is named, or with --from the one that an experiment recommends. With \
neither, persists the device's present scheduler and those of its tunables that differ from their \
defaults.

Examples:
  schedlab persist /dev/sdb scheduler=bfq slice_idle=0
      these values, from the next boot on
  schedlab persist /dev/sdb --from results
      the recommendation of `schedlab compare --out results`
  schedlab persist sdb --print
      print the files, change nothing (needs no root)
  schedlab persist vdb scheduler=none --by-path
      match a disk without a serial number by its slot
  schedlab persist --list
      persisted settings and their conflicts

The rule takes effect when the device appears next; with --now also immediately. To remove it: \
schedlab unpersist DEVICE.";

pub(super) const UNPERSIST_HELP: &str = "\
Examples:
  schedlab unpersist /dev/sdb
      every persisted setting of this disk
  schedlab unpersist wwn-0x5000c500a1b2c3d4
      by its name in `schedlab persist --list`, even if the disk is gone

The setting stays in effect until the next boot.";

#[derive(Debug, Args)]
pub(crate) struct PersistArgs {
    /// Device to persist a setting for: /dev/NAME, NAME, or /dev/disk/by-id/….
    #[arg(required_unless_present = "list")]
    pub(crate) device: Option<String>,
    /// Setting to persist: scheduler=NAME, and tunables or queue attributes as NAME=VALUE.
    #[arg(value_name = "NAME=VALUE", conflicts_with = "from")]
    pub(crate) settings: Vec<String>,
    /// Persist the recommendation of the experiment in this directory (of `compare`, `run` or
    /// `tune`); refused unless the verdict is better.
    #[arg(long, value_name = "DIR")]
    pub(crate) from: Option<PathBuf>,
    /// Write the setting in this form.
    #[arg(long = "as", value_name = "FORM", default_value = "udev")]
    pub(crate) form: FormArg,
    /// Match the device by its slot: another device in that slot gets the setting too.
    #[arg(long, conflicts_with = "by_name")]
    pub(crate) by_path: bool,
    /// Match the device by the kernel's name: any device that gets this name later gets the
    /// setting.
    #[arg(long)]
    pub(crate) by_name: bool,
    /// Apply the setting at every event of the device, not only when it appears, to override rules
    /// that do the same. This also reverts what `schedlab set` or an experiment has written as soon
    /// as a program that wrote to the device closes it.
    #[arg(long)]
    pub(crate) insist: bool,
    /// Apply the setting immediately as well, as `schedlab set` does.
    #[arg(long, conflicts_with_all = ["print", "dry_run"])]
    pub(crate) now: bool,
    /// Print the files and change nothing.
    #[arg(long, conflicts_with_all = ["json", "dry_run"])]
    pub(crate) print: bool,
    /// Check everything, print the actions, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Replace files that were edited or that schedlab did not write; persist results of another
    /// machine or of a simulator; with --as boot, print the line of a kernel before 5.0 although
    /// another one runs.
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
    /// Device (/dev/NAME, NAME, /dev/disk/by-id/…), or a name from `schedlab persist --list`.
    pub(crate) device: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Remove files even if they were edited.
    #[arg(long)]
    pub(crate) force: bool,
}
