//! Records that version 0.1.0 wrote are read, and give the study that version 0.1.0 gave.
//!
//! `data/0.1.0/NAME` holds a record, trimmed to a few metrics, and the study.json that 0.1.0 made of exactly that record. The
//! studies are compared by value; [`RENAMED`] lists every value that is written differently now.

use std::fs;
use std::path::{Path, PathBuf};

use experiment::plan::ArenaKind;
use experiment::record::{EndReason, Ending, Event, Record};
use experiment::study::Verdict;
use serde_json::Value;

/// Experiment, JSON pointer into study.json, value of 0.1.0, value of this version.
const RENAMED: &[(&str, &str, &str, &str)] = &[
    ("disk", "/arena", "host", "disk"),
    ("cpu", "/arena", "host", "cpu"),
    ("interrupted", "/arena", "host", "cpu"),
    ("resumed", "/arena", "host", "cpu"),
];

/// Fields that studies have had since then: path with `*` for every element of a list.
const ADDED: &[&str] = &[
    "origin",
    "arms",
    "workloads",
    "metrics",
    "judgements/*/arm_mean",
    "judgements/*/baseline_mean",
    "summaries/*/geometric_mean",
];

/// Cautions that studies have had since then.
const NEW_CAUTIONS: &[&str] = &["a trial holds", "one occasion"];

/// Arms of the sweep that completed no read while the default did. 0.1.0 called them void; now a bound is known of them.
const STARVED: &[&str] = &["fifo_batch=64", "fifo_batch=256"];

/// Leaves the starved arms out of a study.
fn leave_out_starved(study: &mut Value) {
    let fed = |row: &Value| !STARVED.contains(&row["arm"].as_str().unwrap());
    for rows in ["judgements", "summaries"] {
        study[rows].as_array_mut().unwrap().retain(fed);
    }
    for response in study.get_mut("responses").and_then(Value::as_array_mut).into_iter().flatten() {
        response["points"].as_array_mut().unwrap().retain(fed);
    }
}

fn remove(value: &mut Value, path: &str) {
    match path.split_once('/') {
        None => {
            value.as_object_mut().unwrap().remove(path);
        }
        Some(("*", rest)) => value.as_array_mut().unwrap().iter_mut().for_each(|value| remove(value, rest)),
        Some((first, rest)) => remove(&mut value[first], rest),
    }
}

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/0.1.0")
}

fn record(name: &str) -> Record {
    let path = data().join(name).join("record.jsonl");
    Record::from_bytes(&fs::read(&path).unwrap()).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_record_gives_the_study_that_version_0_1_0_gave() {
    for name in ["two-readers", "sweep", "tune-confirm", "disk", "cpu", "interrupted", "resumed"] {
        let text = fs::read_to_string(data().join(name).join("study.json")).unwrap();
        let mut expected: Value = serde_json::from_str(&text).unwrap();
        for (_, pointer, old, new) in RENAMED.iter().filter(|(of, ..)| *of == name) {
            let value = expected.pointer_mut(pointer).unwrap();
            assert_eq!(value, old, "{name}{pointer}");
            *value = Value::from(*new);
        }
        let mut study = serde_json::to_value(experiment::study(&record(name), None)).unwrap();
        ADDED.iter().for_each(|field| remove(&mut study, field));
        let cautions = study["cautions"].as_array_mut().unwrap();
        cautions.retain(|caution| !NEW_CAUTIONS.iter().any(|new| caution.as_str().unwrap().contains(new)));
        leave_out_starved(&mut study);
        leave_out_starved(&mut expected);
        // The three-sigma rule is a method, and no longer a column of every study.
        remove(&mut expected, "judgements/*/three_sigma");
        assert_eq!(study, expected, "{name}");
        let read: experiment::study::Study = serde_json::from_str(&text).unwrap();
        assert!(read.origin.is_none() && !read.judgements.is_empty(), "{name}");
    }
}

#[test]
fn starved_arms_of_an_old_record_have_a_bound() {
    let study = experiment::study(&record("sweep"), None);
    for arm in STARVED {
        let found = study.judgements.iter().find(|judgement| judgement.arm == *arm).unwrap();
        // The default completed 3 reads in each of three blocks: too little for a verdict.
        assert_eq!((found.verdict, found.blocks, found.void_blocks), (Verdict::Inconclusive, 3, 0));
        assert!((found.ratio.unwrap() - 1.0 / 3.0).abs() < 1e-9 && found.low.is_none(), "{found:?}");
        assert!(found.reasons.iter().any(|reason| reason.to_string().contains("completed no reads in 3 of 3 blocks")));
    }
}

#[test]
fn a_record_of_the_host_arena_is_of_the_disk_or_the_cpu_arena() {
    let arena = |name| record(name).header.plan.arena;
    assert_eq!((arena("disk"), arena("cpu"), arena("sweep")), (ArenaKind::Disk, ArenaKind::Cpu, ArenaKind::Sim));
}

#[test]
fn ends_and_notes_without_fields_keep_their_text_and_their_meaning() {
    let end = |name| record(name).end.unwrap().reason;
    assert_eq!(end("cpu"), EndReason::BlocksMeasured);
    let (interrupted, resumed) = (end("interrupted"), end("resumed"));
    assert_eq!(
        (interrupted.ending(), interrupted.to_string().as_str()),
        (Ending::Interrupted, "by SIGINT; go on with --resume")
    );
    assert_eq!((resumed.ending(), resumed.to_string().as_str()), (Ending::BudgetSpent, "6.5 s of measuring"));
    for (name, word, text) in [
        ("sweep", "stopped-arm", "mixed: fifo_batch=64 after block 3"),
        ("disk", "precondition", "oltp:clients=2 under none, not counted: "),
        ("resumed", "resumed", "2026-11-22 18:33:21 UTC; 7 trials were there"),
    ] {
        let note = record(name).notes.remove(0);
        assert!(matches!(&note.event, Event::Untyped { event, .. } if event == word), "{name}: {note:?}");
        assert!(note.event.to_string().starts_with(text), "{name}: {}", note.event);
    }
}

#[test]
fn a_record_read_and_written_again_is_the_same_record() {
    for name in ["two-readers", "disk", "cpu", "resumed"] {
        let first = record(name);
        let mut lines = vec![experiment::record::Line::Header(Box::new(first.header.clone()))];
        lines.extend(first.trials.iter().cloned().map(|trial| experiment::record::Line::Trial(Box::new(trial))));
        lines.extend(first.notes.iter().cloned().map(experiment::record::Line::Note));
        lines.extend(first.end.iter().cloned().map(experiment::record::Line::End));
        let text: String = lines.iter().map(|line| line.to_json_line() + "\n").collect();
        assert_eq!(Record::parse(&text).unwrap(), first, "{name}");
    }
}
