//! Profiles of small traces with known figures.

use super::device;
use super::*;
use crate::io::{At, Flags, Io, Kind};
use crate::trace::{Device, Process, Trace};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

fn read(queued: u64, issued: u64, completed: u64, sector: u64, process: u32) -> Io {
    Io {
        issued: At::ns(issued),
        completed: At::ns(completed),
        flags: Flags::SYNC,
        ..Io::new(queued, Kind::Read, sector, 8, process)
    }
}

fn process(pid: u32, tid: u32, began: u64, name: &str) -> Process {
    Process {
        pid,
        tid,
        began,
        name: name.to_owned(),
        cgroup: format!("/{name}"),
        ..Process::default()
    }
}

fn trace(ios: Vec<Io>) -> Trace {
    Trace {
        devices: vec![Device { name: "sda".to_owned(), ..Device::default() }],
        processes: vec![process(7, 7, 1, "near"), process(8, 8, 1, "far")],
        schedulers: vec!["mq-deadline".to_owned()],
        ios,
        ..Trace::default()
    }
}

/// Two processes that read sequentially under a scheduler that never waits: `near` thinks for 1 ms,
/// and the disk goes to `far`, 10 ms away, each time. A sequential read takes 1 ms.
fn deceived() -> Trace {
    let mut ios = Vec::new();
    let far = |n: u64| 1_000_000 + n * 8;
    for n in 0..200 {
        let base = n * 20 * MS;
        // Near completes at 5 ms; far, waiting since 1 ms, is served from 5 to 15; near asks at 6
        // and is served from 15 to 25.
        ios.push(read(base + MS, base + 5 * MS, base + 15 * MS, far(n), 1));
        ios.push(read(base + 6 * MS, base + 15 * MS, base + 25 * MS, 8 + n * 8, 0));
    }
    trace(ios)
}

#[test]
fn think_times_distances_and_sequences_are_those_of_each_process() {
    let profile = profile_trace(&deceived());
    let device = &profile.devices[0];
    assert_eq!(
        (device.name.as_str(), device.total.requests(), device.total.reads),
        ("sda", 400, 400)
    );
    let near = device.processes.iter().find(|actor| actor.name == "near").expect("it asked");
    assert_eq!(
        (near.pid, near.cgroup.as_str(), near.sequential, near.near, near.runs),
        (7, "/near", 199, 199, 1)
    );
    assert_eq!((near.think_ns.count, near.think_ns.min, near.depth_max), (199, MS, 1));
    assert!((near.think_ns.mean - MS as f64).abs() < 1.0 && (near.depth_mean - 1.0).abs() < 1e-9);
    // Far completes at 15 ms and asks at 21.
    let far = device.processes.iter().find(|actor| actor.name == "far").expect("it asked");
    assert!((far.think_ns.mean - (6 * MS) as f64).abs() < 1.0, "{:?}", far.think_ns);
    assert!(device.total.distance_sectors.p50 > 900_000, "the disk is asked here and there");
    assert_eq!((device.total.sequential, device.seeks_none), (398, 0));
}

#[test]
fn a_trace_without_near_requests_says_at_most_what_a_wait_could_gain() {
    let mut trace = deceived();
    // Alone at the end: the time of a sequential read.
    let at = 5_000 * MS;
    for n in 0..3 {
        trace.ios.push(read(
            at + n * 3 * MS,
            at + n * 3 * MS,
            at + n * 3 * MS + MS,
            4_000_000 + n * 8,
            0,
        ));
    }
    let profile = profile_trace(&trace);
    let near =
        profile.devices[0].processes.iter().find(|actor| actor.name == "near").expect("it asked");
    let seen = &near.anticipation;
    // Each completion of near but the last ones finds far waiting.
    assert_eq!((seen.chances, seen.open), (199, 0), "{seen:?}");
    assert_eq!((seen.deceived, seen.deceived_think_ns), (199, 199 * MS));
    let [always, wpcas, best] = &seen.rules[..] else { panic!("three rules") };
    assert_eq!(
        (always.rule.as_str(), wpcas.rule.as_str(), best.rule.as_str()),
        ("always", "wpcas", "best")
    );
    assert_eq!((always.waits, always.successes, always.success_ns), (199, 199, 199 * MS));
    // No sequential read was served before the end: a wait's gain is unknown, except for its bound,
    // 10 ms minus the wait.
    assert_eq!((always.gain_ns, always.unpriced, best.unpriced), (0, 199, 199));
    assert!(
        always.bound_ns > 195 * 9 * MS && always.bound_ns <= 199 * 9 * MS,
        "{}",
        always.bound_ns
    );
}

