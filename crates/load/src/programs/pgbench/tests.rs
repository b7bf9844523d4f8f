//! Output of pgbench, psql and the log in several versions; options; and one real trial.
//!
//! Version 15's output is from 15.18, that of 12 and 13 (`including`/`excluding connections
//! establishing`) from their manuals.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::counters::{self, Counters};
use super::output::{self, Raw, percentile, report, times_us};
use super::settings::Settings;
use super::tools;
use crate::programs::error::RunnerError;
use crate::programs::find;
use ground::Ground;

#[path = "../../../tests/it/programs/ground.rs"]
mod ground;

const BY_TRANSACTIONS: &str = "\
pgbench (15.18 (Debian 15.18-0+deb12u1))
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 50
query mode: simple
number of clients: 4
number of threads: 2
maximum number of tries: 1
number of transactions per client: 20
number of transactions actually processed: 80/80
number of failed transactions: 0 (0.000%)
latency average = 7.786 ms
latency stddev = 4.681 ms
initial connection time = 22.933 ms
tps = 460.954291 (without initial connection time)
";

const BY_TIME: &str = "\
transaction type: <builtin: select only>
duration: 3 s
number of transactions actually processed: 9621
number of failed transactions: 0 (0.000%)
latency average = 1.236 ms
latency stddev = 1.897 ms
initial connection time = 14.679 ms
tps = 3205.141018 (without initial connection time)
";

const OF_12: &str = "\
transaction type: <builtin: TPC-B (sort of)>
number of transactions per client: 1000
number of transactions actually processed: 10000/10000
latency average = 11.013 ms
latency stddev = 7.351 ms
tps = 896.967014 (including connections establishing)
tps = 907.956232 (excluding connections establishing)
";

fn settings(pairs: &[(&str, &str)]) -> Result<Settings, String> {
    let row = find("pgbench").expect("a row");
    let options = row.read(pairs.iter().copied()).map_err(|error| error.to_string())?;
    Settings::read(&options)
}

#[test]
fn the_report_is_read_in_the_words_of_each_version_and_rates_leave_connecting_out() {
    let read = report(BY_TRANSACTIONS).unwrap();
    assert_eq!((read.transactions, read.tps, read.latency_mean_us), (80, 460.954_291, 7786.0));
    let read = report(BY_TIME).unwrap();
    assert_eq!((read.transactions, read.tps, read.latency_mean_us), (9621, 3_205.141_018, 1236.0));
    let read = report(OF_12).unwrap();
    assert_eq!(
        (read.transactions, read.tps, read.latency_mean_us),
        (10_000, 907.956_232, 11_013.0)
    );
}

#[test]
fn a_missing_or_senseless_figure_is_an_error_with_the_last_lines_and_never_a_zero() {
    let without = |line: &str| -> String {
        BY_TRANSACTIONS
            .lines()
            .filter(|other| !other.starts_with(line))
            .map(|line| format!("{line}\n"))
            .collect()
    };
    for line in ["number of transactions actually", "latency average", "tps"] {
        let error = report(&without(line)).unwrap_err();
        assert!(matches!(error, RunnerError::Unreadable { .. }), "{error}");
        assert!(error.to_string().contains("initial connection time = 22.933 ms"), "{error}");
    }
    for (from, to) in [
        ("460.954291", "0.000000"),
        ("460.954291", "inf"),
        ("460.954291", "-nan"),
        ("7.786 ms", "7.786 s"),
        ("without initial", "including"),
        ("actually processed: 80/80", "actually processed: all"),
    ] {
        let error = report(&BY_TRANSACTIONS.replace(from, to)).unwrap_err();
        assert!(matches!(error, RunnerError::Unreadable { .. }), "{to}: {error}");
    }
    assert!(report("").unwrap_err().to_string().contains("no output"));
}

#[test]
fn failed_and_unfinished_transactions_are_reported() {
    let of =
        |from: &str, to: &str| report(&BY_TRANSACTIONS.replace(from, to)).unwrap_err().to_string();
    assert!(
        of("failed transactions: 0 (0.000%)", "failed transactions: 3 (3.750%)")
            .contains("3 failed transactions")
    );
    assert!(of("80/80", "77/80").contains("77/80 transactions"));
    assert!(of("80/80", "0/0").contains("no transaction at all"));
}

