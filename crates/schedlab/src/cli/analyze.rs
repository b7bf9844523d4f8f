//! Flags of `schedlab analyze`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use import::IMPORTERS;

use super::design::MethodArg;
use super::fail_if::FailIfArgs;

const EXAMPLES: &str = "\
Examples:
  schedlab analyze results
  schedlab analyze monday tuesday friday --pool
      one verdict over several days
  schedlab analyze hdparm.csv --variant scheduler \\
      --metric buffered_disk_reads_mb_per_s --workload machine --round run
  schedlab analyze linpack.csv --variant setting --metric kflops --round reps \\
      --baseline default
  psql -c 'copy results to stdout csv header' | schedlab analyze - \\
      --variant scheduler --metric tps --baseline none
  schedlab analyze none-*.json kyber-*.json --round run
      output of fio, which is recognised
  schedlab analyze times.json --baseline 'seq 200'
  schedlab analyze target/criterion --baseline old
  schedlab analyze --from pts composite.xml --variant system --baseline before
  schedlab analyze runs/*.json \\
      --variant-pattern '([a-z-]+)_qd[0-9]+' \\
      --round-pattern 'night([0-9]+)'

Formats (schedlab list formats says what each lacks):
";

/// The examples, and a line per format.
pub(super) fn analyze_help() -> String {
    let line = |row: &import::Importer| format!("  {}\n      {}\n", row.name, row.reads);
    EXAMPLES.to_owned() + IMPORTERS.iter().map(line).collect::<String>().trim_end()
}

#[derive(Debug, Args)]
pub(crate) struct AnalyzeArgs {
    /// Evidence to compare: the directory of an experiment, a results.jsonl, files or directories
    /// of another program, which are compared together, or tables (CSV with commas, semicolons or
    /// tabs; - for standard input).
    #[arg(required = true)]
    pub(crate) sources: Vec<PathBuf>,
    /// Compare the sources together, as repeats of one experiment: the interval holds for the
    /// effect on any such day, and is made of what differs between them.
    #[arg(long, conflicts_with = "from")]
    pub(crate) pool: bool,
    /// Read the sources, all of them together, as the output of this program [default: the one that
    /// they look like].
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(IMPORTERS.iter().map(|row| row.name)))]
    pub(crate) from: Option<String>,
    /// Take the variant from this column of a table, or from this label of another program's output
    /// [default: the column of names; the name of the file without the number of a trial, else a
    /// label of the format].
    #[arg(long, value_name = "COL")]
    pub(crate) variant: Option<String>,
    /// Output of another program: take the variant from the first group of this regular expression,
    /// in the path of a file, else in a label.
    #[arg(long, value_name = "REGEX", conflicts_with = "variant")]
    pub(crate) variant_pattern: Option<String>,
    /// Compare the numbers of this column or metric; may be repeated, the first one decides
    /// [default: those of the format; of a table the only one that can be meant].
    #[arg(long, value_name = "COL")]
    pub(crate) metric: Vec<String>,
    /// Take the round from this column or label: trials measured together, one per variant
    /// [default: no rounds; of a table without --variant or --metric a column called so].
    #[arg(long, value_name = "COL")]
    pub(crate) round: Option<String>,
    /// Output of another program: take the round from the first group of this regular expression, as
    /// --variant-pattern.
    #[arg(long, value_name = "REGEX", conflicts_with = "round")]
    pub(crate) round_pattern: Option<String>,
    /// Take the workload (or machine) from this column or label; each is compared separately
    /// [default for output of another program: all labels that differ besides the variant].
    #[arg(long, value_name = "COL")]
    pub(crate) workload: Option<String>,
    /// Treat rows of a table with text in this column as invalid; the text is the reason.
    #[arg(long, value_name = "COL", conflicts_with = "from")]
    pub(crate) invalid_if: Option<String>,
    /// Treat smaller values of this metric as better [default: by its name, if it tells]; may be
    /// repeated.
    #[arg(long, value_name = "COL")]
    pub(crate) lower_is_better: Vec<String>,
    /// Treat larger values of this metric as better [default: by its name, if it tells]; may be
    /// repeated.
    #[arg(long, value_name = "COL")]
    pub(crate) higher_is_better: Vec<String>,
    /// Compare the others with this variant of a table [default: `default` or `none`, if a variant
    /// is called so].
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// Treat differences smaller than this as equivalent [default: the plan's, or 1%].
    #[arg(long, value_name = "PERCENT")]
    pub(crate) margin: Option<String>,
    /// Limit the probability of a false verdict, over all variants of one metric [default: the
    /// plan's, or 5%].
    #[arg(long, value_name = "PERCENT")]
    pub(crate) alpha: Option<String>,
    /// Compute intervals with this method [default: the plan's; for a table, which is looked at
    /// once, fixed].
    #[arg(long, value_name = "METHOD")]
    pub(crate) method: Option<MethodArg>,
    /// With --method spending: look after each block, in the table's order, as an experiment with a
    /// budget of N rounds would have done, and stop where it would have stopped.
    #[arg(long, value_name = "N")]
    pub(crate) planned: Option<u32>,
    /// Print analysis.json instead of the table.
    #[arg(long)]
    pub(crate) json: bool,
    /// Show every metric, and each variant's mean and standard deviation.
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Write the reports into this directory as well.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) fail_if: FailIfArgs,
}
