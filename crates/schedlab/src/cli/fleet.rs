//! Flags of `schedlab fleet`.

use std::path::PathBuf;

use super::shared;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};

pub(super) const FLEET_HELP: &str = "\
Examples:
  schedlab fleet push results --fleet /srv/fleet
      send results to the fleet's directory
  schedlab fleet push results --fleet s3://lab/fleet
      or to a bucket (AWS_ACCESS_KEY_ID, AWS_REGION, AWS_ENDPOINT_URL)
  sudo schedlab fleet push --watched --fleet /srv/fleet
      send the results of this machine's watches
  schedlab fleet copy /srv/fleet --fleet s3://lab/fleet
  export SCHEDLAB_FLEET=/srv/fleet
  schedlab fleet report
  schedlab fleet verdict --model 980
      verdicts by drive model, and the prediction for a new machine
  schedlab fleet compare --by kernel 6.1 6.12
      the same drives and schedulers on two kernels
  schedlab fleet query 'SELECT variant, median(value) FROM results GROUP BY 1'
  sudo schedlab fleet learn

The unit of evidence is the machine, regardless of its number of results and trials. Machines too \
far from the others, at most a tenth, are named and left out. A result pushed again is stored once.

Exit status: 0 done or verdicts reached, 1 an operation failed, 2 wrong usage, 3 no verdict has \
evidence that can be used.";

const CONTRIBUTE_HELP: &str = "\
Examples:
  schedlab fleet contribute results
      print the line
  schedlab fleet contribute results --out fleet.jsonl
      append it to a file

Nothing is sent. The line has the drive's model and firmware, the kernel release's numbers, \
workload and metric, a hash of the workload, the variants with verdicts, ratios and standard \
errors, and schedlab's build; no machine, host, serial number, path, label or time.

Exit status: 0 the line was made, 1 an operation failed, 2 wrong usage.";

/// Keys to group results by: the words of `fleet::Key`.
pub(crate) const KEYS: [&str; 6] = ["model", "firmware", "kernel", "kind", "cpu", "system"];

