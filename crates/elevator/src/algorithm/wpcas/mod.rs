//! wpcas: waits as long as a process's most frequent intervals suggest, and only if that shortens
//! the expected service time. anticipatory waits equally long for all processes, even for short
//! seeks.
//!
//! A classifier (PC) derives the wait from the densest range of a process's intervals; a service
//! time evaluation (STE) compares expected gain and cost. Without a geometry no seek can be saved
//! and it never waits.
//!
//! Source: the WPCAS paper, on the anticipatory scheduler of Linux 2.6.20. PC and STE are confirmed
//! in the paper, the base in the kernel. What the paper leaves open, including most numbers, is
//! proposed. Its equations 11 and 13 and its S_0 are wrong; see `wpcas/evaluation.rs`.
//!
//! Parameters: those of anticipatory, and one for each open question of the paper:
//!
//! | # | open question | here (proposed) | tunable |
//! |---|---|---|---|
//! | 1 | interval between what? | completion → arrival, with nothing of the process outstanding; or arrival → arrival | `interval` |
//! | 2 | n | the last 64 intervals of each process | `window` |
//! | 3 | resolution | bins of 1 ms and intervals in ticks; modern: bins of 100 µs and intervals in nanoseconds | `bin_us`, `fine_clock` |
//! | 4 | width of \[a, b\] | the 2 ms that hold most, of equal ones the first; or the fullest bin, grown to half its height | `width_ms`, `region` |
//! | 5 | γ | 0.5 | `gamma_percent` |
//! | 6 | which j of \[a, b\] | the upper end, at least a bin and a tick | `which_j` |
//! | 7 | intervals above 20 ms | in no bin, but in the denominator of p_ab | `cap_ms` |
//! | 8 | too few samples | below 8 intervals as the base: antic_expire and rule 8 | `min_samples`, `antic_expire` |
//! | 9 | T_as as a period | mean of observed intervals up to the cap, rounded up to a bin; literal: mean success wait, which shortens itself | `tas` |
//! | 10 | sign of S^a | only its distance counts, clamped to the disk | fixed |
//! | 11 | a_seek_dist | mean over the same n, the first term skipped; from the end of a request to the start of the next | fixed |
//! | 12 | unit of positions | cylinder = sector / sectors per cylinder of the configured arm | `cylinders`, `cylinder_sectors`, `seek_*` |
//! | 13 | S^s | the base's next synchronous request; or the nearest one | `nearest` |
//! | 14 | p_s without counts | (s + 1)/(s + f + 2), in the product form | fixed |
//! | 15 | denominator ≤ 0 | Δ ≤ 0: do not wait; falls out of the product form | fixed |
//! | 16 | nothing synchronous queued | S^s is the next asynchronous request; or wait as the base does | `async_wait` |
//! | 17 | success | an arrival that breaks the wait by rules 1 to 6 before its time; its wait is 0 while the last request is in the device | fixed |
//! | 18 | scope of p_s, p_f, T_as | per process; all four counts halved when s + f comes to 1024 | `counter_halving` |
//! | 19 | classes of processes | each process its own; or one for all | `class` |
//! | 20 | the base's other rules | STE replaces rule 8 and the mean seek in close() | `mean_close` keeps the latter |
//! | 21 | timer and P | fixed when the wait begins | fixed |
//! | 22 | flag and FIFO | an expired request first | fixed |
//! | 23 | writes | after synchronous requests only, which direct writes are | fixed |
//! | 24 | relearning | after 64 decisions against a process one trial wait | `relearn` |
//! | 25 | HZ | the arena's, 1000 for the paper | build |
//!
//! Departures (proposed): seek times of mean distances are interpolated. After an arrival that does
//! not break a wait, STE is evaluated again; if negative, the wait is cancelled and not counted.
//! Integer nanoseconds throughout.

use crate::clock::Clock;
use crate::geometry::Geometry;
use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin, Role, Tunable};
use crate::scheduler::Elevator;
use crate::vocabulary::Time;

use super::anticipatory::arm::Actuator;
use super::anticipatory::history::Arrival;
use super::anticipatory::machine::Machine;
use super::anticipatory::rule::{Decision, Ending, Outlook, Rule, thinks_too_long};
use super::anticipatory::timing::Period;
use super::anticipatory::tunables;

