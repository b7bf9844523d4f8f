//! From traces to clients' requests: disk layout, lanes, parts, omissions.

use super::*;
use crate::formats::{Format, Options as Reading, parse};
use crate::io::{At, Flags, Io, Kind};
use crate::trace::{Device, Process, Trace};

fn read(text: &str) -> Trace {
    parse(Format::Auto, text.as_bytes(), Reading::default()).expect(text)
}

fn replay(trace: &Trace, options: &Options) -> Replay {
    Replay::from_trace(trace, options).expect("it can be replayed")
}

fn trace(processes: u32, ios: Vec<Io>) -> Trace {
    let mut trace = Trace {
        devices: vec![Device::default()],
        processes: (0..processes).map(|pid| Process { pid, ..Process::default() }).collect(),
        schedulers: vec![String::new()],
        ios,
        ..Trace::default()
    };
    trace.sort();
    trace
}

fn io(queued: u64, took: u64, process: u32, sector: u64) -> Io {
    Io { completed: At::ns(queued + took), ..Io::new(queued, Kind::Read, sector, 8, process) }
}

#[test]
fn volumes_lie_one_after_another_and_of_the_disks_of_a_kernel_one_is_replayed() {
    let text = "5,h,0,Read,8192,4096,1\n6,h,1,Read,4096,4096,1\n";
    let all = replay(&read(text), &Options::default());
    let offsets: Vec<u64> = all.requests().iter().map(|request| request.offset).collect();
    assert_eq!(
        (offsets, all.summary.end, all.lanes().len()),
        (vec![8192, (1 << 20) + 4096], (1 << 20) + 8192, 2)
    );
    let one = Options { device: Some("h 1".into()), ..Options::default() };
    assert_eq!(replay(&read(text), &one).requests()[0].offset, 4096);
    let none = Options { device: Some("h 2".into()), ..Options::default() };
    assert!(
        Replay::from_trace(&read(text), &none)
            .expect_err("no such disk")
            .to_string()
            .contains("found h 0, h 1")
    );
    let stack = "253,0 0 1 0.000000000 7 Q R 0 + 8 [a]\n8,0 0 2 0.000000001 7 A R 64 + 8 <- (253,0) 0\n8,0 0 3 0.000000001 7 Q R 64 + 8 [a]\n";
    let upper = replay(&read(stack), &Options::default());
    assert_eq!(
        (upper.summary.requests, upper.summary.left_out, upper.requests()[0].offset),
        (1, 1, 0)
    );
    assert_eq!(upper.summary.others, ["8,0"]);
    let all = Options { device: Some("all".into()), ..Options::default() };
    assert_eq!(
        replay(&read(stack), &all).summary.requests,
        1,
        "the lower one's are the upper one's again"
    );
    assert_eq!(
        replay(&read(&stack.replace(" A ", " X ")), &all).summary.requests,
        2,
        "nothing says that one lies below"
    );
    let lower = Options { device: Some("8,0".into()), ..Options::default() };
    assert_eq!(replay(&read(stack), &lower).requests()[0].offset, 64 * 512);
}

#[test]
fn only_reads_and_writes_are_replayed_and_the_rest_is_counted() {
    let text = "fio version 2 iolog\n/f sync 0 0\n/f trim 0 4096\n/f write 512 512\n";
    let replayed = replay(&read(text), &Options::default());
    assert_eq!(
        (replayed.summary.requests, replayed.summary.left_out, replayed.summary.writes),
        (1, 2, 1)
    );
    assert_eq!((replayed.summary.alignment, replayed.summary.largest), (512, 512));
    let only = Options { reads_only: true, ..Options::default() };
    let mixed = read("fio version 2 iolog\n/f write 0 512\n/f read 512 512\n");
    let reads = replay(&mixed, &only).summary;
    assert_eq!((reads.requests, reads.writes, reads.left_out), (1, 0, 1));
    let flushes = read("fio version 2 iolog\n/f sync 0 0\n");
    assert!(
        Replay::from_trace(&flushes, &Options::default())
            .expect_err("nothing")
            .to_string()
            .contains("no read or write")
    );
}