#[test]
fn a_wait_gains_the_seek_it_saves_less_itself_and_a_failed_one_costs_its_length() {
    let mut ios = Vec::new();
    // Sequential and far reads take 1 and 10 ms.
    for n in 0..20 {
        ios.push(read(n * 3 * MS, n * 3 * MS, n * 3 * MS + MS, n * 8, 0));
    }
    for n in 0..20 {
        let at = (1000 + n * 50) * MS;
        ios.push(read(at, at, at + 10 * MS, 1_000_000 * (n % 2 + 1) + n * 8, 1));
    }
    let start = 3_000 * MS;
    // Near completes at 10 ms, when far has waited for 0.5 ms; far is served; near asks 2 ms later,
    // close to its last request.
    ios.push(read(start, start, start + 10 * MS, 160, 0));
    ios.push(read(start + 9 * MS, start + 10 * MS, start + 20 * MS, 2_000_000, 1));
    ios.push(read(start + 12 * MS, start + 20 * MS, start + 30 * MS, 168, 0));
    // Here it never asks again.
    ios.push(read(start + 29 * MS, start + 30 * MS, start + 40 * MS, 3_000_000, 1));
    let profile = profile_trace(&trace(ios));
    let near =
        profile.devices[0].processes.iter().find(|actor| actor.name == "near").expect("it asked");
    let seen = &near.anticipation;
    assert_eq!((seen.chances, seen.open, seen.deceived), (2, 0, 1), "{seen:?}");
    let always = &seen.rules[0];
    assert_eq!((always.waits, always.successes, always.failures()), (2, 1, 1));
    assert_eq!((always.success_ns, always.failure_ns), (2 * MS, 6 * MS));
    assert_eq!(always.deceptive_idle_ns(), Some(3.0 * MS as f64));
    // 10 − 1 − 2 ms gained, then 6 lost.
    let gain = MS as i64;
    assert!((always.gain_ns - gain).abs() < MS as i64 / 4, "{} for {gain}", always.gain_ns);
    let best = &seen.rules[2];
    assert_eq!((best.waits, best.successes), (1, 1));
    assert!(best.gain_ns > always.gain_ns);
}

#[test]
fn idleness_is_told_apart_by_what_waited_and_who_came() {
    let ios = vec![
        read(0, 0, MS, 0, 0),
        // Idle for 2 ms, then the same process, close to its last request: deceptive.
        read(3 * MS, 3 * MS, 4 * MS, 8, 0),
        // Another waits from 3.5 ms and is held back for 1 ms in favour of the same process, which
        // comes at 4.9.
        read(3 * MS + 500 * US, 6 * MS, 8 * MS, 500_000, 1),
        read(4 * MS + 900 * US, 5 * MS, 6 * MS, 16, 0),
    ];
    let profile = profile_trace(&trace(ios));
    let idle = &profile.devices[0].idle;
    assert_eq!((idle.periods, idle.idle_ns, idle.held_ns, idle.busy_ns), (2, 3 * MS, MS, 5 * MS));
    assert_eq!(
        (idle.deceptive, idle.deceptive_ns, idle.held, idle.held_for_last),
        (2, 3 * MS, 1, 1)
    );
    let series = &profile.devices[0].series;
    assert_eq!(series.columns.iter().map(|moment| moment.busy_ns).sum::<u64>(), 5 * MS);
    assert_eq!(series.columns.iter().map(|moment| moment.reads).sum::<u64>(), 4);
}

#[test]
fn stages_that_are_not_known_are_not_there() {
    let asked = Io::new(5, Kind::Write, 8, 8, 0);
    let profile = profile_trace(&trace(vec![asked, Io { completed: At::ns(105), ..asked }]));
    let device = &profile.devices[0];
    let names: Vec<&str> = device.stages.iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!(names, ["Q2Q", "Q2C"]);
    assert_eq!(
        (device.stages[1].writes.count, device.stages[1].writes.p50, device.stages[1].reads.count),
        (1, 100, 0)
    );
    assert_eq!(
        (device.depth.queued_max, device.depth.device_max, device.total.anticipation.chances),
        (1, 0, 0)
    );
}

#[test]
fn threads_are_one_process_and_a_pid_used_again_is_another() {
    let mut trace =
        trace((0..5).map(|n| read(n * MS, n * MS, n * MS + 500 * US, n * 8, n as u32)).collect());
    trace.processes = vec![
        process(7, 7, 100, "first"),
        process(7, 9, 200, "worker"),
        process(7, 7, 900, "second"),
        process(7, 12, 950, "worker"),
        process(0, 0, 0, ""),
    ];
    let profile = profile_trace(&trace);
    let mut found: Vec<(&str, u64, u64)> = profile.devices[0]
        .processes
        .iter()
        .map(|actor| (actor.name.as_str(), actor.threads, actor.requests()))
        .collect();
    found.sort_unstable();
    assert_eq!(found, [("", 1, 1), ("first", 2, 2), ("second", 2, 2)]);
    assert_eq!(profile.devices[0].cgroups.len(), 4);
}

