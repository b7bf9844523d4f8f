//! Flags of `schedlab trace`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::profile::{PROFILE_HELP, ProfileArgs};
use super::record::{RECORD_HELP, RecordArgs};
use super::shared;
use super::synthesize::{SYNTHESIZE_HELP, SynthesizeArgs};

const CONVERT_HELP: &str = "\
Examples:
  schedlab compare --arena sim --device hp97560 --schedulers deadline,wpcas \\
      --workload dss --trace parquet --out out
  schedlab trace convert out/traces/dss-wpcas.parquet --to wpcas.csv
  schedlab trace convert sda.blktrace.0
      summarize blktrace's files of all CPUs
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
    /// Profile the I/O of a trace or a live disk.
    ///
    /// Shows who uses the disk, how long requests take, and whether anticipation would pay.
    #[command(after_help = PROFILE_HELP)]
    Profile(Box<ProfileArgs>),
    /// Summarize a trace, or convert it to another format.
    #[command(after_help = CONVERT_HELP)]
    Convert(ConvertArgs),
    /// Model the processes of a trace as a workload of a few parameters.
    ///
    /// Prints how far the workload is from the trace.
    #[command(after_help = SYNTHESIZE_HELP)]
    Synthesize(SynthesizeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// Trace in any format of `list traces`, also packed by gzip or zstd; or a file of `compare
    /// --trace` (.parquet, .csv).
    pub(crate) file: PathBuf,
    /// Write to this new file; its extension is the format: of a trace .parquet, .iolog (fio) or
    /// .blkparse; of events .parquet or .csv; of both .perfetto-trace.
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
    #[arg(help = shared::FORMAT, long, value_name = "NAME", default_value = "auto")]
    pub(crate) format: String,
    #[arg(help = shared::SKIP_BAD, long)]
    pub(crate) skip_bad: bool,
    #[arg(help = shared::JSON, long)]
    pub(crate) json: bool,
}
