//! Each input is accepted at its limit. One unit more is refused with the limit's message.

use std::fmt::Write as _;
use std::fs::File;

use experiment::plan::{
    Background, Better, Flow, OwnMetric, Plan, Published, parse_variant, parse_workload,
};
use experiment::results::{Header, LatencyCurve, Line, Observation, Results, ResultsReader, Trial};
use import::table::{self, Columns};
use lab::repeats;
use lab::shards::merge;
use lab::signals::Stop;
use machine::files::Bounded;
use text::limits::*;

/// Reads an input with this many units; Err: the message.
type Input = fn(usize) -> Result<(), String>;

const INPUTS: &[(&Limit, Input)] = &[
    (&PLAN_BYTES, |n| {
        let text = plan(2).to_toml();
        said(Plan::from_toml(&format!("{text}{}", "#".repeat(n - text.len()))))
    }),
    (&VARIANTS, |n| said(plan(n).check())),
    (&WORKLOADS, |n| {
        of_plan(|plan| {
            let spec = plan.workloads[0].clone();
            plan.workloads =
                (0..n).map(|at| with(&spec, |spec| spec.name = format!("w{at}"))).collect();
        })
    }),
    (&BACKGROUND, |n| {
        let load = Background {
            kind: "oltp".into(),
            params: Default::default(),
            share: Default::default(),
        };
        of_plan(|plan| plan.workloads[0].background = vec![load; n])
    }),
    (&FLOWS, |n| {
        of_plan(|plan| {
            let flow =
                |at| Flow { name: format!("f{at}"), kind: "randread".into(), ..Flow::default() };
            plan.workloads[0].kind = "flows".into();
            plan.workloads[0].flows = (0..n).map(flow).collect();
        })
    }),
    (&SETTINGS, |n| {
        of_plan(|plan| {
            plan.variants[0].tunables = (0..n).map(|at| (at.to_string(), String::new())).collect()
        })
    }),
    (&OWN_METRICS, |n| {
        let metric = |at| OwnMetric { name: format!("m{at}"), better: Better::Higher };
        of_plan(|plan| plan.metrics = (0..n).map(metric).collect())
    }),
    (&PUBLISHED, |n| {
        let name = || "x".to_owned();
        let figure = Published {
            workload: name(),
            metric: name(),
            variant: name(),
            value: 1.0,
            source: name(),
        };
        of_plan(|plan| plan.published = vec![figure; n])
    }),
    (&NAME_BYTES, |n| of_plan(|plan| plan.variants[1].name = "a".repeat(n))),
    (&TEXT_BYTES, |n| {
        of_plan(|plan| {
            plan.workloads[0].params.insert("run".into(), "a".repeat(n));
        })
    }),
    (&ROUNDS, |n| of_plan(|plan| plan.budget.rounds = Some(u32::try_from(n).unwrap()))),
    (&TRIALS, |n| {
        let variants = (2..1000)
            .find(|variants| n % variants == 0 && n / variants <= 10_000)
            .expect("the number has such a factor");
        let mut plan = plan(variants);
        plan.budget.rounds = Some(u32::try_from(n / variants).unwrap());
        said(plan.check())
    }),
    (&RESULTS_BYTES, |n| {
        let mut reader = ResultsReader::default();
        let head = line(&header(plan(2)));
        reader.line(head.as_bytes()).unwrap();
        let blank = vec![b' '; 1 << 20];
        said(
            (head.len()..n)
                .step_by(blank.len())
                .try_for_each(|at| reader.line(&blank[..blank.len().min(n - at)])),
        )
    }),
    (&RESULTS_LINE, |n| {
        let note = |text: String| {
            format!(
                "{{\"kind\":\"note\",\"at_ms\":1,\"event\":\"planned\",\"rounds\":1,\"text\":\"{text}\"}}\n"
            )
        };
        let text = line(&header(plan(2))) + &note("a".repeat(n - note(String::new()).len()));
        read_records(&text)
    }),
    (&NOTES, |n| {
        let text = line(&header(plan(2)))
            + &"{\"kind\":\"note\",\"at_ms\":1,\"event\":\"planned\",\"rounds\":1}\n".repeat(n);
        read_records(&text)
    }),
    (&SAMPLES, |n| {
        let mut plan = plan(2);
        plan.workloads.push(parse_workload("dss").unwrap());
        let mut text = line(&header(plan)) + &trial(0, "oltp", metrics(n / 1000));
        (1..1000).for_each(|sequence| text += &trial(sequence, "oltp", Observation::default()));
        (0..n % 1000).for_each(|at| text += &trial(1000 + at as u64, "dss", metrics(1)));
        read_records(&text)
    }),
    (&COMPARISONS, |n| {
        let variants = (2..1000)
            .find(|variants| n % variants == 0 && n / variants < 20_000)
            .expect("the number has such a factor");
        let text = line(&header(plan(variants))) + &trial(0, "oltp", metrics(n / variants));
        read_records(&text)
    }),
    (&REPEATS, |n| said(repeats::check(n))),
    (&ATLAS_CELLS, |n| said(lab::atlas::check_number(n))),
    (&TABLE_COLUMNS, |n| {
        read_table(&format!("variant,v{}\nnone,1{}\n", ",c".repeat(n - 2), ",1".repeat(n - 2)))
    }),
    (&TABLE_CELL, |n| read_table(&format!("variant,v,why\nnone,1,{}\n", "a".repeat(n)))),
    (&TABLE_ROWS, |n| read_table(&format!("variant,v\n{}", "a,1\n".repeat(n)))),
    (&IMPORT_FILES, |n| {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml").into();
        said(lab::sources::files(import::find("hyperfine").expect("a format"), &vec![file; n]))
    }),
    (&TRACE_LINE, |n| {
        said(
            trace_parser(trace::formats::Format::Fio, "fio version 2 iolog\n").feed(&vec![b' '; n]),
        )
    }),
    (&TRACE_DEVICES, |n| {
        let mut parser = trace_parser(trace::formats::Format::Fio, "fio version 2 iolog\n");
        said((0..n).try_for_each(|file| parser.feed(format!("/f{file} read 0 512\n").as_bytes())))
    }),
    (&TRACE_UNPACKED, |n| said(recorder::file::check_unpacked(n as u64))),
    (&PERFETTO_PACKET, |n| said(recorder::perfetto::check_packet(n as u64))),
    (&PERFETTO_EVENTS, |n| said(recorder::perfetto::check_events(n))),
    (&TRACE_FILES, |n| said(recorder::file::check_files(n))),
    (&SEGMENTS, |n| said(merge(vec![("s".into(), Vec::new()); n], &Stop::manual()))),
    (&SEGMENTS_BYTES, |n| said(merge(vec![("s".into(), vec![0; n])], &Stop::manual()))),
    (&SERIES_PATCHES, |n| {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a"), "").unwrap();
        std::fs::write(dir.path().join("series"), "a\n".repeat(n)).unwrap();
        said(lab::arena::kernel::series(dir.path()))
    }),
    (&BISECT_STEPS, |n| said(lab::bisect::check_number(n))),
    (&ENTRY_BYTES, |n| machine::journal::Entry::from_json(&vec![b' '; n]).map(drop)),
    (&MANIFEST_BYTES, |n| machine::persist::Persisted::from_json(&vec![b' '; n]).map(drop)),
];

