//! Flags of `schedlab bisect`.

use std::path::PathBuf;

use clap::Args;
use lab::output::Output;

use super::design::ConsentArgs;
use super::shared;

pub(super) const BISECT_HELP: &str = "\
Sources:
  DIR                     the patches of a directory, in the order of its file
                          `series`, else by name
  PATCH,PATCH,…           patches in this order
  git:DIR                 commits of a kernel's git tree, along first parents
  debian:6.1,debian:6.12  Debian's source packages of kernels, in this order

Ends (--good and --bad):
  patches   a number of patches, or the last patch [default: 0 and all]
  git       revisions (required)
  versions  6.1 or debian:6.1 [default: the first and the last]

Examples:
  schedlab bisect --plan plans/kyber-delay.toml --source my-series --out found
  schedlab bisect --plan my.toml --source git:linux --good v6.1 --bad HEAD \\
      --out found
  schedlab run found/found.toml --allow-commands
      compare the two kernels again

Each step is compared with the good end on the deciding metric; it is bad if it is worse by more \
than the margin. A step that does not build or boot is skipped; an inconclusive one is measured \
once more, four times as long, and then skipped. If skipped steps are next to the bad one, the \
result is a range. The plan's alpha covers all verdicts together.

Exit status: 0 the step or range is found, 1 an operation failed or a signal came, 2 wrong \
usage, 3 the ends, or the two sides of the result, do not differ or cannot be compared.";

#[derive(Debug, Args)]
pub(crate) struct BisectArgs {
    /// Plan of every experiment, in the kernel arena: device, workload, criteria, and the scheduler
    /// of its baseline.
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: PathBuf,
    /// Search these steps; see Sources.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) source: String,
    /// Start at this good step [default: the first].
    #[arg(long, value_name = "STEP")]
    pub(crate) good: Option<String>,
    /// End at this bad step [default: the last].
    #[arg(long, value_name = "STEP")]
    pub(crate) bad: Option<String>,
    /// Run this variant on every kernel [default: the plan's baseline].
    #[arg(long, value_name = "NAME")]
    pub(crate) variant: Option<String>,
    /// Decide by this workload [default: the plan's only one].
    #[arg(long, value_name = "NAME")]
    pub(crate) workload: Option<String>,
    /// Write log, patches and results into this directory [default: schedlab-out/bisect-UTC time].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Continue the interrupted bisection in --out.
    #[arg(long, requires = "out")]
    pub(crate) resume: bool,
    #[arg(
        help = shared::CACHE_DIR,
        long,
        value_name = "DIR",
        env = "SCHEDLAB_CACHE_DIR",
        hide_env_values = true,
    )]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Keep the kernels of all steps, about 300 MB each [default: only those of the ends and on
    /// both sides of the result].
    #[arg(long)]
    pub(crate) keep_kernels: bool,
    #[command(flatten)]
    pub(crate) consent: ConsentArgs,
    #[arg(help = shared::JSON, long)]
    pub(crate) json: bool,
    #[arg(help = shared::QUIET, long, short)]
    pub(crate) quiet: bool,
}

impl BisectArgs {
    pub(crate) fn output(&self) -> Output {
        Output::of(self.out.clone(), "bisect-")
    }
}
