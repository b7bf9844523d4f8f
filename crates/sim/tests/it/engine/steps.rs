//! Actions of clients and their times: turnaround, think time, depth, sync, passes, ends.

use elevator::Op;
use sim::workload::Step;
use sim::{Event, EventKind, Member, SimError, Trial, Unobserved, run, run_members};

use super::common::{MS, Recorder, Script, Server, US, observed, read, trial, write};

fn times(events: &[Event], kind: EventKind) -> Vec<u64> {
    events.iter().filter(|event| event.kind == kind).map(|event| event.at.as_ns() / US).collect()
}

fn script(
    trial: Trial,
    iodepth: u32,
    steps: impl IntoIterator<Item = Step>,
) -> (sim::Outcome, Vec<Event>) {
    let mut kept = Recorder::default();
    let member = Member::new(Script::boxed(steps), 0, iodepth);
    let outcome = run_members(trial, vec![member], &mut kept, &|| false).unwrap();
    (outcome, kept.0)
}

#[test]
fn a_synchronous_client_waits_for_each_request_and_then_for_the_turnaround() {
    let (outcome, events) = observed(trial("seqread", &[("block_size", "4k")]));
    assert_eq!(times(&events, EventKind::Submit)[..4], [0, 1050, 2100, 3150]);
    assert_eq!(times(&events, EventKind::Done)[..4], [1000, 2050, 3100, 4150]);
    let reads = &outcome.measured.reads;
    assert_eq!(
        (reads.count, reads.latency_sum_ns),
        (95, 95 * MS),
        "the 96th would be done after 100.75 ms"
    );
    assert_eq!(outcome.measured.issued.reads, 96);
    assert_eq!((outcome.window_ns, outcome.busy_ns), (100 * MS, 95 * MS + 250 * US));
}

#[test]
fn the_turnaround_is_spread_evenly_around_its_middle_and_another_seed_draws_others() {
    let submitted = |seed: u64| {
        let plain = trial("seqread", &[("block_size", "4k")]);
        let duration_ns = 2000 * MS;
        let (_, events) =
            observed(Trial { turnaround_spread_ns: 25 * US, duration_ns, seed, ..plain });
        times(&events, EventKind::Submit)
    };
    let first = submitted(1);
    // Each request takes 1 ms.
    let turnarounds: Vec<u64> = first.windows(2).map(|pair| pair[1] - pair[0] - 1000).collect();
    assert!(turnarounds.iter().all(|us| (25..=75).contains(us)), "{turnarounds:?}");
    let mean = turnarounds.iter().sum::<u64>() as f64 / turnarounds.len() as f64;
    assert!((mean - 50.0).abs() < 2.0, "{mean} µs over {}", turnarounds.len());
    assert!(turnarounds.iter().any(|us| *us < 30) && turnarounds.iter().any(|us| *us > 70));
    assert_eq!(first, submitted(1));
    assert_ne!(first, submitted(2));
}

#[test]
fn the_device_is_offered_another_request_before_a_synchronous_reader_is_back() {
    let plain = trial("seqread", &[("block_size", "4k"), ("clients", "2")]);
    let (_, events) = observed(Trial { turnaround_ns: 0, nr_requests: Some(8), ..plain });
    let issued: Vec<u32> = events
        .iter()
        .filter(|e| e.kind == EventKind::Issue)
        .map(|event| event.process.unwrap())
        .collect();
    assert!(issued.windows(2).all(|pair| pair[0] != pair[1]), "the two take turns: {issued:?}");
    assert_eq!(times(&events, EventKind::Issue)[..4], [0, 1000, 2000, 3000]);
}

#[test]
fn think_time_adds_to_the_turnaround_and_ends_with_the_window() {
    let (outcome, events) =
        observed(trial("seqread", &[("block_size", "4k"), ("think_time", "12ms")]));
    assert_eq!(times(&events, EventKind::Submit)[..3], [0, 13050, 26100]);
    assert_eq!(times(&events, EventKind::Exit), [100_000]);
    assert_eq!(outcome.measured.clients[0].elapsed_ns, 100 * MS);
}

#[test]
fn a_client_keeps_as_many_open_as_its_depth_and_looks_once_for_what_has_come() {
    let plain = trial("randread", &[("clients", "1"), ("iodepth", "4")]);
    let (outcome, events) =
        observed(Trial { turnaround_ns: 2500 * US, nr_requests: Some(8), ..plain });
    assert_eq!(times(&events, EventKind::Submit)[..7], [0, 0, 0, 0, 3500, 3500, 3500]);
    let mut open = 0;
    for event in &events {
        open +=
            i32::from(event.kind == EventKind::Submit) - i32::from(event.kind == EventKind::Done);
        assert!((0..=4).contains(&open), "{open} open at {event:?}");
    }
    assert_eq!(open, 0);
    assert!(outcome.queue.done > 50);
}

