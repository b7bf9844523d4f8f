//! Flags of `schedlab kernel`, and of what schedlab itself starts in and around a guest.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use lab::arena::kernel::files::Files;

pub(super) const KERNEL_HELP: &str = "\
Examples:
  schedlab kernel build                                      Debian's 6.1, the default of the kernel arena
  schedlab kernel build --source debian:newest               whose guests run faster
  schedlab kernel build --patch delay.patch                  6.1 with a patch, compiled in seconds once 6.1 is there
  schedlab kernel build --source ~/linux --debug             a tree of your own, with every check
  schedlab kernel list
  schedlab kernel exec --device hp97560 -- lsblk              any program on a modelled disk, in virtual time
  schedlab kernel clean 6.1-patched-0123456789ab

A kernel is kept under a key made of source version, configuration, patches and compiler. A newer version of a package is taken
when the older kernel and source have been removed (kernel clean --all).";

const EXEC_HELP: &str = "\
Examples:
  schedlab kernel exec --device hp97560 --scheduler bfq -- dd if=/dev/disk0 of=/dev/null bs=1M count=64 iflag=direct
  schedlab kernel exec --device hp97560 --fs ext4 -- sh -c 'printf \"set location /tmp/disk0\\nrun\\nquit\\n\" > /tmp/p; postmark /tmp/p'
  schedlab kernel exec --device hp97560 --time-travel plain -- fio --clocksource=clock_gettime --name=r --filename=/dev/disk0 \\
      --rw=randread --direct=1 --runtime=60 --time_based
  schedlab kernel exec -- cat /proc/version";

#[derive(Debug, Args)]
pub(crate) struct KernelArgs {
    /// Where kernels are kept, about 300 MB each [default: $XDG_CACHE_HOME/schedlab, else ~/.cache/schedlab].
    #[arg(long, global = true, env = "SCHEDLAB_CACHE_DIR", value_name = "DIR", hide_env_values = true)]
    pub(crate) cache_dir: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) what: KernelCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KernelCommand {
    /// Build a kernel, boot it once, and keep it; at once if it was built before.
    ///
    /// The source is Debian's package linux-source-X.Y: the installed one, or one that apt fetches (no root needed, signatures
    /// checked). The kernel is User-mode Linux with the block layer, all its schedulers and ext4; the first build takes minutes,
    /// one with a patch seconds more, since only what the patch touches is compiled.
    #[command(after_help = KERNEL_HELP)]
    Build {
        /// debian:6.1, debian:6.12, debian:newest, or the directory of a kernel tree, which is read and not written.
        #[arg(long, value_name = "WORD", default_value = "debian:6.1")]
        source: String,
        /// A patch for it, as `patch -p1` takes them; several are applied in order. Every context line must be as it is in the
        /// source. Options that it adds to a Kconfig are switched on.
        #[arg(long, value_name = "FILE")]
        patch: Vec<PathBuf>,
        /// With KASAN, lockdep, sleep-in-atomic checks and fault injection: for finding mistakes, not for measuring.
        #[arg(long)]
        debug: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// Say nothing but the result.
        #[arg(long, short)]
        quiet: bool,
    },
    /// Show the kernels that were built.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Run any program in a guest: on a modelled disk, under a scheduler of your choice, in virtual time.
    ///
    /// The guest sees this machine's files, read-only; /tmp, /var/tmp, /run and /dev/shm are writable and forgotten. Its modelled disk is
    /// /dev/disk0 ($SCHEDLAB_DEVICE), kept in its memory; with --fs it is mounted on /tmp/disk0 ($SCHEDLAB_DIR). Standard output,
    /// standard error and the exit status are the program's (125: it could not be run, or the guest failed); standard
    /// input is empty, and there is no network.
    #[command(after_help = EXEC_HELP)]
    Exec(ExecArgs),
    /// Remove kernels: one, or all together with the fetched source. Without either, only what killed builds have left.
    Clean {
        /// The key of a kernel, as `kernel list` shows it.
        #[arg(conflicts_with = "all")]
        key: Option<String>,
        /// Everything.
        #[arg(long)]
        all: bool,
    },
}

/// How time passes in a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimeTravelArg {
    /// Computing takes no time, so the same program gives the same result; one that waits for the time in a loop hangs.
    InfCpu,
    /// Computing takes its time and waiting takes none: for fio and others that wait in loops; not repeatable.
    Plain,
}

#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// A modelled disk, as for `compare --arena kernel`: hp97560, null:service_ns=50000, FILE.toml [default: none].
    #[arg(long, value_name = "MODEL")]
    pub(crate) device: Option<String>,
    /// Its scheduler with tunables: NAME[:TUNABLE=VALUE]…, NAME@PATCH for one of a patched kernel.
    #[arg(long, value_name = "SPEC", default_value = "none")]
    pub(crate) scheduler: String,
    /// Make this file system on the disk and mount it.
    #[arg(long, value_name = "KIND", requires = "device")]
    pub(crate) fs: Option<GuestFsArg>,
    /// The kernel, as for `kernel build --source`.
    #[arg(long, value_name = "SOURCE", default_value = "debian:6.1")]
    pub(crate) kernel: String,
    /// With the checks for kernel tests, as for `kernel build --debug`.
    #[arg(long)]
    pub(crate) debug: bool,
    /// How time passes.
    #[arg(long, default_value = "inf-cpu")]
    pub(crate) time_travel: TimeTravelArg,
    /// End a guest that has been silent for so long, in real time: nothing printed, and its clock stood still.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) timeout: String,
    /// The guest's memory in MiB; what is written to its disk is kept there, too.
    #[arg(long, value_name = "MIB", default_value_t = 512, value_parser = clap::value_parser!(u32).range(64..=65536))]
    pub(crate) memory: u32,
    /// Say nothing of our own unless something is wrong.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// The program and its arguments.
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
