//! Flags of `schedlab sweep`.

use clap::{Arg, Args};

use super::design::{ConductArgs, DesignArgs};

/// The default of --budget, which is not that of the other commands.
pub(super) fn budget(arg: Arg) -> Arg {
    let help = "Time for measuring, all workloads together [default: as long as 20 blocks of trials of 1 s take, about 8 minutes for all of \
                mq-deadline with one workload; with --blocks N as long as N blocks take; in virtual time enough for 30 blocks]";
    arg.help(help).long_help(help)
}

pub(super) const SWEEP_HELP: &str = "\
Examples:
  sudo schedlab sweep --device loop:512M --scheduler mq-deadline --workload mixed
                                                       every tunable of mq-deadline on a temporary loop device
  sudo schedlab sweep --device /dev/sdb --scheduler bfq --tunables slice_idle,low_latency --workload randread
  sudo schedlab sweep --device /dev/sdb --scheduler kyber --values read_lat_nsec=500000,1000000,4000000 --workload randread
  schedlab sweep --arena sim --device hp97560 --scheduler deadline --tunables all,nr_requests --workload mixed
  schedlab sweep --arena kernel --device hp97560 --scheduler bfq --workload randread --plan-only > plan.toml

The baseline, called `default`, is the scheduler with the kernel's defaults; each other arm differs from it in one tunable and is called
NAME=VALUE. Values are the default and powers of four around it, all of a short range, and what suits the unit where the default is 0.
A tunable that schedlab does not know needs --values.

A sweep has many arms, 23 for mq-deadline, and the chance of a false verdict (--alpha) holds for all of them together: how long a block
takes, and how many fit into the budget, is said beforehand. An arm that is decided is not measured again. The report has a table before
and after, one line for each tunable, and response curves.";

#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    /// The scheduler whose tunables are turned; with tunables of its own (NAME:TUNABLE=VALUE) they are part of the baseline.
    #[arg(long, value_name = "SPEC")]
    pub(crate) scheduler: String,
    /// What to turn, separated by commas: tunables of the scheduler, `all` of them, nr_requests, and on the host read_ahead_kb
    /// [default: all, or those of --values].
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    pub(crate) tunables: Vec<String>,
    /// The values of one tunable, instead of those that schedlab would try; can be given for several.
    #[arg(long, value_name = "NAME=V,V…")]
    pub(crate) values: Vec<String>,
    #[command(flatten)]
    pub(crate) design: DesignArgs,
    #[command(flatten)]
    pub(crate) conduct: ConductArgs,
}
