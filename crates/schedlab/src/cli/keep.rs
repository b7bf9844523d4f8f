//! Flags of `schedlab keep` and `schedlab forget`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

pub(super) const KEEP_HELP: &str = "\
What is kept: the setting that is named; or with --from the one that an experiment recommends; or, without either, what the
device has now: its scheduler, and those of the scheduler's tunables that differ from its defaults.

Examples:
  schedlab keep /dev/sdb scheduler=bfq slice_idle=0       these values, from the next restart on
  schedlab keep /dev/sdb --from results                   what `schedlab compare --out results` recommends
  schedlab keep sdb --print                               show the files, change nothing (needs no root)
  schedlab keep vdb scheduler=none --by-path              a disk without a serial number: by its slot
  schedlab keep --list                                    what is kept, and who else writes the same

The rule is written for the next time the device appears. To have the setting now as well: --now.
To take it back: schedlab forget DEVICE.";

pub(super) const FORGET_HELP: &str = "\
Examples:
  schedlab forget /dev/sdb                     everything that is kept for this disk
  schedlab forget wwn-0x5000c500a1b2c3d4       by the name that `schedlab keep --list` shows, also when the disk is gone

The device's setting stays as it is until the next restart.";

#[derive(Debug, Args)]
pub(crate) struct KeepArgs {
    /// The device: /dev/NAME, NAME, or /dev/disk/by-id/….
    #[arg(required_unless_present = "list")]
    pub(crate) device: Option<String>,
    /// What to keep: scheduler=NAME, and tunables or attributes of the queue as NAME=VALUE.
    #[arg(value_name = "NAME=VALUE", conflicts_with = "from")]
    pub(crate) settings: Vec<String>,
    /// Keep what this experiment recommends: a directory of `compare`, `run` or `tune`. Refused unless the verdict is better.
    #[arg(long, value_name = "DIR")]
    pub(crate) from: Option<PathBuf>,
    /// The form: a udev rule; a profile for tuned; an entry of udev's hardware database, to be pasted; the kernel's parameter,
    /// for kernels before 5.0.
    #[arg(long = "as", value_name = "FORM", default_value = "udev")]
    pub(crate) form: FormArg,
    /// Find the device by the slot it is plugged into: another device in that slot gets the setting too.
    #[arg(long, conflicts_with = "by_name")]
    pub(crate) by_path: bool,
    /// Find the device by the kernel's name: whatever is called so next time gets the setting.
    #[arg(long)]
    pub(crate) by_name: bool,
    /// Write the setting at every event of the device, not only when it appears: against rules that do the same. It takes back
    /// what `schedlab set` or an experiment has written as soon as a program that wrote to the device closes it.
    #[arg(long)]
    pub(crate) insist: bool,
    /// Put the setting into effect now as well, as `schedlab set` does.
    #[arg(long, conflicts_with_all = ["print", "dry_run"])]
    pub(crate) now: bool,
    /// Print the files and change nothing.
    #[arg(long, conflicts_with_all = ["json", "dry_run"])]
    pub(crate) print: bool,
    /// Check everything and say what would be done; change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Replace files that were edited or that schedlab did not write; keep what was measured elsewhere or in a simulator.
    #[arg(long)]
    pub(crate) force: bool,
    /// List what is kept, and who else writes the same.
    #[arg(long, conflicts_with_all = ["device", "settings", "from", "print", "dry_run"])]
    pub(crate) list: bool,
}

/// In what form a setting is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormArg {
    /// A udev rule, and the scheduler's module in modules-load.d where it is one.
    Udev,
    /// A profile for tuned.
    Tuned,
    /// An entry of udev's hardware database and its rule, to be pasted.
    Hwdb,
    /// The kernel's parameter elevator=, for kernels before 5.0.
    Boot,
}

#[derive(Debug, Args)]
pub(crate) struct ForgetArgs {
    /// The device (/dev/NAME, NAME, /dev/disk/by-id/…), or a name that `schedlab keep --list` shows.
    pub(crate) device: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Remove files that were edited since.
    #[arg(long)]
    pub(crate) force: bool,
}
