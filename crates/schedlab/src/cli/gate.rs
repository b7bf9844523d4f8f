//! Flags of `schedlab gate`.

use std::path::PathBuf;

use clap::Args;

use super::design::{ConductArgs, ConsentArgs};

pub(super) const GATE_HELP: &str = "\
Examples:
  schedlab gate --plan ci/oltp.toml --against last-good --state .schedlab
      the first time: keep the results as last good
  schedlab gate --plan ci/kyber.toml --against out/6.1 --kernel debian:6.12
      the same plan on another kernel

Each variant is compared with its earlier results on each workload's deciding metric, with the \
plan's margin, and alpha over all comparisons together. In virtual time rounds of one seed are \
pairs. On a machine the intervals leave out differences between repeats (temperature, \
neighbours): choose a margin above them. A gate does not stop early.

Prints one line: worse, invalid, inconclusive or not worse, the variants, and other differences \
(kernel, programs). Results become the last good ones only if every comparison is equivalent or \
better.

Exit status: 0 not worse, 3 invalid, 5 worse, 7 inconclusive with --fail-if inconclusive; 2 for \
an edited plan or another machine.";

#[derive(Debug, Args)]
pub(crate) struct GateArgs {
    /// Measure this plan.
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: PathBuf,
    /// Compare with these results: an experiment's directory, a results.jsonl, or the last good
    /// ones in --state.
    #[arg(long, value_name = "RESULTS|last-good")]
    pub(crate) against: String,
    /// Keep the last good results of each plan, by its file name, in this directory [default:
    /// `gate` in the state directory].
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Compare only this variant.
    #[arg(long, value_name = "NAME")]
    pub(crate) variant: Option<String>,
    /// Compare ratios to the baseline instead of values: robust to a drifting machine, blind to
    /// what slows every variant.
    #[arg(long)]
    pub(crate) ratios: bool,
    /// Measure this number of rounds, at least 2 [default: the plan's, or that of the earlier
    /// results].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) rounds: Option<u32>,
    /// Kernel arena: measure on this kernel [default: the plan's].
    #[arg(long, value_name = "SOURCE")]
    pub(crate) kernel: Option<String>,
    /// Accept results of another machine or drive.
    #[arg(long)]
    pub(crate) other_machine: bool,
    /// Write the comparisons to this file as JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Print GitHub Actions annotations on standard error [default: if GITHUB_ACTIONS is true].
    #[arg(long)]
    pub(crate) github: bool,
    #[command(flatten)]
    pub(crate) consent: ConsentArgs,
    #[command(flatten)]
    pub(crate) conduct: ConductArgs,
}
