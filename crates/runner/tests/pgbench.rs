//! pgbench on a real loop device with a real file system: what it gives, what its failures say, and that nothing of it stays.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use host::session::FileSystem;
use host::{Device, Root, Session};
use runner::{Bench, Runner, RunnerError, Trial};

/// A loop device of our own over a file of our own; detached when dropped.
struct Loop {
    path: String,
    _dir: tempfile::TempDir,
}

impl Loop {
    fn new(mib: u64) -> Loop {
        let dir = tempfile::Builder::new().prefix("schedlab-test-").tempdir_in("/var/tmp").unwrap();
        let file = dir.path().join("disk.img");
        fs::File::create(&file).unwrap().set_len(mib << 20).unwrap();
        let out = Command::new("losetup").args(["-f", "--show", "--direct-io=on"]).arg(&file).output().unwrap();
        assert!(out.status.success(), "losetup: {}", String::from_utf8_lossy(&out.stderr));
        Loop { path: String::from_utf8(out.stdout).unwrap().trim().to_string(), _dir: dir }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.path]).status();
    }
}

fn can_run() -> bool {
    let root = rustix::process::geteuid().is_root();
    let there = fs::read_dir("/usr/lib/postgresql")
        .is_ok_and(|dir| dir.flatten().any(|entry| entry.path().join("bin/pgbench").is_file()));
    if root && there {
        return true;
    }
    let reason = "SKIPPED: this test needs root and PostgreSQL (package postgresql)";
    assert!(std::env::var_os("SCHEDLAB_MUST_RUN_ALL").is_none(), "{reason}");
    eprintln!("{reason}");
    false
}

/// A device with a file system, and a session that ends everything on it. The process has one session at a time.
struct Lab {
    session: Session,
    device: Device,
    stop: AtomicBool,
    disk: Loop,
}

static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

impl Lab {
    fn new(mib: u64, kind: &str) -> Lab {
        let disk = Loop::new(mib);
        let root = Root::real().with_state_dir(disk._dir.path().join("state"));
        let device = host::device::find(&root, &disk.path).unwrap();
        let mut session = Session::begin(&root).unwrap();
        let wanted = FileSystem { kind: kind.to_string(), mkfs: String::new(), mount: String::new() };
        session.make_files(&device, &wanted).unwrap();
        Lab { session, device, stop: AtomicBool::new(false), disk }
    }

    fn bench(&self) -> Bench<'_> {
        let directory = self.session.directory();
        Bench {
            session: &self.session,
            device: Some(&self.device),
            directory,
            stop: &self.stop,
            say: &|_| {},
            noted: Box::leak(Box::default()),
        }
    }

    fn directory(&self) -> PathBuf {
        self.session.directory().unwrap().to_path_buf()
    }

    /// Servers of PostgreSQL that work in our directory.
    fn servers(&self) -> Vec<String> {
        let at = self.directory();
        let all = fs::read_dir("/proc").unwrap().flatten();
        all.filter(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&at)))
            .map(|entry| fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default())
            .collect()
    }

    /// The session ends, and nothing is left: no process, no mount, no shared memory.
    #[track_caller]
    fn end_clean(self, shared_before: &[String]) {
        assert_eq!(self.servers(), Vec::<String>::new(), "nothing of PostgreSQL runs");
        let at = self.directory();
        let left = self.session.end().unwrap();
        assert_eq!(left, Vec::<String>::new());
        assert!(!at.exists(), "{} is gone", at.display());
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        assert!(!mounts.contains(&self.disk.path), "{mounts}");
        assert_eq!(shared(), shared_before, "no segment of shared memory is left");
    }
}

/// Segments of shared memory of System V and POSIX.
fn shared() -> Vec<String> {
    let sysv = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    let mut all: Vec<String> =
        sysv.lines().skip(1).filter_map(|line| Some(line.split_whitespace().nth(1)?.to_string())).collect();
    let posix = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    all.extend(
        posix.map(|entry| entry.file_name().display().to_string()).filter(|name| name.starts_with("PostgreSQL")),
    );
    all.sort();
    all
}

