//! Traces in and out: each format, rejected inputs and their messages.

use proptest::prelude::*;

use super::*;
use crate::Trace;
use crate::io::{At, Flags, Kind};

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
  8,0    1        2     0.000001000  1206  G   R 2048 + 8 [cat]
  8,0    1        3     0.000002000  1206  P   N [cat]
  8,0    1        4     0.000003000  1206  D   R 2048 + 8 [cat]
  8,0    1        5     0.001000000  1207  Q  WS 4096 + 16 [dd]
  8,0    1        6     0.001200000     0  C   R 2048 + 8 [0]
  8,0    1        7     0.001300000  1207  Q  FWS [dd]
  8,16   1        8     0.001400000  1207  A  WS 4096 + 16 <- (253,0) 99
  8,16   1        9     0.001400000  1207  Q  WS 4096 + 16 [dd]
  8,0    1       10     0.001500000  1207  Q   D 0 + 512 [dd]
  8,0    1       11     0.002000000  1206  Q  RA 2056 + 8 [cat]
CPU1 (8,0):
 Reads Queued:           2,        8KiB
";

const MSR: &str = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime
128166372003061629,hm,0,Read,8192,4096,1000
128166372003061729,hm,0,Write,0,512,20
128166372003061729,hm,1,Read,4096,4096,30
";

const ALIBABA: &str =
    "7,R,126703661056,4096,1577808000000046\n1,W,19496058880,77824,1577808000000426\n";
const TENCENT: &str =
    "1538323200,12910952,128,0,1063\n1538323200,6265688,8,1,1071\n1538323201,8,8,1,1063\n";
const CLOUD_1: &str = "10000,42932745,w,512\n10250,8,r,8192\n";
const CLOUD_2: &str = "version,time,op,size,lbn\n1,33898,2a,512,42932745\n1,33899,28,6656,8\n";

fn read(format: Format, text: &str) -> Trace {
    let trace = parse(format, text.as_bytes(), STRICT).expect(text);
    assert_eq!(trace.check(), Ok(()));
    trace
}

fn problem(format: Format, text: &str) -> String {
    parse(format, text.as_bytes(), STRICT).expect_err(text).to_string()
}

fn facts(trace: &Trace) -> Vec<(u64, Kind, u64, u32, u32, u16)> {
    trace
        .ios
        .iter()
        .map(|io| (io.queued, io.kind, io.sector, io.sectors, io.process, io.device))
        .collect()
}

use Kind::{Discard, Flush, Read, Write};

#[test]
fn fio_version_2_counts_time_by_waits_and_each_file_is_a_disk() {
    let trace = read(Format::Fio, FIO_2);
    let expected = [
        (0, Read, 0, 8, 0, 0),
        (250_000, Write, 16, 8, 0, 1),
        (250_000, Flush, 0, 0, 0, 1),
        (250_000, Read, 8, 8, 0, 0),
    ];
    assert_eq!(facts(&trace), expected, "a wait below 100 µs is discarded");
    assert_eq!((trace.about.left_out, trace.about.bad, trace.devices.len()), (0, 0, 2));
}

#[test]
fn fio_version_3_has_times_in_microseconds_and_bytes_are_rounded_to_the_sectors_that_they_touch() {
    let trace = read(
        Format::Fio,
        "fio version 3 iolog\n7 /f add\n127 /f open\n130 /f read 61440 4096\n3427 /f write 500 100\n4000 /f close\n",
    );
    assert_eq!(facts(&trace), [(0, Read, 120, 8, 0, 0), (3_297_000, Write, 0, 2, 0, 0)]);
    let error = problem(Format::Fio, "fio version 3 iolog\n7 /f wait 10 0\n");
    assert!(error.starts_with("line 2: expected \"time filename add|open|close\""), "{error}");
}

