//! A directory as a store: concurrent writers, torn and foreign files, identities, clocks, units.

use std::fs;
use std::path::Path;

use experiment::analysis::Verdict;
use experiment::fleet::identity::Finding;
use experiment::plan::Criteria;

use super::*;
use crate::entry::{RESULTS, file_of};
use crate::testing::{result, results, with_invalid};
use crate::{FleetAnalysis, Key, Machine, Selection, Sides, analyze, compare, load};

const NOW: u64 = 1_800_000_000_000;

fn place(dir: &Path) -> Location {
    Location::Directory(dir.to_path_buf())
}

fn store(dir: &Path) -> Store {
    Store::open_to_write(&place(dir)).expect("a directory")
}

fn studied(dir: &Path, by: &[Key]) -> FleetAnalysis {
    let store = Store::open(&place(dir)).expect("a fleet");
    let criteria = Criteria::default();
    analyze(&load(&store, &Selection::default(), &criteria, NOW).expect("readable"), by, &criteria)
}

fn fleet(dir: &Path) -> Store {
    let store = store(dir);
    for number in 0..10 {
        store.push(&result(number, 0.8 + 0.002 * (number % 5) as f64, 12)).expect("pushed");
    }
    store
}

#[cfg(not(feature = "s3"))]
#[test]
fn a_bucket_without_its_client_is_refused_with_a_remedy() {
    let location = Location::parse("s3://lab/fleet").expect("a bucket");
    for store in [Store::open(&location), Store::open_to_write(&location)] {
        let error = store.expect_err("there is no client").to_string();
        assert!(error.starts_with("s3://lab: ") && error.contains("FEATURES=s3"), "{error}");
    }
}

