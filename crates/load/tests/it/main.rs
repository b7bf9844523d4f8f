//! The load engine end to end, on real loop devices and file systems.
//!
//! Results are checked against the device's counters. Times are asserted only as limits that no
//! slow machine can break.

mod faults;
mod fixture;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fixture::{Disk, drive, measure, measure_alone};
use load::{Allowance, account};
use load::{
    ClientFile, Drive, Issued, METRIC_NAMES, Measured, Submission, metrics, place_in_directory,
    run, run_at,
};
use sim::workload::{WORKLOADS, find};
use testbed::{Directory, require};

#[track_caller]
fn clean(measured: &Measured) {
    assert_eq!((measured.errors, &measured.first_error), (0, &None));
    assert_eq!(
        (&measured.vanished, &measured.no_space, measured.interrupted),
        (&None, &None, false)
    );
}

#[test]
fn every_byte_of_every_direct_workload_is_counted_by_the_device() {
    if !require(&["root"]) {
        return;
    }
    let device = Disk::new(32 << 20);
    for kind in WORKLOADS.iter().filter(|kind| (kind.defaults)().direct) {
        for iodepth in ["1", "8"] {
            let params = [("iodepth", iodepth)];
            let params = if kind.accepts.contains(&"iodepth") { &params[..] } else { &[] };
            let allowance = Allowance { read_bytes: 1 << 20, written_bytes: 0 };
            let account_of =
                |measured: &Measured, delta: &_| account(&measured.issued, delta, allowance);
            let drive = device.drive(kind.name, params);
            let (measured, delta) = measure_alone(&device, &drive, |measured, delta| {
                account_of(measured, delta).foreign_share == 0.0
            });
            clean(&measured);
            assert!(measured.ios() > 0, "{}", kind.name);
            let account = account_of(&measured, &delta);
            assert_eq!(
                (account.reached_share, account.foreign_share),
                (1.0, 0.0),
                "{} {account:?}",
                kind.name
            );
            let found = metrics(&measured);
            assert!(
                found.contains_key(kind.primary),
                "{} lacks its primary metric: {found:?}",
                kind.name
            );
            assert!(found.keys().all(|name| METRIC_NAMES.contains(&name.as_str())), "{found:?}");
        }
    }
}

#[test]
fn buffered_clients_alone_on_a_device_are_never_taken_for_others() {
    if !require(&["root"]) {
        return;
    }
    let device = Disk::new(32 << 20);
    for phase in ["write", "read", "reread", "randread", "randwrite"] {
        for block_size in ["512", "4k", "1M"] {
            let params = [
                ("direct", "false"),
                ("file_size", "2M"),
                ("block_size", block_size),
                ("phase", phase),
            ];
            let drive = device.drive("iozone", &params);
            let account_of = |measured: &Measured, delta: &_| {
                let nr_clients = drive.files.len() as u64;
                let allowance = Allowance::of(&drive.params, nr_clients, measured, &device.sys());
                account(&measured.issued, delta, allowance)
            };
            let (measured, delta) = measure_alone(&device, &drive, |measured, delta| {
                account_of(measured, delta).foreign_share == 0.0
            });
            clean(&measured);
            let account = account_of(&measured, &delta);
            assert_eq!(account.foreign_share, 0.0, "{phase} {block_size}: {account:?}");
        }
    }
}

#[test]
fn cached_reads_never_reach_the_device() {
    if !require(&["root"]) {
        return;
    }
    let device = Disk::new(32 << 20);
    let before = device.counters();
    let measured = measure(&device.drive("cached-read", &[]));
    let delta = device.counters().since(&before);
    clean(&measured);
    assert!(measured.ios() > 32, "{measured:?}");
    assert!(delta.read_bytes <= 8 << 20, "{delta:?}");
    assert!(account(&measured.issued, &delta, Allowance::default()).reached_share < 0.5);
}

#[test]
fn a_buffered_read_passes_over_the_device_once_and_the_cache_is_cold_each_time() {
    if !require(&["root"]) {
        return;
    }
    let device = Disk::new(32 << 20);
    // An open device keeps its pages: only the engine drops them.
    let _held = File::open(&device.path).unwrap();
    for _ in 0..2 {
        let mut drive = device.drive("buffered-read", &[]);
        drive.duration = Duration::from_secs(600);
        // A second pass would read 32 MiB more, a warm cache none.
        let once = (32 << 20)..(33 << 20);
        let (measured, delta) =
            measure_alone(&device, &drive, |_, delta| once.contains(&delta.read_bytes));
        clean(&measured);
        assert_eq!(
            measured.issued,
            Issued { reads: 16, read_bytes: 32 << 20, ..Issued::default() }
        );
        assert!(measured.clients[0].finished && measured.window_ns < 600_000_000_000);
        assert!(once.contains(&delta.read_bytes), "{delta:?}");
    }
}

