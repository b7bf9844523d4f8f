//! Runners on a real loop device with a real file system, without an arena.

use std::fs;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use crate::programs::ground::{Ground, trial};
use load::programs::{Bench, RunnerError};
use testbed::eventually;

/// Searches command lines for these words.
fn runs(words: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .any(|line| line.contains(words))
}

#[test]
fn a_command_receives_its_directory_and_its_figures_are_read() {
    let Some(mut ground) = Ground::files(64, &[]) else { return };
    let script = ground.script(
        "bench.sh",
        "#!/bin/sh\nset -e\ndd if=/dev/zero of=$SCHEDLAB_DIR/x bs=1M count=8 2>/dev/null\npwd > received\necho $SCHEDLAB_DEVICE $SCHEDLAB_SEED >> received\n\
         echo 'speed: 100 kB/s'\necho 'speed: 250 kB/s'\necho 'warning: 7 kB/s' >&2\n",
    );
    let before = ground.counted();
    let options = [
        ("file", script.to_str().unwrap()),
        ("metric", "write_mb_per_s"),
        ("regex", r"([0-9]+) kB/s"),
        ("scale", "0.001"),
    ];
    let seen = ground.measure("command", &options).unwrap();
    assert_eq!(seen.metrics["write_mb_per_s"], 0.25);
    assert!(
        seen.metrics["wall_synced_s"] >= seen.metrics["wall_s"] && seen.metrics["wall_s"] > 0.0
    );
    assert_eq!(seen.window.as_secs_f64(), seen.metrics["wall_synced_s"]);
    let written = ground.counted().1 - before.1;
    assert!(written >= 8 << 20, "until its data are on the device: {written}");
    let received = fs::read_to_string(ground.directory().join("received")).unwrap();
    assert_eq!(received, format!("{}\n{} 4711\n", ground.directory().display(), ground.node));
    let mut stderr = options.to_vec();
    stderr.push(("stream", "stderr"));
    assert_eq!(ground.measure("command", &stderr).unwrap().metrics["write_mb_per_s"], 0.007);
}

#[test]
fn places_are_filled_in_and_setup_reset_and_version_run_when_they_should() {
    let Some(mut ground) = Ground::files(64, &[]) else { return };
    let options = [
        ("run", "echo run >> {dir}/log; test -b {device} && echo '{seed}' >> {dir}/log"),
        ("setup", "echo setup >> {dir}/log"),
        ("reset", "echo reset >> {dir}/log"),
        ("version", "echo; echo tool 1.2; echo more"),
    ];
    let mut runner = ground.prepared("command", &options).unwrap();
    let version = runner.version(&ground.bench()).unwrap();
    assert_eq!(version, "tool 1.2");
    for _ in 0..2 {
        ground.trial(&mut *runner, Duration::from_secs(60)).unwrap();
    }
    let log = fs::read_to_string(ground.directory().join("log")).unwrap();
    assert_eq!(log, "setup\nreset\nrun\n4711\nreset\nrun\n4711\n");
}

#[test]
fn a_command_that_fails_or_prints_nothing_of_use_shows_its_last_lines() {
    let Some(mut ground) = Ground::files(64, &[]) else { return };
    for (options, parts) in [
        (
            &[("run", "echo all is lost >&2; exit 3")][..],
            &["exit status: 3", "all is lost", "echo all is lost"][..],
        ),
        (
            &[("run", "echo no figure today; echo noise >&2"), ("regex", "(?<tps>[0-9]+) tps")],
            &["tps", "no figure today"],
        ),
        (&[("run", "true"), ("json", "tps=/tps")], &["JSON", "no output"]),
        (&[("run", "true"), ("setup", "echo broken >&2; false")], &["setup", "broken"]),
        (&[("run", "true"), ("reset", "false")], &["reset", "exit status: 1"]),
        (&[("run", "true"), ("version", "true")], &["version", "printed no line"]),
        (&[("run", "true"), ("on", "device")], &["on=device", "remove the file system"]),
        (&[("file", "./not/there.sh")], &["./not/there.sh"]),
    ] {
        let error = ground.measure("command", options).unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{options:?}: {error}");
    }
}