#[test]
fn places_are_directories_and_buckets() {
    let bucket = |bucket: &str, prefix: &str| {
        Ok(Location::Bucket { bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    };
    assert_eq!(Location::parse("s3://lab/a/b/"), bucket("lab", "a/b"));
    assert_eq!(Location::parse("s3://lab"), bucket("lab", ""));
    assert_eq!(Location::parse("/srv/fleet"), Ok(place(Path::new("/srv/fleet"))));
    for wrong in ["", "s3://", "s3:///x", "gs://x", "s3://a b"] {
        assert!(Location::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn ten_machines_make_one_verdict_and_the_same_result_again_changes_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = fleet(dir.path());
    let before = studied(dir.path(), &[Key::Model]);
    let [group] = before.groups.as_slice() else { panic!("{before:?}") };
    assert_eq!((group.machines, group.drives, group.results, group.trials), (10, 10, 10, 240));
    let comparison = &group.questions[0].comparisons[0];
    assert_eq!(
        (comparison.variant.as_str(), comparison.verdict),
        ("bfq:slice_idle=0", Verdict::Worse)
    );
    let mean = comparison.mean.expect("a mean");
    assert!((mean.ratio - 0.804).abs() < 0.002, "{mean:?}");
    for number in 0..10 {
        let again =
            store.push(&result(number, 0.8 + 0.002 * (number % 5) as f64, 12)).expect("pushed");
        assert_eq!(again, Pushed::There);
    }
    assert_eq!(studied(dir.path(), &[Key::Model]), before);
}

#[test]
fn many_writers_of_the_same_results_leave_each_once_and_whole() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path();
    std::thread::scope(|scope| {
        for writer in 0..8_u64 {
            scope.spawn(move || {
                let store = store(path);
                for number in 0..10 {
                    let number = (number + writer) % 10;
                    store.push(&result(number, 0.8, 6)).expect("pushed");
                }
            });
        }
    });
    let found = studied(dir.path(), &[Key::Model]);
    assert_eq!((found.results, found.others, found.damaged.len()), (10, 0, 0));
    let names: Vec<_> = fs::read_dir(dir.path().join(RESULTS))
        .expect("there")
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(names.len(), 10, "{names:?}");
}

#[test]
fn a_torn_file_is_named_left_out_and_replaced_when_it_is_pushed_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = fleet(dir.path());
    let whole = studied(dir.path(), &[Key::Model]);
    let victim = store.list().expect("readable").entries[3].clone();
    let path = dir.path().join(RESULTS).join(file_of(&victim.name));
    let bytes = fs::read(&path).expect("there");
    for torn in [&bytes[..bytes.len() / 2], &[]] {
        fs::write(&path, torn).expect("written");
        let found = studied(dir.path(), &[Key::Model]);
        assert_eq!((found.results, found.damaged.len()), (9, 1));
        assert_eq!(found.damaged[0].object, victim.name);
        let repaired = (0..10).filter(|number| {
            let again = store
                .push(&result(*number, 0.8 + 0.002 * (number % 5) as f64, 12))
                .expect("pushed");
            again == Pushed::Repaired
        });
        assert_eq!(repaired.count(), 1);
        assert_eq!(studied(dir.path(), &[Key::Model]), whole);
    }
}

#[test]
fn a_link_or_a_pipe_in_the_place_of_a_result_is_neither_followed_nor_waited_for_and_is_replaced() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = fleet(dir.path());
    let listed = store.list().expect("readable").entries;
    let victim = dir.path().join(RESULTS).join(file_of(&listed[3].name));
    let elsewhere = dir.path().join("elsewhere");
    fs::rename(&victim, &elsewhere).expect("moved");
    for kind in ["link", "pipe"] {
        let _ = fs::remove_file(&victim);
        if kind == "link" {
            std::os::unix::fs::symlink(&elsewhere, &victim).expect("made");
        } else {
            assert!(
                std::process::Command::new("mkfifo")
                    .arg(&victim)
                    .status()
                    .expect("it runs")
                    .success()
            );
        }
        // Added after the listing.
        let read = store.read(&listed, |_, bytes| bytes.is_ok());
        assert_eq!(read.iter().filter(|is_read| **is_read).count(), 9, "{kind}");
        let found = studied(dir.path(), &[Key::Model]);
        assert_eq!((found.results, found.others), (9, 1), "{kind}");
        fleet(dir.path());
        assert!(fs::symlink_metadata(&victim).expect("there").is_file(), "{kind}");
    }
}

#[test]
fn files_that_are_no_results_are_counted_and_what_is_being_written_is_not() {
    let dir = tempfile::tempdir().expect("a directory");
    fleet(dir.path());
    let results = dir.path().join(RESULTS);
    fs::write(results.join("README"), "x").expect("written");
    fs::write(results.join(format!("{}.parquet", "A".repeat(64))), "x").expect("written");
    fs::create_dir(results.join(format!("{}.parquet", "a".repeat(64)))).expect("made");
    fs::write(results.join(".abc-1-2-3"), "x").expect("written");
    let found = studied(dir.path(), &[Key::Model]);
    assert_eq!((found.results, found.others, found.damaged.len()), (10, 3, 0));
}

#[test]
fn results_that_was_resumed_and_one_that_was_copied_count_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = fleet(dir.path());
    // Pushed with five rounds, and again with twelve.
    store.push(&result(4, 0.8 + 0.002 * 4.0, 5)).expect("pushed");
    let thief = Machine { name: "thief".to_owned() };
    store
        .push(&MachineResult::of(&results(0, 0.8, 12), &thief).expect("a result"))
        .expect("pushed");
    let found = studied(dir.path(), &[Key::Model]);
    assert_eq!((found.results, found.machines), (10, 10));
    let kinds: Vec<bool> = found
        .findings
        .iter()
        .map(|of| matches!(of, Finding::Repeated { .. } | Finding::Copied { .. }))
        .collect();
    assert_eq!(kinds, [true, true], "{:?}", found.findings);
}

#[test]
fn a_machine_that_reports_anothers_name_is_counted_apart_and_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = fleet(dir.path());
    let mut results = results(77, 5.0, 12);
    let cpu = results.header.environment.get_mut("cpu").expect("facts");
    cpu.insert("model".to_owned(), "Other CPU".to_owned());
    let other = Machine { name: "m003".to_owned() };
    store.push(&MachineResult::of(&results, &other).expect("a result")).expect("pushed");
    let found = studied(dir.path(), &[Key::Model]);
    assert_eq!(found.machines, 11);
    assert!(
        matches!(&found.findings[..], [Finding::SeveralMachines { machine, .. }] if machine == "m003")
    );
    let comparison = &found.groups[0].questions[0].comparisons[0];
    assert_eq!(comparison.outliers.len(), 1);
    assert_eq!(comparison.outliers[0].machine, "m003 (8 x Other CPU, Maker Box 2)");
    assert_eq!((comparison.machines, comparison.verdict), (10, Verdict::Worse));
}

