//! Properties of every row of the workload table, under random parameters.
//!
//! New workloads are covered automatically. On a real disk a wrong generator would show as EINVAL
//! or as I/O on other data.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use elevator::{Op, Request, Time};
use proptest::prelude::*;
use sim::workload::{
    Params, Phase, PostmarkParams, ReplayParams, Seat, Step, ThinkDist, TimedParams, WORKLOADS,
    WorkloadKind,
};

const STEPS: usize = 400;

/// Each row should accept them.
fn case() -> impl Strategy<Value = (&'static WorkloadKind, Params, u64, u64)> {
    let row = 0..WORKLOADS.len();
    let numbers = (1u32..9, 1u32..5, 0u32..5, 0u32..4, 1u32..5, 0u32..101, 0u32..4);
    let rest = (0u64..3, any::<bool>(), 0usize..6, 0u64..64 << 20, any::<u64>());
    (row, numbers, rest).prop_map(|(row, numbers, rest)| {
        let kind = &WORKLOADS[row];
        let (clients, writers, doublings, wider, iodepth, read_share, sync_every) = numbers;
        let (think, direct, phase, spare, seed) = rest;
        let block_size = 4096u32 << doublings;
        let params = Params {
            clients,
            writers,
            block_size,
            block_size_max: block_size << wider,
            write_size: block_size << wider,
            think_time_ns: think * 1000,
            iodepth,
            direct,
            read_share,
            sync_every,
            phase: Phase::ALL[phase],
            file_size: Some(u64::from(block_size << wider) + spare / 16),
            think_dist: ThinkDist::ALL[phase % 4],
            random_share: read_share,
            jump_share: read_share,
            timed: TimedParams {
                rate: (direct || kind.name == "bursts").then_some(100_000 + spare),
                period_ns: 1_000_000 * (1 + think),
                deadline_periods: writers,
                stagger: direct,
                find_streams: false,
                burst: u64::from(block_size) * u64::from(clients),
                over_milli: 1 + read_share * 20,
                burst_every_ns: None,
                deadline_ns: direct.then_some(1 + spare),
                tasks: 1 + read_share,
                batch: direct,
                release_within_ns: spare,
                deadline_min_ns: 1 + spare / 2,
                deadline_max_ns: 1 + spare,
                set: None,
                background: sync_every,
                background_size: block_size,
            },
            postmark: PostmarkParams {
                number: writers,
                size_max: 500 + spare as u32 % 20_000,
                transactions: read_share,
                subdirectories: sync_every,
                bias_create: (iodepth > 1).then_some(clients as u8),
                read_block: 512 << wider,
                write_block: block_size << wider,
                metadata: direct,
                seed: (wider > 1).then_some(7),
                ..PostmarkParams::default()
            },
            ..(kind.defaults)()
        };
        let params = with_files(params);
        let params = if kind.needs_trace() {
            with_trace(params, clients, block_size, spare)
        } else {
            params
        };
        (kind, roomy(kind, params), (8 << 20) * 16 + spare, seed)
    })
}

fn with_files(mut params: Params) -> Params {
    params.flows.iter_mut().for_each(|flow| flow.params.file_size = Some(1 << 20));
    params
}

/// A trace of whole blocks by `processes` processes over 16 MiB; wrapped on a smaller target.
fn with_trace(params: Params, processes: u32, block: u32, salt: u64) -> Params {
    let mut text = String::new();
    for i in 0..60 * u64::from(processes) {
        let (disk, kind) =
            (i % u64::from(processes), if (i + salt).is_multiple_of(3) { "Write" } else { "Read" });
        let offset = i * (salt % 97 + 1) % (1 << 8) * u64::from(block);
        let size = u64::from(block) * (1 + i % 2);
        text += &format!(
            "{},property,{disk},{kind},{offset},{size},{}\n",
            1000 + i * (salt % 50),
            salt % 40
        );
    }
    let closed = if salt.is_multiple_of(2) {
        sim::workload::replay::LoopMode::Closed
    } else {
        sim::workload::replay::LoopMode::Open
    };
    let replay = ReplayParams {
        wrap: true,
        scale: salt.is_multiple_of(5),
        loop_mode: closed,
        speed_milli: 1 + salt as u32 % 5000,
        ..params.replay
    };
    let file_size = params.file_size.map(|size| size.max(2 * u64::from(block)));
    let trace = replay.parse(text.as_bytes()).expect("the property's trace is whole");
    Params { replay, file_size, ..params }.with_trace(Arc::new(trace))
}