#[test]
fn buffered_writes_are_on_the_device_when_the_drive_ends() {
    if !require(&["root"]) {
        return;
    }
    let device = Disk::new(32 << 20);
    let before = device.counters();
    let drive = device.drive("seqwrite", &[("direct", "false"), ("amount", "8M")]);
    assert!(!drive.has_warmup(), "what a warm-up leaves dirty would be flushed in the window");
    let measured = measure(&drive);
    clean(&measured);
    assert_eq!(device.counters().since(&before).written_bytes, 8 << 20);
    assert_eq!((measured.writes.bytes, measured.syncs), (8 << 20, 1));
}

#[test]
fn a_client_with_an_amount_does_it_and_ends() {
    if !require(&["root"]) {
        return;
    }
    let device = Disk::new(8 << 20);
    for iodepth in ["1", "4"] {
        let params = [("amount", "1M"), ("clients", "3"), ("iodepth", iodepth)];
        let mut drive = device.drive("randwrite", &params);
        drive.warmup = Duration::from_secs(300);
        let measured = measure(&drive);
        clean(&measured);
        assert!(
            measured.clients.iter().all(|client| client.finished && client.bytes == 1 << 20),
            "{measured:?}"
        );
        assert_eq!(measured.issued.written_bytes, 3 << 20);
        let last = measured.clients.iter().map(|client| client.elapsed_ns).max();
        assert!(last.unwrap() <= measured.window_ns, "{measured:?}");
    }
}

#[test]
fn the_warm_up_is_issued_and_not_counted() {
    if !require(&["root"]) {
        return;
    }
    let device = Disk::new(8 << 20);
    for iodepth in ["1", "4"] {
        // Think time limits requests; the warm-up is longer than the window.
        let mut drive = device
            .drive("randread", &[("clients", "2"), ("iodepth", iodepth), ("think_time", "2ms")]);
        drive.warmup = Duration::from_millis(600);
        let measured = measure(&drive);
        clean(&measured);
        assert!(measured.reads.count <= 2 * 101, "{measured:?}");
        assert_eq!(measured.window_ns, 200_000_000);
        assert!(
            measured.reads.count > 0 && measured.issued.reads > measured.reads.count,
            "{measured:?}"
        );
        assert_eq!(measured.reads.count, measured.reads.latency.len());
        assert_eq!(
            measured.reads.bytes,
            measured.clients.iter().map(|client| client.bytes).sum::<u64>()
        );
    }
}

#[test]
fn the_stop_flag_ends_a_long_drive_and_keeps_what_was_measured() {
    if !require(&["root"]) {
        return;
    }
    let device = Disk::new(8 << 20);
    for params in [&[("think_time", "300s")][..], &[("iodepth", "1")], &[("iodepth", "8")]] {
        let mut drive = device.drive("randread", params);
        drive.duration = Duration::from_secs(3600);
        let stop = AtomicBool::new(false);
        let (begun, before) = (Instant::now(), device.counters().reads);
        let measured = thread::scope(|scope| {
            let running = scope.spawn(|| run(&drive, &stop));
            device.wait_for_reads(before + 1);
            stop.store(true, Ordering::Relaxed);
            running.join().unwrap().unwrap()
        });
        assert!(measured.interrupted && measured.reads.count > 0, "{measured:?}");
        assert!(
            begun.elapsed() < Duration::from_secs(200),
            "{params:?}: an hour would have been waited for"
        );
        assert!(measured.window_ns <= begun.elapsed().as_nanos() as u64);
    }
}

#[test]
fn thinking_bounds_the_rate() {
    if !require(&["root"]) {
        return;
    }
    let device = Disk::new(8 << 20);
    // Eight in flight share one head: a step that thinks stops that client.
    for iodepth in ["1", "8"] {
        let measured =
            measure(&device.drive(
                "randread",
                &[("clients", "2"), ("think_time", "10ms"), ("iodepth", iodepth)],
            ));
        clean(&measured);
        assert!((2..=2 * 21).contains(&measured.issued.reads), "{measured:?}");
    }
}