pub(crate) mod classifier;
pub(crate) mod evaluation;
mod knobs;
mod ring;
#[cfg(test)]
mod tests;

use classifier::{Classes, Intervals, Point, Region};
use evaluation::{Times, Waits};
use ring::Distances;

const fn own(
    name: &'static str,
    unit: &'static str,
    min: u64,
    max: u64,
    help: &'static str,
) -> Tunable {
    Tunable { name, unit, min, max, evidence: Evidence::Proposed, help, role: Role::Knob }
}

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "wpcas",
    origin: Origin::LegacyLinux,
    help: "anticipatory with WPCAS's process classifier and service time evaluation (open points proposed)",
    source: "the WPCAS paper, on Linux 2.6.20 block/as-iosched.c",
    evidence: Evidence::Proposed,
    guarantees: &[Guarantee::IdlesWithTimer],
    tunables: &[
        tunables::READ_EXPIRE,
        tunables::WRITE_EXPIRE,
        tunables::READ_BATCH_EXPIRE,
        tunables::WRITE_BATCH_EXPIRE,
        tunables::ANTIC_EXPIRE,
        tunables::DRAIN,
        tunables::FRONT_MERGE,
        tunables::FIRST_WRITE,
        own(
            "interval",
            "switch",
            0,
            1,
            "an interval is: 0 = completion to arrival, 1 = arrival to arrival",
        )
        .with_role(Role::Reading),
        own(
            "window",
            "intervals",
            16,
            1024,
            "number of recent intervals and seeks stored per process",
        ),
        own("bin_us", "µs", 100, 1000, "resolution of the density of intervals"),
        own("fine_clock", "switch", 0, 1, "intervals and timer in: 0 = ticks, 1 = nanoseconds")
            .with_role(Role::Reading),
        own("width_ms", "ms", 1, 20, "width of the densest interval"),
        own(
            "region",
            "switch",
            0,
            1,
            "densest interval: 0 = of that width, 1 = fullest bin grown to half its height",
        )
        .with_role(Role::Reading),
        own(
            "gamma_percent",
            "percent",
            1,
            100,
            "share of intervals that the densest one must hold (γ)",
        ),
        own("which_j", "switch", 0, 2, "wait until its: 0 = upper end, 1 = middle, 2 = lower end")
            .with_role(Role::Reading),
        own("cap_ms", "ms", 1, 100, "intervals above this are not counted in a bin"),
        own("min_samples", "intervals", 0, 1024, "with fewer intervals, decide as anticipatory"),
        own(
            "tas",
            "switch",
            0,
            1,
            "without a dense interval wait for: 0 = the mean interval, 1 = the mean success wait",
        )
        .with_role(Role::Reading),
        own(
            "cylinders",
            "cylinders",
            0,
            10_000_000,
            "cylinders of the disk; 0: unknown, no waiting",
        )
        .with_role(Role::Disk),
        own(
            "cylinder_sectors",
            "sectors",
            0,
            1_000_000_000,
            "sectors per cylinder; 0: unknown, no waiting",
        )
        .with_role(Role::Disk),
        own(
            "seek_knee",
            "cylinders",
            0,
            10_000_000,
            "last distance of a + b·√d; changing a seek_* drops listed distances",
        )
        .with_role(Role::Disk),
        own("seek_a_ns", "ns", 0, 1_000_000_000, "a").with_role(Role::Disk),
        own("seek_b_ns", "ns", 0, 1_000_000_000, "b").with_role(Role::Disk),
        own("seek_c_ns", "ns", 0, 1_000_000_000, "c of c + e·d beyond").with_role(Role::Disk),
        own("seek_e_ps", "ps", 0, 1_000_000_000_000, "e").with_role(Role::Disk),
        own(
            "nearest",
            "switch",
            0,
            1,
            "compares with: 0 = the elevator's next request, 1 = the nearest one",
        )
        .with_role(Role::Reading),
        own(
            "async_wait",
            "switch",
            0,
            1,
            "against asynchronous requests only: 0 = as against others, 1 = as anticipatory",
        )
        .with_role(Role::Reading),
        own(
            "counter_halving",
            "waits",
            0,
            1_000_000,
            "number of waits at which the counters are halved; 0: never",
        ),
        own("class", "switch", 0, 1, "one history for: 0 = each process, 1 = all together")
            .with_role(Role::Reading),
        own(
            "mean_close",
            "switch",
            0,
            1,
            "requests within the mean seek count as close: 0 = no, 1 = yes (anticipatory)",
        )
        .with_role(Role::Reading),
        own("relearn", "refusals", 0, 1_000_000, "refused waits before one trial wait; 0: never"),
    ],
    build,
};