#[test]
fn writes_in_the_background_keep_their_times_and_are_a_client_of_their_own() {
    let sync = |io: Io| Io { flags: Flags::SYNC, ..io };
    let write = |io: Io| Io { kind: Kind::Write, ..io };
    let ios = vec![
        sync(io(10, 5, 0, 0)),
        write(io(12, 500, 0, 64)),
        sync(io(20, 5, 0, 8)),
        write(io(30, 9, 0, 72)),
    ];
    let closed = Options { loop_mode: LoopMode::Closed, ..Options::default() };
    let replayed = replay(&trace(1, ios.clone()), &closed);
    let starts = |lane: usize| {
        replayed.of_lane(lane).iter().map(|r| (r.start, r.wait_ns, r.open)).collect::<Vec<_>>()
    };
    assert_eq!(starts(0), [(Start::Recorded, 10, 0), (Start::Answer, 5, 0)]);
    assert_eq!(starts(1), [(Start::Recorded, 12, 0), (Start::Recorded, 30, 0)]);
    let unmarked = ios.into_iter().map(|io| Io { flags: Flags::default(), ..io }).collect();
    assert_eq!(
        replay(&trace(1, unmarked), &closed).lanes().len(),
        1,
        "without marks nothing is known to be waited for"
    );
}

#[test]
fn more_processes_than_clients_share_those_that_have_ended() {
    let ios: Vec<Io> =
        (0..3000).map(|process| io(u64::from(process) * 100, 250, process, 0)).collect();
    let replayed = replay(&trace(3000, ios), &Options::default());
    assert_eq!(replayed.lanes().len(), 3, "three are at work at once");
    assert_eq!(replayed.requests().len(), 3000);
    let few: Vec<Io> =
        (0..30).map(|process| io(u64::from(process) * 100, 250, process, 0)).collect();
    assert_eq!(replay(&trace(30, few), &Options::default()).lanes().len(), 30);
}

#[test]
fn a_part_that_stands_for_the_whole_is_neither_the_idle_nor_the_odd_one() {
    let second = 1_000_000_000;
    // Ten seconds of 100 random reads per second, after an idle second with a single read and a
    // second of sequential reads.
    let mut ios = vec![io(0, 10, 0, 0)];
    ios.extend((0..400).map(|n| io(second + n * second / 400, 10, 0, n * 8)));
    ios.extend((0..1000).map(|n| io(2 * second + n * second / 100, 10, 0, n * 7919 % 1000 * 800)));
    let options = Options { part_ns: Some(second), ..Options::default() };
    let replayed = replay(&trace(1, ios), &options);
    let part = replayed.summary.part.as_ref().expect("a part");
    assert!(part.from_ns >= 2 * second, "{part:?}");
    assert_eq!((replayed.summary.requests, part.length_ns), (100, second));
    assert!(replayed.requests()[0].wait_ns < second / 50, "times count from the part's beginning");
    let whole = Options { part_ns: Some(100 * second), ..Options::default() };
    assert_eq!(replay(&trace(1, vec![io(5, 1, 0, 0)]), &whole).summary.part, None);
}

#[test]
fn background_writes_keep_their_times_and_overlap_in_a_closed_loop() {
    let write = |queued, sector| Io { kind: Kind::Write, ..io(queued, 500, 1, sector) };
    let read = |queued| Io { flags: Flags::SYNC, ..io(queued, 500, 0, 64) };
    let ios =
        vec![read(0), write(10, 0), write(20, 8), Io { sectors: 32, ..write(30, 16) }, read(700)];
    let closed = Options { loop_mode: LoopMode::Closed, ..Options::default() };
    let made = replay(&trace(2, ios), &closed);
    let lanes: Vec<(u16, bool, u32)> =
        made.lanes().iter().map(|lane| (lane.depth, lane.by_time, lane.largest)).collect();
    assert_eq!(lanes, [(1, false, 4096), (3, true, 16_384)]);
    let times: Vec<(Start, u64)> =
        made.of_lane(1).iter().map(|request| (request.start, request.wait_ns)).collect();
    assert_eq!(times, [(Start::Recorded, 10), (Start::Recorded, 20), (Start::Recorded, 30)]);
    assert_eq!(made.of_lane(0)[1].wait_ns, 200, "the reader thinks as before");
}
