//! Flags of `schedlab trace synthesize`.

use std::path::PathBuf;

use super::shared;
use clap::Args;
use clap::builder::PossibleValuesParser;
use trace::formats::Format;

pub(super) const SYNTHESIZE_HELP: &str = "\
Examples:
  schedlab trace synthesize sda.parquet
      the workload, and its distance from the trace
  schedlab trace synthesize sda.parquet --device sda.toml --out w.toml
      on a model of schedlab fit; a plan for schedlab run
  schedlab run w.toml --out results

Processes of one name are a group: clients that continue in order or jump, read or write, and \
think. Different uses (reads, synchronous writes, writeback, different sizes) are groups of \
their own; several groups are flows. A trial of the workload is recorded and profiled like the \
trace. Distances: of shares in points, of means and medians in percent, of distributions by \
Kolmogorov and Smirnov (0 alike, 1 apart). Properties without a parameter are listed.

Exit status: 0 synthesized, 1 an operation failed, 2 wrong usage.";

#[derive(Debug, Args)]
pub(crate) struct SynthesizeArgs {
    /// Trace in any format of `list traces`.
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    /// Try the workload on this model: a name of `list devices` or a file of `fit` [default:
    /// wd4tb7200; 970pro-like if the disk does not rotate].
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub(crate) device: Option<String>,
    /// Try the workload under this scheduler [default: the trace's, else none].
    #[arg(long, value_name = "NAME")]
    pub(crate) scheduler: Option<String>,
    /// Make at most this many groups, 1 to 8: those with most requests.
    #[arg(long, value_name = "N", default_value = "6", value_parser = clap::value_parser!(u32).range(1..=8))]
    pub(crate) groups: u32,
    /// Write a plan that compares schedulers under the workload to this file.
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) out: Option<PathBuf>,
    #[arg(help = shared::SEED, long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
    #[arg(
        help = shared::FORMAT,
        long,
        value_name = "FORMAT",
        default_value = "auto",
        value_parser = PossibleValuesParser::new(Format::names()),
    )]
    pub(crate) format: String,
    #[arg(help = shared::SKIP_BAD, long)]
    pub(crate) skip_bad: bool,
    #[arg(help = shared::JSON, long)]
    pub(crate) json: bool,
}
