//! Help texts of options that several commands share.

pub(super) const JSON: &str = "Print JSON";
pub(super) const ANALYSIS_JSON: &str = "Print analysis.json instead of the table";
pub(super) const QUIET: &str = "Hide progress and remarks";
pub(super) const VERBOSE: &str = "Show every metric, not only the deciding ones";
pub(super) const RESULTS_DIR: &str =
    "Write plan.toml, results.jsonl, analysis.json and the reports into this directory";
pub(super) const CACHE_DIR: &str =
    "Kernel arena: store built kernels in this directory [default: ~/.cache/schedlab]";
pub(super) const LOOP_DIR: &str =
    "Create the file of loop:SIZE in this directory; its disk is the one measured";
pub(super) const DESTROY_DATA: &str =
    "Allow workloads that write to this device: all data on it is lost";
pub(super) const RUN_AS: &str =
    "Run the workloads' programs as this user, without root's rights, terminal and open files";
pub(super) const KERNEL: &str =
    "Kernel arena: measure on this kernel; see `kernel build --source` [default: debian:7.3]";
pub(super) const SEED: &str = "Seed every random choice";
pub(super) const CLIENTS: &str =
    "Set the number of clients, 1 to 1024, of workloads that do not set clients=N";
pub(super) const WARMUP: &str =
    "Run the workload uncounted for this time before each trial [default: a fifth of the trial]";
pub(super) const THREADS: &str = "Measure on this number of threads [default: one per usable CPU]";
pub(super) const BASELINE: &str = "Compare the others with this variant [default: the device's \
                                   current scheduler if it is among them, else the first]";
/// Of an existing device on which nothing is measured.
pub(super) const DEVICE: &str = "Device: /dev/NAME, NAME, or /dev/disk/by-id/…";
pub(super) const FORMAT: &str = "Read the trace in this format instead of recognizing it";
pub(super) const SKIP_BAD: &str = "Skip unreadable lines and count them";
pub(super) const PID: &str = "Record only the I/O of these processes and their threads";
pub(super) const CGROUP: &str =
    "Record only the I/O of these control groups and their children: paths below /sys/fs/cgroup";
pub(super) const SOURCE: &str = "Get events from this source";
pub(super) const BY: &str = "Group results by these keys";