#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct FleetArgs {
    #[command(subcommand)]
    pub(crate) what: FleetCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Send results to the fleet.
    ///
    /// Each is a Parquet file named after its content.
    Push(FleetPushArgs),
    /// Show drives, machines, results, and faulty files or results.
    Report(FleetAnalyzeArgs),
    /// Compare variants over all machines with one kind of drive.
    ///
    /// A variant's effect on a machine is the mean of its results. The interval is for the mean
    /// over machines; the prediction for a new machine, and the share of the spread between
    /// machines, are printed with it.
    Verdict(FleetAnalyzeArgs),
    /// Compare values under two kernels, firmwares or models.
    ///
    /// Machines measured under both are compared with themselves; otherwise the two groups of
    /// machines are compared.
    Compare(FleetCompareArgs),
    /// Query the view `results` in SQL, through DuckDB.
    ///
    /// Needs the program duckdb, or Python's module of that name.
    Query(FleetQueryArgs),
    /// Copy results that another place lacks.
    Copy(FleetCopyArgs),
    /// Store verdicts by drive model here, for `devices` and `advise`.
    Learn(FleetLearnArgs),
    /// Print an anonymised line of a result, for a public list of drives.
    #[command(after_help = CONTRIBUTE_HELP)]
    Contribute(ContributeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct FleetPlaceArgs {
    /// Directory of the fleet, or s3://BUCKET/PREFIX [default: that of SCHEDLAB_FLEET].
    #[arg(long, value_name = "DIR|s3://…", env = "SCHEDLAB_FLEET", hide_env_values = true)]
    pub(crate) fleet: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct FleetPushArgs {
    /// Results to send: directories of experiments or their repeats, or results.jsonl files.
    #[arg(value_name = "RESULTS", required_unless_present = "watched")]
    pub(crate) all_results: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) place: FleetPlaceArgs,
    /// Also send the retained results of this machine's watches.
    #[arg(long)]
    pub(crate) watched: bool,
    /// Name of the machine measured [default: a hash of /etc/machine-id].
    #[arg(long, value_name = "NAME")]
    pub(crate) machine: Option<String>,
    #[arg(help = shared::JSON, long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FleetSelectArgs {
    /// Select drives whose model contains this, in any case.
    #[arg(long, value_name = "TEXT")]
    pub(crate) model: Option<String>,
    /// Select drives with this firmware.
    #[arg(long, value_name = "TEXT")]
    pub(crate) firmware: Option<String>,
    /// Select results on this kernel: 6.12 matches 6.12.9-amd64.
    #[arg(long, value_name = "RELEASE")]
    pub(crate) kernel: Option<String>,
    /// Select results of this build of schedlab, or of builds that begin with this.
    #[arg(long, value_name = "BUILD")]
    pub(crate) build: Option<String>,
    /// Select results of this arena.
    #[arg(long, value_name = "NAME", value_parser = ["disk", "cpu"])]
    pub(crate) arena: Option<String>,
    /// Select workloads that begin with this, as `fleet report` shows them.
    #[arg(long, value_name = "TEXT")]
    pub(crate) workload: Option<String>,
    /// Compare this metric [default: each workload's deciding one].
    #[arg(long, value_name = "METRIC")]
    pub(crate) metric: Option<String>,
    /// Select this variant or scheduler, and the baseline.
    #[arg(long, value_name = "NAME")]
    pub(crate) variant: Option<String>,
    /// Treat differences below this as equivalent.
    #[arg(long, value_name = "PERCENT", default_value = "5%")]
    pub(crate) margin: String,
    /// Limit the probability of a false verdict on a question, and of a machine outside its
    /// interval.
    #[arg(long, value_name = "PERCENT", default_value = "5%")]
    pub(crate) alpha: String,
}

#[derive(Debug, Args)]
pub(crate) struct FleetAnalyzeArgs {
    #[command(flatten)]
    pub(crate) place: FleetPlaceArgs,
    #[command(flatten)]
    pub(crate) select: FleetSelectArgs,
    #[arg(
        help = shared::BY,
        long,
        value_name = "KEY,…",
        value_delimiter = ',',
        default_value = "model",
        value_parser = PossibleValuesParser::new(KEYS),
    )]
    pub(crate) by: Vec<String>,
    #[arg(help = shared::JSON, long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FleetCompareArgs {
    /// First group: a kernel series such as 6.1, a firmware or a model, as in `fleet report --by`.
    pub(crate) first: String,
    /// Group to compare with the first.
    pub(crate) second: String,
    /// Key in which the two groups differ.
    #[arg(long, value_name = "KEY", value_parser = PossibleValuesParser::new(KEYS))]
    pub(crate) by: String,
    #[command(flatten)]
    pub(crate) place: FleetPlaceArgs,
    #[command(flatten)]
    pub(crate) select: FleetSelectArgs,
    #[arg(help = shared::JSON, long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FleetQueryArgs {
    /// SQL over `results`: one row per value; columns in docs/src/decide/long-term.md.
    #[arg(value_name = "SQL")]
    pub(crate) sql: String,
    #[command(flatten)]
    pub(crate) place: FleetPlaceArgs,
    /// Print the complete SQL and run nothing.
    #[arg(long)]
    pub(crate) print: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FleetCopyArgs {
    /// Destination: a directory, or s3://BUCKET/PREFIX.
    #[arg(value_name = "TO")]
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) place: FleetPlaceArgs,
    #[arg(help = shared::JSON, long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FleetLearnArgs {
    #[command(flatten)]
    pub(crate) place: FleetPlaceArgs,
    #[command(flatten)]
    pub(crate) select: FleetSelectArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ContributeArgs {
    /// Results: directories of experiments, or results.jsonl files.
    #[arg(value_name = "RESULTS", required = true)]
    pub(crate) all_results: Vec<PathBuf>,
    /// Append the lines to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}
