//! Statements that any storage engineer would accept, each an experiment.
//!
//! They catch models that are right in detail but wrong overall. `make test` tries a sample, `make
//! soak` all; `--nocapture` prints each. Virtual time is deterministic, so a failure means a
//! changed model.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use testbed::is_soak;

use crate::common::{Lab, Ran, kernel_cache};

/// Without [`is_soak`], every fourth statement.
const SAMPLE: usize = 4;

#[derive(Debug, Clone, Copy)]
struct Case {
    device: &'static str,
    workload: &'static str,
    scheduler: &'static str,
}

const fn on(device: &'static str, workload: &'static str, scheduler: &'static str) -> Case {
    Case { device, workload, scheduler }
}

#[derive(Debug, Clone, Copy)]
enum By {
    Case(Case),
    Number(f64),
}
use By::{Case as Than, Number};

/// A ratio to another case or a number, within bounds.
struct Statement {
    text: &'static str,
    metric: &'static str,
    of: Case,
    by: By,
    from: f64,
    to: f64,
}

const fn bet(
    text: &'static str,
    metric: &'static str,
    of: Case,
    by: By,
    from: f64,
    to: f64,
) -> Statement {
    Statement { text, metric, of, by, from, to }
}

const MANY: f64 = f64::INFINITY;
const DISK: &str = "wd4tb7200";
const OLD: &str = "hp97560";
const SCSI: &str = "cheetah9lp";
const SSD: &str = "sata-ssd";
const NVME: &str = "nvme";
const ONE_SERVER: &str = "null:service_ns=300000";
const SERVERS: &str = "null:service_ns=300000:servers=8:queue_depth=8";
const ONE: &str = "randread:clients=1";
const EIGHT: &str = "randread:clients=8";
const MANY_READERS: &str = "randread:clients=32";
const CROWD: &str = "randread:clients=64";
const WRITERS: &str = "mixed:iodepth=16";
const THINK: &str = "think-mix:clients=2";
const PAUSE: &str = "think-mix:clients=2:think_time=100ms";
const JUMPS: &str = "think-mix:clients=2:random_share=100:file_size=all";
const BUSY_NVME: &str = "randread:clients=32:iodepth=32";

