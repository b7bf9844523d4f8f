//! The parameter values of time-driven clients.

use crate::workload::timed::task_set::TaskSet;

/// Denominator of `over`.
pub(crate) const OVER_ONE: u32 = 1000;
const MS: u64 = 1_000_000;

/// The parameters of time-driven clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedParams {
    /// Bytes/s of each client; `None`: unlimited.
    pub rate: Option<u64>,
    /// Period of `streams`, in ns.
    pub period_ns: u64,
    /// Periods from a stream's request to its deadline; at least 1.
    pub deadline_periods: u32,
    /// Whether the periods of `streams` are staggered.
    pub stagger: bool,
    /// Whether to find how many streams, up to `clients`, can be served without a missed deadline.
    pub find_streams: bool,
    /// Bytes that `bursts` request at once.
    pub burst: u64,
    /// Factor on the curve of `bursts`, in thousandths; 1000 stays inside.
    pub over_milli: u32,
    /// Nanoseconds between bursts; `None`: a single one.
    pub burst_every_ns: Option<u64>,
    /// Nanoseconds from arrival to deadline in `bursts`; `None`: no deadline.
    pub deadline_ns: Option<u64>,
    /// Tasks per set of `rt-tasks`.
    pub tasks: u32,
    /// Whether a set is submitted at once.
    pub batch: bool,
    /// Tasks are released within this many ns.
    pub release_within_ns: u64,
    /// Minimum ns from a task's release to its deadline.
    pub deadline_min_ns: u64,
    /// Maximum ns from a task's release to its deadline.
    pub deadline_max_ns: u64,
    /// A given set instead of drawn ones.
    pub set: Option<TaskSet>,
    /// Clients that read without deadlines.
    pub background: u32,
    /// Bytes of their requests.
    pub background_size: u32,
}

impl Default for TimedParams {
    /// Unlimited; `streams`, `bursts` and `rt-tasks` explain the others.
    fn default() -> TimedParams {
        TimedParams {
            rate: None,
            period_ns: 400 * MS,
            deadline_periods: 1,
            stagger: false,
            find_streams: false,
            burst: 64 << 10,
            over_milli: OVER_ONE,
            burst_every_ns: None,
            deadline_ns: None,
            tasks: 30,
            batch: false,
            release_within_ns: 600 * MS,
            deadline_min_ns: 100 * MS,
            deadline_max_ns: 900 * MS,
            set: None,
            background: 1,
            background_size: 4 << 10,
        }
    }
}
