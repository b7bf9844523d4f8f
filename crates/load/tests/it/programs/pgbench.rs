//! pgbench on a real loop device: results, messages of failures, and no remains.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use crate::programs::ground::Ground;
use load::programs::{Runner, RunnerError, Trial};
use testbed::eventually;

/// Needed in addition to root.
const POSTGRESQL: &[&str] = &["postgres"];

/// PostgreSQL servers in our directory.
fn servers(ground: &Ground) -> Vec<String> {
    let at = ground.directory();
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(at)))
        .map(|entry| fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default())
        .collect()
}

/// Requires that no process, mount or shared memory is left.
#[track_caller]
fn end_clean(mut ground: Ground, before: &[String]) {
    assert_eq!(servers(&ground), Vec::<String>::new(), "nothing of PostgreSQL runs");
    let at = ground.directory().to_path_buf();
    assert_eq!(ground.end(), Vec::<String>::new());
    assert!(!at.exists(), "{} is gone", at.display());
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains(&ground.node), "{mounts}");
    // Another test may have just killed a server, whose segments go within its own time.
    eventually("no segment of shared memory is left", || {
        abandoned().iter().all(|segment| before.contains(segment))
    });
}

/// Segments of shared memory, of System V and POSIX, that no running server has made or uses.
fn abandoned() -> Vec<String> {
    let sysv = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    let of_row = |line: &str| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let (segment, creator) = (columns.get(1)?, columns.get(4)?);
        let runs = Path::new("/proc").join(creator).exists();
        (!runs).then(|| (*segment).to_owned())
    };
    let posix = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let posix = posix.map(|entry| entry.file_name().display().to_string());
    let posix = posix.filter(|name| name.starts_with("PostgreSQL") && !is_mapped(name));
    sysv.lines().skip(1).filter_map(of_row).chain(posix).collect()
}

fn is_mapped(name: &str) -> bool {
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| fs::read_to_string(entry.path().join("maps")).ok())
        .any(|maps| maps.contains(name))
}

fn runner(pairs: &[(&str, &str)]) -> Box<dyn Runner> {
    let row = load::programs::find("pgbench").unwrap();
    let common = [("scale", "1"), ("clients", "4"), ("threads", "2")];
    let all = common
        .iter()
        .filter(|(key, _)| pairs.iter().all(|(other, _)| other != key))
        .chain(pairs)
        .copied();
    (row.make)(&row.read(all).unwrap())
}

/// Longer than any test waits.
const LONG: Duration = Duration::from_secs(250);

fn trial(seed: u64) -> Trial {
    crate::programs::ground::trial(seed, Duration::from_secs(300))
}

/// Every file below `dir`, by relative path, with its contents.
fn files_of(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            } else {
                all.push((entry.path(), fs::read(entry.path()).unwrap()));
            }
        }
    }
    for (path, _) in &mut all {
        *path = path.strip_prefix(dir).unwrap().to_path_buf();
    }
    all.sort();
    all
}

#[test]
fn every_trial_starts_from_the_same_bytes_and_reports_what_pgbench_counted() {
    let before = abandoned();
    let Some(mut ground) = Ground::new(512, POSTGRESQL, Some("ext4")) else { return };
    let mut runner = runner(&[("transactions", "25"), ("warmup_transactions", "5")]);
    assert!(runner.version(&ground.bench()).unwrap().contains("(PostgreSQL)"));
    runner.prepare(&ground.bench()).unwrap();
    let remarks = runner.remarks();
    assert!(
        remarks[0].contains("initialised in") && remarks[0].contains("restored for each trial in"),
        "{remarks:?}"
    );

    let copy = ground.directory().join("pgbench/trial");
    let mut first = None;
    for seed in [1, 2] {
        runner.reset(&ground.bench()).unwrap();
        let bytes = files_of(&copy);
        assert!(bytes.len() > 500, "a cluster has a thousand files: {}", bytes.len());
        assert!(
            first.get_or_insert_with(|| bytes.clone()) == &bytes,
            "trial {seed} starts from the same bytes"
        );
        ground.cool();
        let seen = runner.measure(&ground.bench(), &trial(seed)).unwrap();
        assert!(
            files_of(&copy) != bytes,
            "a trial changes the copy, so there is something to put back"
        );

        let metric = |name: &str| seen.metrics[name];
        assert_eq!(seen.counters["transactions"], 100.0);
        assert!((metric("tps") * seen.window.as_secs_f64() - 100.0).abs() < 0.01);
        assert!(metric("latency_p50_us") <= metric("latency_p99_us"));
        assert!(metric("latency_p99_us") <= metric("latency_p999_us"));
        assert_eq!(seen.counts["latency_p99_us"], 100);
        let moved = seen.moved.unwrap();
        // At the start each of 100 transactions logs more than a page, later at least some bytes.
        assert!(moved.written_bytes > 100 * 100 && !moved.exact, "{moved:?}");
        assert!(
            seen.counters["wal_sync"] >= 1.0 && seen.counters["wal_bytes"] > 0.0,
            "{:?}",
            seen.counters
        );
        assert_eq!(servers(&ground), Vec::<String>::new(), "nothing runs after a trial");
    }
    end_clean(ground, &before);
}

