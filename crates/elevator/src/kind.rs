//! Rows of the elevator table: how a scheduler presents itself to lists, parsers, properties and
//! benchmarks.

use crate::geometry::Geometry;
use crate::scheduler::Elevator;
use crate::topology::Topology;
use crate::vocabulary::NEWEST_LINUX;

/// How certain a rule is its source's. The mark is always shown with the rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// Read in the primary source.
    Confirmed,
    /// Taken from a secondary source.
    SecondHand,
    /// Derived from the source by arithmetic.
    Derived,
    /// Recalled or reconstructed; no source was available.
    Recalled,
    /// Our proposal, filling a gap.
    Proposed,
}

impl Evidence {
    /// The short mark: C, C2, D, R, P.
    pub fn mark(self) -> &'static str {
        match self {
            Evidence::Confirmed => "C",
            Evidence::SecondHand => "C2",
            Evidence::Derived => "D",
            Evidence::Recalled => "R",
            Evidence::Proposed => "P",
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Evidence::Confirmed => "confirmed in the source",
            Evidence::SecondHand => "second-hand",
            Evidence::Derived => "derived",
            Evidence::Recalled => "recalled, not confirmed",
            Evidence::Proposed => "our proposal",
        }
    }
}

/// Determines the queue around a scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Linux before blk-mq: a pool of nr_requests per direction, time in jiffies.
    LegacyLinux,
    /// blk-mq: one pool of tags.
    BlkMq,
    /// Papers and textbooks; run in a blk-mq queue with the largest pool.
    Literature,
}

impl Origin {
    pub fn name(self) -> &'static str {
        match self {
            Origin::LegacyLinux => "legacy Linux",
            Origin::BlkMq => "Linux blk-mq",
            Origin::Literature => "literature",
        }
    }
}