#[test]
fn blkparse_gives_what_processes_asked_for_with_the_stages_that_the_text_holds() {
    let trace = read(Format::Blkparse, BLKPARSE);
    let expected = [
        (0, Read, 2048, 8, 0, 0),
        (1_000_000, Write, 4096, 16, 1, 0),
        (1_300_000, Flush, 0, 0, 1, 0),
        (1_400_000, Write, 4096, 16, 1, 2),
        (1_500_000, Discard, 0, 512, 1, 0),
        (2_000_000, Read, 2056, 8, 0, 0),
    ];
    assert_eq!(facts(&trace), expected);
    let first = trace.ios[0];
    assert_eq!(
        (first.tagged, first.issued, first.completed),
        (At::ns(1000), At::ns(3000), At::ns(1_200_000))
    );
    assert_eq!(trace.ios[1].completed, At::UNKNOWN);
    let flags: Vec<Flags> = trace.ios.iter().map(|io| io.flags).collect();
    let durable = Flags::PREFLUSH.with(Flags::SYNC);
    assert_eq!(
        flags,
        [Flags::SYNC, Flags::SYNC, durable, Flags::SYNC, Flags::default(), Flags::AHEAD]
    );
    let names: Vec<(u32, &str)> =
        trace.processes.iter().map(|process| (process.pid, process.name.as_str())).collect();
    assert_eq!(names, [(1206, "cat"), (1207, "dd")]);
    let above =
        trace.devices.iter().find(|device| device.name == "253,0").expect("named by the remap");
    assert_eq!((above.major, &above.below[..]), (253, &["8,16".to_owned()][..]));
}

#[test]
fn a_pid_with_another_name_is_another_process() {
    let text = "8,0 0 1 0.000000000 7 Q R 0 + 8 [a]\n8,0 0 2 0.000000001 7 Q R 8 + 8 [b c]\n8,0 0 3 0.000000002 7 Q R 0 + 8 [a]\n";
    let trace = read(Format::Auto, text);
    assert_eq!(trace.ios.iter().map(|io| io.process).collect::<Vec<_>>(), [0, 1, 0]);
    assert_eq!(trace.processes[1].name, "b c");
}

#[test]
fn msr_has_times_of_100_ns_response_times_and_a_process_for_each_disk() {
    let trace = read(Format::Msr, MSR);
    assert_eq!(
        facts(&trace),
        [(0, Read, 16, 8, 0, 0), (10_000, Write, 0, 1, 0, 0), (10_000, Read, 8, 8, 1, 1)]
    );
    let took: Vec<Option<u64>> =
        trace.ios.iter().map(|io| Some(io.completed.get()? - io.queued)).collect();
    assert_eq!(took, [Some(100_000), Some(2000), Some(3000)]);
    assert_eq!(
        (trace.devices[1].name.as_str(), trace.about.began / 1_000_000_000),
        ("hm 1", 1_172_163_600)
    );
}

#[test]
fn the_collections_of_clouds_have_their_own_columns_and_units() {
    let trace = read(Format::Auto, ALIBABA);
    assert_eq!(
        facts(&trace),
        [(0, Read, 247_468_088, 8, 0, 0), (380_000, Write, 38_078_240, 152, 1, 1)]
    );
    assert_eq!(
        (trace.about.began, trace.processes[0].name.as_str()),
        (1_577_808_000_000_046_000, "volume 7")
    );
    let trace = read(Format::Auto, TENCENT);
    let second = 1_000_000_000;
    let expected = [
        (0, Read, 12_910_952, 128, 0, 0),
        (0, Write, 6_265_688, 8, 1, 1),
        (second, Write, 8, 8, 0, 0),
    ];
    assert_eq!(facts(&trace), expected);
    let trace = read(Format::Auto, CLOUD_1);
    assert_eq!(facts(&trace), [(0, Write, 42_932_745, 1, 0, 0), (250_000, Read, 8, 16, 0, 0)]);
    let trace = read(Format::Auto, CLOUD_2);
    assert_eq!(facts(&trace), [(0, Write, 42_932_745, 1, 0, 0), (second, Read, 8, 13, 0, 0)]);
}