#[rustfmt::skip]
const STATEMENTS: &[Statement] = &[
    // One request at a time leaves nothing to choose.
    bet("one random read at a time: mq-deadline changes nothing on a disk", "iops", on(DISK, ONE, "mq-deadline"), Than(on(DISK, ONE, "none")), 0.98, 1.02),
    bet("one random read at a time: kyber changes nothing on a disk", "iops", on(DISK, ONE, "kyber"), Than(on(DISK, ONE, "none")), 0.98, 1.02),
    bet("one random read at a time: bfq changes nothing on a disk", "iops", on(DISK, ONE, "bfq"), Than(on(DISK, ONE, "none")), 0.98, 1.02),
    bet("one random read at a time: mq-deadline changes little on an SSD", "iops", on(SSD, ONE, "mq-deadline"), Than(on(SSD, ONE, "none")), 0.9, 1.02),
    bet("one random read at a time: bfq changes little on NVMe", "iops", on(NVME, ONE, "bfq"), Than(on(NVME, ONE, "none")), 0.85, 1.02),
    // Throughput under load.
    bet("first come, first served does not gain from a queue", "iops", on(OLD, MANY_READERS, "fcfs"), Than(on(OLD, ONE, "fcfs")), 0.95, 1.05),
    bet("look gains from a queue", "iops", on(OLD, MANY_READERS, "look"), Than(on(OLD, ONE, "look")), 1.3, MANY),
    bet("mq-deadline gains from a queue", "iops", on(OLD, MANY_READERS, "mq-deadline"), Than(on(OLD, ONE, "mq-deadline")), 1.2, MANY),
    bet("shortest seek first beats arrival order", "iops", on(OLD, CROWD, "sstf"), Than(on(OLD, CROWD, "fcfs")), 1.3, MANY),
    bet("positioning time beats seek distance", "iops", on(OLD, CROWD, "sptf"), Than(on(OLD, CROWD, "sstf")), 1.1, MANY),
    bet("one list sorted by sector beats none", "iops", on(OLD, CROWD, "linus-2.4"), Than(on(OLD, CROWD, "noop")), 1.2, MANY),
    bet("a disk that orders its queue helps without a scheduler", "iops", on(DISK, MANY_READERS, "none"), Than(on(DISK, MANY_READERS, "none:queue_depth=1")), 1.3, MANY),
    bet("a scheduler orders what a disk does not", "iops", on(DISK, MANY_READERS, "mq-deadline:queue_depth=1"), Than(on(DISK, MANY_READERS, "none:queue_depth=1")), 1.1, MANY),
    bet("batches of one cost throughput", "iops", on(OLD, CROWD, "mq-deadline:fifo_batch=1"), Than(on(OLD, CROWD, "mq-deadline")), 0.0, 0.9),
    // Waits.
    bet("shortest seek first starves", "longest_wait_ms", on(OLD, CROWD, "sstf"), Than(on(OLD, CROWD, "fcfs")), 2.0, MANY),
    bet("sweeping one way bounds the wait", "longest_wait_ms", on(OLD, CROWD, "c-look"), Than(on(OLD, CROWD, "sstf")), 0.0, 0.8),
    bet("sweeps over a closed group bound the wait", "longest_wait_ms", on(OLD, CROWD, "fscan"), Than(on(OLD, CROWD, "sstf")), 0.0, 0.8),
    bet("aging bounds the wait", "longest_wait_ms", on(OLD, CROWD, "asptf"), Than(on(OLD, CROWD, "sptf")), 0.0, 0.8),
    bet("one way costs hardly any throughput", "iops", on(OLD, CROWD, "c-look"), Than(on(OLD, CROWD, "look")), 0.85, 1.1),
    bet("32 readers wait 32 times as long as one (Little's law)", "latency_mean_us", on(OLD, MANY_READERS, "fcfs"), Than(on(OLD, ONE, "fcfs")), 30.0, 34.0),
    bet("arrival order is fair", "fairness_jain", on(OLD, CROWD, "fcfs"), Number(1.0), 0.98, 1.0),
    bet("bfq is fair to equal readers", "fairness_jain", on(DISK, EIGHT, "bfq:low_latency=0"), Number(1.0), 0.98, 1.0),
    // Readers and writers.
    bet("more writes in flight delay a reader", "read_latency_mean_us", on(SCSI, "mixed:iodepth=2", "none"), Than(on(SCSI, "mixed:iodepth=1", "none")), 1.3, MANY),
    bet("kyber gives a reader more among writers", "read_iops", on(SCSI, WRITERS, "kyber"), Than(on(SCSI, WRITERS, "mq-deadline")), 1.3, MANY),
    bet("short batches of writes let a reader in sooner", "read_latency_mean_us", on(SCSI, "mixed:iodepth=4", "mq-deadline:fifo_batch=1"), Than(on(SCSI, "mixed:iodepth=4", "mq-deadline")), 0.0, 0.95),
    bet("time slices let a reader in sooner than arrival order", "read_latency_mean_us", on(OLD, WRITERS, "cfq"), Than(on(OLD, WRITERS, "noop")), 0.0, 0.5),
    // Anticipation.
    bet("anticipation pays for two sequential readers", "throughput_mb_per_s", on(SCSI, THINK, "anticipatory"), Than(on(SCSI, THINK, "deadline")), 2.0, MANY),
    bet("cfq idles for sequential readers, too", "throughput_mb_per_s", on(SCSI, THINK, "cfq"), Than(on(SCSI, THINK, "deadline")), 2.0, MANY),
    bet("so does bfq without low_latency", "throughput_mb_per_s", on(SCSI, THINK, "bfq:low_latency=0"), Than(on(SCSI, THINK, "none")), 2.0, MANY),
    bet("bfq loses it with slice_idle=0", "throughput_mb_per_s", on(SCSI, THINK, "bfq:low_latency=0:slice_idle=0"), Than(on(SCSI, THINK, "bfq:low_latency=0")), 0.0, 0.5),
    bet("anticipation gains nothing where reads are random", "throughput_mb_per_s", on(SCSI, JUMPS, "anticipatory"), Than(on(SCSI, JUMPS, "deadline")), 0.7, 1.05),
    bet("anticipation ends where readers think for long", "throughput_mb_per_s", on(SCSI, PAUSE, "anticipatory"), Than(on(SCSI, PAUSE, "deadline")), 0.9, 1.1),
    // Devices.
    bet("a disk of 7200 rpm does 60 to 150 random reads a second", "iops", on(DISK, ONE, "none"), Number(1.0), 60.0, 150.0),
    bet("it reads 100 to 300 MB/s in order", "throughput_mb_per_s", on(DISK, "seqread", "none"), Number(1.0), 100.0, 300.0),
    bet("in order is far faster than at random", "throughput_mb_per_s", on(DISK, "seqread", "none"), Than(on(DISK, ONE, "none")), 100.0, MANY),
    bet("several streams cost a disk its speed", "throughput_mb_per_s", on(DISK, "seqread:clients=4:block_size=128k", "none"), Than(on(DISK, "seqread", "none")), 0.0, 0.5),
    bet("larger random reads cost a disk little time", "throughput_mb_per_s", on(DISK, "randread:clients=1:block_size=64k", "none"), Than(on(DISK, ONE, "none")), 12.0, 16.1),
    bet("a flush after each write is slow", "iops", on(DISK, "randwrite:clients=1:sync_every=1", "none"), Than(on(DISK, "randwrite:clients=1", "none")), 0.0, 0.6),
    bet("a depth of 16 is 16 clients", "iops", on(DISK, "randread:clients=1:iodepth=16", "none"), Than(on(DISK, "randread:clients=16", "none")), 0.95, 1.05),
    bet("a client that thinks 100 ms reads less than 10 times a second", "iops", on(DISK, "randread:clients=1:think_time=100ms", "none"), Number(1.0), 5.0, 10.0),
    bet("a faster spindle reads more", "iops", on("atlas10k", ONE, "none"), Than(on(OLD, ONE, "none")), 1.5, MANY),
    bet("a read of an NVMe SSD takes 40 to 200 µs", "latency_mean_us", on(NVME, ONE, "none"), Number(1.0), 40.0, 200.0),
    bet("an SSD at SATA reads less than 600 MB/s", "throughput_mb_per_s", on(SSD, "seqread:iodepth=8", "none"), Number(1.0), 300.0, 600.0),
    bet("an NVMe SSD serves 64 readers in parallel", "iops", on(NVME, CROWD, "none"), Than(on(NVME, ONE, "none")), 10.0, 64.5),
    bet("eight servers serve eight clients eight times as fast", "iops", on(SERVERS, EIGHT, "none"), Than(on(SERVERS, ONE, "none")), 7.9, 8.1),
    bet("more clients than servers gain nothing", "iops", on(SERVERS, "randread:clients=16", "none"), Than(on(SERVERS, EIGHT, "none")), 0.99, 1.05),
    bet("a server of 300 µs serves 3,333 a second at most", "iops", on(ONE_SERVER, EIGHT, "none"), Number(1.0), 3_300.0, 3_334.0),
    // Costs.
    bet("mq-deadline costs throughput on a busy NVMe SSD", "iops", on(NVME, BUSY_NVME, "mq-deadline"), Than(on(NVME, BUSY_NVME, "none")), 0.5, 0.9),
    bet("bfq costs more", "iops", on(NVME, BUSY_NVME, "bfq"), Than(on(NVME, BUSY_NVME, "mq-deadline")), 0.3, 0.8),
    bet("kyber costs little", "iops", on(NVME, BUSY_NVME, "kyber"), Than(on(NVME, BUSY_NVME, "none")), 0.9, 1.02),
];

