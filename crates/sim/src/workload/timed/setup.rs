//! The values of the parameters that only clients that go by the time have.

use crate::workload::timed::task_set::TaskSet;

/// Thousandths of `over`.
pub(crate) const OVER_ONE: u32 = 1000;
const MS: u64 = 1_000_000;

/// The parameters that only clients that go by the time have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedParams {
    /// Bytes a second of each client; None: no bound.
    pub rate: Option<u64>,
    /// Nanoseconds of a period of `streams`.
    pub period_ns: u64,
    /// Periods from a stream's request to its deadline; at least 1.
    pub deadline_periods: u32,
    /// Whether the periods of `streams` begin one after another.
    pub stagger: bool,
    /// Whether a trial of `streams` finds how many of them, up to `clients`, can be served without
    /// a missed deadline.
    pub find_streams: bool,
    /// Bytes that `bursts` make at once.
    pub burst: u64,
    /// Thousandths by which `bursts` exceed their curve; 1000 is inside it.
    pub over_milli: u32,
    /// Nanoseconds from one burst to the next; None: there is one.
    pub burst_every_ns: Option<u64>,
    /// Nanoseconds from the arrival of a request of `bursts` to its deadline; None: it has none.
    pub deadline_ns: Option<u64>,
    /// Tasks of a set of `rt-tasks`.
    pub tasks: u32,
    /// Whether a set is handed over at once.
    pub batch: bool,
    /// The tasks are released within so many nanoseconds.
    pub release_within_ns: u64,
    /// Nanoseconds from a task's release to its deadline, at least and at most.
    pub deadline_min_ns: u64,
    /// See deadline_min_ns.
    pub deadline_max_ns: u64,
    /// A set that is given instead of drawn.
    pub set: Option<TaskSet>,
    /// Clients beside the tasks that read without deadlines.
    pub background: u32,
    /// Bytes of their requests.
    pub background_size: u32,
}

impl Default for TimedParams {
    /// No bound; see the heads of `streams`, `bursts` and `rt-tasks` for the others.
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