#[test]
fn many_processes_and_disks_are_counted_together_beyond_a_number_of_them() {
    let mut profiler = Profiler::default();
    for n in 0..6000_u64 {
        profiler.push(&read(n, n, n + 1, n * 8, n as u32));
    }
    for n in 0..100 {
        profiler.push(&Io { device: n, ..read(10_000, 10_000, 10_001, 0, u32::MAX) });
    }
    let profile = profiler.finish(&Trace::default());
    assert_eq!((profile.devices.len(), profile.beyond), (DEVICES, 36));
    assert_eq!(profile.devices[0].processes.len(), device::ACTORS + 1);
    assert_eq!(profile.devices[0].total.requests(), 6001);
    assert!(profile.devices[0].processes.iter().any(|actor| actor.name == "(all others)"));
}

#[test]
fn requests_out_of_order_and_times_without_measure_are_counted_and_do_no_harm() {
    let mut profiler = Profiler::default();
    for queued in [50, 10, u64::MAX - 1, 0] {
        profiler.push(&read(queued, queued.saturating_add(1), u64::MAX - 1, u64::MAX - 4, 0));
        profiler.push(&read(queued, queued, queued, 0, 1));
    }
    let profile = profiler.finish(&Trace::default());
    assert_eq!((profile.out_of_order, profile.devices[0].total.requests()), (4, 8));
    serde_json::to_string(&profile).expect("a profile is JSON");
}

mod property {
    use proptest::prelude::*;

    use super::*;

    fn any_io() -> impl Strategy<Value = Io> {
        let stage = || prop_oneof![Just(At::UNKNOWN), (0..5_000_000_u64).prop_map(At::ns)];
        ((0..50_000_000_u64, 0..1_u64 << 30, 0..64_u32, 0..4_u32), (stage(), stage()), 0..5_usize)
            .prop_map(|((queued, sector, sectors, process), (issue, complete), kind)| {
                let after =
                    |from: u64, by: At| by.get().map_or(At::UNKNOWN, |by| At::ns(from + by));
                let issued = after(queued, issue);
                let completed = after(issued.get().unwrap_or(queued), complete);
                Io {
                    issued,
                    completed,
                    ..Io::new(queued, Kind::ALL[kind], sector, sectors, process)
                }
            })
    }

    proptest! {
        /// For any requests, parts add up to the whole, and nothing is counted twice.
        #[test]
        fn parts_add_up_to_the_whole(ios in proptest::collection::vec(any_io(), 1..300)) {
            let mut trace = trace(ios);
            trace.processes.extend([process(9, 9, 1, "c"), process(9, 10, 2, "c")]);
            trace.sort();
            let profile = profile_trace(&trace);
            let device = &profile.devices[0];
            prop_assert_eq!(profile.out_of_order, 0);
            let all = trace.ios.len() as u64;
            prop_assert_eq!(device.total.requests(), all);
            for actors in [&device.processes, &device.cgroups] {
                prop_assert_eq!(actors.iter().map(Actor::requests).sum::<u64>(), all);
                prop_assert_eq!(actors.iter().map(Actor::bytes).sum::<u64>(), device.total.bytes());
                prop_assert_eq!(actors.iter().map(|a| a.think_ns.count).sum::<u64>(), device.total.think_ns.count);
                let chances: u64 = actors.iter().map(|actor| actor.anticipation.chances).sum();
                prop_assert_eq!(chances, device.anticipation.chances);
            }
            let data = trace.ios.iter().filter(|io| io.sectors > 0).count() as u64;
            let drawn = |map: &HeatMap| (0..map.nr_columns())
                .flat_map(|column| (0..map.nr_rows()).map(move |row| (column, row)))
                .map(|(column, row)| { let (r, w) = map.count(column, row); u64::from(r + w) })
                .sum::<u64>();
            prop_assert_eq!(drawn(&device.sector_map), data);
            prop_assert_eq!(drawn(&device.latency_map), device.total.latency_ns.count);
            let moments = &device.series.columns;
            prop_assert_eq!(moments.iter().map(|m| m.reads + m.writes + m.others).sum::<u64>(), all);
            prop_assert_eq!(moments.iter().map(|m| m.busy_ns).sum::<u64>(), device.idle.busy_ns);
            prop_assert!(device.idle.held_ns <= device.idle.idle_ns);
            for rule in &device.anticipation.rules {
                prop_assert!(rule.waits + device.anticipation.open <= device.anticipation.chances);
                prop_assert!(rule.successes <= rule.waits);
            }
            let [always, wpcas, best] = &device.anticipation.rules[..] else { panic!("three rules") };
            prop_assert!(best.gain_ns >= always.gain_ns && best.gain_ns >= wpcas.gain_ns);
            prop_assert!(best.gain_ns >= 0);
        }
    }
}
