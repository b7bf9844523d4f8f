//! Flags of `schedlab fleet`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};

pub(super) const FLEET_HELP: &str = "\
Examples:
  schedlab fleet push results --fleet /srv/fleet
      send a results file to the fleet's directory
  schedlab fleet push results --fleet s3://lab/fleet
      or to a bucket (AWS_ACCESS_KEY_ID, AWS_REGION, AWS_ENDPOINT_URL)
  sudo schedlab fleet push --watched --fleet /srv/fleet
      send what the watches of this machine have measured
  export SCHEDLAB_FLEET=/srv/fleet
  schedlab fleet report
      what is there
  schedlab fleet verdict --model 980
      verdicts by drive model, and the prediction for a new machine
  schedlab fleet verdict --by model,firmware,kernel --json
  schedlab fleet compare --by kernel 6.1 6.12
      the same drives and schedulers on two kernels
  schedlab fleet query 'SELECT model, count(*) FROM results GROUP BY 1'
  sudo schedlab fleet learn
      let `devices` and `advise` show what the fleet knows

The unit of evidence is the machine, however many results and trials it has. Machines too far \
from the others are named and left out, at most a tenth of them. A result that is pushed again is \
there once.

Exit status: 0 done or verdicts reached, 1 an operation failed, 2 wrong usage, 3 no verdict has \
evidence that can be used.";

const CONTRIBUTE_HELP: &str = "\
Examples:
  schedlab fleet contribute results
      show the line, and send nothing
  schedlab fleet contribute results --out fleet.jsonl
      append it to a file, which you may pass on