#[test]
fn wrong_clocks_are_reported_and_move_no_verdict() {
    let [right, wrong] = [0, 1].map(|_| tempfile::tempdir().expect("a directory"));
    fleet(right.path());
    let store = store(wrong.path());
    for number in 0..10 {
        let mut results = results(number, 0.8 + 0.002 * (number % 5) as f64, 12);
        // One is years ahead, the others began in 1970.
        results.header.started_unix_ms = if number == 6 { NOW + 100_000_000_000 } else { number };
        let machine = Machine { name: format!("m{number:03}") };
        store.push(&MachineResult::of(&results, &machine).expect("a result")).expect("pushed");
    }
    let [right, wrong] = [right, wrong].map(|dir| studied(dir.path(), &[Key::Model]));
    assert_eq!(right.groups, wrong.groups);
    assert!(
        matches!(&wrong.findings[..], [Finding::ClockAhead { machine, .. }] if machine == "m006"),
        "{:?}",
        wrong.findings
    );
}

#[test]
fn values_of_two_units_are_two_questions_and_said() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = fleet(dir.path());
    for number in 20..25 {
        let mut other = result(number, 2.0, 12);
        other.header.series.iter_mut().for_each(|series| series.unit = "kIO/s".to_owned());
        store.push(&other).expect("pushed");
    }
    let found = studied(dir.path(), &[Key::Model]);
    let units: Vec<&str> =
        found.groups[0].questions.iter().map(|question| question.unit.as_str()).collect();
    assert_eq!(units, ["IO/s", "kIO/s"]);
    assert!(
        found.cautions.iter().any(|caution| caution.starts_with("iops: measured in several units")),
        "{:?}",
        found.cautions
    );
    assert_eq!(found.groups[0].questions[0].comparisons[0].machines, 10);
}

#[test]
fn invalid_rounds_are_left_out_and_too_many_leave_a_result_without_evidence() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = fleet(dir.path());
    let machine = |name: &str| Machine { name: name.to_owned() };
    let one = with_invalid(results(30, 0.8, 12), 3);
    let many = (0..6).fold(results(31, 0.8, 12), with_invalid);
    for (of, name) in [(one, "one"), (many, "many")] {
        store.push(&MachineResult::of(&of, &machine(name)).expect("a result")).expect("pushed");
    }
    let found = studied(dir.path(), &[Key::Model]);
    assert_eq!(found.machines, 12);
    assert_eq!(found.groups[0].questions[0].comparisons[0].machines, 11);
}