fn runner(pairs: &[(&str, &str)]) -> Box<dyn Runner> {
    let row = runner::find("pgbench").unwrap();
    let common = [("scale", "1"), ("clients", "4"), ("threads", "2")];
    let all = common.iter().filter(|(key, _)| pairs.iter().all(|(other, _)| other != key)).chain(pairs).copied();
    (row.make)(&row.read(all).unwrap())
}

/// Longer than a test waits for anything.
const LONG: Duration = Duration::from_secs(250);

fn trial(seed: u64) -> Trial {
    Trial {
        seed,
        duration: Duration::from_secs(1),
        warmup: Duration::ZERO,
        deadline: Duration::from_secs(300),
        ..Trial::default()
    }
}

/// The file node of each table, and how many rows the history has, in the copy that the next trial will get.
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
fn every_trial_starts_from_the_same_bytes_and_tells_what_pgbench_counted() {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(|poison| poison.into_inner());
    if !can_run() {
        return;
    }
    let before = shared();
    let mut lab = Lab::new(512, "ext4");
    let mut runner = runner(&[("transactions", "25"), ("warmup_transactions", "5")]);
    assert!(runner.version(&lab.bench()).unwrap().contains("(PostgreSQL)"));
    runner.prepare(&lab.bench()).unwrap();
    let remarks = runner.remarks();
    assert!(remarks[0].contains("initialised in") && remarks[0].contains("restored for each trial in"), "{remarks:?}");

    let copy = lab.directory().join("pgbench/trial");
    let mut first = None;
    for seed in [1, 2] {
        runner.reset(&lab.bench()).unwrap();
        let bytes = files_of(&copy);
        assert!(bytes.len() > 500, "a cluster has a thousand files: {}", bytes.len());
        assert!(first.get_or_insert_with(|| bytes.clone()) == &bytes, "trial {seed} starts from the same bytes");
        lab.session.cool().unwrap();
        let seen = runner.measure(&lab.bench(), &trial(seed)).unwrap();
        assert!(files_of(&copy) != bytes, "a trial changes the copy, so there is something to put back");

        let metric = |name: &str| seen.metrics[name];
        assert_eq!(seen.counters["transactions"], 100.0);
        assert!((metric("tps") * seen.window.as_secs_f64() - 100.0).abs() < 0.01);
        assert!(metric("latency_p50_us") <= metric("latency_p99_us"));
        assert!(metric("latency_p99_us") <= metric("latency_p999_us"));
        assert_eq!(seen.counts["latency_p99_us"], 100);
        let moved = seen.moved.unwrap();
        // Each of 100 transactions writes and commits more than one page's worth of log in the beginning, and some bytes always.
        assert!(moved.written_bytes > 100 * 100 && !moved.exact, "{moved:?}");
        assert!(seen.counters["wal_sync"] >= 1.0 && seen.counters["wal_bytes"] > 0.0, "{:?}", seen.counters);
        assert_eq!(lab.servers(), Vec::<String>::new(), "nothing runs after a trial");
    }
    lab.end_clean(&before);
}

#[test]
fn reads_only_by_time_are_counted_as_reads_from_the_device() {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(|poison| poison.into_inner());
    if !can_run() {
        return;
    }
    let mut lab = Lab::new(512, "xfs");
    let mut runner = runner(&[("mode", "select-only"), ("protocol", "prepared"), ("conf", "max_wal_size=64MB")]);
    runner.prepare(&lab.bench()).unwrap();
    runner.reset(&lab.bench()).unwrap();
    lab.session.cool().unwrap();
    let reads = |lab: &Lab| -> u64 {
        let stat = fs::read_to_string(format!("/sys/block/{}/stat", lab.device.name)).unwrap();
        stat.split_whitespace().nth(2).unwrap().parse::<u64>().unwrap() * 512
    };
    let before = reads(&lab);
    let seen = runner.measure(&lab.bench(), &trial(3)).unwrap();
    let moved = seen.moved.unwrap();
    assert!(moved.read_bytes > 0, "{moved:?}");
    assert!(reads(&lab) - before >= moved.read_bytes, "a bound from below: {moved:?}, {}", reads(&lab) - before);
    assert_eq!(seen.counts["latency_p99_us"] as f64, seen.counters["transactions"]);
    lab.session.end().unwrap();
}

