//! Traces in, requests out: the three formats, what is refused and how it is named, and when requests are made.

use std::sync::Arc;

use elevator::{Op, Time};
use proptest::prelude::*;

use super::*;
use crate::client::Step;
use crate::row::Seat;

const STRICT: Options = Options { skip_bad: false };
const LENIENT: Options = Options { skip_bad: true };

const FIO_2: &str = "fio version 2 iolog
/data/a add
/data/b add
/data/a open
/data/b open
/data/a read 0 4096
/data/a wait 250 0
/data/b write 8192 4096
/data/b wait 99 0
/data/b datasync 0 0
/data/a read 4096 4096
/data/a close
";

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

const MSR: &str = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime
128166372003061629,hm,0,Read,8192,4096,1000
128166372003061729,hm,0,Write,0,512,20
128166372003061729,hm,1,Read,4096,4096,30
";

fn read(format: Format, text: &str) -> Trace {
    parse(format, text.as_bytes(), STRICT).unwrap()
}

fn problem(format: Format, text: &str) -> String {
    parse(format, text.as_bytes(), STRICT).unwrap_err().to_string()
}

/// (time, direction, offset, length, process) of each request.
fn facts(trace: &Trace) -> Vec<(u64, Op, u64, u32, u32)> {
    trace.records.iter().map(|r| (r.at_ns, r.op, r.offset, r.len, r.process)).collect()
}

#[test]
fn fio_version_2_counts_time_by_waits_and_files_lie_one_after_another() {
    let trace = read(Format::Fio, FIO_2);
    let second = 1 << 20;
    let expected =
        [(0, Op::Read, 0, 4096, 0), (250_000, Op::Write, second + 8192, 4096, 0), (250_000, Op::Read, 4096, 4096, 0)];
    assert_eq!(facts(&trace), expected, "a wait below 100 µs is discarded");
    assert_eq!((trace.left_out, trace.bad_lines, trace.end()), (1, 0, second + 12_288));
}

#[test]
fn fio_version_3_has_times_in_microseconds() {
    let trace = read(
        Format::Fio,
        "fio version 3 iolog\n7 /f add\n127 /f open\n130 /f read 61440 4096\n3427 /f write 0 512\n4000 /f close\n",
    );
    assert_eq!(facts(&trace), [(0, Op::Read, 61_440, 4096, 0), (3_297_000, Op::Write, 0, 512, 0)]);
    let error = problem(Format::Fio, "fio version 3 iolog\n7 /f wait 10 0\n");
    assert!(error.starts_with("line 2: expected \"time filename add|open|close\""), "{error}");
}

#[test]
fn blkparse_gives_what_processes_of_the_first_device_asked_for() {
    let trace = read(Format::Blkparse, BLKPARSE);
    let expected = [
        (0, Op::Read, 2048 * 512, 4096, 0),
        (1_000_000, Op::Write, 4096 * 512, 8192, 1),
        (2_000_000, Op::Read, 2056 * 512, 4096, 0),
    ];
    assert_eq!(facts(&trace), expected);
    assert_eq!((trace.left_out, trace.processes()), (3, 2), "a flush, another device, a discard");
}

#[test]
fn msr_has_times_of_100_ns_response_times_and_a_process_for_each_disk() {
    let trace = read(Format::Msr, MSR);
    let second = 1 << 20;
    let expected =
        [(0, Op::Read, 8192, 4096, 0), (10_000, Op::Write, 0, 512, 0), (10_000, Op::Read, second + 4096, 4096, 1)];
    assert_eq!(facts(&trace), expected);
    assert_eq!(
        trace.records.iter().map(|r| (r.took_ns, r.line)).collect::<Vec<_>>(),
        [(100_000, 2), (2000, 3), (3000, 4)]
    );
}

#[test]
fn the_format_is_found_out_from_the_text() {
    for (text, format) in [(FIO_2, Format::Fio), (BLKPARSE, Format::Blkparse), (MSR, Format::Msr)] {
        assert_eq!(read(Format::Auto, text), read(format, text));
        assert_eq!(read(Format::Auto, text).format, format);
        let dirty = format!("\n\u{0}garbage\n{text}");
        let error = problem(Format::Auto, &dirty);
        assert!(error.starts_with("line 2: expected the beginning of a fio iolog"), "{error}");
        assert_eq!(parse(Format::Auto, dirty.as_bytes(), LENIENT).unwrap().bad_lines, 1);
    }
    let error = problem(Format::Auto, "");
    assert!(error.starts_with("line 1: expected the beginning"), "{error}");
    let packed = parse(Format::Auto, &[0x1f, 0x8b, 8, 0], STRICT).unwrap_err().to_string();
    assert!(packed.contains("gunzip"), "{packed}");
}

