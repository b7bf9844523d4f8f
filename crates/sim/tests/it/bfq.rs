//! Sequential synchronous readers under bfq, cfq and the anticipatory scheduler, and bfq's sharing
//! by weight.
//!
//! Ten seconds of warm-up: a preempted bfq queue may preempt in turn while it has budget left, so
//! readers in lockstep preempt each other until their first budgets are used up, as in the kernel.
//! Claims: bfq gives sequential readers about what cfq does, and two readers nine tenths of one.
//! The latter is set lower here, because one reader has the fastest zone to itself.

use elevator::{Build, Elevator, ElevatorKind, FlowSpec};
use sim::{Outcome, Trial, Unobserved, device, run};

const S: u64 = 1_000_000_000;

/// Disks and their queue depths; `None`: the disk's own.
const DISKS: [(&str, Option<u32>); 6] = [
    ("cheetah9lp", None),
    ("cheetah9lp:queue_depth=8", None),
    ("barracuda7200", None),
    ("hp97560", None),
    ("wd4tb7200", Some(1)),
    ("wd4tb7200", None),
];

fn trial(elevator: &'static ElevatorKind, disk: (&str, Option<u32>), readers: u32) -> Trial {
    let workload = sim::workload::find("seqread").unwrap();
    let bfq = elevator.name == "bfq";
    Trial {
        elevator,
        tunables: if bfq { vec![("low_latency".to_owned(), 0)] } else { Vec::new() },
        hz: 1000,
        host: sim::Host::default(),
        nr_requests: None,
        queue_depth: disk.1,
        device: device::device(disk.0, 1).unwrap(),
        workload,
        params: workload
            .params([("clients", readers.to_string().as_str()), ("block_size", "4k")])
            .unwrap(),
        seed: 1,
        warmup_ns: if bfq { 10 * S } else { S },
        duration_ns: 4 * S,
        turnaround_ns: 10_000,
        turnaround_spread_ns: 5_000,
    }
}

fn named(name: &str) -> &'static ElevatorKind {
    elevator::find(name).unwrap()
}

fn outcome(trial: Trial) -> Outcome {
    run(trial, &mut Unobserved, &|| false).unwrap()
}

fn rate(outcome: &Outcome) -> f64 {
    outcome.measured.reads.bytes as f64 * 1e3 / outcome.window_ns as f64
}

fn started(outcome: &Outcome) -> u64 {
    outcome.anticipation.map_or(0, |seen| seen.started)
}

#[test]
fn sequential_readers_get_from_bfq_what_they_get_from_cfq_on_every_disk_and_at_every_depth() {
    for disk in DISKS {
        for readers in [2, 4, 8] {
            let [bfq, cfq, deadline] = ["bfq", "cfq", "deadline"]
                .map(|name| rate(&outcome(trial(named(name), disk, readers))));
            println!(
                "{disk:?}, {readers}: bfq {bfq:.2}, cfq {cfq:.2}, deadline {deadline:.2} MB/s"
            );
            assert!(bfq > 0.8 * cfq, "{disk:?}, {readers} readers: {bfq:.2} of {cfq:.2} MB/s");
            assert!(
                bfq > 2.5 * deadline,
                "{disk:?}, {readers} readers: {bfq:.2}, deadline {deadline:.2} MB/s"
            );
        }
    }
}

#[test]
fn two_sequential_readers_get_most_of_what_one_gets_from_everybody_who_idles() {
    for disk in DISKS {
        for name in ["bfq", "cfq", "anticipatory"] {
            let [one, two] =
                [1, 2].map(|readers| rate(&outcome(trial(named(name), disk, readers))));
            println!("{disk:?}, {name}: one {one:.2}, two {two:.2} MB/s");
            assert!(two > 0.7 * one, "{disk:?}, {name}: {two:.2} of {one:.2} MB/s");
        }
    }
}

