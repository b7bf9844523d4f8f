//! The table of workloads: contents of rows, accepted parameters, first steps.

use std::fmt::Write as _;
use std::sync::Arc;

use elevator::{Request, Time};
use sim::workload::{PARAMS, ParamError, Params, Seat, Step, WORKLOADS, WorkloadKind, find};

const TRACE: &str = "fio version 3 iolog
0 /dev/x add
3 /dev/x open
10 /dev/x read 0 4096
10 /dev/x write 8192 4096
25 /dev/x read 4096 65536
30 /dev/x close
";

/// A row's defaults, with a trace if needed.
fn ready(row: &WorkloadKind) -> Params {
    let params = (row.defaults)();
    if !row.needs_trace() {
        return params;
    }
    let trace = params.replay.parse(TRACE.as_bytes()).unwrap();
    params.with_trace(Arc::new(trace))
}

#[test]
fn every_row_describes_itself_and_accepts_only_known_parameters() {
    for (i, row) in WORKLOADS.iter().enumerate() {
        assert!(!row.name.is_empty() && !row.help.is_empty() && !row.primary.is_empty(), "row {i}");
        assert!(
            WORKLOADS[..i].iter().all(|other| other.name != row.name),
            "{} stands twice",
            row.name
        );
        for name in row.accepts {
            assert!(PARAMS.iter().any(|param| param.name == *name), "{}: {name}", row.name);
        }
        row.check(&(row.defaults)()).expect("defaults are possible");
        assert_eq!(find(row.name).unwrap().name, row.name);
    }
}

#[test]
fn every_parameter_is_accepted_by_some_row() {
    for param in PARAMS {
        assert!(
            WORKLOADS.iter().any(|row| row.accepts.contains(&param.name)),
            "{} is of no use",
            param.name
        );
    }
}

#[test]
fn defaults_are_what_a_list_says_and_are_read_back() {
    for row in WORKLOADS {
        let described = row.describe();
        let pairs = described.params.iter().map(|param| (param.name, param.default.as_str()));
        assert_eq!(row.params(pairs).unwrap(), (row.defaults)(), "{}", row.name);
    }
}

#[test]
fn a_wrong_key_is_answered_with_the_nearest_one_and_all_that_are_accepted() {
    let error = find("dss").unwrap().params([("blocksize", "4k")]).unwrap_err().to_string();
    insta::assert_snapshot!(error);
    let error = find("buffered-read").unwrap().params([("iodepth", "4")]).unwrap_err();
    assert!(
        matches!(error, ParamError::NoSuchKey { ref accepted, .. } if accepted == &["block_size", "file_size"])
    );
}

#[test]
fn a_wrong_value_is_answered_with_the_form_of_a_right_one() {
    let problem =
        |name: &str, key, text| find(name).unwrap().params([(key, text)]).unwrap_err().to_string();
    let problems = [
        problem("randread", "block_size", "4 bananas"),
        problem("randread", "think_time", "10"),
        problem("randread", "iodepth", "0"),
        problem("randread", "clients", "0"),
        problem("randread", "clients", "100000"),
        problem("randread", "block_size", "1"),
        problem("randread", "amount", "0"),
        problem("mixed", "writers", "0"),
        problem("mixed", "writers", "4294967295"),
        problem("seqread", "iodepth", "4096"),
        problem("iozone", "file_size", "16383P"),
        problem("iozone", "file_size", "16383T"),
        problem("oltp", "read_share", "101%"),
        problem("dss", "block_size_max", "96k"),
        problem("iozone", "phase", "reverse"),
        problem("think-mix", "random_share", "101"),
        problem("think-mix", "think_time", "61min"),
        problem("think-mix", "think_dist", "normal"),
        problem("postmark", "number", "0"),
        problem("postmark", "size_min", "20000"),
        problem("postmark", "bias_read", "-1"),
        problem("postmark", "seed", "-1"),
        problem("postmark", "read_block", "4G"),
        problem("replay", "speed", "0"),
        problem("replay", "speed", "1.0001"),
        problem("replay", "loop", "half"),
        problem("seqread", "rate", "0"),
        problem("streams", "period", "0"),
        problem("streams", "deadline_periods", "0"),
        problem("bursts", "over", "0"),
        problem("bursts", "rate", "unlimited"),
        problem("bursts", "burst", "1k"),
        problem("bursts", "burst_every", "1ms"),
        problem("rt-tasks", "tasks", "0"),
        problem("rt-tasks", "tasks", "5000"),
        problem("rt-tasks", "background", "65"),
        problem("rt-tasks", "deadline_max", "50ms"),
        problem("rt-tasks", "set", "40ms..40ms@0+4k"),
        problem("rt-tasks", "set", "40ms@0+4k"),
        problem("virtual-machines", "jump_share", "101"),
    ];
    insta::assert_snapshot!(problems.join("\n"));
}