#[test]
fn a_client_whose_request_waits_for_a_tag_submits_nothing_more() {
    let steps = (0..20).map(|at| read(at * 100));
    let (outcome, events) =
        script(Trial { nr_requests: Some(2), ..trial("randread", &[]) }, 4, steps);
    let submitted = times(&events, EventKind::Submit);
    assert_eq!(
        submitted[..7],
        [0, 0, 0, 1000, 2000, 3000, 4000],
        "one more with each tag, and no turnaround before it"
    );
    let mut waiting = 0;
    for event in &events {
        match event.kind {
            EventKind::Wait => waiting += 1,
            EventKind::Complete => waiting = 0,
            _ => {}
        }
        assert!(waiting <= 1, "two requests of one thread wait at {event:?}");
    }
    assert_eq!((outcome.measured.reads.count, outcome.queue.waited), (20, 18));
}

#[test]
fn an_open_loop_submits_at_its_own_times_whatever_the_device_does() {
    let steps = (0..50).flat_map(|at| [read(at * 100), Step::Think(300 * US)]);
    let (outcome, events) =
        script(Trial { nr_requests: Some(64), ..trial("randread", &[]) }, 64, steps);
    assert_eq!(times(&events, EventKind::Submit), (0..50).map(|at| at * 300).collect::<Vec<u64>>());
    assert_eq!(outcome.measured.reads.count, 50);
    assert_eq!(
        outcome.longest_wait_ns,
        50 * MS - 49 * 300 * US,
        "the last one waits for all others"
    );
}

#[test]
fn a_sync_waits_for_the_clients_own_requests_and_then_for_the_flush() {
    let plain = trial("randwrite", &[]);
    let steps = [write(0), write(100), Step::Sync, write(200)];
    let (outcome, events) = script(Trial { nr_requests: Some(8), ..plain }, 8, steps);
    assert_eq!(times(&events, EventKind::Flush), [2050]);
    assert_eq!(times(&events, EventKind::Flushed), [7050]);
    assert_eq!(times(&events, EventKind::Submit), [0, 0, 7100]);
    assert_eq!((outcome.measured.syncs, outcome.measured.writes.count), (1, 3));
    assert_eq!(outcome.window_ns, 8100 * US, "all ended by themselves: up to the end of the last");
    assert!(outcome.measured.clients[0].finished);
    assert_eq!(outcome.busy_ns + outcome.idle_ns, outcome.window_ns);
}

#[test]
fn the_first_client_to_finish_stops_the_others_and_passes_are_repeated() {
    let params = [("clients", "2"), ("file_size", "64k"), ("block_size", "4k"), ("phase", "read")];
    let (outcome, events) = observed(trial("iozone", &params));
    let exits = times(&events, EventKind::Exit);
    assert_eq!(exits.len(), 8, "three whole passes and one that is cut: {exits:?}");
    let seen = &outcome.measured;
    assert_eq!((seen.passes, seen.window_ns), (4, 100 * MS));
    assert_eq!(seen.reads.count, seen.clients.iter().map(|client| client.ios).sum::<u64>());
    // In each pass of 16 records one client finishes, the other is stopped with its last record in
    // flight and completes it.
    let whole: f64 = 2.0 * 65536.0 / 0.032;
    assert!(
        (seen.sum_of_rates.unwrap() / whole - 1.0).abs() < 0.05,
        "{:?} against {whole}",
        seen.sum_of_rates
    );
    assert!(seen.reads.count <= 100 && seen.reads.count >= 95, "{:?}", seen.reads);
}

#[test]
fn who_is_at_no_request_when_the_first_finishes_ends_with_it() {
    let params = [("clients", "3"), ("file_size", "64k"), ("block_size", "4k"), ("phase", "read")];
    let (_, events) = observed(Trial { turnaround_ns: 5 * MS, ..trial("iozone", &params) });
    assert_eq!(times(&events, EventKind::Exit)[..3], [96_000; 3], "16 cycles of 6 ms");
}

#[test]
fn a_second_reading_is_preceded_by_a_first_that_does_not_count() {
    let run = |phase| {
        let params =
            [("clients", "2"), ("file_size", "64k"), ("block_size", "4k"), ("phase", phase)];
        observed(trial("iozone", &params)).0
    };
    let (read, reread) = (run("read"), run("reread"));
    assert_eq!(read.measured.reads.count, reread.measured.reads.count);
    let beyond = reread.measured.issued.reads - read.measured.issued.reads;
    assert!((31..=32).contains(&beyond), "{beyond}");
    assert_eq!((reread.window_ns, reread.busy_ns + reread.idle_ns), (100 * MS, 100 * MS));
}

#[test]
fn a_given_amount_ends_the_window_with_the_last_client() {
    let (outcome, _) = observed(trial("seqread", &[("block_size", "4k"), ("amount", "40k")]));
    assert_eq!(outcome.measured.reads.count, 10);
    assert_eq!(
        outcome.window_ns,
        10 * MS + 9 * 50 * US + 50 * US,
        "the end is said after the last turnaround"
    );
}

