//! What is to be recorded, and how.

/// By what means to record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Source {
    /// BPF, or tracefs where BPF cannot be had; [`Live::fallback`] says why not.
    #[default]
    Auto,
    Bpf,
    Tracefs,
}

/// What to record.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Disks or partitions, as a user names them.
    pub devices: Vec<String>,
    /// Only what processes with these numbers ask for.
    pub pids: Vec<u32>,
    /// Only what processes of these control groups and those below ask for: paths below the
    /// hierarchy, or below /sys/fs/cgroup.
    pub cgroups: Vec<String>,
    pub source: Source,
}

/// Most disks of a trace, and most processes or control groups of a filter.
pub const MOST_DEVICES: usize = 8;
pub const MOST_FILTERS: usize = 16;