fn roomy(kind: &WorkloadKind, params: Params) -> Params {
    let mut params = params;
    while let Err(error) = kind.file_sizes(&params, 512) {
        let size = params.file_size.expect("the strategy gives a size");
        assert!(size < 1 << 30, "{}: {error}", kind.name);
        params.file_size = Some(2 * size);
    }
    params
}

/// Rows whose clients have other think times: random ones, a schedule's, or their flow's.
fn has_its_own_rhythm(kind: &WorkloadKind, params: &Params) -> bool {
    kind.accepts.contains(&"think_dist") || kind.is_timed(params) || !params.flows.is_empty()
}

fn clients(
    kind: &'static WorkloadKind,
    params: &Params,
    target: u64,
    seed: u64,
) -> Vec<(u64, Vec<Step>)> {
    let extents = kind.extents(params, target, 512).expect("the drawn parameters fit");
    let count = kind.clients(params);
    assert_eq!(extents.len(), count as usize);
    (0..count)
        .map(|index| {
            let len = extents[index as usize].len;
            let mut client = kind.client(params, Seat { index, count, len, seed });
            let (mut steps, mut now) = (Vec::new(), Time::ZERO);
            while steps.len() < STEPS && steps.last() != Some(&Step::End) {
                let step = client.next(now, None);
                if let Step::Think(ns) = step {
                    now = now + ns;
                }
                steps.push(step);
            }
            (len, steps)
        })
        .collect()
}

fn requests(steps: &[Step]) -> impl Iterator<Item = Request> + '_ {
    steps.iter().filter_map(|step| match step {
        Step::Io(request) => Some(*request),
        _ => None,
    })
}