#[test]
fn groups_filters_and_comparisons_are_by_what_the_facts_say() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = fleet(dir.path());
    for number in 0..10 {
        // The same machines on another kernel, 10 % slower under both variants.
        let mut of = results(number, 0.8 + 0.002 * (number % 5) as f64, 12);
        of.header
            .environment
            .get_mut("kernel")
            .expect("facts")
            .insert("release".to_owned(), "6.18.1".to_owned());
        of.header.started_unix_ms += 1;
        of.trials.iter_mut().for_each(|trial| {
            trial.observation.metrics.values_mut().for_each(|value| *value *= 0.9)
        });
        let machine = Machine { name: format!("m{number:03}") };
        store.push(&MachineResult::of(&of, &machine).expect("a result")).expect("pushed");
    }
    let by_kernel = studied(dir.path(), &[Key::Model, Key::Kernel]);
    let kernels: Vec<&str> =
        by_kernel.groups.iter().map(|group| group.keys[1].1.as_str()).collect();
    assert_eq!(kernels, ["6.12", "6.18"]);
    let criteria = Criteria::default();
    let all = |selection: &Selection| load(&store, selection, &criteria, NOW).expect("readable");
    let sides = Sides { key: Key::Kernel, first: "6.12".to_owned(), second: "6.18".to_owned() };
    let compared = compare(&all(&Selection::default()), &sides, &criteria);
    assert_eq!(compared.len(), 1);
    for comparison in &compared[0].comparisons {
        assert_eq!(
            (comparison.verdict, comparison.paired, comparison.first_machines),
            (Verdict::Worse, true, 10)
        );
        assert!((comparison.ratio.expect("a ratio").ratio - 0.9).abs() < 1e-9);
    }
    let word = |text: &str| Some(text.to_owned());
    let selected = |selection: Selection| all(&selection).results.len();
    assert_eq!(selected(Selection { kernel: word("6.18"), ..Selection::default() }), 10);
    assert_eq!(selected(Selection { kernel: word("6.1"), ..Selection::default() }), 0);
    assert_eq!(selected(Selection { model: word("fast"), ..Selection::default() }), 20);
    assert_eq!(selected(Selection { firmware: word("x"), ..Selection::default() }), 0);
    let p99 =
        Selection { metric: word("latency_p99_us"), variant: word("bfq"), ..Selection::default() };
    let found = analyze(&all(&p99), &[Key::Model], &criteria);
    assert_eq!(found.groups[0].questions[0].metric, "latency_p99_us");
    assert_eq!(found.groups[0].questions[0].comparisons[0].verdict, Verdict::Worse);
}

#[test]
fn results_of_two_builds_are_refused_until_one_is_selected() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = fleet(dir.path());
    let mut other = result(10, 0.8, 12);
    other.header.schedlab = "other".to_owned();
    store.push(&other).expect("pushed");
    let load = |build: Option<&str>| {
        let selection = Selection { build: build.map(str::to_owned), ..Selection::default() };
        load(&store, &selection, &Criteria::default(), NOW)
    };
    let refusal = load(None).unwrap_err().to_string();
    assert!(
        refusal.contains("another build of schedlab (found other, expected 0.1.0)"),
        "{refusal}"
    );
    assert!(refusal.contains("--build"), "{refusal}");
    assert_eq!(load(Some("0.1")).expect("one build").results.len(), 10);
    assert_eq!(load(Some("other")).expect("one build").results.len(), 1);
}

#[test]
fn a_contributed_line_does_not_tell_whose_it_is() {
    let of = result(7, 0.8, 12);
    let line = crate::line_of(&of, &Criteria::default(), &|_, _, _| "worse".to_owned())
        .expect("a drive with a name");
    assert_eq!(
        (line.kernel.as_str(), line.model.as_str(), line.effects.len()),
        ("6.12.9", "FAST 980", 1)
    );
    let text = serde_json::to_string(&line).expect("JSON");
    for secret in ["db7", "m007", "eui", "boot", "/dev", "readers", "fair", "-lab", "17000"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    let mut own = result(7, 0.8, 12);
    own.header
        .series
        .iter_mut()
        .for_each(|series| series.workload = "command:run=/home/me/x".to_owned());
    assert!(crate::line_of(&own, &Criteria::default(), &|_, _, _| String::new()).is_err());
    let mut nameless = result(7, 0.8, 12);
    nameless.header.model = "(virtual disk)".to_owned();
    assert!(crate::line_of(&nameless, &Criteria::default(), &|_, _, _| String::new()).is_err());
}

#[test]
fn what_is_larger_than_a_reader_accepts_is_not_written_and_not_read() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = store(dir.path());
    let mut large = result(1, 0.8, 4);
    large.header.host = "x".repeat(5 << 20);
    assert!(
        format!("{:#}", store.push(&large).unwrap_err()).contains("facts of a result: too large")
    );
    let mut many = result(1, 0.8, 4);
    many.groups[1] = vec![many.groups[1][0].clone(); 2_000_001];
    assert!(
        format!("{:#}", store.push(&many).unwrap_err()).contains("values of a result: too many")
    );
    for number in 0..=100_000_u32 {
        let name = format!("{number:064x}");
        fs::File::create(dir.path().join(RESULTS).join(file_of(&name))).expect("made");
    }
    assert!(format!("{:#}", store.list().unwrap_err()).contains("results of a fleet: too many"));
}
