//! Flags of `schedlab bisect`.

use std::path::PathBuf;

use clap::Args;
use lab::output::Output;

use super::design::ConsentArgs;

pub(super) const BISECT_HELP: &str = "\
Sources:
  DIR                     the patches of a directory, in the order of its file
                          `series`, else of their names
  PATCH,PATCH,…           patches in this order
  git:DIR                 the commits of a kernel's git tree, along first parents
  debian:6.1,debian:6.12  Debian's source packages of kernels, in this order

Ends (--good and --bad):
  patches   a number of patches, or a patch: up to it [default: 0 and all]
  git       revisions (required)
  versions  6.1 or debian:6.1 [default: the first and the last]

Examples:
  schedlab bisect --plan plans/kyber-delay.toml --source my-series --out found
  schedlab bisect --plan my.toml --source git:linux --good v6.1 --bad HEAD \\
      --out found
  schedlab bisect --plan my.toml --source debian:6.1,debian:6.12 --out found
  schedlab bisect --plan my.toml --source my-series --out found --resume
      continue after an interruption
  schedlab run found/found.toml --allow-commands
      compare the two kernels again

Each step is one experiment against the good end, compared by the plan's rule on the workload's \
deciding metric. It is bad if it is worse by more than the margin. A step that does not build or \
boot is skipped, as `git bisect skip` does; an inconclusive one is measured once more, four times \
as long, and then skipped. If skipped steps lie next to the one that made things worse, the \
result is a range. All verdicts together err with the plan's alpha at most: each has a part of \
it.

Exit status: 0 the step or range is found, 1 an operation failed or a signal came, 2 wrong usage, \
3 the ends do not differ or cannot be compared, or the two sides of what was found do not differ \
when compared with each other.";

#[derive(Debug, Args)]
pub(crate) struct BisectArgs {
    /// Plan of every experiment: device, workload, criteria, and the scheduler of its baseline; its
    /// arena is the kernel arena.
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: PathBuf,
    /// Search these steps: a directory or list of patches, git:DIR, or versions of Debian's
    /// kernels.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) source: String,
    /// Begin at this step, which is known to be good [default: the first].
    #[arg(long, value_name = "STEP")]
    pub(crate) good: Option<String>,
    /// End at this step, which is known to be bad [default: the last].
    #[arg(long, value_name = "STEP")]
    pub(crate) bad: Option<String>,
    /// Run this variant of the plan on every kernel [default: the baseline].
    #[arg(long, value_name = "NAME")]
    pub(crate) variant: Option<String>,
    /// Decide by this workload of the plan [default: its only one].
    #[arg(long, value_name = "NAME")]
    pub(crate) workload: Option<String>,
    /// Write the log, the patches and the records into this directory [default:
    /// schedlab-out/bisect-UTC time].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Continue the interrupted bisection whose log is in --out.
    #[arg(long, requires = "out")]
    pub(crate) resume: bool,
    /// Store built kernels in this directory, about 300 MB each [default: ~/.cache/schedlab].
    #[arg(long, value_name = "DIR", env = "SCHEDLAB_CACHE_DIR", hide_env_values = true)]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Leave the kernels of all steps in the cache [default: those of the ends and of the two sides
    /// of what was found].
    #[arg(long)]
    pub(crate) keep_kernels: bool,
    #[command(flatten)]
    pub(crate) consent: ConsentArgs,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress bar and no remarks.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl BisectArgs {
    pub(crate) fn output(&self) -> Output {
        Output::of(self.out.clone(), "bisect-")
    }
}