proptest! {
    #[test]
    fn requests_stay_inside_the_region_are_aligned_and_never_empty((kind, params, target, seed) in case()) {
        let unit = u64::from(if kind.needs_trace() || !params.flows.is_empty() { 4096 } else { params.block_size });
        for (len, steps) in clients(kind, &params, target, seed) {
            for request in requests(&steps) {
                prop_assert!(request.len > 0, "{}: empty request", kind.name);
                prop_assert!(request.offset + u64::from(request.len) <= len, "{}: {request:?} of {len}", kind.name);
                prop_assert_eq!(request.offset % unit, 0, "{}: {:?}", kind.name, request);
                prop_assert_eq!(u64::from(request.len) % unit, 0, "{}: {:?}", kind.name, request);
                prop_assert!(request.len <= kind.max_request(&params), "{}: larger than announced", kind.name);
            }
        }
    }

    #[test]
    fn extents_lie_inside_the_target_and_own_files_do_not_touch((kind, params, target, _seed) in case()) {
        let extents = kind.extents(&params, target, 512).unwrap();
        for pair in extents.windows(2) {
            let apart = pair[0].base + pair[0].len + (1 << 20) <= pair[1].base;
            // Flows are disjoint; their clients follow their own rows.
            prop_assert!(!params.flows.is_empty() || apart == (kind.layout == sim::workload::Layout::FilePerClient), "{}: {pair:?}", kind.name);
        }
        prop_assert!(extents.iter().all(|extent| extent.base + extent.len <= target), "{}", kind.name);
    }

    #[test]
    fn the_same_seed_gives_the_same_steps((kind, params, target, seed) in case()) {
        prop_assert_eq!(clients(kind, &params, target, seed), clients(kind, &params, target, seed));
    }

    #[test]
    fn a_row_that_says_it_does_not_write_never_writes((kind, params, target, seed) in case()) {
        let writes = clients(kind, &params, target, seed)
            .iter()
            .any(|(_, steps)| requests(steps).any(|request| request.op == Op::Write));
        prop_assert!(kind.writes || !kind.writes_with(&params), "{}", kind.name);
        prop_assert!(!writes || kind.writes_with(&params), "{} wrote without saying so", kind.name);
    }

    #[test]
    fn every_request_is_followed_by_its_think_time((kind, params, target, seed) in case()) {
        for (index, (_, steps)) in clients(kind, &params, target, seed).iter().enumerate() {
            if has_its_own_rhythm(kind, &params) {
                continue;
            }
            let writer_of_mixed = kind.name == "mixed" && (index as u32) < params.writers;
            if params.think_time_ns == 0 || writer_of_mixed {
                prop_assert!(!steps.iter().any(|step| matches!(step, Step::Think(_))));
                continue;
            }
            let paced: Vec<_> = steps.iter().filter(|step| **step != Step::Sync).collect();
            for pair in paced.windows(2) {
                if matches!(pair[0], Step::Io(_)) {
                    prop_assert!(matches!(pair[1], Step::Think(_) | Step::End), "{}: {pair:?}", kind.name);
                }
            }
        }
    }

    #[test]
    fn releases_are_before_deadlines_in_order_and_not_after_the_hand_over((kind, params, target, seed) in case()) {
        let batch = kind.accepts.contains(&"batch") && params.timed.batch;
        for (_, steps) in clients(kind, &params, target, seed) {
            let (mut now, mut released) = (0, 0);
            for step in &steps {
                let request = match step {
                    Step::Io(request) => request,
                    Step::Think(ns) => { now += ns; continue }
                    _ => continue,
                };
                prop_assert!(kind.is_timed(&params) || (request.release, request.deadline) == (None, None));
                let Some(release) = request.release.map(Time::as_ns) else { continue };
                prop_assert!(batch || release <= now, "{}: {request:?} at {now}", kind.name);
                prop_assert!(release >= released, "{}: {request:?} after {released}", kind.name);
                prop_assert!(request.deadline.is_none_or(|at| at.as_ns() > release), "{}: {request:?}", kind.name);
                released = release;
            }
        }
    }

    #[test]
    fn the_read_share_of_oltp_holds_within_four_standard_deviations(share in 0u32..101, seed: u64) {
        let kind = sim::workload::find("oltp").unwrap();
        let params = Params { read_share: share, clients: 1, ..(kind.defaults)() };
        let mut client = kind.client(&params, Seat { index: 0, count: 1, len: 1 << 30, seed });
        let n = 4000;
        let steps: Vec<Step> = (0..n).map(|_| client.next(Time::ZERO, None)).collect();
        let reads = requests(&steps).filter(|request| request.op == Op::Read).count() as f64;
        let p = f64::from(share) / 100.0;
        let sd = (n as f64 * p * (1.0 - p)).sqrt();
        prop_assert!((reads - n as f64 * p).abs() <= 4.5 * sd, "{reads} reads of {n} at {share} %");
    }

    #[test]
    fn iozone_does_each_record_once_and_then_ends(phase in 0usize..6, records in 1u64..300) {
        let kind = sim::workload::find("iozone").unwrap();
        let params = Params { phase: Phase::ALL[phase], ..(kind.defaults)() };
        let mut client = kind.client(&params, Seat { index: 0, count: 1, len: records * 4096 + 11, seed: 1 });
        let mut seen = HashSet::new();
        while let Step::Io(request) = client.next(Time::ZERO, None) {
            prop_assert!(seen.insert(request.offset), "record {} twice", request.offset / 4096);
            prop_assert_eq!(request.op, params.phase.op());
        }
        prop_assert_eq!(seen.len() as u64, records);
    }

    #[test]
    fn streams_cover_their_region_in_order_and_wrap(blocks in 1u64..50, clients in 1u32..6) {
        let kind = sim::workload::find("seqread").unwrap();
        let params = Params { clients, block_size: 4096, ..(kind.defaults)() };
        for index in 0..clients {
            let mut client = kind.client(&params, Seat { index, count: clients, len: blocks * 4096, seed: 1 });
            let offsets: Vec<u64> = (0..=blocks).map(|_| match client.next(Time::ZERO, None) {
                Step::Io(request) => request.offset / 4096,
                other => panic!("{other:?}"),
            }).collect();
            for pair in offsets.windows(2) {
                prop_assert_eq!(pair[1], (pair[0] + 1) % blocks);
            }
            prop_assert_eq!(offsets[0], blocks * u64::from(index) / u64::from(clients));
        }
    }

    #[test]
    fn random_offsets_reach_every_part_of_the_region(seed: u64) {
        let kind = sim::workload::find("randread").unwrap();
        let mut client = kind.client(&(kind.defaults)(), Seat { index: 0, count: 1, len: 16 * 4096, seed });
        let steps: Vec<Step> = (0..16 * 32).map(|_| client.next(Time::ZERO, None)).collect();
        let mut hits: BTreeMap<u64, u32> = BTreeMap::new();
        for request in requests(&steps) {
            *hits.entry(request.offset / 4096).or_default() += 1;
        }
        prop_assert_eq!(hits.len(), 16, "blocks never drawn");
        prop_assert!(hits.values().all(|&n| n < 32 * 3), "a block far too often: {:?}", hits);
    }

    #[test]
    fn any_pair_of_texts_is_accepted_or_refused_without_a_panic(key: String, text: String, row in 0..WORKLOADS.len()) {
        let _ = WORKLOADS[row].params([(key.as_str(), text.as_str())]);
        for param in sim::workload::PARAMS {
            if let Ok(params) = WORKLOADS[row].params([(param.name, text.as_str())]) {
                let _ = WORKLOADS[row].extents(&params, 1 << 30, 512);
            }
        }
    }
}

