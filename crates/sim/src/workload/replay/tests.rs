//! Times and places of replayed requests.

use std::collections::VecDeque;
use std::sync::Arc;

use elevator::{Completion, Op, Request, Time};

use crate::workload::client::Step;
use crate::workload::row::Seat;

const BLKPARSE: &str = "Input file sda.blktrace.0 added
  8,0    1        1     0.000000000  1206  Q   R 2048 + 8 [cat]
  8,0    1        2     0.000002315  1206  G   R 2048 + 8 [cat]
  8,0    1        0     0.000003000     0  m   N cfq1206S / alloced
  8,0    1        3     0.000004720  1206  P   N [cat]
  8,0    1        4     0.000009720  1206  U   N [cat] 1
  8,0    0        5     0.001000000    77  Q  WS 4096 + 16 [jbd2/sda-8]
  8,0    0        6     0.001000100    77  Q FWS [jbd2/sda-8]
253,0    0        7     0.001000200    77  Q   W 4096 + 16 [jbd2/sda-8]
  8,0    0        8     0.001500000    77  Q   D 9000 + 800 [fstrim]
  8,0    1        9     0.002000000  1206  Q  RA 2056 + 8 [cat]
  8,0    1       10     0.002100000     0  C  RA 2056 + 8 [0]
CPU0 (sda):
 Reads Queued:           2,        8KiB\t Writes Queued:           1,        8KiB
Total (sda):
";

/// The steps of one process's client if each request takes `service`.
fn replayed(text: &str, pairs: &[(&str, &str)], process: u32, service: u64) -> Vec<(u64, u64)> {
    let kind = crate::workload::table::find("replay").unwrap();
    let params = kind.params(pairs.iter().copied()).unwrap();
    let params = params.clone().with_trace(Arc::new(params.replay.parse(text.as_bytes()).unwrap()));
    let extents = kind.extents(&params, 4 << 20, 512).unwrap();
    let seat = Seat {
        index: process,
        count: kind.clients(&params),
        len: extents[process as usize].len,
        seed: 1,
    };
    let mut client = kind.client(&params, seat);
    let depth = kind.iodepth(&params, process) as usize;
    let (mut now, mut made, mut open, mut last) = (0, Vec::new(), VecDeque::new(), None);
    loop {
        let answer = |request, at| Completion {
            request,
            submitted: Time::ZERO,
            completed: Time::from_ns(at),
        };
        let left = match client.next(Time::from_ns(now), last.take().as_ref()) {
            Step::Io(request) => {
                made.push((now, request.offset));
                open.push_back((now + service, request));
                depth - 1
            }
            Step::Think(ns) => {
                now += ns;
                continue;
            }
            Step::Await(left) => left as usize,
            Step::Sync => panic!("nothing is flushed"),
            Step::End => return made,
        };
        while open.len() > left {
            let (at, request) = open.pop_front().expect("some are open");
            now = now.max(at);
            last = Some(answer(request, at));
        }
    }
}

#[test]
fn open_loop_makes_requests_at_their_times_and_late_ones_at_once() {
    let first = |pairs: &[(&str, &str)], service| replayed(BLKPARSE, pairs, 0, service);
    assert_eq!(first(&[], 0), [(0, 2048 * 512), (2_000_000, 2056 * 512)]);
    assert_eq!(first(&[("iodepth", "1")], 5_000_000), [(0, 2048 * 512), (5_000_000, 2056 * 512)]);
    assert_eq!(first(&[("speed", "2")], 0)[1].0, 1_000_000);
    assert_eq!(first(&[("speed", "0.5")], 7)[1].0, 4_000_000);
    assert_eq!(replayed(BLKPARSE, &[], 1, 0), [(1_000_000, 4096 * 512)]);
}