fn build(build: &Build) -> Box<dyn Elevator> {
    Box::new(Machine::new(build, ServiceTime::new(build)))
}

/// A class of processes, normally a single one.
#[derive(Debug, Clone, Default)]
struct Record {
    intervals: Intervals,
    seeks: Distances,
    waits: Waits,
    last_arrival: Option<Time>,
    /// Until more is learned.
    period: Option<Period>,
    /// Since the last trial wait.
    refusals: u64,
}

/// Switches outside the classifier.
#[derive(Debug, Clone, Copy)]
struct Switches {
    /// In jiffies.
    antic_expire: u64,
    arrival_to_arrival: bool,
    fine_clock: bool,
    width_ms: u64,
    min_samples: u64,
    literal_tas: bool,
    nearest: bool,
    async_wait: bool,
    counter_halving: u64,
    one_class: bool,
    mean_close: bool,
    relearn: u64,
}

/// The rule: PC gives the period, STE decides.
#[derive(Debug)]
struct ServiceTime {
    clock: Clock,
    actuator: Actuator,
    classes: Classes,
    switches: Switches,
    records: Vec<Record>,
    /// The record if all processes are one class.
    common: Record,
    /// It is not called off.
    on_trial: bool,
}

impl ServiceTime {
    fn new(build: &Build) -> ServiceTime {
        let clock = Clock::new(build.hz);
        ServiceTime {
            clock,
            actuator: Actuator::new(build.geometry.clone()),
            classes: Classes {
                window: 64,
                bin_ns: 1_000_000,
                width: 2,
                region: Region::Width,
                point: Point::Upper,
                gamma_percent: 50,
                cap_ns: 20_000_000,
            },
            switches: Switches {
                antic_expire: tunables::default_antic_expire(clock),
                arrival_to_arrival: false,
                fine_clock: false,
                width_ms: 2,
                min_samples: 8,
                literal_tas: false,
                nearest: false,
                async_wait: false,
                counter_halving: 1024,
                one_class: false,
                mean_close: false,
                relearn: 64,
            },
            records: Vec::new(),
            common: Record::default(),
            on_trial: false,
        }
    }

    fn record(&mut self, process: u32) -> &mut Record {
        if self.switches.one_class {
            return &mut self.common;
        }
        let at = process as usize;
        if at >= self.records.len() {
            self.records.resize_with(at + 1, Record::default);
        }
        &mut self.records[at]
    }

    fn all_records(&mut self) -> impl Iterator<Item = &mut Record> {
        self.records.iter_mut().chain([&mut self.common])
    }

    fn tick_ns(&self) -> u64 {
        1_000_000_000 / self.clock.hz()
    }

    fn is_known(&mut self, process: u32) -> bool {
        let needed = self.switches.min_samples;
        let known = self.record(process).intervals.count();
        known >= needed && known > 0
    }

    /// P by PC; None: as the base.
    fn period_ns(&mut self, process: u32) -> Option<u64> {
        if !self.is_known(process) {
            return None;
        }
        let (classes, literal) = (self.classes, self.switches.literal_tas);
        let record = self.record(process);
        if let Some(dense) = record.intervals.period_ns(&classes) {
            return Some(dense);
        }
        let t_as = record.waits.mean_success_ns()?;
        if literal { Some(t_as) } else { record.intervals.mean_ns(&classes) }
    }

    fn ns_of(&self, period: Period) -> u64 {
        match period {
            Period::Ticks(ticks) => ticks * self.tick_ns(),
            Period::Exact { ns, .. } => ns,
        }
    }

    fn candidate(&self, see: &Outlook<'_>) -> Option<u64> {
        let next = see.candidate.or(see.background);
        if !self.switches.nearest || see.candidate.is_none() {
            return next;
        }
        see.sync.nearest(see.head)
    }

