//! The table of workloads as a contract: what rows say, what they accept, and the steps that they begin with.

use std::fmt::Write as _;

use elevator::Time;
use workload::{PARAMS, ParamError, Seat, Step, WORKLOADS, find};

#[test]
fn every_row_describes_itself_and_accepts_only_known_parameters() {
    for (i, row) in WORKLOADS.iter().enumerate() {
        assert!(!row.name.is_empty() && !row.help.is_empty() && !row.primary.is_empty(), "row {i}");
        assert!(WORKLOADS[..i].iter().all(|other| other.name != row.name), "{} stands twice", row.name);
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
        assert!(WORKLOADS.iter().any(|row| row.accepts.contains(&param.name)), "{} is of no use", param.name);
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
    assert!(matches!(error, ParamError::NoSuchKey { ref accepted, .. } if accepted == &["block_size", "file_size"]));
}

#[test]
fn a_wrong_value_is_answered_with_the_form_of_a_right_one() {
    let problem = |name: &str, key, text| find(name).unwrap().params([(key, text)]).unwrap_err().to_string();
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
        problem("mixed", "iodepth", "4096"),
        problem("iozone", "file_size", "16383P"),
        problem("iozone", "file_size", "16383T"),
        problem("oltp", "read_share", "101%"),
        problem("dss", "block_size_max", "96k"),
        problem("iozone", "phase", "reverse"),
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

#[test]
fn the_first_steps_of_every_workload_are_pinned() {
    let mut text = String::new();
    for row in WORKLOADS {
        let params = (row.defaults)();
        let extents = row.extents(&params, 64 << 20, 512).unwrap();
        let count = row.clients(&params);
        writeln!(text, "{} ({count} clients; the last one's steps)", row.name).unwrap();
        let index = count - 1;
        let len = extents[index as usize].len;
        let mut client = row.client(&params, Seat { index, count, len, seed: 42 });
        for _ in 0..20 {
            match client.next(Time::ZERO, None) {
                Step::Io(io) => writeln!(text, "  {} {} +{}", io.op, io.offset, io.len).unwrap(),
                other => writeln!(text, "  {other:?}").unwrap(),
            }
        }
    }
    insta::assert_snapshot!(text);
}
