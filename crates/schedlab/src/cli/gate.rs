//! Flags of `schedlab gate`.

use std::path::PathBuf;

use clap::Args;

use super::design::{ConductArgs, ConsentArgs};

pub(super) const GATE_HELP: &str = "\
Examples:
  schedlab gate --plan ci/oltp.toml --against last-good --state .schedlab
      the first time: keep the results file as last good
  schedlab gate --plan ci/oltp.toml --against last-good --state .schedlab \\
      --junit gate.xml
  schedlab gate --plan ci/kyber.toml --against out/6.1 --kernel debian:6.12
      the same plan on another kernel
  schedlab gate --plan ci/oltp.toml --against out/monday \\
      --fail-if inconclusive

Each variant is compared with the same variant of the earlier results file, on the metric that decides for each \
workload, with the plan's margin and alpha over all comparisons together. In virtual time rounds \
of the same seed are pairs. On a machine the two results files are of two repeats: what differs from \
one repeat to another (temperature, neighbours) is not in the intervals, so choose a margin \
above it. A gate measures every round of the plan, or as many as the earlier results file has: it does \
not stop early.

Standard output has one line: worse, invalid, inconclusive or not worse, the variants, and what else \
differs (kernel, programs). The results file becomes the last good one only if every comparison is \
equivalent or better.

Exit status: 0 not worse, 3 invalid, 5 worse, 7 inconclusive with --fail-if inconclusive; 2 for an \
edited plan or another machine.";

#[derive(Debug, Args)]
pub(crate) struct GateArgs {
    /// Measure this plan.
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: PathBuf,
    /// Compare with this results file (the directory of an experiment, or a results.jsonl), or with
    /// the last good one in --state.
    #[arg(long, value_name = "RECORD|last-good")]
    pub(crate) against: String,
    /// Keep last good results files in this directory, one for each plan's file name [default:
    /// `gate` in the state directory].
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Compare this variant only.
    #[arg(long, value_name = "NAME")]
    pub(crate) variant: Option<String>,
    /// Compare the ratios to the baseline of the two results files instead of the values: robust to
    /// a machine that drifts, and blind to what slows down every variant.
    #[arg(long)]
    pub(crate) ratios: bool,
    /// Measure this number of rounds [default: the plan's, or as many as the earlier results file
    /// has].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) rounds: Option<u32>,
    /// Kernel arena: measure on this kernel instead of the plan's.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) kernel: Option<String>,
    /// Compare with a results file of another machine or drive all the same.
    #[arg(long)]
    pub(crate) other_machine: bool,
    /// Write the comparisons into this file as JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Print annotations for GitHub Actions on standard error [default: where GITHUB_ACTIONS is
    /// true].
    #[arg(long)]
    pub(crate) github: bool,
    #[command(flatten)]
    pub(crate) consent: ConsentArgs,
    #[command(flatten)]
    pub(crate) conduct: ConductArgs,
}