#[test]
fn a_buffered_write_is_a_copy_and_its_flush_belongs_to_the_window() {
    let (outcome, events) =
        observed(trial("seqwrite", &[("block_size", "4k"), ("direct", "false")]));
    let seen = &outcome.measured;
    assert!(seen.writes.count > 1024, "{} writes", seen.writes.count);
    assert_eq!(
        seen.writes.latency_sum_ns,
        seen.writes.count * 1012,
        "a call and 4 KiB at 8 bytes a nanosecond"
    );
    assert_eq!(
        outcome.device.bytes, seen.issued.written_bytes,
        "all of it is on the device at the end"
    );
    assert!(outcome.window_ns > 100 * MS);
    let last: Vec<EventKind> = events.iter().rev().map(|event| event.kind).take(3).collect();
    assert_eq!(last, [EventKind::Exit, EventKind::Flushed, EventKind::Flush]);
    assert_eq!(
        outcome.window_ns,
        events.last().unwrap().at.as_ns(),
        "the window ends with the flush"
    );
    assert_eq!(outcome.busy_ns + outcome.idle_ns, outcome.window_ns);
    let issues = events
        .iter()
        .filter(|event| event.kind == EventKind::Submit && event.op == Some(Op::Write))
        .count();
    assert_eq!(issues as u64, outcome.queue.submitted);
    assert!(
        outcome.queue.submitted - outcome.queue.done == 0 && seen.syncs == 0,
        "the last flush is after the close"
    );
}

#[test]
fn a_client_with_too_much_under_way_is_throttled() {
    let (_, events) = observed(trial("seqwrite", &[("block_size", "4k"), ("direct", "false")]));
    let mut dirty = 0i64;
    let mut most = 0;
    for event in &events {
        dirty += i64::from(event.kind == EventKind::Submit);
        dirty -= i64::from(event.kind == EventKind::Complete) * i64::from(event.nr_sectors / 8);
        most = most.max(dirty);
    }
    assert_eq!((most, dirty), (1024, 0));
}

#[test]
fn a_sync_of_buffered_writes_waits_for_the_write_back() {
    let (outcome, events) = observed(trial(
        "seqwrite",
        &[("block_size", "4k"), ("direct", "false"), ("sync_every", "4")],
    ));
    let mut dirty = 0;
    for event in &events {
        match event.kind {
            EventKind::Submit => dirty += 1,
            EventKind::Complete => dirty -= event.nr_sectors / 8,
            EventKind::Flush => assert_eq!(dirty, 0, "at {event:?}"),
            _ => {}
        }
    }
    assert!(outcome.measured.syncs >= 10, "{} syncs", outcome.measured.syncs);
}

#[test]
fn what_is_read_from_memory_never_reaches_the_queue() {
    let (outcome, events) = observed(trial("cached-read", &[]));
    assert!(
        events
            .iter()
            .all(|e| [EventKind::Submit, EventKind::Done, EventKind::Exit].contains(&e.kind))
    );
    let copy = 500 + (2 << 20) / 8;
    assert_eq!(outcome.measured.reads.count, 100 * MS / copy);
    assert_eq!((outcome.busy_ns, outcome.queue.submitted), (0, 0));
}

#[test]
fn a_client_that_the_device_is_too_small_for_is_an_error() {
    let found = run(trial("seqread", &[("file_size", "1T")]), &mut Unobserved, &|| false);
    assert!(matches!(found, Err(SimError::Params(_))), "{found:?}");
}

#[test]
fn a_trial_can_be_interrupted() {
    let plain = trial("randread", &[]);
    let endless = Trial { duration_ns: u64::MAX / 4, ..plain };
    assert!(matches!(run(endless, &mut Unobserved, &|| true), Err(SimError::Interrupted)));
}

#[test]
#[should_panic(expected = "time does not advance: elevator none, workload randread, seed 1")]
fn a_client_that_never_lets_time_go_on_is_found() {
    struct Idler;
    impl sim::workload::Client for Idler {
        fn next(&mut self, _now: elevator::Time, _last: Option<&elevator::Completion>) -> Step {
            Step::Think(0)
        }
    }
    let member = Member::new(Box::new(Idler), 0, 1);
    let _ = run_members(trial("randread", &[]), vec![member], &mut Unobserved, &|| false);
}

#[test]
fn the_depth_of_the_device_is_kept_also_by_flushes() {
    // The server panics if it is overfilled.
    for depth in [1, 2, 4] {
        let plain = trial("randwrite", &[("clients", "5"), ("iodepth", "3"), ("sync_every", "4")]);
        let device = Box::new(Server::new(depth, || MS));
        let (outcome, events) = observed(Trial { device, nr_requests: Some(64), ..plain });
        assert!(outcome.measured.syncs > 3, "{}", outcome.measured.syncs);
        let flushes = |kind| events.iter().filter(|event| event.kind == kind).count();
        let (begun, flushed) = (flushes(EventKind::Flush), flushes(EventKind::Flushed));
        assert!(
            begun > 3 && begun <= flushed,
            "{begun} flushes for {flushed} who asked: those who ask meanwhile share one"
        );
    }
}
