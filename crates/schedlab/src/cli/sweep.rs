//! Flags of `schedlab sweep`.

use clap::{Arg, Args};

use super::design::{ConductArgs, DesignArgs};

/// Replaces the help of --budget, whose default differs here.
fn budget(arg: Arg) -> Arg {
    let help = "Limit the measuring time of all workloads together [default: 20 rounds of trials of 1 s, about 8 minutes \
                for every tunable of mq-deadline; with --rounds N what they take; in virtual time enough for 30 rounds]";
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
  sudo schedlab sweep --arena cpu --tunables nice --workload linpack \\
      --background spin
  schedlab sweep --arena kernel --device hp97560 --scheduler bfq \\
      --workload randread --dry-run > plan.toml

The baseline, `default`, is the scheduler with the kernel's defaults; each other variant, \
NAME=VALUE, changes one tunable. The values are powers of four around the default, all of a \
short range, or values that suit the unit if the default is 0. A tunable unknown to schedlab \
needs --values.

--alpha covers all variants (23 for mq-deadline) together. The length of a round and the number \
of rounds in the budget are printed in advance. A decided variant is not measured again. The \
report has a table and response curves of each tunable.";

#[derive(Debug, Args)]
#[command(mut_arg("budget", budget))]
pub(crate) struct SweepArgs {
    /// Sweep tunables of this scheduler; those that it sets (NAME:TUNABLE=VALUE) are part of the
    /// baseline. With --arena cpu: settings of every variant [default there: default].
    #[arg(long, value_name = "SPEC")]
    pub(crate) scheduler: Option<String>,
    /// Sweep these: tunables, `all`, nr_requests, and in the disk arena read_ahead_kb; with --arena
    /// cpu nice, slice, `all` for both, sysctl:NAME, debug:base_slice_ns [default: all, or those of
    /// --values].
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    pub(crate) tunables: Vec<String>,
    /// Sweep this tunable over these values; may be repeated.
    #[arg(long, value_name = "NAME=V,V…")]
    pub(crate) values: Vec<String>,
    #[command(flatten)]
    pub(crate) design: DesignArgs,
    #[command(flatten)]
    pub(crate) conduct: ConductArgs,
}