#[test]
fn readers_that_start_together_are_merged_for_good_while_they_are_raised() {
    for disk in DISKS {
        let raised = |warmup_ns| {
            let tunables = Vec::new();
            rate(&outcome(Trial { tunables, warmup_ns, ..trial(named("bfq"), disk, 4) }))
        };
        let (early, late) = (raised(0), raised(40 * S));
        let plain = rate(&outcome(trial(named("bfq"), disk, 4)));
        println!("{disk:?}: raised {early:.2}, later {late:.2}, never raised {plain:.2} MB/s");
        assert!(
            early < 0.6 * plain,
            "{disk:?}: {early:.2} of {plain:.2} MB/s while all are raised"
        );
        // Afterwards they share a queue, without idling within it.
        assert!(late < 0.6 * plain, "{disk:?}: {late:.2} of {plain:.2} MB/s afterwards");
    }
}

#[test]
fn no_scheduler_can_idle_for_a_reader_that_finds_no_free_request() {
    let disk = ("cheetah9lp", None);
    let narrow = outcome(Trial { nr_requests: Some(2), ..trial(named("bfq"), disk, 4) });
    let usual = outcome(trial(named("bfq"), disk, 4));
    let seen = narrow.anticipation.unwrap();
    assert!(rate(&narrow) < 0.2 * rate(&usual), "{} and {} MB/s", rate(&narrow), rate(&usual));
    assert_eq!(seen.successes, 0, "{seen:?}");
}

fn one_to_two(build: &Build) -> Box<dyn Elevator> {
    let mut bfq = (named("bfq").build)(build);
    for (process, weight) in [(0, 40), (1, 80)] {
        bfq.flow(
            process,
            process,
            &FlowSpec { weight: Some(weight), rate: None, burst: 0, latency_ns: None },
        );
    }
    bfq
}

#[test]
fn bandwidth_is_shared_by_weight() {
    static WEIGHTED: std::sync::LazyLock<ElevatorKind> =
        std::sync::LazyLock::new(|| ElevatorKind { build: one_to_two, ..*named("bfq") });
    for disk in DISKS {
        let large = |kind: &'static ElevatorKind| {
            let plain = trial(kind, disk, 2);
            let params = plain.workload.params([("clients", "2"), ("block_size", "64k")]).unwrap();
            outcome(Trial { params, warmup_ns: 20 * S, duration_ns: 40 * S, ..plain })
        };
        let (weighted, equal) = (large(&WEIGHTED), large(named("bfq")));
        let ratio = |outcome: &Outcome| {
            let clients = &outcome.measured.clients;
            clients[1].bytes as f64 / clients[0].bytes as f64
        };
        println!(
            "{disk:?}: {:.3}, {:.2} MB/s; equal {:.3}, {:.2}",
            ratio(&weighted),
            rate(&weighted),
            ratio(&equal),
            rate(&equal)
        );
        // The second reader's zone is slower, and slow queues are charged by time.
        let by_weight = ratio(&weighted) / ratio(&equal);
        assert!((1.8..2.3).contains(&by_weight), "{disk:?}: {by_weight}");
        assert!(rate(&weighted) > 0.8 * rate(&equal), "{disk:?}: {} MB/s", rate(&weighted));
    }
}

#[test]
fn there_is_no_idling_on_flash_that_queues() {
    let disk = ("nvme", None);
    let short = |name| Trial { warmup_ns: 0, duration_ns: S, ..trial(named(name), disk, 4) };
    let [bfq, none] = ["bfq", "none"].map(|name| outcome(short(name)));
    println!("nvme: bfq {:.1}, none {:.1} MB/s, {} waits", rate(&bfq), rate(&none), started(&bfq));
    assert!(rate(&bfq) > 0.95 * rate(&none), "{} of {} MB/s", rate(&bfq), rate(&none));
    assert!(started(&bfq) * 20 < bfq.measured.reads.count, "{} waits", started(&bfq));
}
