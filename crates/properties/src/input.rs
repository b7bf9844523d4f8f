//! The input of a property: timed requests, service times, and values of tunables.

use elevator::{
    Build, Elevator, ElevatorKind, Geometry, Limits, Op, Priority, SeekCurve, Topology,
};

pub const DISK: u64 = 1 << 20;

/// A bio, or the exit of a process.
#[derive(Debug, Clone)]
pub struct Step {
    /// After the previous step.
    pub gap_ns: u64,
    pub process: u32,
    pub op: Op,
    pub sector: u64,
    pub nr_sectors: u32,
    pub sync: bool,
    pub meta: bool,
    pub priority: Priority,
    /// The process exits instead of issuing a request.
    pub exit: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    Default,
    Min,
    Max,
    /// Between minimum and maximum, in 1/65536 of the range.
    Between(u16),
}

#[derive(Debug, Clone)]
pub struct Input {
    pub steps: Vec<Step>,
    /// Of successive requests, repeated cyclically.
    pub service_ns: Vec<u64>,
    pub queue_depth: u32,
    pub nr_requests: u32,
    pub max_sectors: u32,
    pub merge: bool,
    pub hz: u32,
    pub rotational: bool,
    /// Of successive tunables, repeated cyclically.
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
            topology: match self.hz {
                100 => Topology::new(1, 1),
                250 => Topology::new(3, 2),
                _ => Topology::default(),
            },
            nr_tags: self.nr_requests,
            queue_depth: self.queue_depth,
            rotational: self.rotational,
            geometry: geometry(512),
        }
    }

    pub fn service(&self, nr: usize) -> u64 {
        self.service_ns[nr % self.service_ns.len()]
    }

    pub fn set(&self, kind: &ElevatorKind, elevator: &mut dyn Elevator) {
        for (tunable, setting) in kind.tunables.iter().zip(self.settings.iter().cycle()) {
            let value = match setting {
                Setting::Default => continue,
                Setting::Min => tunable.min,
                Setting::Max => tunable.max,
                Setting::Between(part) => interpolate(tunable.min, tunable.max, *part),
            };
            elevator.set(tunable.name, value);
        }
    }

    pub fn with_defaults(&self) -> Input {
        Input { settings: vec![Setting::Default], ..self.clone() }
    }
}

/// Does not overflow at the ends.
pub fn interpolate(min: u64, max: u64, part: u16) -> u64 {
    min + (u128::from(max - min) * u128::from(part) / 65536) as u64
}

pub fn geometry(sectors_per_cylinder: u64) -> Geometry {
    let seek = SeekCurve {
        first: vec![],
        knee: 100,
        a_ns: 1_000_000,
        b_ns: 300_000,
        c_ns: 3_000_000,
        e_ps: 5_000_000,
    };
    Geometry {
        cylinders: DISK / sectors_per_cylinder,
        sectors_per_cylinder,
        seek,
        ..Geometry::default()
    }
}

/// Exited processes issue no requests.
pub fn replace_exited(mut steps: Vec<Step>) -> Vec<Step> {
    let mut exits = [0; 5];
    for step in &mut steps {
        let process = step.process as usize;
        step.process += 5 * exits[process];
        exits[process] += u32::from(step.exit);
    }
    steps
}