const ALL: [(&str, Format); 7] = [
    (FIO_2, Format::Fio),
    (BLKPARSE, Format::Blkparse),
    (MSR, Format::Msr),
    (ALIBABA, Format::Alibaba),
    (TENCENT, Format::Tencent),
    (CLOUD_1, Format::CloudPhysics),
    (CLOUD_2, Format::CloudPhysics),
];

#[test]
fn the_format_is_found_out_from_the_text() {
    for (text, format) in ALL {
        assert_eq!(read(Format::Auto, text), read(format, text));
        assert_eq!(read(Format::Auto, text).about.source, format.name());
        let dirty = format!("\n\u{0}garbage\n{text}");
        let error = problem(Format::Auto, &dirty);
        assert!(error.starts_with("line 2: expected the beginning of a fio iolog"), "{error}");
        assert_eq!(parse(Format::Auto, dirty.as_bytes(), LENIENT).expect("skipped").about.bad, 1);
    }
    let error = problem(Format::Auto, "");
    assert!(error.starts_with("line 1: expected the beginning"), "{error}");
    for row in FORMATS {
        assert_eq!(Format::of_name(row.name), Some(row.format));
        row.endings
            .iter()
            .for_each(|ending| assert_eq!(Format::of_ending(ending), Some(row.format)));
    }
}

