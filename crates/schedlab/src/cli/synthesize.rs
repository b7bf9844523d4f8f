//! Flags of `schedlab trace synthesize`.

use std::path::PathBuf;

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
      the workload under the schedulers of Linux

Processes of one name are a group: clients that go on in order or jump, read or write, and think. \
Where they do several things (reads, writes that are waited for, writeback, of different sizes), \
each is a group. Several groups are flows. A trial of the workload is recorded and profiled like \
the trace. Distances: of shares in points, of means and medians in percent, of distributions \
by Kolmogorov and Smirnov (0 alike, 1 apart). What no parameter says is listed.

Exit status: 0 synthesized, 1 an operation failed, 2 wrong usage.";

#[derive(Debug, Args)]
pub(crate) struct SynthesizeArgs {
    /// Trace in any format that schedlab reads; see schedlab list traces.
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    /// Try the workload on this modelled disk: a name of schedlab list devices or a file of
    /// schedlab fit [default: wd4tb7200, or 970pro-like if the recorded disk does not rotate].
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub(crate) device: Option<String>,
    /// Try the workload under this scheduler [default: the trace's, else none].
    #[arg(long, value_name = "NAME")]
    pub(crate) scheduler: Option<String>,
    /// Make at most this many groups: those with most requests.
    #[arg(long, value_name = "N", default_value = "6", value_parser = clap::value_parser!(u32).range(1..=8))]
    pub(crate) groups: u32,
    /// Write a plan that compares schedulers under the workload to this file.
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) out: Option<PathBuf>,
    /// Choose by this seed what is random.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
    /// Read the trace as this format instead of recognising it by its contents.
    #[arg(long, value_name = "FORMAT", default_value = "auto", value_parser = PossibleValuesParser::new(Format::names()))]
    pub(crate) format: String,
    /// Pass over lines that cannot be read, and count them.
    #[arg(long)]
    pub(crate) skip_bad: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