fn guest_has(case: &Case) -> bool {
    let name = |spec: &'static str| spec.split(':').next().unwrap_or(spec);
    ![SSD, NVME].contains(&name(case.device))
        && ["none", "mq-deadline", "kyber", "bfq"].contains(&name(case.scheduler))
}

fn cases(statement: &Statement) -> Vec<Case> {
    match statement.by {
        Than(other) => vec![statement.of, other],
        Number(_) => vec![statement.of],
    }
}

/// Keys: device, workload, scheduler, metric.
type Figures = BTreeMap<(&'static str, &'static str, String, String), f64>;

/// One experiment per device and workload.
fn measure(lab: &Lab, arena: &str, statements: &[&Statement]) -> Figures {
    let mut all: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for case in statements.iter().flat_map(|statement| cases(statement)) {
        all.entry((case.device, case.workload)).or_default().insert(case.scheduler);
    }
    let mut figures = Figures::new();
    for (number, ((device, workload), mut schedulers)) in all.into_iter().enumerate() {
        // An experiment needs at least two.
        if schedulers.len() == 1 {
            schedulers.insert(if schedulers.contains("none") { "mq-deadline" } else { "none" });
        }
        let trial = match device {
            NVME => "--trial-time 100ms --warmup 20ms",
            SSD => "--trial-time 1s --warmup 200ms",
            ONE_SERVER | SERVERS => "--trial-time 2s --warmup 0",
            _ => "--trial-time 30s --warmup 1s",
        };
        let names: Vec<&str> = schedulers.into_iter().collect();
        let out = lab.path(&format!("{arena}-{number}"));
        let words = format!(
            "compare --arena {arena} --device {device} --workload {workload} --schedulers {} --figures-only --rounds 1 \
             {trial} --seed 1 --quiet --out {}",
            names.join(","),
            out.display()
        );
        let mut command = lab.command(&words);
        command.envs(kernel_cache().map(|cache| ("SCHEDLAB_CACHE_DIR", cache)));
        Ran::from(command.output().expect("the built binary")).expect_measured();
        for (variant, metric, value) in trials_csv(&out) {
            figures.insert((device, workload, variant, metric), value);
        }
    }
    figures
}

