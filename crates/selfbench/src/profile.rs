//! Requests profiled per second, on one thread.
//!
//! Synthetic requests, generated in advance: clients that read and write sequentially or at random,
//! up to eight outstanding, with all stages, as `schedlab trace record` writes them. A request with
//! all stages has six events (queued, entered, tagged, inserted, issued, completed); an event
//! tracer would see three.

use std::fmt;
use std::time::Instant;

use serde::Serialize;
use trace::profile::Profiler;
use trace::{At, Device, Flags, Io, Kind, Process, Trace};

const GOAL: f64 = 5e6;

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    requests: u64,
    processes: u32,
    rounds: Vec<f64>,
    /// Median over rounds.
    requests_per_s: f64,
    /// Counting queued, issued and completed; and all six stages.
    events_per_s: f64,
    stages_per_s: f64,
    goal_events_per_s: f64,
    kept: bool,
}

pub(crate) fn run(requests: u64, processes: u32, rounds: u32) -> Report {
    let trace = trace(requests, processes);
    let mut seconds: Vec<f64> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            let mut profiler = Profiler::default();
            trace.ios.iter().for_each(|io| profiler.push(io));
            std::hint::black_box(profiler.finish(&trace));
            start.elapsed().as_secs_f64()
        })
        .collect();
    let rounds: Vec<f64> = seconds.iter().map(|seconds| requests as f64 / seconds).collect();
    seconds.sort_by(f64::total_cmp);
    let requests_per_s = requests as f64 / seconds[seconds.len() / 2];
    let events_per_s = 3.0 * requests_per_s;
    Report {
        requests,
        processes,
        rounds,
        requests_per_s,
        events_per_s,
        stages_per_s: 6.0 * requests_per_s,
        goal_events_per_s: GOAL,
        kept: events_per_s >= GOAL,
    }
}

/// Requests 5 µs apart on average, in order.
fn trace(requests: u64, processes: u32) -> Trace {
    let mut state = 1_u64;
    let mut random = move |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut next = vec![0_u64; processes as usize];
    let mut queued = 0;
    let mut issued = [0_u64; 8];
    let ios = (0..requests).map(|_| {
        queued += random(10_000);
        let process = random(u64::from(processes)) as u32;
        let stream = &mut next[process as usize];
        *stream = if process.is_multiple_of(2) { *stream + 8 } else { random(1 << 28) * 8 };
        let kind = if random(3) == 0 { Kind::Write } else { Kind::Read };
        let slot = random(8) as usize;
        let at_device = (queued + 3_000 + random(2_000)).max(issued[slot]);
        issued[slot] = at_device + 10_000 + random(60_000);
        Io {
            entered: At::ns(queued + 200),
            tagged: At::ns(queued + 500),
            inserted: At::ns(queued + 800),
            issued: At::ns(at_device),
            completed: At::ns(issued[slot]),
            flags: Flags::SYNC,
            ..Io::new(queued, kind, (u64::from(process) << 32) + *stream, 8, process)
        }
    });
    let process = |pid: u32| Process {
        pid: pid + 1,
        tid: pid + 1,
        name: format!("client{pid}"),
        ..Process::default()
    };
    Trace {
        ios: ios.collect(),
        processes: (0..processes).map(process).collect(),
        devices: vec![Device { name: "made-up".to_owned(), ..Device::default() }],
        schedulers: vec!["none".to_owned()],
        ..Trace::default()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} requests of {} processes: {:.2} million requests a second, {:.1} million events (queued, issued, completed), {:.1} million \
             with all six stages; guaranteed: {:.0} million events, {}",
            self.requests,
            self.processes,
            self.requests_per_s / 1e6,
            self.events_per_s / 1e6,
            self.stages_per_s / 1e6,
            self.goal_events_per_s / 1e6,
            if self.kept { "kept" } else { "not kept" }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_made_up_requests_are_in_order_and_are_profiled_whole() {
        let trace = trace(10_000, 16);
        trace.check().expect("a sound trace");
        assert!(trace.ios.is_sorted_by_key(|io| io.queued));
        let profile = trace::profile::profile_trace(&trace);
        assert_eq!(
            (profile.devices[0].total.requests(), profile.devices[0].processes.len()),
            (10_000, 16)
        );
        assert!(profile.devices[0].depth.device_max > 1);
        let report = run(1000, 2, 3);
        assert_eq!(report.rounds.len(), 3);
    }
}
