//! What a row of the elevator table is: how a scheduler presents itself to lists, parsers,
//! properties and benchmarks.

use crate::geometry::Geometry;
use crate::scheduler::Elevator;
use crate::topology::Topology;
use crate::vocabulary::LINUX_VERSION;

/// How sure it is that a rule is the one of its source. The marks are repeated wherever the rule is
/// shown: a recalled rule is never printed as the paper's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// Read in the primary source.
    Confirmed,
    /// Read in somebody else's account of it.
    SecondHand,
    /// Follows from the source by arithmetic.
    Derived,
    /// Recalled or reconstructed; no source could be read.
    Recalled,
    /// A proposal of ours that fills a gap.
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

    /// In words.
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

/// Where a scheduler comes from; decides the queue around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Linux before blk-mq: a pool of nr_requests for each direction, time in jiffies.
    LegacyLinux,
    /// blk-mq: one pool of tags.
    BlkMq,
    /// Papers and textbooks; run in a queue as of blk-mq with the largest pool.
    Literature,
}

impl Origin {
    /// The word shown to users.
    pub fn name(self) -> &'static str {
        match self {
            Origin::LegacyLinux => "legacy Linux",
            Origin::BlkMq => "Linux blk-mq",
            Origin::Literature => "literature",
        }
    }
}

/// What a tunable is for: whether turning it could make a machine better, or only makes the
/// laboratory's model another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// To be turned.
    Knob,
    /// To be turned; counts requests of the scheduler's window, so that nothing beyond nr_requests
    /// makes a difference.
    Window,
    /// The setting of the tunable named here once more, in another unit: to turn both is to turn
    /// one twice.
    Alias(&'static str),
    /// Selects a reading of a source that is unclear, wrong, or changed between versions. It does
    /// not exist on a real machine.
    Reading,
    /// Describes the disk to the scheduler.
    Disk,
    /// A constant or a mechanism of a scheduler of ours, for ablations and searches in virtual
    /// time. It does not exist on a real machine.
    Internal,
}

/// A tunable of an elevator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tunable {
    /// The name; the kernel's where there is one.
    pub name: &'static str,
    /// The unit: `ms`, `µs`, `ns`, `KiB`, `requests`, `percent`, `switch` (0 or 1), …
    pub unit: &'static str,
    /// The smallest value.
    pub min: u64,
    /// The largest value.
    pub max: u64,
    /// How sure name, meaning and default are.
    pub evidence: Evidence,
    /// One line of meaning, with the effect of each value of a switch.
    pub help: &'static str,
    /// Whether it is a knob.
    pub role: Role,
}

impl Tunable {
    /// A knob that is its source's.
    pub const fn confirmed(
        name: &'static str,
        unit: &'static str,
        min: u64,
        max: u64,
        help: &'static str,
    ) -> Tunable {
        Tunable { name, unit, min, max, evidence: Evidence::Confirmed, help, role: Role::Knob }
    }

    /// A knob that is recalled.
    pub const fn recalled(
        name: &'static str,
        unit: &'static str,
        min: u64,
        max: u64,
        help: &'static str,
    ) -> Tunable {
        Tunable { evidence: Evidence::Recalled, ..Tunable::confirmed(name, unit, min, max, help) }
    }

    /// A knob that is our proposal.
    pub const fn proposed(
        name: &'static str,
        unit: &'static str,
        min: u64,
        max: u64,
        help: &'static str,
    ) -> Tunable {
        Tunable { evidence: Evidence::Proposed, ..Tunable::confirmed(name, unit, min, max, help) }
    }

    /// The tunable that selects the version of Linux: [`LINUX_VERSION`] or less.
    pub(crate) const fn linux_version(help: &'static str) -> Tunable {
        Tunable::confirmed("linux", "version", 601, LINUX_VERSION, help).of(Role::Reading)
    }

    /// The same row in another role than [`Role::Knob`].
    pub const fn of(self, role: Role) -> Tunable {
        Tunable { role, ..self }
    }

    /// Whether turning it could make a machine better.
    pub const fn is_knob(&self) -> bool {
        matches!(self.role, Role::Knob | Role::Window)
    }
}

