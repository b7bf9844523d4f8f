//! Options of a trace.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Source {
    /// BPF or else tracefs; [`Live::fallback`] returns the reason.
    #[default]
    Auto,
    Bpf,
    Tracefs,
}

#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Or partitions, as named by the user.
    pub devices: Vec<String>,
    /// If empty, all.
    pub pids: Vec<u32>,
    /// Including those below: paths in the hierarchy, or below /sys/fs/cgroup. If empty, all.
    pub cgroups: Vec<String>,
    pub source: Source,
}

/// Of a trace; processes or control groups of a filter.
pub const MAX_DEVICES: usize = 8;
pub const MAX_FILTERS: usize = 16;