#[test]
fn an_unknown_workload_is_answered_with_the_nearest_name() {
    insta::assert_snapshot!(find("rand-read").unwrap_err());
}

#[test]
fn what_does_not_fit_the_target_is_refused_with_the_way_out() {
    let iozone = find("iozone").unwrap();
    let params = iozone.params([("clients", "80")]).unwrap();
    let error = iozone.extents(&params, 64 << 20, 512).unwrap_err().to_string();
    assert!(error.contains("fewer clients"), "{error}");
    let randread = find("randread").unwrap();
    let params = randread.params([("block_size", "1k")]).unwrap();
    let error = randread.extents(&params, 64 << 20, 4096).unwrap_err().to_string();
    assert!(error.contains("multiple of the target's block of 4096"), "{error}");
    let error = randread.extents(&(randread.defaults)(), 2048, 512).unwrap_err().to_string();
    assert!(error.contains("holds no request"), "{error}");
    let error = randread.file_sizes(&(randread.defaults)(), 512).unwrap_err().to_string();
    assert!(error.contains("give file_size"), "{error}");
}

fn times(request: &Request) -> String {
    let of = |word: &str, at: Option<Time>| {
        at.map_or(String::new(), |at| format!(" {word} {}", at.as_ns()))
    };
    of("from", request.release) + &of("to", request.deadline)
}

#[test]
fn the_first_steps_of_every_workload_are_pinned() {
    let mut text = String::new();
    for row in WORKLOADS {
        let params = ready(row);
        let extents = row.extents(&params, 64 << 20, 512).unwrap();
        let count = row.clients(&params);
        writeln!(text, "{} ({count} clients; the last one's steps)", row.name).unwrap();
        let index = count - 1;
        let len = extents[index as usize].len;
        let mut client = row.client(&params, Seat { index, count, len, seed: 42 });
        let mut now = Time::ZERO;
        for _ in 0..20 {
            match client.next(now, None) {
                Step::Io(io) => {
                    writeln!(text, "  {} {} +{}{}", io.op, io.offset, io.len, times(&io)).unwrap()
                }
                Step::End => {
                    writeln!(text, "  End").unwrap();
                    break;
                }
                Step::Think(ns) => {
                    writeln!(text, "  Think({ns})").unwrap();
                    now = now + ns;
                }
                Step::Await(most) => writeln!(text, "  Await({most})").unwrap(),
                Step::Sync => writeln!(text, "  Sync").unwrap(),
            }
        }
    }
    insta::assert_snapshot!(text);
}

#[test]
fn names_of_programs_lead_to_the_rows_that_do_what_they_do() {
    for (name, row) in [
        ("hdparm", "buffered-read"),
        ("hdparm -T", "cached-read"),
        ("two-readers", "think-mix"),
        ("blktrace", "replay"),
    ] {
        let error = find(name).unwrap_err();
        assert_eq!(error.nearest, Some(row));
        assert!(error.to_string().contains(&format!("did you mean {row:?}?")), "{error}");
    }
}

#[test]
fn postmark_asks_for_the_room_that_it_may_need() {
    let postmark = find("postmark").unwrap();
    let params = postmark.params([("number", "5000")]).unwrap();
    let error = postmark.extents(&params, 1 << 30, 512).unwrap_err().to_string();
    assert!(
        error.contains("10000 files of up to size_max = 10000 bytes need 104960000 bytes"),
        "{error}"
    );
    let params = postmark.params([("number", "5000"), ("file_size", "101M")]).unwrap();
    postmark.extents(&params, 1 << 30, 512).unwrap();
    let error = postmark.extents(&(postmark.defaults)(), 1 << 30, 4096).unwrap_err().to_string();
    assert!(
        error.contains("block_size = 512 is not a multiple of the target's block of 4096"),
        "{error}"
    );
}

#[test]
fn a_trace_that_does_not_fit_the_target_is_refused_by_its_request() {
    let replay = find("replay").unwrap();
    let error = replay.extents(&(replay.defaults)(), 1 << 20, 512).unwrap_err().to_string();
    assert!(error.contains("give file"), "{error}");
    let params = ready(replay);
    replay.extents(&params, 69_632, 512).unwrap();
    let error = replay.extents(&params, 65_536, 512).unwrap_err().to_string();
    assert!(
        error
            .contains("trace, request 3: read of 65536 bytes at 4096 ends beyond the target's 64k"),
        "{error}"
    );
    let error = replay.extents(&params, 1 << 20, 8192).unwrap_err().to_string();
    assert!(
        error.contains(
            "request 1: read of 4096 bytes at 0 is not a multiple of the target's block of 8192"
        ),
        "{error}"
    );
    let mut wrapped = params.clone();
    wrapped.replay.wrap = true;
    replay.extents(&wrapped, 65_536, 512).unwrap();
    assert_eq!(
        (replay.clients(&params), replay.iodepth(&params, 0), replay.max_request(&params)),
        (1, 32, 65_536)
    );
    assert!(replay.writes_with(&params));
}