#[test]
fn a_script_of_ones_own_is_read_once_and_its_mistakes_are_shown() {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(|poison| poison.into_inner());
    if !can_run() {
        return;
    }
    let lab = Lab::new(512, "ext4");
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("mine.sql");
    fs::write(&script, "insert into pgbench_history (tid, bid, aid, delta) values (1, 1, 1, 1);\n").unwrap();
    let name = script.display().to_string();
    let mut good = runner(&[("script", &name), ("transactions", "5")]);
    good.prepare(&lab.bench()).unwrap();
    fs::remove_file(&script).unwrap();
    good.reset(&lab.bench()).unwrap();
    assert_eq!(good.measure(&lab.bench(), &trial(1)).unwrap().counters["transactions"], 20.0);

    let error = runner(&[("script", &name), ("transactions", "5")]).version(&lab.bench()).unwrap_err();
    assert!(error.to_string().contains("mine.sql"), "{error}");
    fs::write(&script, "select nonsense from nowhere;\n").unwrap();
    let mut bad = runner(&[("script", &name), ("transactions", "5")]);
    fs::remove_dir_all(lab.directory().join("pgbench")).unwrap();
    bad.prepare(&lab.bench()).unwrap();
    let error = bad.measure(&lab.bench(), &trial(1)).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, RunnerError::Failed { .. }) && text.starts_with("pgbench ended"), "{text}");
    assert!(text.contains("nowhere") && text.contains("aborted"), "{text}");
    assert_eq!(lab.servers(), Vec::<String>::new());
    lab.session.end().unwrap();
}

#[test]
fn an_interrupt_and_a_deadline_end_everything() {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(|poison| poison.into_inner());
    if !can_run() {
        return;
    }
    let before = shared();
    let lab = Lab::new(512, "ext4");
    let mut runner = runner(&[("conf", "max_wal_size=64MB")]);
    runner.prepare(&lab.bench()).unwrap();

    runner.reset(&lab.bench()).unwrap();
    let mut short = Trial { duration: LONG, ..trial(1) };
    short.deadline = Duration::from_secs(3);
    let error = runner.measure(&lab.bench(), &short).unwrap_err();
    assert!(matches!(&error, RunnerError::TooLong { program, .. } if program == "pgbench"), "{error}");
    assert_eq!(lab.servers(), Vec::<String>::new(), "nothing runs after a deadline");

    runner.reset(&lab.bench()).unwrap();
    let at = lab.directory();
    thread::scope(|scope| {
        scope.spawn(|| {
            wait_for(|| clients_of(&at) > 0);
            lab.stop.store(true, Ordering::Relaxed);
        });
        let error = runner.measure(&lab.bench(), &Trial { duration: LONG, ..trial(2) }).unwrap_err();
        assert!(matches!(error, RunnerError::Interrupted), "{error}");
    });
    lab.end_clean(&before);
}

#[test]
fn a_server_that_dies_in_the_window_is_told_with_its_last_lines() {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(|poison| poison.into_inner());
    if !can_run() {
        return;
    }
    let before = shared();
    let lab = Lab::new(512, "ext4");
    let mut runner = runner(&[("conf", "max_wal_size=64MB")]);
    runner.prepare(&lab.bench()).unwrap();
    for (signal, whom) in [("-SEGV", "backend"), ("-KILL", "server")] {
        runner.reset(&lab.bench()).unwrap();
        let at = lab.directory();
        let error = thread::scope(|scope| {
            scope.spawn(|| {
                wait_for(|| clients_of(&at) > 0);
                let note = fs::read_to_string(at.join("pgbench/trial/postmaster.pid")).unwrap();
                let server = note.lines().next().unwrap().to_string();
                wait_for(|| {
                    let victim = if whom == "server" { Some(server.clone()) } else { backends_of(&at).pop() };
                    let victim = victim.unwrap_or_default();
                    Command::new("kill").args([signal, &victim]).output().unwrap().status.success()
                });
            });
            runner.measure(&lab.bench(), &Trial { duration: LONG, ..trial(1) }).unwrap_err()
        });
        let text = error.to_string();
        assert!(text.starts_with("postgres ended with"), "{whom}: {text}");
        assert!(text.contains("LOG:"), "its last lines: {text}");
        if whom == "backend" {
            assert!(text.contains("signal 11"), "{text}");
        }
        assert_eq!(lab.servers(), Vec::<String>::new(), "nothing runs after the {whom}'s death");
    }
    lab.end_clean(&before);
}