#[test]
fn a_command_that_hangs_is_ended_with_its_children_at_its_deadline() {
    let Some(mut ground) = Ground::files(64, &[]) else { return };
    let mut runner = ground
        .prepared("command", &[("run", "echo still here; sleep 98761 & sleep 98762")])
        .unwrap();
    let error = ground.trial(&mut *runner, Duration::from_secs(3)).unwrap_err().to_string();
    assert!(error.contains("still running") && error.contains("still here"), "{error}");
    assert!(!runs("sleep 98761") && !runs("sleep 98762"));
    let mut runner = ground.prepared("command", &[("run", "sleep 98763 & echo done")]).unwrap();
    ground.trial(&mut *runner, Duration::from_secs(60)).unwrap();
    assert!(!runs("sleep 98763"), "what it leaves behind is ended");
}

#[test]
fn a_command_is_ended_when_the_experiment_is_interrupted() {
    let Some(ground) = Ground::files(64, &[]) else { return };
    let mut runner =
        ground.prepared("command", &[("run", "touch {dir}/begun; sleep 98764")]).unwrap();
    let begun = ground.directory().join("begun");
    let stop = &ground.stop;
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            eventually("the command has begun", || begun.exists());
            stop.store(true, Ordering::Relaxed);
        });
        runner.measure(&ground.bench(), &trial(4711, Duration::from_secs(60)))
    });
    assert!(matches!(outcome, Err(RunnerError::Interrupted)), "{outcome:?}");
    assert!(!runs("sleep 98764"));
}

#[test]
fn a_command_on_the_bare_device_is_timed_until_the_device_has_its_data() {
    let Some(mut ground) = Ground::new(16, &[], None) else { return };
    let before = ground.counted().1;
    let line = "dd if=/dev/zero of={device} bs=1M count=4 conv=notrunc 2>/dev/null; test -z \"$SCHEDLAB_DIR\"";
    let seen = ground.measure("command", &[("run", line), ("on", "device")]).unwrap();
    assert!(seen.metrics["wall_synced_s"] >= seen.metrics["wall_s"]);
    assert!(ground.counted().1 - before >= 4 << 20);
    let error = ground.measure("command", &[("run", "true")]).unwrap_err().to_string();
    assert!(error.contains("--fs ext4"), "{error}");
}

#[test]
fn postmark_does_what_it_was_asked_for_and_its_data_reach_the_device() {
    let Some(mut ground) = Ground::files(256, &["postmark"]) else { return };
    let options = [
        ("number", "1000"),
        ("transactions", "5000"),
        ("size_min", "4k"),
        ("size_max", "12k"),
        ("subdirectories", "5"),
    ];
    let mut runner = ground.prepared("postmark-program", &options).unwrap();
    for _ in 0..2 {
        let before = ground.counted();
        let seen = ground.trial(&mut *runner, Duration::from_secs(120)).unwrap();
        let after = ground.counted();
        let moved = seen.moved.unwrap();
        assert!(moved.read_bytes > 1 << 20 && moved.written_bytes > 8 << 20, "{moved:?}");
        let (read, written) = (after.0 - before.0, after.1 - before.1);
        // The rest was read from memory while the program was being stopped.
        assert!(read as f64 >= 0.9 * moved.read_bytes as f64, "{read} of {moved:?}");
        assert!(written >= moved.written_bytes, "{written} of {moved:?}");
        assert!(seen.metrics["wall_synced_s"] > seen.metrics["wall_s"]);
        let tps = 5000.0 / seen.counters["transactions_s"];
        assert!((seen.metrics["tps"] - tps).abs() < 1e-6 * tps);
        assert_eq!(seen.counters["created"], seen.counters["deleted"]);
        assert!(
            fs::read_dir(ground.directory().join("postmark")).unwrap().next().is_none(),
            "it deletes what it has made"
        );
    }
}

#[test]
fn postmark_as_it_is_stays_in_memory_and_says_what_it_moved() {
    let Some(mut ground) = Ground::files(64, &["postmark"]) else { return };
    let before = ground.counted();
    let seen = ground
        .measure("postmark-program", &[("flush", "false"), ("transactions", "3000")])
        .unwrap();
    let moved = seen.moved.unwrap();
    assert!(seen.counters["reported_written_mb"] * 1.01 > moved.written_bytes as f64 / 1e6);
    let read = ground.counted().0 - before.0;
    assert!(
        read < moved.read_bytes / 2,
        "the arena makes such a trial invalid: {read} of {moved:?}"
    );
}

#[test]
fn postmark_needs_room_and_says_how_much() {
    let Some(mut ground) = Ground::files(16, &["postmark"]) else { return };
    let error = ground.measure("postmark-program", &[("number", "5000")]).unwrap_err().to_string();
    assert!(error.contains("MB are free"), "{error}");
}