#[test]
fn windows_line_ends_do_not_matter() {
    for text in [FIO_2, BLKPARSE, MSR] {
        assert_eq!(read(Format::Auto, &text.replace('\n', "\r\n")), read(Format::Auto, text));
    }
}

#[test]
fn broken_lines_are_named_with_what_was_expected() {
    let errors = [
        problem(Format::Fio, "/data/a read 0 4096\n"),
        problem(Format::Fio, "fio version 2 iolog\n/f read 0\n"),
        problem(Format::Fio, "fio version 2 iolog\n/f read zero 4096\n"),
        problem(Format::Fio, "fio version 2 iolog\n/f read 0 0\n"),
        problem(Format::Fio, "fio version 2 iolog\n/f read 0 4294967296\n"),
        problem(Format::Fio, "fio version 2 iolog\n/f read 18446744073709551615 4096\n"),
        problem(Format::Fio, "fio version 3 iolog\nsoon /f read 0 4096\n"),
        problem(Format::Fio, "fio version 2 iolog\n/f add\n"),
        problem(Format::Blkparse, "8,0 1 1 0.000000000 1206 Q R 2048\n"),
        problem(Format::Blkparse, "8,0 1 1 0.5 1206 Q R 2048 + 8\n"),
        problem(Format::Blkparse, "8,0 1 1 0.000000000 1206 Q X 2048 + 8\n"),
        problem(Format::Blkparse, "hello\n"),
        problem(Format::Msr, "128166372003061629,hm,0,Read,8192,4096\n"),
        problem(Format::Msr, "128166372003061629,hm,0,Trim,8192,4096,5\n"),
        problem(Format::Msr, "-5,hm,0,Read,8192,4096,5\n"),
    ];
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn time_that_runs_backwards_is_an_error_or_a_skipped_line() {
    let cases = [
        (Format::Fio, "fio version 3 iolog\n5 /f read 0 512\n9 /f read 0 512\n8 /f read 512 512\n9 /f read 0 512\n", 4),
        (Format::Msr, "50,h,0,Read,0,512,1\n90,h,0,Read,0,512,1\n89,h,1,Read,0,512,1\n90,h,0,Read,0,512,1\n", 3),
        (
            Format::Blkparse,
            "8,0 0 1 0.000000005 1 Q R 0 + 1\n8,0 0 2 0.000000009 1 Q R 0 + 1\n8,0 0 3 0.000000008 1 Q R 0 + 1\n8,0 0 4 0.000000009 1 Q R 0 + 1\n",
            3,
        ),
    ];
    for (format, text, line) in cases {
        let error = parse(format, text.as_bytes(), STRICT).unwrap_err();
        assert_eq!(error.line, line);
        assert!(error.problem.contains("time runs backwards"), "{error}");
        let trace = parse(format, text.as_bytes(), LENIENT).unwrap();
        assert_eq!((trace.bad_lines, trace.records.len()), (1, 3));
    }
}

#[test]
fn skipped_lines_are_counted_and_leave_no_trace() {
    let dirty = "fio version 2 iolog\n/f read 0 512\n???\n/f read 512 512\n/f read 9\n";
    let clean = "fio version 2 iolog\n/f read 0 512\n\n/f read 512 512\n";
    let skipped = parse(Format::Fio, dirty.as_bytes(), LENIENT).unwrap();
    assert_eq!(skipped.bad_lines, 2);
    assert_eq!(skipped, Trace { bad_lines: 2, ..read(Format::Fio, clean) });
    let error = parse(Format::Fio, b"fio version 2 iolog\n???\n\n", LENIENT).unwrap_err().to_string();
    assert_eq!(error, "line 2: expected at least one read or write before the end of the file (1 broken lines)");
}

/// The steps of one process's client, given the time that its own thinking and `service` for each request take.
fn replayed(text: &str, pairs: &[(&str, &str)], process: u32, service: u64) -> Vec<(u64, u64)> {
    let kind = crate::table::find("replay").unwrap();
    let params = kind.params(pairs.iter().copied()).unwrap();
    let params = params.clone().with_trace(Arc::new(params.replay.parse(text.as_bytes()).unwrap()));
    let extents = kind.extents(&params, 4 << 20, 512).unwrap();
    let seat = Seat { index: process, count: kind.clients(&params), len: extents[process as usize].len, seed: 1 };
    let mut client = kind.client(&params, seat);
    let (mut now, mut made) = (0, Vec::new());
    loop {
        match client.next(Time::from_ns(now), None) {
            Step::Io(request) => {
                made.push((now, request.offset));
                now += service;
            }
            Step::Think(ns) => now += ns,
            Step::Sync => panic!("nothing is flushed"),
            Step::End => return made,
        }
    }
}

#[test]
fn open_loop_makes_requests_at_their_times_and_late_ones_at_once() {
    let first = |pairs: &[(&str, &str)], service| replayed(BLKPARSE, pairs, 0, service);
    assert_eq!(first(&[], 0), [(0, 2048 * 512), (2_000_000, 2056 * 512)]);
    assert_eq!(first(&[], 5_000_000), [(0, 2048 * 512), (5_000_000, 2056 * 512)]);
    assert_eq!(first(&[("speed", "2")], 0)[1].0, 1_000_000);
    assert_eq!(first(&[("speed", "0.5")], 7)[1].0, 4_000_000);
    assert_eq!(replayed(BLKPARSE, &[], 1, 0), [(1_000_000, 4096 * 512)]);
}

#[test]
fn closed_loop_waits_for_the_completion_and_then_for_the_recorded_gap() {
    let text = "1000,h,0,Read,0,512,100\n1500,h,0,Read,512,512,100\n1550,h,0,Read,1024,512,100\n";
    let of = |pairs: &[(&str, &str)]| replayed(text, pairs, 0, 7);
    // Gaps: 500 − 100 ticks of 100 ns; 50 − 100 is none.
    assert_eq!(of(&[("loop", "closed")]), [(0, 0), (40_007, 512), (40_014, 1024)]);
    assert_eq!(of(&[("loop", "closed"), ("speed", "4")]), [(0, 0), (10_007, 512), (10_014, 1024)]);
    let second = replayed(BLKPARSE, &[("loop", "closed")], 1, 7);
    assert_eq!(second, [(1_000_000, 4096 * 512)], "a process that begins later begins later");
}

#[test]
fn wrapped_requests_stay_inside_and_aligned() {
    let text = "fio version 2 iolog\n/f read 2093056 8192\n/f read 2097152 4096\n/f read 1099511627776 4096\n/f read 1099511632384 512\n";
    let made = replayed(text, &[("wrap", "true"), ("file_size", "2M")], 0, 0);
    let offsets: Vec<u64> = made.into_iter().map(|(_, offset)| offset).collect();
    assert_eq!(offsets, [2_088_960, 0, 0, 4608]);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused_without_a_panic(bytes: Vec<u8>, skip_bad: bool, format in 0usize..4) {
        let _ = parse(Format::ALL[format], &bytes, Options { skip_bad });
    }

    #[test]
    fn damaged_traces_are_read_or_refused_without_a_panic(
        which in 0usize..3, at: prop::sample::Index, with: Vec<u8>, cut in 0usize..40, skip_bad: bool,
    ) {
        let mut bytes = [FIO_2, BLKPARSE, MSR][which].as_bytes().to_vec();
        let start = at.index(bytes.len());
        let end = (start + cut).min(bytes.len());
        bytes.splice(start..end, with);
        match parse(Format::ALL[which + 1], &bytes, Options { skip_bad }) {
            Ok(trace) => {
                prop_assert!(skip_bad || trace.bad_lines == 0);
                prop_assert!(trace.records.windows(2).all(|pair| pair[0].at_ns <= pair[1].at_ns));
                prop_assert!(trace.records.iter().all(|r| r.len > 0 && r.offset + u64::from(r.len) <= trace.end()));
            }
            Err(error) => prop_assert!(error.line >= 1 && error.problem.starts_with("expected") || error.problem.contains("bits")),
        }
    }

    #[test]
    fn words_like_those_of_traces_are_read_or_refused_without_a_panic(
        words in prop::collection::vec(prop::sample::select(vec![
            "fio version 3 iolog\n", "fio version 2 iolog\n", "\n", "/f", "read", "write", "wait", "8,0", "Q", "WS", "+", ",", "hm", "Read",
            "18446744073709551615", "9223372036854775807", "0", "512", "0.000000001", "18446744073.709551615", "4294967295", "1", " ",
        ]), 0..60), format in 0usize..4, spaced: bool,
    ) {
        let text = words.join(if spaced { " " } else { "" });
        for skip_bad in [false, true] {
            let _ = parse(Format::ALL[format], text.as_bytes(), Options { skip_bad });
        }
    }
}
