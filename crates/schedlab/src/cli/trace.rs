//! Flags of `schedlab trace`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::profile::{PROFILE_HELP, ProfileArgs};
use super::record::{RECORD_HELP, RecordArgs};
use super::synthesize::{SYNTHESIZE_HELP, SynthesizeArgs};

const CONVERT_HELP: &str = "\
Examples:
  schedlab compare --arena sim --device hp97560 --schedulers deadline,wpcas \\
      --workload dss --trace parquet --out out
  schedlab trace convert out/traces/dss-wpcas.parquet
  schedlab trace convert out/traces/dss-wpcas.parquet --to wpcas.csv
  schedlab trace convert sda.blktrace.0
      blktrace's files of all CPUs
  schedlab trace convert hm_0.csv.gz --to hm_0.parquet
  schedlab trace convert db.parquet --to db.iolog
      fio --name=r --read_iolog=db.iolog

Columns of events: at_ns (virtual time), event (submit, insert, merge, wait, issue, complete, \
done, timer, flush, flushed, exit), process, tag, op, sector, nr_sectors.";

#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    pub(crate) what: TraceCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Record the I/O of a live disk, at negligible overhead.
    #[command(after_help = RECORD_HELP)]
    Record(RecordArgs),
    /// Show who uses a disk, how long requests take, and whether anticipation would pay: from a
    /// trace or a live disk.
    #[command(after_help = PROFILE_HELP)]
    Profile(Box<ProfileArgs>),
    /// Summarize a trace, or convert it to another format.
    #[command(after_help = CONVERT_HELP)]
    Convert(ConvertArgs),
    /// Make a workload of a few parameters that behaves like the processes of a trace, and state
    /// how far it is from them.
    #[command(after_help = SYNTHESIZE_HELP)]
    Synthesize(SynthesizeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// Trace to read, in any format of `schedlab list traces`, also packed by gzip or zstd; or a
    /// .parquet or .csv file that `compare --trace` wrote.
    pub(crate) file: PathBuf,
    /// Write the same to this new file, in the format of its extension: of a trace .parquet,
    /// .iolog (fio) or .blkparse; of events .parquet or .csv; of both .perfetto-trace, for
    /// ui.perfetto.dev.
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
    /// Read the trace as this format, of `schedlab list traces`.
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub(crate) format: String,
    /// Count broken lines and pass over them, instead of giving up at the first one.
    #[arg(long)]
    pub(crate) skip_bad: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