#[test]
fn reads_only_by_time_are_counted_as_reads_from_the_device() {
    let Some(mut ground) = Ground::new(512, POSTGRESQL, Some("xfs")) else { return };
    let mut runner =
        runner(&[("mode", "select-only"), ("protocol", "prepared"), ("conf", "max_wal_size=64MB")]);
    runner.prepare(&ground.bench()).unwrap();
    runner.reset(&ground.bench()).unwrap();
    ground.cool();
    let before = ground.counted().0;
    let seen = runner.measure(&ground.bench(), &trial(3)).unwrap();
    let moved = seen.moved.unwrap();
    assert!(moved.read_bytes > 0, "{moved:?}");
    assert!(
        ground.counted().0 - before >= moved.read_bytes,
        "a bound from below: {moved:?}, {}",
        ground.counted().0 - before
    );
    assert_eq!(seen.counts["latency_p99_us"] as f64, seen.counters["transactions"]);
    ground.end();
}

#[test]
fn a_script_of_ones_own_is_read_once_and_its_mistakes_are_shown() {
    let Some(mut ground) = Ground::new(512, POSTGRESQL, Some("ext4")) else { return };
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("mine.sql");
    fs::write(&script, "insert into pgbench_history (tid, bid, aid, delta) values (1, 1, 1, 1);\n")
        .unwrap();
    let name = script.display().to_string();
    let mut good = runner(&[("script", &name), ("transactions", "5")]);
    good.prepare(&ground.bench()).unwrap();
    fs::remove_file(&script).unwrap();
    good.reset(&ground.bench()).unwrap();
    assert_eq!(good.measure(&ground.bench(), &trial(1)).unwrap().counters["transactions"], 20.0);

    let error =
        runner(&[("script", &name), ("transactions", "5")]).version(&ground.bench()).unwrap_err();
    assert!(error.to_string().contains("mine.sql"), "{error}");
    fs::write(&script, "select nonsense from nowhere;\n").unwrap();
    let mut bad = runner(&[("script", &name), ("transactions", "5")]);
    fs::remove_dir_all(ground.directory().join("pgbench")).unwrap();
    bad.prepare(&ground.bench()).unwrap();
    let error = bad.measure(&ground.bench(), &trial(1)).unwrap_err();
    let text = error.to_string();
    assert!(
        matches!(error, RunnerError::Failed { .. }) && text.starts_with("pgbench: ended"),
        "{text}"
    );
    assert!(text.contains("nowhere") && text.contains("aborted"), "{text}");
    assert_eq!(servers(&ground), Vec::<String>::new());
    ground.end();
}

/// Creating a cluster takes longer than each of the faults.
#[test]
fn faults_in_the_window_are_reported_and_nothing_of_them_runs_on() {
    let before = abandoned();
    let Some(ground) = Ground::new(512, POSTGRESQL, Some("ext4")) else { return };
    let mut runner = runner(&[("conf", "max_wal_size=64MB")]);
    runner.prepare(&ground.bench()).unwrap();
    a_deadline_ends_everything(&ground, &mut *runner);
    an_interrupt_ends_everything(&ground, &mut *runner);
    a_server_that_dies_is_reported_with_its_last_lines(&ground, &mut *runner);
    a_device_that_fills_up_is_reported_as_such(&ground, &mut *runner);
    end_clean(ground, &before);
}

fn a_deadline_ends_everything(ground: &Ground, runner: &mut dyn Runner) {
    runner.reset(&ground.bench()).unwrap();
    let mut short = Trial { duration: LONG, ..trial(1) };
    short.deadline = Duration::from_secs(8);
    let error = runner.measure(&ground.bench(), &short).unwrap_err();
    assert!(
        matches!(&error, RunnerError::TooLong { program, .. } if program == "pgbench"),
        "{error}"
    );
    assert_eq!(servers(ground), Vec::<String>::new(), "nothing runs after a deadline");
}

fn an_interrupt_ends_everything(ground: &Ground, runner: &mut dyn Runner) {
    runner.reset(&ground.bench()).unwrap();
    let (at, stop) = (ground.directory(), &ground.stop);
    thread::scope(|scope| {
        scope.spawn(|| {
            eventually("pgbench has clients", || clients_of(at) > 0);
            stop.store(true, Ordering::Relaxed);
        });
        let error =
            runner.measure(&ground.bench(), &Trial { duration: LONG, ..trial(2) }).unwrap_err();
        assert!(matches!(error, RunnerError::Interrupted), "{error}");
    });
    ground.stop.store(false, Ordering::Relaxed);
    assert_eq!(servers(ground), Vec::<String>::new(), "nothing runs after an interrupt");
}