#[test]
fn the_reader_of_mixed_is_the_last_client_and_alone_reads() {
    let kind = sim::workload::find("mixed").unwrap();
    let params = kind.params([("writers", "3"), ("iodepth", "9")]).unwrap();
    let reading: Vec<bool> = clients(kind, &params, 64 << 20, 1)
        .iter()
        .map(|(_, steps)| requests(steps).all(|request| request.op == Op::Read))
        .collect();
    assert_eq!(reading, [false, false, false, true]);
    assert_eq!((0..4).map(|index| kind.iodepth(&params, index)).collect::<Vec<_>>(), [9, 9, 9, 1]);
}

#[test]
fn buffered_read_passes_once_over_the_device_and_ends() {
    let kind = sim::workload::find("buffered-read").unwrap();
    let steps = clients(kind, &(kind.defaults)(), 7 << 20, 1).remove(0).1;
    let offsets: Vec<u64> = requests(&steps).map(|request| request.offset >> 20).collect();
    assert_eq!(offsets, [0, 2, 4], "three whole reads of 2 MiB fit into 7 MiB");
    assert_eq!(steps.last(), Some(&Step::End));
}

#[test]
fn think_mix_thinks_after_each_request_unless_it_has_no_think_time() {
    let kind = sim::workload::find("think-mix").unwrap();
    for dist in ThinkDist::ALL {
        let params = kind
            .params([("think_dist", dist.name()), ("clients", "1"), ("think_time", "2ms")])
            .unwrap();
        let steps = clients(kind, &params, 64 << 20, 1).remove(0).1;
        for pair in steps.chunks(2) {
            assert!(matches!(pair, [Step::Io(_), Step::Think(_)]), "{pair:?}");
        }
        let times: HashSet<u64> = steps
            .iter()
            .filter_map(|step| if let Step::Think(ns) = step { Some(*ns) } else { None })
            .collect();
        match dist {
            ThinkDist::Fixed => assert_eq!(times, HashSet::from([2_000_000])),
            ThinkDist::Bimodal => assert_eq!(times, HashSet::from([1_000_000, 11_000_000])),
            _ => assert!(times.len() > 190, "{dist:?}"),
        }
    }
    let params = kind.params([("think_time", "0")]).unwrap();
    assert!(
        clients(kind, &params, 64 << 20, 1)[0].1.iter().all(|step| matches!(step, Step::Io(_)))
    );
}

#[test]
fn another_distribution_of_think_times_leaves_the_requests_as_they_are() {
    let kind = sim::workload::find("think-mix").unwrap();
    let of = |dist: &str| {
        let pairs =
            [("think_dist", dist), ("random_share", "50"), ("read_share", "50"), ("clients", "4")];
        let params = kind.params(pairs).unwrap();
        clients(kind, &params, 128 << 20, 9)
            .into_iter()
            .map(|(_, steps)| requests(&steps).collect())
            .collect()
    };
    let fixed: Vec<Vec<Request>> = of("fixed");
    assert_eq!(fixed, of("exponential"));
    let in_order = |requests: &[Request]| {
        requests.windows(2).all(|pair| pair[1].offset == pair[0].offset + 4096)
    };
    assert_eq!(
        fixed.iter().map(|requests| in_order(requests)).collect::<Vec<_>>(),
        [true, false, true, false]
    );
}

#[test]
fn think_times_have_nothing_to_do_with_where_the_requests_lie() {
    let kind = sim::workload::find("think-mix").unwrap();
    let params = kind
        .params([("random_share", "100"), ("think_dist", "exponential"), ("clients", "1")])
        .unwrap();
    let mut client = kind.client(&params, Seat { index: 0, count: 1, len: 8 << 20, seed: 5 });
    let mut halves = [(0u64, 0u64); 2];
    for _ in 0..20_000 {
        let (Step::Io(request), Step::Think(ns)) =
            (client.next(Time::ZERO, None), client.next(Time::ZERO, None))
        else {
            panic!("a request, then thinking");
        };
        let (count, sum) = &mut halves[usize::from(request.offset >= 4 << 20)];
        (*count, *sum) = (*count + 1, *sum + ns);
    }
    for (count, sum) in halves {
        let mean = sum / count;
        assert!((950_000..1_050_000).contains(&mean), "{mean} ns on average, of {count}");
    }
}
