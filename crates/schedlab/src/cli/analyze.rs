//! Flags of `schedlab analyze`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use import::IMPORTERS;

use super::design::MethodArg;
use super::fail_if::FailIfArgs;
use super::shared;

const EXAMPLES: &str = "\
Examples:
  schedlab analyze results
  schedlab analyze monday tuesday friday --pool
      one verdict over several days
  schedlab analyze hdparm.csv --variant scheduler \\
      --metric buffered_disk_reads_mb_per_s --workload machine --round run
  psql -c 'copy results to stdout csv header' | schedlab analyze - \\
      --variant scheduler --metric tps --baseline none
  schedlab analyze none-*.json kyber-*.json --round run
      output of fio, which is recognised
  schedlab analyze times.json --baseline 'seq 200'
  schedlab analyze --from pts composite.xml --variant system --baseline before
  schedlab analyze runs/*.json \\
      --variant-pattern '([a-z-]+)_qd[0-9]+' \\
      --round-pattern 'night([0-9]+)'

Formats (schedlab list formats names the limits of each):
";

/// The examples, and a line per format.
pub(super) fn analyze_help() -> String {
    let line = |row: &import::Importer| format!("  {}\n      {}\n", row.name, row.reads);
    EXAMPLES.to_owned() + IMPORTERS.iter().map(line).collect::<String>().trim_end()
}

#[derive(Debug, Args)]
pub(crate) struct AnalyzeArgs {
    /// Experiment's directory, results.jsonl, files or directories of another program, or tables
    /// (CSV with commas, semicolons or tabs; - is standard input).
    #[arg(required = true)]
    pub(crate) sources: Vec<PathBuf>,
    /// Pool the sources as repeats of one experiment: the interval reflects their variation, and
    /// holds for any such day.
    #[arg(long, conflicts_with = "from")]
    pub(crate) pool: bool,
    /// Read all sources as this program's output [default: recognized].
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(IMPORTERS.iter().map(|row| row.name)))]
    pub(crate) from: Option<String>,
    /// Take the variant from this column or label [default: of a table the column of names; else
    /// the file's name without a trial number, or a label].
    #[arg(long, value_name = "COL")]
    pub(crate) variant: Option<String>,
    /// Take the variant from this regular expression's first group, in the file's path, else in a
    /// label; not for tables.
    #[arg(long, value_name = "REGEX", conflicts_with = "variant")]
    pub(crate) variant_pattern: Option<String>,
    /// Compare this column or metric; may be repeated, the first decides [default: the format's; of
    /// a table the only candidate].
    #[arg(long, value_name = "COL")]
    pub(crate) metric: Vec<String>,
    /// Take the round (trials measured together, one per variant) from this column or label
    /// [default: none; a table's column `round` if --variant and --metric are left out].
    #[arg(long, value_name = "COL")]
    pub(crate) round: Option<String>,
    /// Take the round from this regular expression, as in --variant-pattern.
    #[arg(long, value_name = "REGEX", conflicts_with = "round")]
    pub(crate) round_pattern: Option<String>,
    /// Compare separately by this column or label [default: of another program's output all other
    /// labels that differ].
    #[arg(long, value_name = "COL")]
    pub(crate) workload: Option<String>,
    /// Treat rows of a table with text in this column as invalid, for that reason.
    #[arg(long, value_name = "COL", conflicts_with = "from")]
    pub(crate) invalid_if: Option<String>,
    /// Treat smaller values of this metric as better; may be repeated [default: by the metric's
    /// name].
    #[arg(long, value_name = "COL")]
    pub(crate) lower_is_better: Vec<String>,
    /// Treat larger values of this metric as better; may be repeated [default: by the metric's
    /// name].
    #[arg(long, value_name = "COL")]
    pub(crate) higher_is_better: Vec<String>,
    /// Compare the others with this variant of a table [default: `default` or `none`].
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// Treat differences below this as equivalent [default: the plan's, or 1%].
    #[arg(long, value_name = "PERCENT")]
    pub(crate) margin: Option<String>,
    /// Limit the probability of a false verdict, over all variants of one metric [default: the
    /// plan's, or 5%].
    #[arg(long, value_name = "PERCENT")]
    pub(crate) alpha: Option<String>,
    /// Compute intervals with this method [default: the plan's; of a table fixed].
    #[arg(long, value_name = "METHOD")]
    pub(crate) method: Option<MethodArg>,
    /// With --method spending: look after each round in table order, as an experiment with a budget
    /// of N rounds, and stop where it would.
    #[arg(long, value_name = "N")]
    pub(crate) planned: Option<u32>,
    #[arg(help = shared::ANALYSIS_JSON, long)]
    pub(crate) json: bool,
    /// Show every metric, and each variant's mean and standard deviation.
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Also write the reports into this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) fail_if: FailIfArgs,
}
