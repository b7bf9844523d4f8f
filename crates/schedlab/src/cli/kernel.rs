//! Flags of `schedlab kernel`, and of what schedlab itself starts in and around a guest.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use guest::TICK_RATES;
use lab::arena::kernel::files::Files;

use super::shared;
use super::{DEFAULT_KERNEL, KERNEL};

pub(super) const KERNEL_HELP: &str = "\
Examples:
  schedlab kernel build
      build the default kernel of the kernel arena
  schedlab kernel build --source debian:newest
      build the newest packaged kernel, whose guests run faster
  schedlab kernel build --patch delay.patch
  schedlab kernel build --source ~/linux --debug
      build a kernel tree with debug checks
  schedlab kernel exec --device hp97560 -- lsblk
      run a program on a modelled disk, in virtual time
  schedlab kernel clean 6.1-patched-0123456789ab

The key of a cached kernel covers source version, configuration, patches and compiler. For a \
newer version of the source package, first run `kernel clean --all`.";

const EXEC_HELP: &str = "\
Examples:
  schedlab kernel exec --device hp97560 --scheduler bfq \\
      -- dd if=/dev/disk0 of=/dev/null bs=1M count=64 iflag=direct
  schedlab kernel exec --device hp97560 --fs ext4 \\
      -- sh -c 'printf \"set location /tmp/disk0\\nrun\\nquit\\n\" > /tmp/p; postmark /tmp/p'
  schedlab kernel exec --device hp97560 --time-travel plain -- fio \\
      --clocksource=clock_gettime --name=r --filename=/dev/disk0 \\
      --rw=randread --direct=1 --runtime=60 --time_based
  schedlab kernel exec -- cat /proc/version";

#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct KernelArgs {
    /// Store kernels in this directory, about 300 MB each [default: $XDG_CACHE_HOME/schedlab, else
    /// ~/.cache/schedlab].
    #[arg(
        long,
        global = true,
        env = "SCHEDLAB_CACHE_DIR",
        value_name = "DIR",
        hide_env_values = true
    )]
    pub(crate) cache_dir: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) what: KernelCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KernelCommand {
    /// Build and cache a kernel for the kernel arena, unless it is cached.
    ///
    /// The source is Debian's package linux-source-X.Y, installed or fetched by apt (needs no root,
    /// checks signatures). The kernel is User-mode Linux with the block layer, all its schedulers
    /// and ext4. The first build takes minutes, one with another patch seconds.
    Build {
        /// Build this source: debian:7.3, debian:6.12, debian:newest, or a kernel tree's directory,
        /// which is only read.
        #[arg(long, value_name = "WORD", env = KERNEL, hide_env_values = true, default_value = DEFAULT_KERNEL)]
        source: String,
        /// Apply this patch as `patch -p1` does, without fuzz; may be repeated, in order. Kconfig
        /// options that it adds are enabled.
        #[arg(long, value_name = "FILE")]
        patch: Vec<PathBuf>,
        /// Enable KASAN, lockdep, sleep-in-atomic checks and fault injection: for finding bugs, not
        /// for measuring.
        #[arg(long)]
        debug: bool,
        /// Build for CPU experiments, with this many ticks per second: 1000, 300, 250 or 100.
        #[arg(long, value_name = "RATE", value_parser = ticks)]
        hz: Option<u32>,
        /// Build for CPU experiments with up to 8 CPUs; needs Linux 6.19 or later.
        #[arg(long, requires = "hz")]
        smp: bool,
        #[arg(help = shared::JSON, long)]
        json: bool,
        #[arg(help = shared::QUIET, long, short)]
        quiet: bool,
    },
    /// List the cached kernels.
    List {
        #[arg(help = shared::JSON, long)]
        json: bool,
    },
    /// Run a program in a guest with a modelled disk, in virtual time.
    ///
    /// The guest sees this machine's files read-only; /tmp, /var/tmp, /run and /dev/shm are
    /// writable and discarded at the end. The modelled disk is /dev/disk0 ($SCHEDLAB_DEVICE), held
    /// in the guest's memory, and with --fs mounted on /tmp/disk0 ($SCHEDLAB_DIR). Output and exit
    /// status are the program's (125: it could not be run, or the guest failed); a terminal shows
    /// control characters as \uXXXX. Standard input is empty, and there is no network.
    #[command(after_help = EXEC_HELP)]
    Exec(ExecArgs),
    /// Remove a cached kernel, or all with their sources.
    ///
    /// Without either, the remains of interrupted builds are removed.
    Clean {
        /// Key of the kernel, from `schedlab kernel list`.
        #[arg(conflicts_with = "all")]
        key: Option<String>,
        /// Remove every kernel and source.
        #[arg(long)]
        all: bool,
    },
}

/// How time passes in a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimeTravelArg {
    /// Computing takes no virtual time, so that a program gives the same result each time; a
    /// program that polls the clock hangs.
    InfCpu,
    /// Computing takes real time and waiting takes none: for fio and other programs that poll the
    /// clock; not repeatable.
    Plain,
}

/// Reads a tick rate.
fn ticks(word: &str) -> Result<u32, String> {
    let rate = word.parse().ok().filter(|rate| TICK_RATES.contains(rate));
    rate.ok_or_else(|| "a kernel has 1000, 300, 250 or 100 ticks a second".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// Attach this modelled disk, as in `compare --arena kernel`, or FILE.toml [default: none].
    #[arg(long, value_name = "MODEL")]
    pub(crate) device: Option<String>,
    /// Use this scheduler: NAME[:TUNABLE=VALUE]…, or NAME@PATCH.
    #[arg(long, value_name = "SPEC", default_value = "none")]
    pub(crate) scheduler: String,
    /// Make this file system on the disk and mount it.
    #[arg(long, value_name = "KIND", requires = "device")]
    pub(crate) fs: Option<GuestFsArg>,
    /// Boot this kernel; see `kernel build --source`.
    #[arg(long, value_name = "SOURCE", env = KERNEL, hide_env_values = true, default_value = DEFAULT_KERNEL)]
    pub(crate) kernel: String,
    /// Boot the kernel of `kernel build --debug`.
    #[arg(long)]
    pub(crate) debug: bool,
    /// Advance virtual time in this mode.
    #[arg(long, default_value = "inf-cpu")]
    pub(crate) time_travel: TimeTravelArg,
    /// Stop a guest that neither prints nor advances its clock for this real time.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) timeout: String,
    /// Set the guest's memory, which also holds the disk's data, to this many MiB (64 to 65536).
    #[arg(long, value_name = "MIB", default_value_t = 512, value_parser = clap::value_parser!(u32).range(64..=65536))]
    pub(crate) memory: u32,
    /// Print messages of schedlab only if something fails.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Program to run, with its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// A file system in a guest.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum GuestFsArg {
    /// ext4 with a journal of 32 MiB.
    Ext4,
}

impl From<GuestFsArg> for Files {
    fn from(arg: GuestFsArg) -> Files {
        match arg {
            GuestFsArg::Ext4 => Files::Ext4,
        }
    }
}
