//! Counts the requests of each disk and produces the profile.

use std::collections::BTreeMap;

use super::actor;
use super::device::State;
use super::shape::{Actor, DeviceProfile, Profile, Series, StageTimes};
use super::terms::DEVICES;
use crate::io::Io;
use crate::trace::{Process, Trace};

#[derive(Debug, Clone, Default)]
pub struct Profiler {
    devices: Vec<Option<Box<State>>>,
    beyond: u64,
    out_of_order: u64,
}

pub fn profile_trace(trace: &Trace) -> Profile {
    let mut profiler = Profiler::default();
    trace.ios.iter().for_each(|io| profiler.push(io));
    profiler.finish(trace)
}

impl Profiler {
    /// Adds a request, in order of queueing.
    #[inline]
    pub fn push(&mut self, io: &Io) {
        let at = usize::from(io.device);
        if at >= DEVICES {
            self.beyond += 1;
            return;
        }
        if at >= self.devices.len() {
            self.devices.resize_with(at + 1, || None);
        }
        let state = self.devices[at].get_or_insert_with(|| Box::new(State::new(io.queued)));
        if io.queued < state.now {
            self.out_of_order += 1;
        }
        state.push(io);
    }

    /// Returns the profile; `tables` provides names only.
    pub fn finish(mut self, tables: &Trace) -> Profile {
        self.devices.iter_mut().flatten().for_each(|state| state.finish());
        self.snapshot(tables)
    }

    /// Returns the profile so far; outstanding requests count as such.
    pub fn snapshot(&self, tables: &Trace) -> Profile {
        let states =
            self.devices.iter().enumerate().filter_map(|(at, state)| Some((at, state.as_deref()?)));
        let mut devices: Vec<DeviceProfile> =
            states.map(|(at, state)| profile(at, state, tables)).collect();
        devices.sort_by_key(|device| std::cmp::Reverse(device.total.requests()));
        Profile {
            about: tables.about.clone(),
            devices,
            beyond: self.beyond,
            out_of_order: self.out_of_order,
        }
    }
}

fn profile(at: usize, state: &State, tables: &Trace) -> DeviceProfile {
    let device = tables.devices.get(at).cloned().unwrap_or_default();
    let name =
        |scheduler: u8| tables.schedulers.get(usize::from(scheduler)).cloned().unwrap_or_default();
    let (processes, cgroups) = actors(state, tables);
    let mut all = actor::Actor::default();
    state.actors.iter().for_each(|one| all.merge(one));
    let mut stages = state.stages.shape();
    let between = state.between_issues.distribution();
    if between.count > 0 {
        let what = "from one issue to the next".to_owned();
        stages.push(StageTimes {
            name: "D2D".to_owned(),
            what,
            reads: between,
            ..StageTimes::default()
        });
    }
    DeviceProfile {
        device: at as u16,
        name: device.name,
        sectors: device.sectors,
        rotational: device.rotational,
        schedulers: state
            .schedulers
            .iter()
            .map(|(number, requests)| (name(*number), *requests))
            .collect(),
        first_ns: state.first,
        last_ns: state.last,
        total: Actor { distance_sectors: state.distance.distribution(), ..all.shape() },
        processes,
        cgroups,
        stages,
        depth: state.occupancy.depth(),
        idle: state.occupancy.idle.clone(),
        anticipation: all.history.totals.shape(),
        service: state.service.shape(),
        seeks: state.seeks.distribution(),
        seeks_none: state.seeks_none,
        series: Series {
            column_ns: state.occupancy.series.column_ns(),
            columns: state.occupancy.series.cells.clone(),
        },
        sector_map: state.sector_map.map(),
        latency_map: state.latency_map.map(),
    }
}

fn actors(state: &State, tables: &Trace) -> (Vec<Actor>, Vec<Actor>) {
    let start_times = start_times(tables);
    // A thread without a known process counts separately.
    let mut processes: BTreeMap<(u32, u64, u32), (Option<&Process>, actor::Actor)> =
        BTreeMap::new();
    let mut cgroups: BTreeMap<&str, actor::Actor> = BTreeMap::new();
    for (one, number) in
        state.actors.iter().zip(&state.processes).filter(|(one, _)| one.requests() > 0)
    {
        let process = tables.processes.get(*number as usize);
        let key = match process {
            Some(process) if process.pid != 0 => {
                (process.pid, start_time(process, &start_times), 0)
            }
            _ => (0, 0, *number),
        };
        let (first, sum) = processes.entry(key).or_default();
        // The main thread names the process.
        if first.is_none() || process.is_some_and(|process| process.pid == process.tid) {
            *first = process;
        }
        sum.merge(one);
        if let Some(process) = process.filter(|process| !process.cgroup.is_empty()) {
            cgroups.entry(&process.cgroup).or_default().merge(one);
        }
    }
    let process = |(key, (process, sum)): ((u32, u64, u32), (Option<&Process>, actor::Actor))| {
        let unnamed = || if key.2 == u32::MAX { "(all others)".to_owned() } else { String::new() };
        Actor {
            name: process.map_or_else(unnamed, |process| process.name.clone()),
            pid: key.0,
            cgroup: process.map_or_else(String::new, |process| process.cgroup.clone()),
            ..sum.shape()
        }
    };
    let cgroup = |(path, sum): (&str, actor::Actor)| Actor { name: path.to_owned(), ..sum.shape() };
    let mut processes: Vec<Actor> = processes.into_iter().map(process).collect();
    let mut cgroups: Vec<Actor> = cgroups.into_iter().map(cgroup).collect();
    for actors in [&mut processes, &mut cgroups] {
        actors.sort_by_key(|actor| std::cmp::Reverse((actor.device_ns, actor.requests())));
    }
    (processes, cgroups)
}

/// Returns start times by pid, if the main thread is in the table.
fn start_times(tables: &Trace) -> BTreeMap<u32, Vec<u64>> {
    let mut start_times: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for process in tables.processes.iter().filter(|process| process.pid == process.tid) {
        start_times.entry(process.pid).or_default().push(process.began);
    }
    start_times.values_mut().for_each(|began| began.sort_unstable());
    start_times
}

/// A reused pid is another process: a thread belongs to the last one started before it.
fn start_time(process: &Process, start_times: &BTreeMap<u32, Vec<u64>>) -> u64 {
    let of_pid = start_times.get(&process.pid).map_or(&[][..], Vec::as_slice);
    of_pid.iter().rev().find(|began| **began <= process.began).copied().unwrap_or(0)
}
