//! Flags of `schedlab shard`.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use text::limits::ROUNDS;

use super::design::ConsentArgs;
use super::fail_if::FailIfArgs;
use super::shared;

const RUN_HELP: &str = "\
Pieces of a plan may be measured on any machines, in any order, and may overlap. `merge` joins \
them to the results and the analysis of one machine, byte for byte. Without --rounds the rounds \
to measure are printed.

Examples:
  schedlab shard run plan.toml
      how many rounds there are
  schedlab shard run plan.toml --rounds 0..4 --out a.segment
      measure the first four rounds
  schedlab shard merge a.segment b.segment --out results";

const MERGE_HELP: &str = "\
Missing rounds are named with the command that measures them, with exit status 9. Rounds after \
the last verdict are left out.

Example:
  schedlab shard merge segments/*.segment --out results";

#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct ShardArgs {
    #[command(subcommand)]
    pub(crate) what: ShardCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ShardCommand {
    /// Measure some rounds of a plan of virtual time.
    #[command(after_help = RUN_HELP)]
    Run(ShardRunArgs),
    /// Merge segments into the results and the analysis that one machine gives.
    #[command(after_help = MERGE_HELP)]
    Merge(MergeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ShardRunArgs {
    /// Plan of arena sim or kernel.
    pub(crate) plan: PathBuf,
    /// Measure these rounds of every workload, from A (the first is 0) to B-1, as far as the plan
    /// has them.
    #[arg(long, value_name = "A..B", value_parser = range, requires = "out")]
    pub(crate) rounds: Option<Range<u32>>,
    /// Write the trials to this file.
    #[arg(long, value_name = "SEGMENT", requires = "rounds")]
    pub(crate) out: Option<PathBuf>,
    #[arg(help = shared::THREADS, long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
    #[arg(
        help = shared::CACHE_DIR,
        long,
        value_name = "DIR",
        env = "SCHEDLAB_CACHE_DIR",
        hide_env_values = true,
    )]
    pub(crate) cache_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) consent: ConsentArgs,
    #[arg(help = shared::JSON, long)]
    pub(crate) json: bool,
    #[arg(help = shared::QUIET, long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Files of `schedlab shard run`, in any order.
    #[arg(required = true)]
    pub(crate) segments: Vec<PathBuf>,
    #[arg(help = shared::RESULTS_DIR, long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Print analysis.json, or the missing rounds, instead of the table.
    #[arg(long)]
    pub(crate) json: bool,
    #[arg(help = shared::VERBOSE, long, short)]
    pub(crate) verbose: bool,
    #[arg(help = shared::QUIET, long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) fail_if: FailIfArgs,
}

fn range(word: &str) -> Result<Range<u32>, String> {
    let ends = word
        .split_once("..")
        .and_then(|(a, b)| Some((a.parse::<u32>().ok()?, b.parse::<u32>().ok()?)));
    match ends {
        Some((start, end)) if start < end => {
            ROUNDS.check(end as usize).map(|()| start..end).map_err(|exceeded| exceeded.to_string())
        }
        Some(_) => {
            Err("no round: the first is 0 and the end is not measured; write e.g. 0..4".to_owned())
        }
        None => Err("not a range of rounds; write A..B, e.g. 0..4".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_a_range_without_its_end() {
        assert_eq!(range("3..17"), Ok(3..17));
        for word in ["4..4", "5..4", "..4", "4..", "4", "-1..4", "0..4294967296", "0..=4"] {
            assert!(range(word).is_err(), "{word}");
        }
    }
}
