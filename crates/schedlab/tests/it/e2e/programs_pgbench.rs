//! pgbench under comparison, and no trace of PostgreSQL left, even after kill -9.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use testbed::require;

use crate::common::{Lab, trials};

fn can_run_pgbench() -> bool {
    require(&["root", "initdb", "blkid", "mkfs.ext4", "setpriv", "unshare"])
}

fn working_in(dir: &Path) -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter(|entry| {
        fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(dir))
    })
    .map(|entry| fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default())
    .collect()
}

fn mounts_over(dir: &Path) -> Vec<PathBuf> {
    let loops = loops_over(dir);
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let fields = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ');
        Some((fields.next()?.trim_start_matches("/dev/").to_owned(), PathBuf::from(fields.next()?)))
    });
    fields.filter(|(device, _)| loops.contains(device)).map(|(_, at)| at).collect()
}

fn loops_over(dir: &Path) -> Vec<String> {
    let all = fs::read_dir("/sys/block").unwrap().flatten();
    all.filter(|entry| {
        let file = fs::read_to_string(entry.path().join("loop/backing_file")).unwrap_or_default();
        Path::new(file.trim()).starts_with(dir)
    })
    .map(|entry| entry.file_name().display().to_string())
    .collect()
}

#[test]
fn a_comparison_by_pgbench_ends_with_rates_and_percentiles_and_the_version() {
    if !can_run_pgbench() {
        return;
    }
    let lab = Lab::new();
    let (out, dir) = (lab.path("out"), lab.dir.path());
    let ran = lab.run(&format!(
        "compare --device loop:512M --loop-dir {} --schedulers none,bfq --rounds 2 --figures-only --out {} \
         --workload pgbench:scale=1:clients=4:transactions=300",
        dir.display(),
        out.display()
    ));
    let ran = ran.expect_measured().says(&["initialised in", "restored for each trial in"]);
    assert!(ran.stdout.contains("tps"), "{}", ran.stdout);
    let all = trials(&out);
    // Two rounds, and what was repeated because the machine was busy.
    assert!(all.len() >= 4, "{all:?}");
    // 1,200 transactions are too few for p99.9, which decides nothing here.
    let undisturbed = |trial: &&serde_json::Value| {
        let reasons = trial["observation"]["invalid"].as_array();
        reasons.is_none_or(|all| all.iter().all(|one| one["reason"] == "too-few-ios"))
    };
    assert!(all.iter().any(|trial| undisturbed(&trial)), "{all:?}");
    for trial in all.iter().filter(undisturbed) {
        let metrics = &trial["observation"]["metrics"];
        for name in ["tps", "latency_p99_us"] {
            assert!(metrics[name].as_f64().is_some_and(|value| value > 0.0), "{name}: {trial}");
        }
        let counted = |name: &str| {
            trial["observation"]["counters"][name].as_f64().unwrap_or_else(|| panic!("{trial}"))
        };
        assert_eq!(counted("transactions"), 1200.0);
        assert!(
            counted("device_written_bytes") >= counted("wal_flushed_bytes"),
            "the log came to the device: {trial}"
        );
    }
    let report = fs::read_to_string(out.join("report.md")).unwrap();
    assert!(report.contains("tps") && report.contains("p99"), "{report}");
    let results = fs::read_to_string(out.join("results.jsonl")).unwrap();
    assert!(results.contains("(PostgreSQL)"), "the version is in the results file");
    assert_eq!((loops_over(dir), mounts_over(dir)), (Vec::new(), Vec::new()));
}

#[test]
fn kill_9_amid_a_trial_of_pgbench_leaves_nothing_after_the_next_restore() {
    if !can_run_pgbench() {
        return;
    }
    let lab = Lab::new();
    let dir = lab.dir.path();
    let mut child = lab.start(&format!(
        "compare --device loop:512M --loop-dir {} --schedulers none,bfq --budget 3h --trial-time 200s --out {} \
         --workload pgbench:scale=1:clients=4:conf=max_wal_size=64MB",
        dir.display(),
        lab.path("out").display()
    ));
    // During a trial: a server works in the copy and serves clients.
    let since = Instant::now();
    let at = loop {
        assert!(since.elapsed() < Duration::from_secs(180), "no trial has begun");
        assert!(child.try_wait().unwrap().is_none(), "{:?}", child.wait_with_output());
        let served = |at: &PathBuf| {
            working_in(at).iter().any(|title| title.contains("[local]") && !title.contains("COPY"))
        };
        let trial = mounts_over(dir).into_iter().find(|at| served(&at.join("pgbench/trial")));
        if let Some(at) = trial {
            break at;
        }
        thread::sleep(Duration::from_millis(20));
    };
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!loops_over(dir).is_empty(), "a killed schedlab cleans nothing itself");

    lab.run("restore").expect_status(0);
    assert_eq!(working_in(&at), Vec::<String>::new(), "no process of PostgreSQL");
    assert_eq!(mounts_over(dir), Vec::<PathBuf>::new(), "no mount");
    assert_eq!(loops_over(dir), Vec::<String>::new(), "no loop device");
    assert!(!at.exists(), "no directory {}", at.display());
    let images: Vec<_> = fs::read_dir(dir).unwrap().flatten().map(|entry| entry.path()).collect();
    assert!(
        images.iter().all(|path| path.extension().is_none_or(|extension| extension != "img")),
        "{images:?}"
    );
    let left = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    assert_eq!(
        left.lines().count(),
        left.lines().take(1).count(),
        "no segment of shared memory: {left}"
    );
}