#[test]
fn a_device_that_is_too_small_or_fills_up_is_told_as_such() {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(|poison| poison.into_inner());
    if !can_run() {
        return;
    }
    let small = Lab::new(256, "ext4");
    let error = runner(&[("scale", "50")]).prepare(&small.bench()).unwrap_err();
    assert!(matches!(error, RunnerError::NoRoom { .. }), "{error}");
    assert!(error.to_string().contains("loop:4G"), "{error}");
    small.session.end().unwrap();

    let lab = Lab::new(512, "ext4");
    let mut runner = runner(&[("transactions", "1000"), ("conf", "max_wal_size=64MB")]);
    runner.prepare(&lab.bench()).unwrap();
    runner.reset(&lab.bench()).unwrap();
    // Somebody else's file takes all that is left, the reserve of root included.
    let mut filler = fs::File::create(lab.directory().join("filler")).unwrap();
    while std::io::Write::write_all(&mut filler, &[1; 1 << 16]).is_ok() {}
    let _ = filler.sync_all();
    drop(filler);
    let error = runner.measure(&lab.bench(), &trial(1)).unwrap_err();
    assert!(matches!(error, RunnerError::Full { .. }), "{error}");
    assert!(error.to_string().contains("No space left on device"), "{error}");
    assert_eq!(lab.servers(), Vec::<String>::new());
    lab.session.end().unwrap();
}

#[test]
fn a_missing_program_and_a_missing_user_are_named() {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(|poison| poison.into_inner());
    if !can_run() {
        return;
    }
    let lab = Lab::new(64, "ext4");
    let error = runner(&[("bindir", "/nonexistent")]).version(&lab.bench()).unwrap_err().to_string();
    assert!(error.contains("postgresql") && error.contains("/nonexistent"), "{error}");
    let error = runner(&[("user", "nobody-of-that-name")]).version(&lab.bench()).unwrap_err().to_string();
    assert!(error.contains("nobody-of-that-name does not exist"), "{error}");
    let old = tempfile::tempdir().unwrap();
    for name in ["postgres", "initdb", "pgbench", "psql"] {
        let path = old.path().join(name);
        fs::write(&path, format!("#!/bin/sh\necho '{name} (PostgreSQL) 11.22'\n")).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    fs::set_permissions(old.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let error = runner(&[("bindir", &old.path().display().to_string())]).version(&lab.bench()).unwrap_err();
    assert!(matches!(error, RunnerError::Version { .. }), "{error}");
    assert!(error.to_string().contains("version 11") && error.to_string().contains("12 or later"), "{error}");
    // A setting that the server does not know is found before the first trial.
    let lab = Lab::new(512, "ext4");
    let error = runner(&[("transactions", "1"), ("conf", "no_such_thing=1")]).prepare(&lab.bench()).unwrap_err();
    assert!(error.to_string().contains("no_such_thing"), "{error}");
    assert_eq!(lab.servers(), Vec::<String>::new());
}

/// The server's processes that serve a client of pgbench; psql, which asks for the statistics, changes nothing and is soon gone.
fn backends_of(at: &Path) -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(at)))
        .filter(|entry| {
            let title = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
            title.contains("[local]") && ["UPDATE", "INSERT", "COMMIT"].iter().any(|word| title.contains(word))
        })
        .map(|entry| entry.file_name().display().to_string())
        .collect()
}

fn clients_of(at: &Path) -> usize {
    backends_of(at).len()
}

fn wait_for(mut ready: impl FnMut() -> bool) {
    let since = Instant::now();
    while !ready() {
        assert!(since.elapsed() < Duration::from_secs(200), "it never came");
        thread::sleep(Duration::from_millis(5));
    }
}