#[test]
fn windows_line_ends_and_the_pieces_in_which_text_comes_do_not_matter() {
    for (text, _) in ALL {
        let whole = read(Format::Auto, text);
        assert_eq!(read(Format::Auto, &text.replace('\n', "\r\n")), whole);
        assert_eq!(read(Format::Auto, text.trim_end()), whole);
        for piece in [1, 7, 64] {
            let mut parser = Parser::new(Format::Auto, STRICT);
            text.as_bytes()
                .chunks(piece)
                .for_each(|bytes| parser.feed(bytes).expect("as the whole"));
            assert_eq!(parser.finish().expect("as the whole"), whole);
        }
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
        problem(Format::Blkparse, "8,0 1 1 0.000000000 1206 Q R 18446744073709551615 + 8\n"),
        problem(Format::Blkparse, "hello\n"),
        problem(Format::Msr, "128166372003061629,hm,0,Read,8192,4096\n"),
        problem(Format::Msr, "128166372003061629,hm,0,Trim,8192,4096,5\n"),
        problem(Format::Msr, "-5,hm,0,Read,8192,4096,5\n"),
        problem(Format::Alibaba, "0,X,0,4096,1\n"),
        problem(Format::Tencent, "1,0,8,2,1\n"),
        problem(Format::Tencent, "1,0,0,1,1\n"),
        problem(Format::CloudPhysics, "1,0,r\n"),
        problem(Format::CloudPhysics, "1,33898,35,512,42932745\n"),
        problem(Format::Auto, &"a".repeat(70_000)),
    ];
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn time_that_runs_backwards_is_an_error_or_a_skipped_line_where_one_clock_wrote_the_lines_and_an_order_elsewhere()
 {
    let cases = [
        (
            Format::Fio,
            "fio version 3 iolog\n5 /f read 0 512\n9 /f read 0 512\n8 /f read 512 512\n9 /f read 0 512\n",
            4,
        ),
        (
            Format::Blkparse,
            "8,0 0 1 0.000000005 1 Q R 0 + 1\n8,0 0 2 0.000000009 1 Q R 0 + 1\n8,0 0 3 0.000000008 1 Q R 0 + 1\n8,0 0 4 0.000000009 1 Q R 0 + 1\n",
            3,
        ),
    ];
    for (format, text, line) in cases {
        let error = parse(format, text.as_bytes(), STRICT).expect_err("backwards");
        assert_eq!(error.line, line);
        assert!(error.problem.contains("time runs backwards"), "{error}");
        let trace = parse(format, text.as_bytes(), LENIENT).expect("skipped");
        assert_eq!((trace.about.bad, trace.ios.len()), (1, 3));
    }
    let text = "50,h,0,Read,0,512,1\n90,h,0,Read,0,512,1\n40,h,1,Read,0,512,1\n";
    let times: Vec<u64> = read(Format::Msr, text).ios.iter().map(|io| io.queued).collect();
    assert_eq!(times, [0, 1000, 5000], "written at completion, put into the order of their times");
}

#[test]
fn skipped_lines_are_counted_and_leave_no_trace() {
    let dirty = "fio version 2 iolog\n/f read 0 512\n???\n/f read 512 512\n/f read 9\n";
    let clean = "fio version 2 iolog\n/f read 0 512\n\n/f read 512 512\n";
    let skipped = parse(Format::Fio, dirty.as_bytes(), LENIENT).expect("skipped");
    let mut expected = read(Format::Fio, clean);
    expected.about.bad = 2;
    assert_eq!(skipped, expected);
    let error = parse(Format::Fio, b"fio version 2 iolog\n???\n\n", LENIENT)
        .expect_err("empty")
        .to_string();
    assert_eq!(
        error,
        "line 2: expected at least one request before the end of the file (1 broken lines)"
    );
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused_without_a_panic(bytes: Vec<u8>, skip_bad: bool, format in 0usize..6) {
        let _ = parse(ALL[format].1, &bytes, Options { skip_bad });
        let _ = parse(Format::Auto, &bytes, Options { skip_bad });
    }

    #[test]
    fn damaged_traces_are_read_or_refused_without_a_panic(
        which in 0usize..7, at: prop::sample::Index, with: Vec<u8>, cut in 0usize..40, skip_bad: bool,
    ) {
        let mut bytes = ALL[which].0.as_bytes().to_vec();
        let start = at.index(bytes.len());
        let end = (start + cut).min(bytes.len());
        bytes.splice(start..end, with);
        match parse(ALL[which].1, &bytes, Options { skip_bad }) {
            Ok(trace) => {
                prop_assert!(skip_bad || trace.about.bad == 0);
                prop_assert_eq!(trace.check(), Ok(()));
                prop_assert!(trace.ios.windows(2).all(|pair| pair[0].queued <= pair[1].queued));
            }
            Err(error) => prop_assert!(error.line >= 1 && error.problem.contains("expected"), "{}", error),
        }
    }

    #[test]
    fn words_like_those_of_traces_are_read_or_refused_without_a_panic(
        words in prop::collection::vec(prop::sample::select(vec![
            "fio version 3 iolog\n", "fio version 2 iolog\n", "\n", "/f", "read", "write", "wait", "8,0", "Q", "C", "D", "WS", "+", ",", "hm",
            "Read", "18446744073709551615", "9223372036854775807", "0", "512", "0.000000001", "18446744073.709551615", "4294967295", "1",
            " ", "A", "<-", "(253,0)", "[", "]", "R", "2a",
        ]), 0..60), format in 0usize..7, spaced: bool,
    ) {
        let text = words.join(if spaced { " " } else { "" });
        for skip_bad in [false, true] {
            if let Ok(trace) = parse(ALL[format].1, text.as_bytes(), Options { skip_bad }) {
                prop_assert_eq!(trace.check(), Ok(()));
            }
        }
    }

    #[test]
    fn any_bytes_of_blktrace_are_decoded_or_refused_without_a_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..400), with_magic: bool, piece in 1usize..100,
    ) {
        let mut bytes = bytes;
        if with_magic {
            for record in bytes.chunks_mut(blktrace::HEAD) {
                if let Some(head) = record.first_chunk_mut::<4>() { *head = [7, 0x74, 0x61, 0x65]; }
                if record.len() == blktrace::HEAD { record[46] = 0; record[47] = 0; }
            }
        }
        let (mut decoder, mut stream, mut to) = (blktrace::Decoder::default(), blktrace::Stream::default(), Builder::new());
        for piece in bytes.chunks(piece) {
            if decoder.feed(piece, &mut |record| stream.record(&record, &mut to)).is_err() { break; }
        }
        let trace = to.finish(Format::Blktrace);
        prop_assert_eq!(trace.check(), Ok(()));
    }
}