/// Whether a tunable affects performance, or only the laboratory's model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A performance setting.
    Knob,
    /// As `Knob`, but values above nr_requests make no difference.
    Window,
    /// The named tunable in another unit; vary only one of the two.
    Alias(&'static str),
    /// Selects a reading of an unclear, wrong or changing source. Does not exist on a real machine.
    Reading,
    /// Describes the disk to the scheduler.
    Disk,
    /// A constant of schedlab's scheduler, for ablations and virtual-time searches. Does not exist
    /// on a real machine.
    Internal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tunable {
    /// The kernel's name if it has one.
    pub name: &'static str,
    /// The unit: `ms`, `µs`, `ns`, `KiB`, `requests`, `percent`, `switch` (0 or 1), …
    pub unit: &'static str,
    pub min: u64,
    pub max: u64,
    /// Certainty of name, meaning and default.
    pub evidence: Evidence,
    /// One line, with the effect of each value of a switch.
    pub help: &'static str,
    pub role: Role,
}

impl Tunable {
    pub const fn confirmed(
        name: &'static str,
        unit: &'static str,
        min: u64,
        max: u64,
        help: &'static str,
    ) -> Tunable {
        Tunable { name, unit, min, max, evidence: Evidence::Confirmed, help, role: Role::Knob }
    }

    pub const fn recalled(
        name: &'static str,
        unit: &'static str,
        min: u64,
        max: u64,
        help: &'static str,
    ) -> Tunable {
        Tunable { evidence: Evidence::Recalled, ..Tunable::confirmed(name, unit, min, max, help) }
    }

    pub const fn proposed(
        name: &'static str,
        unit: &'static str,
        min: u64,
        max: u64,
        help: &'static str,
    ) -> Tunable {
        Tunable { evidence: Evidence::Proposed, ..Tunable::confirmed(name, unit, min, max, help) }
    }

    /// `queue/async_depth`, which belongs to the queue on a real machine.
    pub(crate) const ASYNC_DEPTH: Tunable = Tunable::confirmed(
        "async_depth",
        "requests",
        1,
        i32::MAX as u64,
        "with linux=703: tags available to requests other than synchronous reads",
    )
    .with_role(Role::Reading);

    /// The tunable that selects the version of Linux.
    pub(crate) const fn linux_version(help: &'static str) -> Tunable {
        Tunable::confirmed("linux", "version", 601, NEWEST_LINUX, help).with_role(Role::Reading)
    }

    /// The same row with another role.
    pub const fn with_role(self, role: Role) -> Tunable {
        Tunable { role, ..self }
    }

    /// Whether changing it can improve performance.
    pub const fn is_knob(&self) -> bool {
        matches!(self.role, Role::Knob | Role::Window)
    }
}

/// Declared in rows, tested by properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guarantee {
    /// A dispatch returns a request whenever one is held.
    WorkConserving,
    /// While it refuses to dispatch with nothing in flight, it has a timer.
    IdlesWithTimer,
    /// Dispatches in order of arrival.
    ArrivalOrder,
    /// Requests that are all held from the start are dispatched in ascending order of sectors, with
    /// at most this many descents per pass: 1 for a one-way elevator that starts in the middle.
    /// Schedulers of the literature with a geometry use cylinders instead of sectors.
    Ascending {
        /// Per pass.
        descents: u32,
    },
    /// As [`Guarantee::Ascending`], but may also sweep down, with at most this many changes of
    /// direction.
    Sweeping {
        /// Maximum changes of direction.
        turns: u32,
    },
    /// With the default tunables and a queue depth of 1, at most this many later arrivals of the
    /// same priority are dispatched before a request.
    PassedAtMost {
        /// Maximum later arrivals.
        requests: u64,
    },
    /// A synchronous request is dispatched within this time of its insertion, with the default
    /// tunables, if the device takes at most 20 ms per request and at most 64 requests are held.
    /// Applies among requests of one priority with distinct start sectors: of two equal ones,
    /// legacy Linux dispatches the older at once.
    WaitsAtMostMs(u64),
    /// Meets every deadline if any order can, given equal service times and simultaneous release
    /// (optimality of earliest deadline first).
    MeetsFeasibleDeadlines,
    /// Meets every deadline that earliest deadline first meets, for a task set known from the
    /// start, with service times from the geometry it was built with.
    MeetsWhatEdfMeets,
    /// While two flows are backlogged (the scheduler holds a request of each), the difference of
    /// their weighted service changes by at most `costs` × the sum of each flow's largest request
    /// divided by its weight, plus the slack. Service counts at completion; weights are relative to
    /// 100; all requests are reads of equal cost per byte. Add d − 1 to `costs` for a device with
    /// queue depth d.
    LagAtMost {
        costs: u32,
        /// In KiB of a flow of weight 100: twice the throttle of FlashFQ and MQFQ; the budgets of
        /// BFQ; otherwise 0.
        slack_kib: u32,
    },
    /// In every window of this length in which all flows are backlogged, each flow's share of bytes
    /// is within this many percentage points of its weight's share. For weights up to 1:10 and
    /// reads of equal cost per byte.
    ShareWithin {
        percent: u32,
        /// Window length on a device that transfers 64 KiB per millisecond.
        over_ms: u32,
    },
    /// A request of a flow within its rate and burst completes within the flow's latency bound,
    /// regardless of flows that exceed theirs, if all curves fit the device: for every t, what is
    /// due within t plus the largest requests already started can be served within t.
    LatencyInsideCurve,
    /// Each flow gets at least this percentage of its weighted share of the throughput it has alone
    /// under the same scheduler. On a disk with 5 ms of positioning for each non-contiguous request
    /// and 64 KiB transferred per millisecond, over 10 s, for up to 4 sequential or random flows
    /// without think time, with weights up to 1:3.
    Insulates {
        /// Of its weighted share.
        percent: u32,
    },
    /// A real-time request is dispatched before all lower classes, so it waits for at most as many
    /// of their requests as this tunable allows in the device.
    RealTimeBehind {
        /// Its name.
        tunable: &'static str,
    },
    /// A clock that jumps back is treated as stopped: requests are served and waits end.
    AnyClock,
    /// Guaranteed by the source but not kept: the properties find a counter-example for each.
    NotKept {
        guarantees: &'static [Guarantee],
        /// The smallest counter-example, or the reason.
        because: &'static str,
    },
    /// Not a guarantee but a warning: a decision inspects every held request by design, so its cost
    /// is linear. All others are at most logarithmic.
    LinearTime,
}