#[test]
fn a_client_keeps_its_iodepth_at_the_device_and_no_more() {
    if !require(&["root"]) {
        return;
    }
    let device = Disk::new(64 << 20);
    for (iodepth, expected) in [("1", 1..=1), ("16", 2..=16)] {
        let drive = device.drive("randread", &[("clients", "1"), ("iodepth", iodepth)]);
        let (most, over) = (AtomicU64::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let text = std::fs::read_to_string(device.sys().join("inflight")).unwrap();
                    let sum = text.split_whitespace().map(|n| n.parse::<u64>().unwrap()).sum();
                    most.fetch_max(sum, Ordering::Relaxed);
                }
            });
            let measured = run(&drive, &AtomicBool::new(false));
            over.store(true, Ordering::Relaxed);
            clean(&measured.unwrap());
        });
        assert!(
            expected.contains(&most.load(Ordering::Relaxed)),
            "iodepth {iodepth}: {most:?} in flight"
        );
    }
}

#[test]
fn writes_stay_in_their_region_and_leave_incompressible_data() {
    if !require(&["root"]) {
        return;
    }
    for iodepth in ["1", "8"] {
        let device = Disk::new(8 << 20);
        // Three rounds, however long it takes.
        let params = [("iodepth", iodepth), ("block_size", "64k"), ("amount", "9M")];
        let params = find("seqwrite").unwrap().params(params).unwrap();
        let region = ClientFile { path: device.path.clone(), base: 2 << 20, len: (3 << 20) + 4096 };
        let mut drive = drive("seqwrite", params, vec![region]);
        drive.duration = Duration::from_secs(600);
        clean(&measure(&drive));
        let mut data = vec![0; 8 << 20];
        File::open(&device.file).unwrap().read_exact_at(&mut data, 0).unwrap();
        let (before, rest) = data.split_at(2 << 20);
        let (inside, after) = rest.split_at(3 << 20);
        assert!(
            before.iter().chain(after).all(|&byte| byte == 0),
            "something was written outside of the region"
        );
        let mut counts = [0u64; 256];
        inside.iter().for_each(|&byte| counts[byte as usize] += 1);
        let fair = inside.len() as u64 / 256;
        assert!(
            counts.iter().all(|n| (fair / 2..fair * 2).contains(n)),
            "the data have a pattern: {counts:?}"
        );
    }
}

#[test]
fn syncs_reach_the_device_as_flushes() {
    if !require(&["root"]) {
        return;
    }
    let device = Disk::new(8 << 20);
    for iodepth in ["1", "8"] {
        let before = device.counters();
        let params =
            [("sync_every", "4"), ("amount", "256k"), ("clients", "1"), ("iodepth", iodepth)];
        let measured = measure(&device.drive("randwrite", &params));
        clean(&measured);
        assert_eq!((measured.issued.writes, measured.syncs), (64, 16));
        assert!(device.counters().since(&before).flushes >= 1, "no flush was counted");
    }
}

#[test]
fn iozone_repeats_passes_and_the_sum_of_rates_is_its_throughput() {
    if !require(&["root"]) {
        return;
    }
    let device = Disk::new(16 << 20);
    for phase in ["write", "rewrite", "read", "reread", "randread", "randwrite"] {
        let measured = measure(&device.drive("iozone", &[("phase", phase), ("clients", "5")]));
        clean(&measured);
        let rate = measured.sum_of_rates.expect("iozone reports a sum of rates");
        assert!(rate > 0.0 && measured.passes >= 1, "{phase}: {measured:?}");
        assert_eq!(metrics(&measured)["throughput_mb_per_s"], rate / 1e6);
        assert!(measured.issued.reads + measured.issued.writes > 0, "{phase}");
        let per_pass = 5 * (512 << 10);
        assert!(
            measured.reads.bytes + measured.writes.bytes <= u64::from(measured.passes) * per_pass,
            "{measured:?}"
        );
    }
}