The line has model and firmware of the drive, the numbers of the kernel's release, workload and \
metric, a hash of the workload, the variants with their verdicts, ratios and standard errors, and the \
build of schedlab. It has no machine, host, serial number, path, label or time. Nothing is sent \
anywhere.

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
    /// Send results files to the fleet, each as one file of Parquet that is named after its
    /// content.
    #[command(after_help = "Example:\n  schedlab fleet push results --fleet /srv/fleet")]
    Push(FleetPushArgs),
    /// Show what is there: drives, machines, results, and files or results that something is wrong
    /// with.
    #[command(after_help = "Example:\n  schedlab fleet report --fleet /srv/fleet")]
    Report(FleetAnalyzeArgs),
    /// Compare the variants of each question over all machines with one kind of drive.
    ///
    /// A variant's effect on a machine is the mean of its results. The interval is for the mean
    /// over machines; beside it stands the prediction for a new machine, and how much of the
    /// spread is between machines.
    #[command(
        after_help = "Example:\n  schedlab fleet verdict --fleet /srv/fleet --model 980 --workload randread"
    )]
    Verdict(FleetAnalyzeArgs),
    /// Compare the values under a second kernel, firmware or model against those under a first one.
    ///
    /// Machines that were measured under both are compared with themselves; otherwise the two
    /// groups of machines are compared.
    #[command(
        after_help = "Example:\n  schedlab fleet compare --fleet /srv/fleet --by kernel 6.1 6.12"
    )]
    Compare(FleetCompareArgs),
    /// Ask by SQL, through DuckDB: the program duckdb, or Python's module of that name. The view is
    /// `results`.
    #[command(
        after_help = "Example:\n  schedlab fleet query --fleet /srv/fleet \\\n      'SELECT variant, median(value) FROM results GROUP BY 1'"
    )]
    Query(FleetQueryArgs),
    /// Copy results that another place lacks, e.g. a bucket into a directory.
    #[command(after_help = "Example:\n  schedlab fleet copy /srv/fleet --fleet s3://lab/fleet")]
    Copy(FleetCopyArgs),
    /// Keep the verdicts by drive model on this machine, where `devices` and `advise` show them.
    #[command(after_help = "Example:\n  sudo schedlab fleet learn --fleet /srv/fleet")]
    Learn(FleetLearnArgs),
    /// Make an anonymised line of a result, for a public list of drives: shown, never sent.
    #[command(after_help = CONTRIBUTE_HELP)]
    Contribute(ContributeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct FleetPlaceArgs {
    /// Place of the fleet: a directory, or s3://BUCKET/PREFIX; without it, that of SCHEDLAB_FLEET.
    #[arg(long, value_name = "DIR|s3://…", env = "SCHEDLAB_FLEET", hide_env_values = true)]
    pub(crate) fleet: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct FleetPushArgs {
    /// Results to send: directories of experiments (or of their repeats), or files
    /// results.jsonl.
    #[arg(value_name = "RESULTS", required_unless_present = "watched")]
    pub(crate) all_results: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) place: FleetPlaceArgs,
    /// Send the results files of this machine's watches, too, as far as their reports are kept.
    #[arg(long)]
    pub(crate) watched: bool,
    /// Call the machine that measured by this name [default: a hash of this machine's
    /// /etc/machine-id].
    #[arg(long, value_name = "NAME")]
    pub(crate) machine: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FleetSelectArgs {
    /// Take drives whose model contains this, in any case.
    #[arg(long, value_name = "TEXT")]
    pub(crate) model: Option<String>,
    /// Take drives with this firmware.
    #[arg(long, value_name = "TEXT")]
    pub(crate) firmware: Option<String>,
    /// Take results on this kernel: 6.12 takes 6.12.9-amd64.
    #[arg(long, value_name = "RELEASE")]
    pub(crate) kernel: Option<String>,
    /// Take results that this build of schedlab measured; its first characters suffice.
    #[arg(long, value_name = "BUILD")]
    pub(crate) build: Option<String>,
    /// Take results of this arena.
    #[arg(long, value_name = "NAME", value_parser = ["disk", "cpu"])]
    pub(crate) arena: Option<String>,
    /// Take workloads that begin with this, as `fleet report` shows them.
    #[arg(long, value_name = "TEXT")]
    pub(crate) workload: Option<String>,
    /// Compare this metric [default: the metric that decides for the workload].
    #[arg(long, value_name = "METRIC")]
    pub(crate) metric: Option<String>,
    /// Take this variant or scheduler, beside the baseline.
    #[arg(long, value_name = "NAME")]
    pub(crate) variant: Option<String>,
    /// Call differences below this equivalent.
    #[arg(long, value_name = "PERCENT", default_value = "5%")]
    pub(crate) margin: String,
    /// Accept this probability that any verdict on a question is wrong, and of a machine outside
    /// its interval.
    #[arg(long, value_name = "PERCENT", default_value = "5%")]
    pub(crate) alpha: String,
}

#[derive(Debug, Args)]
pub(crate) struct FleetAnalyzeArgs {
    #[command(flatten)]
    pub(crate) place: FleetPlaceArgs,
    #[command(flatten)]
    pub(crate) select: FleetSelectArgs,
    /// Group results by these, separated by commas.
    #[arg(long, value_name = "KEY,…", value_delimiter = ',', default_value = "model", value_parser = PossibleValuesParser::new(KEYS))]
    pub(crate) by: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FleetCompareArgs {
    /// The first group: a kernel's series such as 6.1, a firmware, a model, as `fleet report --by`
    /// shows it.
    pub(crate) first: String,
    /// The second group, which is compared against the first.
    pub(crate) second: String,
    /// What the two groups differ in.
    #[arg(long, value_name = "KEY", value_parser = PossibleValuesParser::new(KEYS))]
    pub(crate) by: String,
    #[command(flatten)]
    pub(crate) place: FleetPlaceArgs,
    #[command(flatten)]
    pub(crate) select: FleetSelectArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FleetQueryArgs {
    /// SQL, of the view `results`: a row for each value, with the columns of
    /// docs/src/decide/long-term.md.
    #[arg(value_name = "SQL")]
    pub(crate) sql: String,
    #[command(flatten)]
    pub(crate) place: FleetPlaceArgs,
    /// Print the whole SQL, and run nothing.
    #[arg(long)]
    pub(crate) print: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FleetCopyArgs {
    /// Place to copy to: a directory, or s3://BUCKET/PREFIX.
    #[arg(value_name = "TO")]
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) place: FleetPlaceArgs,
    /// Print JSON.
    #[arg(long)]
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
    /// Results: directories of experiments, or files results.jsonl.
    #[arg(value_name = "RESULTS", required = true)]
    pub(crate) all_results: Vec<PathBuf>,
    /// Append the lines to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}
