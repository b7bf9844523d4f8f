//! Options of a trace.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Source {
    /// BPF, or tracefs if BPF is unavailable; [`Live::fallback`] returns the reason.
    #[default]
    Auto,
    Bpf,
    Tracefs,
}

#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Disks or partitions, as named by the user.
    pub devices: Vec<String>,
    /// If not empty, only these processes' requests.
    pub pids: Vec<u32>,
    /// If not empty, only requests from these control groups and those below: paths in the
    /// hierarchy, or below /sys/fs/cgroup.
    pub cgroups: Vec<String>,
    pub source: Source,
}

/// Maximum disks of a trace, and processes or control groups of a filter.
pub const MOST_DEVICES: usize = 8;
pub const MOST_FILTERS: usize = 16;