    /// STE: whether Δ > 0.
    fn pays(&mut self, see: &Outlook<'_>) -> bool {
        let Some(candidate) = self.candidate(see) else { return false };
        let period = self.period(self.clock, see.process);
        let antic_ns = self.switches.antic_expire * self.tick_ns();
        let record = self.record(see.process);
        let (waits, (sum, count)) = (record.waits, record.seeks.sum_and_count());
        let distance = self.actuator.distance(see.head, candidate);
        let times = Times {
            seek_s: self.actuator.seek_ns(distance),
            seek_a: self.actuator.mean_seek_ns(sum, count),
            t_as: waits.mean_success_ns().unwrap_or(antic_ns),
            p: self.ns_of(period),
        };
        times.pays(&waits)
    }

    fn interval_ns(&mut self, arrival: &Arrival) -> Option<u64> {
        let (from, jiffies) = if self.switches.arrival_to_arrival {
            let last = self.record(arrival.process).last_arrival?;
            (last, self.clock.jiffies(last))
        } else {
            let end = arrival.since.filter(|since| since.nothing_outstanding)?.last_end?;
            (end.time, end.jiffies)
        };
        Some(match self.switches.fine_clock {
            true => arrival.now.time - from,
            false => (arrival.now.jiffies - jiffies) * self.tick_ns(),
        })
    }
}

impl Rule for ServiceTime {
    fn is_on(&self) -> bool {
        self.switches.antic_expire > 0 && self.actuator.exists()
    }

    fn period(&mut self, clock: Clock, process: u32) -> Period {
        if let Some(period) = self.record(process).period {
            return period;
        }
        let period = match self.period_ns(process) {
            None => Period::Ticks(self.switches.antic_expire),
            Some(ns) if self.switches.fine_clock => Period::Exact { ns: ns.max(1), grain_ns: 1 },
            Some(ns) => Period::ticks_of(clock, ns),
        };
        self.record(process).period = Some(period);
        period
    }

    fn forget(&mut self, process: u32) {
        // Including history from before all became one class.
        if let Some(own) = self.records.get_mut(process as usize) {
            *own = Record::default();
        }
    }

    fn refuses(&mut self, see: &Outlook<'_>) -> bool {
        if see.decision == Decision::Continue && self.on_trial {
            return false;
        }
        let like_the_base =
            !self.is_known(see.process) || (self.switches.async_wait && see.candidate.is_none());
        if like_the_base {
            return thinks_too_long(see, self.switches.antic_expire);
        }
        if self.pays(see) {
            return false;
        }
        if see.decision == Decision::Begin && self.switches.relearn > 0 {
            let relearn = self.switches.relearn;
            let record = self.record(see.process);
            record.refusals += 1;
            if record.refusals > relearn {
                record.refusals = 0;
                self.on_trial = true;
                return false;
            }
        }
        true
    }

    fn mean_seek_is_close(&self) -> bool {
        self.switches.mean_close
    }

    fn learn(&mut self, arrival: &Arrival) {
        let interval = self.interval_ns(arrival);
        let distance =
            arrival.since.map(|since| self.actuator.distance(since.last_pos, arrival.sector));
        let classes = self.classes;
        let record = self.record(arrival.process);
        record.last_arrival = Some(arrival.now.time);
        record.period = None;
        if let Some(ns) = interval {
            record.intervals.push(ns, &classes);
        }
        if let Some(distance) = distance {
            record.seeks.push(distance, classes.window);
        }
    }

    fn ended(&mut self, process: u32, ending: Ending, wait_ns: u64) {
        self.on_trial = false;
        let halving = self.switches.counter_halving;
        let record = self.record(process);
        record.period = None;
        let waits = &mut record.waits;
        match ending {
            Ending::Success => waits.succeeded(wait_ns, halving),
            Ending::Failure => waits.failed(wait_ns, halving),
            Ending::CalledOff => {}
        }
    }

    fn get(&self, clock: Clock, tunable: &str) -> Option<u64> {
        self.knob(clock, tunable)
    }

    fn set(&mut self, clock: Clock, tunable: &str, value: u64) -> bool {
        self.all_records().for_each(|record| record.period = None);
        self.turn(clock, tunable, value)
    }
}

/// A changed curve drops the data sheet's distances.
fn with_geometry(geometry: &Geometry, change: impl FnOnce(&mut Geometry)) -> Geometry {
    let mut new = geometry.clone();
    change(&mut new);
    if new.seek != geometry.seek {
        new.seek.first.clear();
    }
    new
}