#[test]
fn workloads_run_on_files_of_a_directory() {
    let dir = Directory::new();
    for (name, direct) in
        [("iozone", "true"), ("iozone", "false"), ("oltp", "true"), ("mixed", "false")]
    {
        let kind = find(name).unwrap();
        let pairs = [("direct", direct), ("file_size", "2M"), ("phase", "write")];
        let params =
            kind.params(pairs.into_iter().filter(|(key, _)| kind.accepts.contains(key))).unwrap();
        let place = tempfile::tempdir_in(dir.path()).unwrap();
        let files = place_in_directory(kind, &params, place.path(), 4096).unwrap();
        let measured = measure(&drive(name, params, files));
        clean(&measured);
        assert!(measured.ios() > 0, "{name}");
    }
}

fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[test]
fn clients_wait_for_a_given_start_and_a_start_in_the_past_shortens_what_is_left_of_the_window() {
    let dir = Directory::new();
    let kind = find("randread").unwrap();
    let params = kind.params([("file_size", "2M"), ("think_time", "100us")]).unwrap();
    let files = place_in_directory(kind, &params, dir.path(), 4096).unwrap();
    let drive = drive("randread", params, files);
    let start = now_ns() + 300_000_000;
    let (measured, late_ns) = run_at(&drive, start, &AtomicBool::new(false)).unwrap();
    clean(&measured);
    assert!(now_ns() >= start + drive.duration.as_nanos() as u64, "the window begins at the start");
    assert!(late_ns == 0 && measured.ios() > 0, "{measured:?}");
    let (early, late_ns) = run_at(&drive, now_ns() - 150_000_000, &AtomicBool::new(false)).unwrap();
    assert!(late_ns >= 150_000_000, "{late_ns}");
    assert!(
        early.clients[0].elapsed_ns <= drive.duration.as_nanos() as u64 - 150_000_000,
        "{early:?}"
    );
    // A stop ends the wait for a distant start.
    let (stopped, _) =
        run_at(&drive, now_ns() + 1_000_000_000_000, &AtomicBool::new(true)).unwrap();
    assert!(stopped.interrupted, "{stopped:?}");
}

#[test]
fn the_same_seed_writes_the_same_data_to_the_same_places() {
    if !require(&["root"]) {
        return;
    }
    let contents = [1, 1, 2].map(|seed| {
        let device = Disk::new(4 << 20);
        let mut drive = device.drive("randwrite", &[("clients", "1"), ("amount", "1M")]);
        drive.seed = seed;
        clean(&measure(&drive));
        std::fs::read(&device.file).unwrap()
    });
    assert!(contents[0] == contents[1], "one seed, two results");
    assert!(contents[0] != contents[2], "two seeds, one result");
}

#[test]
fn io_submit_does_the_same_requests_as_io_uring() {
    let dir = Directory::new();
    let kind = find("oltp").unwrap();
    let params = kind
        .params([("file_size", "2M"), ("iodepth", "8"), ("sync_every", "50"), ("clients", "2")])
        .unwrap();
    let params = sim::workload::Params { amount: Some(1 << 20), ..params };
    let files = place_in_directory(kind, &params, dir.path(), 4096).unwrap();
    let mut drive = Drive { duration: Duration::from_secs(600), ..drive("oltp", params, files) };
    let issued = [Submission::IoUring, Submission::Aio { turnaround_ns: 0 }].map(|submission| {
        drive.submission = submission;
        let measured = measure(&drive);
        clean(&measured);
        assert!(
            measured.clients.iter().all(|client| client.finished),
            "{submission:?}: {measured:?}"
        );
        (measured.issued, measured.reads.count, measured.writes.count, measured.syncs)
    });
    let [ring, aio] = issued;
    assert_eq!(aio, ring);
    assert!(ring.1 > 0 && ring.2 > 0 && ring.3 > 0, "{ring:?}");
}

#[test]
fn io_submit_reports_a_read_beyond_the_end() {
    let dir = Directory::new();
    let kind = find("randread").unwrap();
    let params = kind.params([("file_size", "2M"), ("iodepth", "4"), ("clients", "1")]).unwrap();
    let files = place_in_directory(kind, &params, dir.path(), 4096).unwrap();
    std::fs::File::options().write(true).open(&files[0].path).unwrap().set_len(1 << 20).unwrap();
    let drive = Drive {
        submission: Submission::Aio { turnaround_ns: 1000 },
        ..drive("randread", params, files)
    };
    let measured = measure(&drive);
    assert!(
        measured.vanished.as_ref().is_some_and(|text| text.contains("the target now ends there")),
        "{measured:?}"
    );
}
mod programs;