#[test]
fn a_line_of_the_log_is_a_time_or_an_error() {
    // 15.18, followed by --rate's lag and --max-tries' retries.
    let log = "1 1 87353 0 1795337339 739031\n0 1 89763 0 1795337339 741428\n9 1 7 0 1795337339 741456 12 0\n";
    assert_eq!(times_us(log).unwrap(), [87_353, 89_763, 7]);
    for line in [
        "1 1 failed 0 1795337339 739031",
        "1 1 skipped 0 1795337339 739031",
        "1 1 873",
        "x",
        "1 1 -5 0 1 1",
    ] {
        assert!(times_us(line).unwrap_err().contains(line), "{line}");
    }
}

#[test]
fn a_percentile_is_the_smallest_value_with_that_share_at_or_below_it() {
    let hundred: Vec<u64> = (1..=100).collect();
    let of = |per_mille| percentile(&hundred, per_mille);
    assert_eq!((of(500), of(990), of(999)), (50, 99, 100));
    assert_eq!((percentile(&[7], 500), percentile(&[7], 999)), (7, 7));
    assert_eq!(percentile(&[1, 2, 3], 500), 2);
}

fn raw(report: &str, log: &str) -> Raw {
    let count = |value: f64| -> Counters {
        [counters::FLUSHED, counters::BLOCKS_READ, "wal_sync"]
            .map(|name| (name.to_string(), value))
            .into()
    };
    Raw {
        report: report.to_string(),
        log: log.to_string(),
        before: count(10.0),
        after: count(25.0),
    }
}

fn log_of(times: impl Iterator<Item = u64>) -> String {
    times.map(|time| format!("0 1 {time} 0 1795337339 739031\n")).collect()
}

#[test]
fn the_log_must_bear_the_report_out() {
    let settings = settings(&[]).unwrap();
    let seen =
        output::measurement(&settings, &raw(BY_TRANSACTIONS, &log_of((0..80).map(|_| 7786))))
            .unwrap();
    assert_eq!((seen.metrics["latency_p50_us"], seen.counts["latency_p99_us"]), (7786.0, 80));
    assert_eq!((seen.counters["wal_sync"], seen.counters["transactions"]), (15.0, 80.0));
    let moved = seen.moved.unwrap();
    assert_eq!((moved.written_bytes, moved.read_bytes, moved.exact), (15, 0, false));
    let one_short =
        output::measurement(&settings, &raw(BY_TRANSACTIONS, &log_of((0..79).map(|_| 7786))))
            .unwrap_err();
    assert!(
        one_short.to_string().contains("each of its 80 transactions (79 there)"),
        "{one_short}"
    );
    let off = output::measurement(&settings, &raw(BY_TRANSACTIONS, &log_of((0..80).map(|_| 7900))))
        .unwrap_err();
    assert!(off.to_string().contains("7786 µs, 7900 µs in the log"), "{off}");
}

#[test]
fn pure_reads_are_bounded_by_what_the_cache_can_hold() {
    let mut raw = raw(BY_TIME, &log_of((0..9621).map(|_| 1236)));
    let reads = settings(&[("mode", "select-only"), ("shared_buffers", "1MB")]).unwrap();
    assert_eq!(output::measurement(&reads, &raw).unwrap().moved.unwrap().read_bytes, 15 * 8192);
    raw.after.insert(counters::BLOCKS_READ.to_string(), 1_000_000.0);
    assert_eq!(output::measurement(&reads, &raw).unwrap().moved.unwrap().read_bytes, 1 << 20);
}

#[test]
fn counters_are_asked_for_by_version_and_a_row_of_another_shape_is_refused() {
    let of = |major| counters::query(major);
    assert!(of(13).contains("checkpoints_req") && !of(13).contains("pg_stat_wal)"), "{}", of(13));
    assert!(of(15).contains("wal_sync") && of(15).contains("buffers_backend"), "{}", of(15));
    assert!(
        of(17).contains("num_timed from pg_stat_checkpointer")
            && !of(17).contains("buffers_backend"),
        "{}",
        of(17)
    );
    assert!(of(18).contains("wal_bytes") && !of(18).contains("wal_sync"), "{}", of(18));
    // 15.18's reply to the query.
    let row = "1435668276|142232|0|4|3711|27808|278|1435668276|107211|15940\n";
    let all = counters::parse(row, 15).unwrap();
    assert_eq!(
        (all["checkpoints_req"], all["buffers_checkpoint"], all["wal_sync"]),
        (4.0, 3711.0, 15_940.0)
    );
    assert_eq!(counters::parse("1|2|3\n", 15), None);
    assert_eq!(counters::parse(&format!("{}|1\n", row.trim()), 15), None);
    assert_eq!(counters::parse(&row.replace("3711", ""), 15), None);
}