#[test]
fn closed_loop_waits_for_the_completion_and_then_for_the_recorded_gap() {
    let text = "1000,h,0,Read,0,512,100\n1500,h,0,Read,512,512,100\n1550,h,0,Read,1024,512,100\n";
    let of = |pairs: &[(&str, &str)]| replayed(text, pairs, 0, 7);
    // 500 − 100 ticks of 100 ns after a completion; then 50 after a request that was still open.
    assert_eq!(of(&[("loop", "closed")]), [(0, 0), (40_007, 512), (45_007, 1024)]);
    assert_eq!(of(&[("loop", "closed"), ("speed", "4")]), [(0, 0), (10_007, 512), (11_257, 1024)]);
    let second = replayed(BLKPARSE, &[("loop", "closed")], 1, 7);
    assert_eq!(second, [(1_000_000, 4096 * 512)], "a process that begins later begins later");
    // Two open at once, then one per completion.
    let window = "0,h,0,Read,0,512,100\n0,h,0,Read,512,512,150\n100,h,0,Read,1024,512,200\n170,h,0,Read,1536,512,100\n";
    let kind = crate::workload::table::find("replay").unwrap();
    let params = kind.params([("loop", "closed")]).unwrap();
    let params =
        params.clone().with_trace(Arc::new(params.replay.parse(window.as_bytes()).unwrap()));
    assert_eq!(kind.iodepth(&params, 0), 2);
    let mut client = kind.client(&params, Seat { index: 0, count: 1, len: 4 << 20, seed: 1 });
    let mut next = |now: u64, done: Option<u64>| {
        let request = Request::new(Op::Read, 0, 512);
        let last = done.map(|at| Completion {
            request,
            submitted: Time::ZERO,
            completed: Time::from_ns(at),
        });
        client.next(Time::from_ns(now), last.as_ref())
    };
    assert!(matches!(next(0, None), Step::Io(_)));
    assert_eq!(next(0, None), Step::Await(1));
    assert!(matches!(next(0, None), Step::Io(_)));
    assert_eq!(next(0, None), Step::Await(1));
    assert!(matches!(next(70_000, Some(69_000)), Step::Io(_)));
    assert_eq!(next(70_000, None), Step::Await(1));
    assert_eq!(
        next(80_500, Some(80_000)),
        Step::Think(1_500),
        "2 µs after the completion, of which 0.5 are over"
    );
}

#[test]
fn wrapped_requests_stay_inside_and_aligned() {
    let text = "fio version 2 iolog\n/f read 2093056 8192\n/f read 2097152 4096\n/f read 1099511627776 4096\n/f read 1099511632384 512\n";
    let made = replayed(text, &[("wrap", "true"), ("file_size", "2M")], 0, 0);
    let offsets: Vec<u64> = made.into_iter().map(|(_, offset)| offset).collect();
    assert_eq!(offsets, [2_088_960, 0, 0, 4608]);
}

#[test]
fn background_writes_are_not_held_back_to_one_request_at_a_time() {
    // Two writes at once without the mark of a waiting process, and a read with it.
    let text = "8,0 0 1 0.000000000 7 Q W 0 + 8 [flush]\n8,0 0 2 0.000001000 7 Q W 64 + 64 [flush]\n8,0 0 3 0.000002000 8 Q RS 8 + 8 [a]\n\
                8,0 0 4 0.001000000 7 C W 0 + 8 [0]\n8,0 0 5 0.001001000 7 C W 64 + 64 [0]\n8,0 0 6 0.001002000 8 C RS 8 + 8 [0]\n";
    let made = replayed(text, &[("loop", "closed")], 0, 5_000_000);
    assert_eq!(made, [(0, 0), (1000, 64 * 512)], "the second does not wait for the first");
    let kind = crate::workload::table::find("replay").unwrap();
    let params = kind.params([("loop", "closed")]).unwrap();
    let params = params.clone().with_trace(Arc::new(params.replay.parse(text.as_bytes()).unwrap()));
    assert_eq!((kind.iodepth(&params, 0), kind.iodepth(&params, 1)), (32, 1));
    assert_eq!((kind.max_request_of(&params, 0), kind.max_request_of(&params, 1)), (32_768, 4096));
    assert_eq!(kind.buffer_bytes(&params), 32 * 32_768 + 4096);
}