/// The results at the given size and one unit above it, for inputs that are costly to read twice.
type Growing = fn(usize) -> [Result<(), String>; 2];

const GROWING: &[(&Limit, Growing)] = &[
    (&RESULTS_VALUES, |n| {
        let mut reader = ResultsReader::default();
        reader.line(line(&header(plan(2))).as_bytes()).unwrap();
        let mut sequence = 0;
        // The curve itself counts too.
        let mut read = |values: usize| {
            let curve = LatencyCurve { op: "all".into(), count: 1, points: vec![(1.0, 1)] };
            let text = trial(
                sequence,
                "oltp",
                Observation { latency: vec![curve], ..Observation::default() },
            );
            sequence += 1;
            let point = "[1.0,1]";
            assert!(text.contains(point), "{text}");
            reader.line(text.replacen(point, &vec![point; values - 1].join(","), 1).as_bytes())
        };
        let pieces =
            (0..n / 400_000).map(|_| 400_000).chain(Some(n % 400_000)).filter(|piece| *piece > 0);
        let whole = pieces.into_iter().try_for_each(&mut read);
        [said(whole), said(read(1))]
    }),
    (&TRACE_REQUESTS, |n| {
        let mut parser = trace_parser(trace::formats::Format::Fio, "fio version 2 iolog\n");
        let piece = "/f read 0 512\n".repeat(1000);
        let mut feed = |lines: usize| parser.feed(&piece.as_bytes()[..piece.len() / 1000 * lines]);
        let whole = (0..n / 1000).try_for_each(|_| feed(1000)).and_then(|()| feed(n % 1000));
        [said(whole), said(feed(1))]
    }),
    (&TRACE_PROCESSES, |n| {
        let mut parser = trace_parser(trace::formats::Format::Blkparse, "");
        let mut feed = |pid: usize| {
            parser.feed(format!("8,0 0 1 0.000000000 {pid} Q R 0 + 8 [a]\n").as_bytes())
        };
        let whole = (0..n).try_for_each(&mut feed);
        [said(whole), said(feed(n))]
    }),
];