#[test]
fn a_program_starts_cold_each_time_and_from_the_device() {
    let Some(mut ground) = Ground::files(512, &["python3", "chroot", "ldd"]) else { return };
    let mut runner = ground.prepared("startup", &[("starts", "3"), ("pause", "1ms")]).unwrap();
    assert!(runner.remarks()[0].contains("files"));
    let before = ground.counted().0;
    let seen = ground.trial(&mut *runner, Duration::from_secs(120)).unwrap();
    let (read, moved) = (ground.counted().0 - before, seen.moved.unwrap());
    assert!(read >= moved.read_bytes && moved.read_bytes > 4 * 5_000_000, "{read} {moved:?}");
    assert_eq!(seen.counters["starts"], 3.0);
    let (mean, longest) = (seen.metrics["startup_ms"], seen.metrics["startup_max_ms"]);
    assert!(mean > 1.0 && longest >= mean && longest <= 3.0 * mean, "{mean} {longest}");
}

#[test]
fn a_tree_that_is_warm_is_no_cold_start() {
    let Some(ground) = Ground::files(512, &["python3", "chroot", "ldd"]) else { return };
    let mut runner = ground.prepared("startup", &[("starts", "1")]).unwrap();
    // Pages mapped by another process cannot be dropped.
    let mapped = fs::File::open(ground.directory().join("startup-0/usr/bin/python3")).unwrap();
    // SAFETY: no process changes the file, and the mapping ends with the test.
    let map = unsafe { memmap2::MmapOptions::new().populate().map(&mapped).unwrap() };
    let outcome = runner.measure(&ground.bench(), &trial(4711, Duration::from_secs(60)));
    assert!(outcome.unwrap_err().to_string().contains("would not be cold"));
    drop(map);
}

#[test]
fn a_program_that_stays_is_ready_when_it_says_so_and_is_ended() {
    let Some(mut ground) = Ground::files(64, &["chroot", "ldd", "sleep"]) else { return };
    let options = [
        ("program", "/bin/sh"),
        ("args", "-c 'trap \"\" TERM; echo listening on 80; while :; do :; done # 98765'"),
        ("ready", "^listening"),
    ];
    let mut starts = options.to_vec();
    starts.push(("starts", "2"));
    let seen = ground.measure("startup", &starts).unwrap();
    assert!(seen.metrics["startup_ms"] > 0.0 && seen.counters["starts"] == 2.0);
    assert!(!runs("# 98765"));
    let quits = [("program", "/bin/sh"), ("args", "-c 'echo bye'"), ("ready", "^listening")];
    let error = ground.measure("startup", &quits).unwrap_err().to_string();
    assert!(error.contains("ended before it printed") && error.contains("bye"), "{error}");
    let fails = [("program", "/bin/sh"), ("args", "-c 'echo not here >&2; exit 9'")];
    let error = ground.measure("startup", &fails).unwrap_err().to_string();
    assert!(error.contains("exit status: 9") && error.contains("not here"), "{error}");
    let mut runner = ground
        .prepared(
            "startup",
            &[("program", "/bin/sh"), ("args", "-c 'while :; do :; done # 98766'")],
        )
        .unwrap();
    let error = ground.trial(&mut *runner, Duration::from_millis(300)).unwrap_err().to_string();
    assert!(error.contains("still running"), "{error}");
    assert!(!runs("# 98766"));
}

#[test]
fn fio_job_that_writes_without_consent_is_refused_by_fio() {
    let Some(ground) = Ground::new(16, &["fio"], None) else { return };
    let job = ground.dir.path().join("job.fio");
    // As if changed since consent was given for reading.
    fs::write(&job, "[writer]\nrw=randwrite\nbs=4k\nsize=1m\n").unwrap();
    let row = load::programs::find("fio").unwrap();
    let mut fio = (row.make)(&row.read([("file", job.to_str().unwrap())]).unwrap());
    let before = ground.counted();
    let measured = fio
        .measure(&Bench { may_write: false, ..ground.bench() }, &trial(1, Duration::from_secs(60)));
    assert!(measured.is_err(), "{measured:?}");
    assert_eq!(ground.counted().1, before.1, "nothing was written");
    let measured = fio.measure(&ground.bench(), &trial(1, Duration::from_secs(60)));
    assert!(measured.is_ok() && ground.counted().1 > before.1, "{measured:?}");
}