impl Guarantee {
    pub fn words(&self) -> String {
        match self {
            Guarantee::WorkConserving => "work-conserving".to_owned(),
            Guarantee::IdlesWithTimer => "idles on purpose, always with a timer".to_owned(),
            Guarantee::ArrivalOrder => "order of arrival".to_owned(),
            Guarantee::Ascending { descents: 1 } => {
                "ascending sectors, at most one descent a pass".to_owned()
            }
            Guarantee::Ascending { descents } => {
                format!("ascending sectors, at most {descents} descents a pass")
            }
            Guarantee::Sweeping { turns: 1 } => {
                "sweeps both ways, at most one turn a pass".to_owned()
            }
            Guarantee::Sweeping { turns } => {
                format!("sweeps both ways, at most {turns} turns a pass")
            }
            Guarantee::PassedAtMost { requests: 0 } => "never passed by a later request".to_owned(),
            Guarantee::PassedAtMost { requests } => {
                format!("passed by at most {requests} later requests")
            }
            Guarantee::WaitsAtMostMs(ms) => format!("synchronous requests wait at most {ms} ms"),
            Guarantee::MeetsFeasibleDeadlines => {
                "meets every deadline that any order can meet, for equal requests".to_owned()
            }
            Guarantee::MeetsWhatEdfMeets => {
                "meets every deadline of a known task set that EDF meets".to_owned()
            }
            Guarantee::LagAtMost { costs, slack_kib: 0 } => {
                format!("service by weight differs by at most {costs} × the largest requests")
            }
            Guarantee::LagAtMost { costs, slack_kib } => {
                format!(
                    "service by weight differs by at most {costs} × the largest requests and {slack_kib} KiB"
                )
            }
            Guarantee::ShareWithin { percent, over_ms } => {
                format!("shares by weight to {percent} points over {over_ms} ms")
            }
            Guarantee::LatencyInsideCurve => {
                "latency bound kept for flows inside their arrival curve".to_owned()
            }
            Guarantee::Insulates { percent } => {
                format!("each flow has {percent} % of its share of its throughput alone")
            }
            Guarantee::RealTimeBehind { tunable } => {
                format!("real-time requests wait for at most {tunable} others in the device")
            }
            Guarantee::AnyClock => "serves on when the clock goes back".to_owned(),
            Guarantee::NotKept { guarantees, because } => {
                let guarantees: Vec<String> = guarantees.iter().map(Guarantee::words).collect();
                format!("NOT KEPT: {} ({because})", guarantees.join("; "))
            }
            Guarantee::LinearTime => {
                "a decision looks at every request (slow with deep queues)".to_owned()
            }
        }
    }
}

/// Parameters for building a scheduler.
#[derive(Debug, Clone)]
pub struct Build {
    /// Ticks per second, for schedulers that count jiffies.
    pub hz: u32,
    /// Maximum number of requests; tags are below it.
    pub nr_tags: u32,
    pub queue_depth: u32,
    /// The CPUs of the processes, and the hardware queues they share.
    pub topology: Topology,
    pub rotational: bool,
    pub geometry: Geometry,
}

impl Default for Build {
    /// HZ 1000, 128 tags, a disk without geometry, queue depth 1.
    fn default() -> Build {
        Build {
            hz: 1000,
            nr_tags: 128,
            queue_depth: 1,
            topology: Topology::default(),
            rotational: true,
            geometry: Geometry::default(),
        }
    }
}

impl Build {
    pub fn tags_of_queue(&self) -> u32 {
        self.nr_tags / self.topology.hw_queues()
    }
}

/// A row of [`crate::ELEVATORS`]: a scheduler that schedlab can run itself.
pub struct ElevatorKind {
    /// The name in plans and on the command line.
    pub name: &'static str,
    pub origin: Origin,
    /// One line for lists.
    pub help: &'static str,
    /// Kernel version and file, or paper.
    pub source: &'static str,
    /// Certainty that this is the source's algorithm, given by its weakest essential part.
    pub evidence: Evidence,
    pub guarantees: &'static [Guarantee],
    pub tunables: &'static [Tunable],
    /// Builds a scheduler with default tunables.
    pub build: fn(&Build) -> Box<dyn Elevator>,
}

impl ElevatorKind {
    pub fn tunable(&self, name: &str) -> Option<&'static Tunable> {
        self.tunables.iter().find(|tunable| tunable.name == name)
    }

    /// The same scheduler with other guarantees, to test whether it keeps them.
    #[must_use]
    pub fn guaranteeing(&self, guarantees: &'static [Guarantee]) -> ElevatorKind {
        let ElevatorKind { name, origin, help, source, evidence, guarantees: _, tunables, build } =
            *self;
        ElevatorKind { name, origin, help, source, evidence, guarantees, tunables, build }
    }

    pub fn guarantees(&self, guarantee: Guarantee) -> bool {
        self.guarantees.contains(&guarantee)
    }
}

impl std::fmt::Debug for ElevatorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ElevatorKind").field(&self.name).finish()
    }
}
