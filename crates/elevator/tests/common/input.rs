//! What the laws are tried with: who asks for what and when, how long the device takes, and how the elevator is set.

use elevator::{Build, Elevator, ElevatorKind, Geometry, Limits, Op, PrioClass, Priority, SeekCurve};
use proptest::prelude::*;

/// Sectors of the disk.
pub const DISK: u64 = 1 << 20;

/// One piece of I/O, or the end of a process.
#[derive(Debug, Clone)]
pub struct Step {
    /// Nanoseconds after the step before.
    pub gap_ns: u64,
    pub process: u32,
    pub op: Op,
    pub sector: u64,
    pub nr_sectors: u32,
    pub sync: bool,
    pub meta: bool,
    pub priority: Priority,
    /// The process ends instead of asking.
    pub exit: bool,
}

/// How a tunable is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    Default,
    Min,
    Max,
    /// Between the two, in 1/65536 of the range.
    Between(u16),
}

#[derive(Debug, Clone)]
pub struct Input {
    pub steps: Vec<Step>,
    /// Nanoseconds of the device for one request after the other, again and again.
    pub service_ns: Vec<u64>,
    pub queue_depth: u32,
    pub nr_requests: u32,
    pub max_sectors: u32,
    pub merge: bool,
    pub hz: u32,
    pub rotational: bool,
    /// For one tunable after the other, again and again.
    pub settings: Vec<Setting>,
}

impl Input {
    pub fn limits(&self) -> Limits {
        Limits {
            nr_requests: self.nr_requests,
            queue_depth: self.queue_depth,
            max_sectors: self.max_sectors,
            merge: self.merge,
        }
    }

    pub fn build(&self) -> Build {
        Build {
            hz: self.hz,
            nr_tags: self.nr_requests,
            queue_depth: self.queue_depth,
            rotational: self.rotational,
            geometry: geometry(512),
        }
    }

    pub fn service(&self, nr: usize) -> u64 {
        self.service_ns[nr % self.service_ns.len()]
    }

    /// Sets the tunables.
    pub fn set(&self, kind: &ElevatorKind, elevator: &mut dyn Elevator) {
        for (tunable, setting) in kind.tunables.iter().zip(self.settings.iter().cycle()) {
            let value = match setting {
                Setting::Default => continue,
                Setting::Min => tunable.min,
                Setting::Max => tunable.max,
                Setting::Between(part) => between(tunable.min, tunable.max, *part),
            };
            elevator.set(tunable.name, value);
        }
    }

    /// The same with the elevator's defaults.
    pub fn with_defaults(&self) -> Input {
        Input { settings: vec![Setting::Default], ..self.clone() }
    }
}

/// A value of a range, without overflow at its ends.
pub fn between(min: u64, max: u64, part: u16) -> u64 {
    min + (u128::from(max - min) * u128::from(part) / 65536) as u64
}

/// A disk with an arm whose cylinders have this many sectors.
pub fn geometry(sectors_per_cylinder: u64) -> Geometry {
    let seek = SeekCurve { first: vec![], knee: 100, a_ns: 1_000_000, b_ns: 300_000, c_ns: 3_000_000, e_ps: 5_000_000 };
    Geometry { cylinders: DISK / sectors_per_cylinder, sectors_per_cylinder, seek }
}

fn step() -> impl Strategy<Value = Step> {
    // Pauses around the idling times of schedulers, bursts, and long silence.
    let gap = prop_oneof![4 => Just(0u64), 4 => 0..200_000u64, 3 => 0..12_000_000u64, 1 => 0..300_000_000u64];
    // Few places close together make merges and equal sectors, many make seeks.
    let sector = prop_oneof![3 => (0..24u64).prop_map(|at| 5000 + 8 * at), 2 => 0..DISK - 4096, 1 => (0..8u64).prop_map(|at| at * 100_000)];
    let nr_sectors = prop_oneof![6 => Just(8u32), 2 => 1..64u32, 1 => 1..1500u32];
    let class =
        prop_oneof![1 => Just(PrioClass::RealTime), 6 => Just(PrioClass::BestEffort), 1 => Just(PrioClass::Idle)];
    let priority = prop_oneof![3 => Just(Priority::default()), 1 => (class, 0..8u8).prop_map(|(class, level)| Priority { class, level })];
    let kind =
        (prop::bool::weighted(0.35), prop::bool::weighted(0.6), prop::bool::weighted(0.1), prop::bool::weighted(0.02));
    (gap, 0..5u32, sector, nr_sectors, priority, kind).prop_map(
        |(gap_ns, process, sector, nr_sectors, priority, (write, sync, meta, exit))| Step {
            gap_ns,
            process,
            op: if write { Op::Write } else { Op::Read },
            sector,
            nr_sectors,
            sync: sync || !write,
            meta,
            priority,
            exit,
        },
    )
}

fn setting() -> impl Strategy<Value = Setting> {
    prop_oneof![
        3 => Just(Setting::Default),
        2 => Just(Setting::Min),
        2 => Just(Setting::Max),
        3 => any::<u16>().prop_map(Setting::Between)
    ]
}

/// Any input.
pub fn inputs() -> impl Strategy<Value = Input> {
    let steps = prop_oneof![1 => prop::collection::vec(step(), 1..6), 3 => prop::collection::vec(step(), 6..120)];
    let service = prop_oneof![3 => 1_000..20_000_000u64, 1 => 1..200_000u64];
    let service_ns = prop::collection::vec(service, 1..6);
    let queue = (
        prop_oneof![2 => Just(1u32), 1 => 2..=64u32],
        prop_oneof![2 => 1..20u32, 1 => Just(128u32)],
        prop_oneof![3 => Just(1024u32), 1 => 1..64u32],
        prop::bool::weighted(0.8),
    );
    let host = (prop::sample::select(vec![100u32, 250, 300, 1000]), prop::bool::weighted(0.8));
    let settings = prop_oneof![
        2 => Just(vec![Setting::Default]),
        1 => Just(vec![Setting::Min]),
        1 => Just(vec![Setting::Max]),
        2 => prop::collection::vec(setting(), 1..12)
    ];
    (steps, service_ns, queue, host, settings).prop_map(
        |(steps, service_ns, (queue_depth, nr_requests, max_sectors, merge), (hz, rotational), settings)| Input {
            steps: living(steps),
            service_ns,
            queue_depth,
            nr_requests,
            max_sectors,
            merge,
            hz,
            rotational,
            settings,
        },
    )
}

/// A process that has ended does not ask again: others come in its place.
fn living(mut steps: Vec<Step>) -> Vec<Step> {
    let mut ended = [0; 5];
    for step in &mut steps {
        let place = step.process as usize;
        step.process += 5 * ended[place];
        ended[place] += u32::from(step.exit);
    }
    steps
}