/// What a scheduler guarantees. Declared in its row, tested by the properties over every row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guarantee {
    /// A dispatch returns a request whenever one is held.
    WorkConserving,
    /// While it refuses to dispatch with nothing in flight, it has a timer.
    IdlesWithTimer,
    /// Dispatches in order of arrival.
    ArrivalOrder,
    /// Requests that are all there from the start are dispatched in ascending order of sectors, but
    /// for at most this many descents per pass over them: 1 for a one-way elevator that starts in
    /// the middle. A scheduler of the literature that was with a geometry uses cylinders only:
    /// there, in ascending order of cylinders.
    Ascending {
        /// How often the order may descend.
        descents: u32,
    },
    /// As [`Guarantee::Ascending`], but it may sweep down as well: the order turns at most this
    /// often.
    Sweeping {
        /// How often the direction may change.
        turns: u32,
    },
    /// No request waits longer than this many dispatches of others that arrived after it, with the
    /// default tunables and a device that takes one request at a time; among requests of one
    /// priority.
    PassedAtMost {
        /// That many later arrivals go first at most.
        requests: u64,
    },
    /// A synchronous request is dispatched within this time of its insertion while the device takes
    /// at most 20 ms for a request and at most 64 requests are held, with the default tunables;
    /// among requests of one priority, no two of which start at the same sector (legacy Linux sends
    /// the older of such two at once, before its turn).
    WaitsAtMostMs(u64),
    /// Meets every deadline if any order of dispatch can, when all requests take equally long and
    /// are released at once (optimality of earliest deadline first).
    MeetsFeasibleDeadlines,
    /// Meets every deadline of a task set, known as a whole from the start, that the order of
    /// deadlines meets, when service times are those of the geometry that it was built with.
    MeetsWhatEdfMeets,
    /// While two flows are backlogged (the scheduler holds a request of each), the difference of
    /// their service by weight changes by at most this many times the sum of what the largest
    /// request of each is by the flow's weight, plus the slack. Service is counted when a request
    /// completes; weights are relative to 100, the default; all requests are reads that cost the
    /// device the same for a byte. With a device that takes d requests at a time: d - 1 times more.
    LagAtMost {
        /// That many.
        costs: u32,
        /// That much more, in KiB of a flow of weight 100: the throttle of FlashFQ and MQFQ twice,
        /// the budgets of BFQ; else 0.
        slack_kib: u32,
    },
    /// Over every window of this length in which all flows are backlogged each flow's share of the
    /// bytes is that of its weight, to this many percentage points; for weights of 1:10 at most and
    /// reads that cost the device the same for a byte.
    ShareWithin {
        /// Percentage points.
        percent: u32,
        /// Length of the window, with a device that serves 64 KiB in a millisecond.
        over_ms: u32,
    },
    /// A request of a flow that keeps to its rate and burst completes within the flow's latency
    /// bound, whatever flows outside of their arrival curves do, if the curves of all flows fit the
    /// device: for every t, what may be due within t and the largest requests that the device may
    /// have begun can be served within t.
    LatencyInsideCurve,
    /// Each flow gets at least this part of its share, by weight, of the throughput that it has
    /// alone under the same scheduler, on a disk with 5 ms of positioning for whatever does not
    /// continue the request before and 64 KiB transferred in a millisecond, over 10 s, for up to 4
    /// flows without think time that are sequential or random, with weights of 1:3 at most.
    Insulates {
        /// Percent.
        percent: u32,
    },
    /// A request of the real-time class is dispatched before all of lower classes, so that it waits
    /// for at most as many of those as this tunable allows in the device.
    RealTimeBehind {
        /// The tunable.
        tunable: &'static str,
    },
    /// A clock that goes back is as one that stands still: requests are served and waits end as if
    /// it had not.
    AnyClock,
    /// What its source guarantees and it does not keep: the properties find a counter-example for
    /// each.
    NotKept {
        /// The guarantees.
        guarantees: &'static [Guarantee],
        /// The smallest counter-example, or the reason, in a few words.
        because: &'static str,
    },
    /// Not a guarantee but a warning: a decision looks at every held request by nature of the
    /// algorithm, so that its cost grows with their number. All others grow at most
    /// logarithmically.
    LinearTime,
}

impl Guarantee {
    /// In words, for lists and pages.
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

/// What a scheduler is made for and with.
#[derive(Debug, Clone)]
pub struct Build {
    /// Ticks a second, for schedulers that count in jiffies.
    pub hz: u32,
    /// Tags: how many requests can exist at once. Tags are below this number.
    pub nr_tags: u32,
    /// Requests that the device accepts at once.
    pub queue_depth: u32,
    /// On which CPUs the processes are, and how many hardware queues these share.
    pub topology: Topology,
    /// Whether the device has moving parts.
    pub rotational: bool,
    /// What is known of its arm.
    pub geometry: Geometry,
}

impl Default for Build {
    /// HZ 1000, 128 tags, a disk without a geometry that accepts one request at a time.
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
    /// Tags of one hardware queue.
    pub fn tags_of_queue(&self) -> u32 {
        self.nr_tags / self.topology.hw_queues()
    }
}

/// A row of [`crate::ELEVATORS`]: a scheduler that the laboratory can run itself.
pub struct ElevatorKind {
    /// The name in plans and on the command line.
    pub name: &'static str,
    /// Where it comes from.
    pub origin: Origin,
    /// One line for lists.
    pub help: &'static str,
    /// Kernel version and file, or paper.
    pub source: &'static str,
    /// How sure it is that this is the source's algorithm, by its weakest essential part.
    pub evidence: Evidence,
    /// What it guarantees.
    pub guarantees: &'static [Guarantee],
    /// Its tunables.
    pub tunables: &'static [Tunable],
    /// Makes one, with default tunables.
    pub build: fn(&Build) -> Box<dyn Elevator>,
}

impl ElevatorKind {
    /// The row of one of its tunables.
    pub fn tunable(&self, name: &str) -> Option<&'static Tunable> {
        self.tunables.iter().find(|tunable| tunable.name == name)
    }

    /// The same scheduler with other guarantees, for properties that ask whether it would keep
    /// them.
    #[must_use]
    pub fn guaranteeing(&self, guarantees: &'static [Guarantee]) -> ElevatorKind {
        let ElevatorKind { name, origin, help, source, evidence, guarantees: _, tunables, build } =
            *self;
        ElevatorKind { name, origin, help, source, evidence, guarantees, tunables, build }
    }

    /// Whether it makes this guarantee.
    pub fn guarantees(&self, guarantee: Guarantee) -> bool {
        self.guarantees.contains(&guarantee)
    }
}

impl std::fmt::Debug for ElevatorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ElevatorKind").field(&self.name).finish()
    }
}