fn trace_parser(format: trace::formats::Format, begin: &str) -> trace::formats::Parser {
    let mut parser =
        trace::formats::Parser::new(format, trace::formats::Options { skip_bad: true });
    parser.feed(begin.as_bytes()).expect("the beginning");
    parser
}

/// Limits of files read by [`Bounded`].
const FILES: &[&Limit] = &[
    &TABLE_BYTES,
    &IMPORT_BYTES,
    &TRACE_BYTES,
    &EVENTS_LINE,
    &DEVICE_BYTES,
    &JOB_BYTES,
    &SCRIPT_BYTES,
    &TRANSACTIONS_BYTES,
    &PATCH_BYTES,
    &SERIES_BYTES,
    &BISECT_BYTES,
    &ATLAS_BYTES,
    &WATCH_BYTES,
    &HISTORY_BYTES,
    &SEARCH_BYTES,
    &SEGMENT_BYTES,
    &FLEET_BYTES,
    &FLEET_KNOWN,
];

/// Limits tested in crate fleet.
const OF_FLEETS: &[&Limit] = &[&FLEET_RESULTS, &FLEET_ROWS, &FLEET_HEADER];

fn said<T, E: ToString>(result: Result<T, E>) -> Result<(), String> {
    result.map(drop).map_err(|error| error.to_string())
}

fn with<T: Clone>(value: &T, change: impl FnOnce(&mut T)) -> T {
    let mut value = value.clone();
    change(&mut value);
    value
}

fn plan(variants: usize) -> Plan {
    let mut text =
        "device = 'null'\narena = 'sim'\n[[workload]]\nname = 'oltp'\nkind = 'oltp'\n".to_owned();
    text += "[[variant]]\nname = 'x'\nscheduler = 'none'\n[[variant]]\nname = 'y'\nscheduler = 'none'\n";
    let mut plan = Plan::from_toml(&text).unwrap();
    plan.variants = (0..variants)
        .map(|at| with(&parse_variant("none").unwrap(), |variant| variant.name = format!("a{at}")))
        .collect();
    plan
}

fn of_plan(change: impl FnOnce(&mut Plan)) -> Result<(), String> {
    said(with(&plan(2), change).check())
}

fn header(plan: Plan) -> Line {
    Line::Header(Box::new(Header {
        schema: experiment::plan::SCHEMA,
        schedlab: "test".into(),
        plan,
        environment: Default::default(),
        started_unix_ms: 0,
        command: String::new(),
    }))
}

fn line(line: &Line) -> String {
    line.to_json_line() + "\n"
}

fn metrics(number: usize) -> Observation {
    let metrics = (0..number).map(|at| (format!("m{at}"), 1.0)).collect();
    Observation { metrics, ..Observation::default() }
}

fn trial(sequence: u64, workload: &str, observation: Observation) -> String {
    let (workload, variant) = (workload.to_owned(), "a0".to_owned());
    line(&Line::Trial(Box::new(Trial {
        sequence,
        workload,
        round: 0,
        position: 0,
        variant,
        started_ms: 0,
        observation,
    })))
}

fn read_records(text: &str) -> Result<(), String> {
    said(Results::parse(text))
}

fn read_table(text: &str) -> Result<(), String> {
    let metrics = ["v".to_owned()];
    said(table::parse(
        text,
        &Columns {
            variant: "variant",
            metrics: &metrics,
            round: None,
            workload: None,
            invalid_if: None,
        },
    ))
}

/// A sparse file of this length, which is fast to read.
fn file_of(length: usize) -> File {
    let file = tempfile::tempfile().unwrap();
    file.set_len(length as u64).unwrap();
    file
}

#[test]
fn each_input_is_accepted_at_its_limit_and_refused_one_beyond() {
    let mut wrong = String::new();
    for limit in LIMITS {
        let most = usize::try_from(limit.most).unwrap();
        let is_refused = |said: &Result<(), String>| {
            let words = format!("{}: too ", limit.subject);
            said.as_ref().is_err_and(|said| said.contains(&words) && said.contains(limit.remedy))
        };
        let input = INPUTS.iter().find(|(of, _)| of == limit).map(|(_, input)| *input);
        let growing = GROWING.iter().find(|(of, _)| of == limit).map(|(_, growing)| *growing);
        let said = match input {
            Some(input) => [input(most), input(most + 1)],
            None if growing.is_some() => growing.expect("just seen")(most),
            // Tested in crates/fleet, which has its own readers.
            None if OF_FLEETS.contains(limit) => continue,
            None if FILES.contains(limit) => [most, most + 1].map(|n| said(limit.read(file_of(n)))),
            None => panic!("{}: no input of this limit is tested", limit.subject),
        };
        if is_refused(&said[0]) || !is_refused(&said[1]) {
            writeln!(wrong, "{}: {said:?}", limit.subject).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