/// Variant, metric and value.
fn trials_csv(out: &Path) -> Vec<(String, String, f64)> {
    let text = fs::read_to_string(out.join("trials.csv")).expect("figures are exported");
    let rows = text.lines().skip(1).filter_map(|line| {
        let columns: Vec<&str> = line.split(',').collect();
        Some((columns[4].to_owned(), columns[7].to_owned(), columns[8].parse().ok()?))
    });
    rows.collect()
}

pub(super) fn hold_in(arena: &str) {
    let can = |statement: &&Statement| arena == "sim" || cases(statement).iter().all(guest_has);
    let step = if is_soak() { 1 } else { SAMPLE };
    let statements: Vec<&Statement> = STATEMENTS.iter().filter(can).step_by(step).collect();
    let lab = Lab::new();
    let figures = measure(&lab, arena, &statements);
    let figure = |case: &Case, metric: &str| {
        let key = (case.device, case.workload, case.scheduler.to_owned(), metric.to_owned());
        *figures.get(&key).unwrap_or_else(|| panic!("{arena}: {case:?} has no {metric}"))
    };
    let mut wrong = Vec::new();
    for Statement { text, metric, of, by, from, to } in statements {
        let value = figure(of, metric);
        let other = match by {
            Than(other) => figure(other, metric),
            Number(number) => *number,
        };
        let line = format!(
            "{arena}: {text}: {metric} {value:.5} / {other:.5} = {:.3} [{from}, {to}]",
            value / other
        );
        println!("{line}");
        if !(*from..=*to).contains(&(value / other)) {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn forty_plain_statements_are_made_at_least() {
    let texts: BTreeSet<&str> = STATEMENTS.iter().map(|statement| statement.text).collect();
    assert!(texts.len() >= 40 && texts.len() == STATEMENTS.len(), "{}", texts.len());
}

#[test]
fn plain_statements_hold_in_the_simulator() {
    hold_in("sim");
}
