//! Flags of `schedlab sweep`.

use clap::{Arg, Args};

use super::design::{ConductArgs, DesignArgs};

/// Replaces the help of --budget, whose default differs here.
pub(super) fn budget(arg: Arg) -> Arg {
    let help = "Limit the time of measuring, all workloads together [default: the time of 20 rounds of trials of 1 s, about 8 minutes for every \
                tunable of mq-deadline with one workload; with --rounds N: the time of N rounds; in virtual time: enough for 30 rounds]";
    arg.help(help).long_help(help)
}

pub(super) const SWEEP_HELP: &str = "\
Examples:
  sudo schedlab sweep --device loop:512M --scheduler mq-deadline \\
      --workload mixed
      every tunable of mq-deadline on a temporary loop device
  sudo schedlab sweep --device /dev/sdb --scheduler bfq \\
      --tunables slice_idle,low_latency --workload randread
  sudo schedlab sweep --device /dev/sdb --scheduler kyber \\
      --values read_lat_nsec=500000,1000000,4000000 --workload randread
  schedlab sweep --arena sim --device hp97560 --scheduler deadline \\
      --tunables all,nr_requests --workload mixed
  sudo schedlab sweep --arena cpu --tunables nice --workload linpack \\
      --background spin
  schedlab sweep --arena kernel --device hp97560 --scheduler bfq \\
      --workload randread --dry-run > plan.toml

The baseline, named `default`, is the scheduler with the kernel's defaults; each other variant, named \
NAME=VALUE, differs from it in one tunable. The values are the default and powers of four around \
it; every value of a short range; values that suit the unit where the default is 0. A tunable \
that schedlab does not know needs --values.

A sweep has many variants (23 for mq-deadline), and --alpha, the probability of a false verdict, \
covers all of them together. schedlab prints in advance how long a round takes and how many fit \
into the budget. A decided variant is not measured again. The report has a table of each tunable's \
effect and response curves.";

#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    /// Sweep the tunables of this scheduler; tunables that it sets itself (NAME:TUNABLE=VALUE) are
    /// part of the baseline. In the cpu arena: settings that every variant has [default there:
    /// default].
    #[arg(long, value_name = "SPEC")]
    pub(crate) scheduler: Option<String>,
    /// Sweep these tunables, separated by commas: tunables of the scheduler, `all` of them,
    /// nr_requests, and in the disk arena read_ahead_kb; in the cpu arena nice, slice, `all` for
    /// both, sysctl:NAME and debug:base_slice_ns [default: all, or those of --values].
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    pub(crate) tunables: Vec<String>,
    /// Sweep one tunable over these values instead of schedlab's own; may be repeated for other
    /// tunables.
    #[arg(long, value_name = "NAME=V,V…")]
    pub(crate) values: Vec<String>,
    #[command(flatten)]
    pub(crate) design: DesignArgs,
    #[command(flatten)]
    pub(crate) conduct: ConductArgs,
}