#[test]
fn versions_are_read_and_the_newest_complete_one_is_taken() {
    assert_eq!(tools::major("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"), Some(15));
    assert_eq!(tools::major("pgbench (PostgreSQL) 17beta1"), Some(17));
    assert_eq!(tools::major("postgres (EnterpriseDB) x"), None);
    let dir = tempfile::tempdir().unwrap();
    let make = |version: &str, programs: &[&str]| {
        let bin = dir.path().join(version).join("bin");
        fs::create_dir_all(&bin).unwrap();
        programs.iter().for_each(|name| fs::write(bin.join(name), "").unwrap());
    };
    let all = ["postgres", "initdb", "pgbench", "psql"];
    make("9", &all);
    make("15", &all);
    make("17", &["psql", "pgbench"]);
    make("old", &all);
    assert_eq!(tools::newest(dir.path()), Some(dir.path().join("15/bin")));
    assert_eq!(tools::newest(Path::new("/nonexistent")), None);
}

#[test]
fn options_that_make_no_sense_are_refused_with_what_would() {
    for (pairs, word) in [
        (&[("transactions", "0")][..], "at least 1"),
        (&[("warmup_transactions", "0")], "at least 1"),
        (&[("clients", "0")], "1 to 1000"),
        (&[("clients", "1001")], "1 to 1000"),
        (&[("clients", "4"), ("threads", "8")], "no more threads than clients"),
        (&[("scale", "0")], "1 to 20000"),
        (&[("mode", "tpcb"), ("script", "x.sql")], "exclude each other"),
        (&[("mode", "selectonly")], "did you mean \"select-only\""),
        (&[("protocol", "binary")], "simple, extended, prepared"),
        (&[("user", "root")], "refuses to run as root"),
        (&[("shared_buffers", "64kB")], "at least 128kB"),
        (&[("shared_buffers", "lots")], "shared_buffers=128MB"),
        (&[("conf", "fsync=off")], "no scheduler would be measured"),
        (&[("conf", "FSYNC=off")], "no scheduler would be measured"),
        (&[("conf", "work_mem")], "not KEY=VALUE"),
        (&[("conf", "a=1 a=2")], "given twice"),
        (&[("conf", "port=5432")], "a private socket"),
    ] {
        let error = settings(pairs).unwrap_err();
        assert!(error.contains(word), "{pairs:?}: {error}");
    }
    let right = settings(&[("conf", "max_wal_size=256MB cluster_name='a'")]).unwrap();
    assert_eq!(right.conf[1], ("cluster_name".to_string(), "a".to_string()));
    assert!(right.postgresql_conf("/it's").contains("unix_socket_directories = '/it''s'"));
    assert!(right.postgresql_conf("/").contains("shared_buffers = '131072kB'"));
    let many = settings(&[("clients", "200")]).unwrap();
    assert!(many.postgresql_conf("/").contains("max_connections = 210\n"));
}

#[test]
fn room_grows_with_scale_and_log_and_is_bounded_by_the_log_s_limit() {
    let mib = |pairs: &[(&str, &str)]| settings(pairs).unwrap().room() >> 20;
    let (record, small) =
        (mib(&[("transactions", "1000")]), mib(&[("scale", "1"), ("transactions", "10")]));
    assert!((3000..3700).contains(&record), "the plan of record fits into 4 GiB: {record}");
    assert!((150..350).contains(&small), "a tiny one fits into 512 MiB: {small}");
    assert!(mib(&[("scale", "1")]) > 1024, "by time the log may reach its limit");
    assert!(mib(&[("scale", "1"), ("conf", "max_wal_size=64MB")]) < 400);
    assert!(mib(&[("scale", "100")]) > record + 1400);
}