fn a_server_that_dies_is_reported_with_its_last_lines(ground: &Ground, runner: &mut dyn Runner) {
    for (signal, whom) in [("-SEGV", "backend"), ("-KILL", "server")] {
        runner.reset(&ground.bench()).unwrap();
        let at = ground.directory();
        let error = thread::scope(|scope| {
            scope.spawn(|| {
                eventually("pgbench has clients", || clients_of(at) > 0);
                let note = fs::read_to_string(at.join("pgbench/trial/postmaster.pid")).unwrap();
                let server = note.lines().next().unwrap().to_string();
                eventually("the victim is signalled", || {
                    let victim =
                        if whom == "server" { Some(server.clone()) } else { backends_of(at).pop() };
                    let victim = victim.unwrap_or_default();
                    Command::new("kill").args([signal, &victim]).output().unwrap().status.success()
                });
            });
            runner.measure(&ground.bench(), &Trial { duration: LONG, ..trial(1) }).unwrap_err()
        });
        let text = error.to_string();
        assert!(text.starts_with("postgres: ended with"), "{whom}: {text}");
        assert!(text.contains("LOG:"), "its last lines: {text}");
        if whom == "backend" {
            assert!(text.contains("signal 11"), "{text}");
        }
        assert_eq!(servers(ground), Vec::<String>::new(), "nothing runs after the {whom}'s death");
    }
}

fn a_device_that_fills_up_is_reported_as_such(ground: &Ground, runner: &mut dyn Runner) {
    runner.reset(&ground.bench()).unwrap();
    // Uses all space, including root's reserve.
    let mut filler = fs::File::create(ground.directory().join("filler")).unwrap();
    while std::io::Write::write_all(&mut filler, &[1; 1 << 16]).is_ok() {}
    let _ = filler.sync_all();
    drop(filler);
    let error = runner.measure(&ground.bench(), &Trial { duration: LONG, ..trial(1) }).unwrap_err();
    assert!(matches!(error, RunnerError::Full { .. }), "{error}");
    assert!(error.to_string().contains("No space left on device"), "{error}");
    assert_eq!(servers(ground), Vec::<String>::new());
}

#[test]
fn a_device_that_is_too_small_for_its_tables_is_refused() {
    let Some(mut small) = Ground::new(256, POSTGRESQL, Some("ext4")) else { return };
    let error = runner(&[("scale", "50")]).prepare(&small.bench()).unwrap_err();
    assert!(matches!(error, RunnerError::NoRoom { .. }), "{error}");
    assert!(error.to_string().contains("loop:4G"), "{error}");
    small.end();
}

#[test]
fn a_missing_program_and_a_missing_user_are_named() {
    let Some(ground) = Ground::new(64, POSTGRESQL, Some("ext4")) else { return };
    let error =
        runner(&[("bindir", "/nonexistent")]).version(&ground.bench()).unwrap_err().to_string();
    assert!(error.contains("postgresql") && error.contains("/nonexistent"), "{error}");
    let error =
        runner(&[("user", "no-such-user")]).version(&ground.bench()).unwrap_err().to_string();
    assert!(error.contains("no-such-user: does not exist"), "{error}");
    let old = tempfile::tempdir().unwrap();
    for name in ["postgres", "initdb", "pgbench", "psql"] {
        let path = old.path().join(name);
        fs::write(&path, format!("#!/bin/sh\necho '{name} (PostgreSQL) 11.22'\n")).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    fs::set_permissions(old.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let error = runner(&[("bindir", &old.path().display().to_string())])
        .version(&ground.bench())
        .unwrap_err();
    assert!(matches!(error, RunnerError::Version { .. }), "{error}");
    assert!(
        error.to_string().contains("version 11") && error.to_string().contains("12 or later"),
        "{error}"
    );
    drop(ground);
    // An unknown setting is reported before the first trial.
    let Some(ground) = Ground::new(512, POSTGRESQL, Some("ext4")) else { return };
    let error = runner(&[("transactions", "1"), ("conf", "no_such_thing=1")])
        .prepare(&ground.bench())
        .unwrap_err();
    assert!(error.to_string().contains("no_such_thing"), "{error}");
    assert_eq!(servers(&ground), Vec::<String>::new());
}

/// Backends of pgbench; psql, which queries statistics, exits soon.
fn backends_of(at: &Path) -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(at)))
        .filter(|entry| {
            let title = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
            title.contains("[local]")
                && ["UPDATE", "INSERT", "COMMIT"].iter().any(|word| title.contains(word))
        })
        .map(|entry| entry.file_name().display().to_string())
        .collect()
}

fn clients_of(at: &Path) -> usize {
    backends_of(at).len()
}