#[test]
fn how_long_it_goes_on_is_in_transactions_or_whole_seconds() {
    use super::settings::Length;
    let mut trial = crate::programs::kind::Trial {
        seed: 1,
        duration: std::time::Duration::from_millis(1500),
        warmup: std::time::Duration::from_millis(300),
        deadline: std::time::Duration::from_secs(1),
        ..Default::default()
    };
    let by_time = settings(&[]).unwrap();
    assert_eq!(by_time.window(&trial), Length::Seconds(2));
    assert_eq!(by_time.warmup(&trial), Some(Length::Seconds(1)));
    let counted = settings(&[("transactions", "7")]).unwrap();
    assert_eq!((counted.window(&trial), counted.warmup(&trial)), (Length::Transactions(7), None));
    let warmed = settings(&[("transactions", "7"), ("warmup_transactions", "3")]).unwrap();
    assert_eq!(warmed.warmup(&trial), Some(Length::Transactions(3)));
    trial.warmup = std::time::Duration::ZERO;
    assert_eq!(by_time.warmup(&trial), None);
    let words = by_time.bench_args(Length::Seconds(2), u64::MAX, "/x/log");
    let words: Vec<String> = words.iter().map(|word| word.display().to_string()).collect();
    for word in [
        "--time=2",
        "--builtin=tpcb-like",
        "--random-seed=9223372036854775807",
        "--log-prefix=/x/log",
    ] {
        assert!(words.iter().any(|other| other == word), "{word}: {words:?}");
    }
}

#[test]
fn the_place_for_the_log_has_no_name_and_goes_with_its_last_user() {
    if !testbed::require(&["root"]) {
        return;
    }
    let in_memory = |line: &&str| line.split(' ').nth(2) == Some("tmpfs");
    let mounts = || {
        let text = fs::read_to_string("/proc/self/mounts").unwrap();
        // Other tests mount disks at the same time.
        text.lines().filter(in_memory).map(str::to_owned).collect::<Vec<String>>()
    };
    let before = mounts();
    let scratch = super::scratch::Scratch::new(0).unwrap();
    // By a program that inherits it, in two files.
    let line = format!("echo 1 >{0}.7; echo 2 >{0}.7.1", scratch.prefix());
    assert!(std::process::Command::new("/bin/sh").args(["-c", &line]).status().unwrap().success());
    let mut lines: Vec<String> = scratch.text().unwrap().lines().map(str::to_string).collect();
    lines.sort();
    assert_eq!(lines, ["1", "2"]);
    assert_eq!(mounts(), before, "no directory shows it");
}

/// Percentiles are verified by counting values.
#[test]
fn the_figures_of_a_real_trial_are_those_of_its_log_and_its_report() {
    let Some(ground) = Ground::files(512, &["postgres"]) else { return };
    let row = find("pgbench").expect("a row");
    let pairs = [("scale", "1"), ("clients", "3"), ("threads", "2"), ("transactions", "40")];
    let options = row.read(pairs).unwrap();
    let settings = Settings::read(&options).unwrap();
    let mut runner = super::Pgbench {
        settings: settings.clone(),
        script: Vec::new(),
        tools: None,
        cluster: None,
    };
    use crate::programs::kind::Runner;
    runner.prepare(&ground.bench()).unwrap();
    runner.reset(&ground.bench()).unwrap();
    let raw = runner
        .observe(&ground.bench(), &ground::trial(5, std::time::Duration::from_secs(300)))
        .unwrap();
    let seen = output::measurement(&settings, &raw).unwrap();

    let mut at: BTreeMap<u64, usize> = BTreeMap::new();
    for line in raw.log.lines() {
        *at.entry(line.split_whitespace().nth(2).unwrap().parse().unwrap()).or_default() += 1;
    }
    let all: usize = at.values().sum();
    assert_eq!(all, 120);
    for (name, share) in
        [("latency_p50_us", 0.5), ("latency_p99_us", 0.99), ("latency_p999_us", 0.999)]
    {
        let mut below = 0;
        let value = at.iter().find(|(_, count)| {
            below += **count;
            below as f64 >= share * all as f64
        });
        assert_eq!(seen.metrics[name], *value.unwrap().0 as f64, "{name}");
    }
    let printed = |head: &str| -> f64 {
        let line = raw.report.lines().find(|line| line.starts_with(head)).unwrap();
        line[head.len()..].split(' ').next().unwrap().parse().unwrap()
    };
    assert_eq!(seen.metrics["tps"], printed("tps = "));
    assert_eq!(seen.metrics["latency_mean_us"], printed("latency average = ") * 1000.0);
    let mean =
        at.iter().map(|(time, count)| *time as f64 * *count as f64).sum::<f64>() / all as f64;
    assert!(
        (mean - seen.metrics["latency_mean_us"]).abs() <= 0.5 + 1e-6,
        "{mean} {:?}",
        seen.metrics
    );
}
