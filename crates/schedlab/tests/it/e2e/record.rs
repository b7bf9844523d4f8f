//! `schedlab trace record` on real loop devices.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};

use recorder::file::{ReadOptions, read};
use testbed::{Loop, LoopOptions, Tmpfs, eventually, require};
use trace::Trace;

use crate::common::{Lab, Ran};

fn started(lab: &Lab, words: &str, out: &Path) -> Child {
    let child = lab.start(&format!("trace record {words} --out {}", out.display()));
    // The signal handler is installed last.
    let status = format!("/proc/{}/status", child.id());
    let catches_interrupts = |text: &str| {
        let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:\t"));
        mask.is_some_and(|mask| u64::from_str_radix(mask, 16).unwrap() & 2 != 0)
    };
    eventually("the trace has begun", || {
        fs::read_to_string(&status)
            .is_ok_and(|text| text.contains("NoNewPrivs:\t1") && catches_interrupts(&text))
    });
    child
}

fn ended(child: Child) -> Ran {
    Ran::from(child.wait_with_output().unwrap())
}

fn interrupt(child: &Child) {
    assert!(
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success()
    );
}

fn dd(words: &str) {
    assert!(
        Command::new("dd").args(words.split(' ')).arg("status=none").status().unwrap().success(),
        "{words}"
    );
}

/// The kernel may skip a BPF program: here it never runs one in an interrupt of the first process's
/// threads, whose completions tracefs sees.
fn missing(trace: &Trace) -> u64 {
    trace.about.lost + trace.about.unfinished
}

#[test]
fn a_trace_that_ctrl_c_ends_is_whole_and_for_root_alone_and_no_right_was_left() {
    if !require(&["root", "dd"]) {
        return;
    }
    for source in ["bpf", "tracefs"] {
        let lab = Lab::new();
        let (device, out) = (Loop::new(&lab.dir, "disk", 32), lab.path("a.parquet"));
        let child = started(&lab, &format!("{} --source {source} --json", device.name), &out);
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        assert!(status.contains("CapEff:\t0000000000000000"), "{status}");
        dd(&format!("if={} of=/dev/null bs=4k count=300 iflag=direct", device.path));
        interrupt(&child);
        let ran = ended(child).expect_status(0);
        let summary = ran.json();
        let trace = read(&out, &ReadOptions::default()).unwrap();
        // Others may probe a new device.
        let reads = summary["reads"].as_u64().unwrap();
        assert!(reads <= 400 && reads + missing(&trace) >= 300, "{summary}");
        assert_eq!(summary["about"]["source"], source);
        assert_eq!(trace.ios.len() as u64, summary["requests"].as_u64().unwrap());
        let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(&out).unwrap());
        assert_eq!(mode & 0o777, 0o600);
        let left = fs::read_dir("/sys/kernel/tracing/instances").into_iter().flatten().flatten();
        let own = format!("schedlab-record-{}-", std::process::id());
        assert!(
            !left
                .map(|entry| entry.file_name().into_string().unwrap())
                .any(|name| name.starts_with(&own))
        );
        let again = format!("trace record {} --for 1s --out {}", device.name, out.display());
        lab.run(&again).expect_status(1).says(&["exists already"]);
    }
}

fn instance_of(pid: u32) -> Option<std::path::PathBuf> {
    let own = format!("schedlab-record-{pid}-");
    let all = fs::read_dir("/sys/kernel/tracing/instances").into_iter().flatten().flatten();
    all.map(|entry| entry.path())
        .find(|path| path.file_name().unwrap().to_str().unwrap().starts_with(&own))
}

#[test]
fn a_killed_traces_instance_is_removed_a_live_ones_stays() {
    if !require(&["root"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 8);
    let words = format!("{} --source tracefs", device.name);
    // Not in the state directory, which stays writable then.
    fs::create_dir(lab.path("out")).unwrap();
    let (alive, dead) = (lab.path("out/alive.parquet"), lab.path("out/dead.parquet"));
    let live = started(&lab, &words, &alive);
    let mut killed = started(&lab, &words, &dead);
    let left = instance_of(killed.id()).expect("it records");
    let enabled = |instance: &Path| {
        fs::read_to_string(instance.join("events/block/block_rq_issue/enable")).unwrap()
    };
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(enabled(&left), "1\n", "the kernel goes on");
    let ran = lab.run("restore").expect_status(4);
    let name = left.file_name().unwrap().to_str().unwrap();
    assert!(
        ran.stdout.contains(&format!("the tracing instance {name} is removed")),
        "{}",
        ran.stdout
    );
    assert!(!left.exists());
    assert_eq!(enabled(&instance_of(live.id()).expect("it goes on")), "1\n");
    dd(&format!("if={} of=/dev/null bs=4k count=50 iflag=direct", device.path));
    interrupt(&live);
    assert!(ended(live).expect_status(0).stdout.contains(" reads of "));
    let ran = lab.run("restore").expect_status(0);
    assert!(ran.stdout.contains("nothing to restore"), "{}", ran.stdout);
    for dir in ["journal", "lock"] {
        assert_eq!(fs::read_dir(lab.state().join(dir)).unwrap().count(), 0, "{dir}");
    }
}

#[test]
fn after_a_killed_trace_the_next_has_its_name() {
    if !require(&["root"]) {
        return;
    }
    for source in ["bpf", "tracefs"] {
        let lab = Lab::new();
        let (device, out) = (Loop::new(&lab.dir, "disk", 8), lab.path("a.parquet"));
        let words = format!("{} --source {source}", device.name);
        let mut killed = started(&lab, &words, &out);
        let left = instance_of(killed.id());
        assert_eq!(left.is_some(), source == "tracefs");
        assert_eq!(fs::metadata(&out).unwrap().len(), 0);
        let again = format!("trace record {words} --for 200ms --out {}", out.display());
        lab.run(&again).expect_status(1).says(&["another process records into it"]);
        killed.kill().unwrap();
        killed.wait().unwrap();
        let ran = lab.run(&again).expect_status(0);
        assert_eq!(ran.stderr.contains("is removed"), left.is_some(), "{}", ran.stderr);
        assert!(left.is_none_or(|left| !left.exists()));
        read(&out, &ReadOptions::default()).unwrap();
        lab.run("restore").expect_status(0);
    }
}

#[test]
fn a_file_with_content_is_not_replaced_by_a_trace() {
    if !require(&["root"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 8);
    let record = |out: &Path| {
        lab.run(&format!("trace record {} --for 100ms --out {}", device.name, out.display()))
    };
    let (content, linked, second) =
        (lab.path("content.parquet"), lab.path("linked.parquet"), lab.path("second"));
    fs::write(&content, "x").unwrap();
    fs::write(&linked, "").unwrap();
    fs::hard_link(&linked, &second).unwrap();
    for path in [&content, &linked] {
        let ran = record(path);
        assert!(path.exists() && second.exists());
        ran.expect_status(1).says(&["exists already"]);
    }
    let theirs = lab.path("theirs.parquet");
    fs::write(&theirs, "").unwrap();
    std::os::unix::fs::chown(&theirs, Some(64_321), None).unwrap();
    record(&theirs).expect_status(1).says(&["belongs to another user"]);
    assert_eq!(fs::read_to_string(&content).unwrap(), "x");
    assert_eq!(fs::metadata(&theirs).unwrap().len(), 0);
}

#[test]
fn a_disk_that_is_removed_ends_the_trace_and_what_was_recorded_is_valid() {
    if !require(&["root", "dd"]) {
        return;
    }
    let lab = Lab::new();
    let (device, out) = (Loop::new(&lab.dir, "disk", 32), lab.path("a.parquet"));
    let child = started(&lab, &device.name, &out);
    dd(&format!("if={} of=/dev/null bs=4k count=100 iflag=direct", device.path));
    device.detach();
    let ran = ended(child).expect_status(1).says(&[
        "ended before its time",
        "was removed",
        "valid up to there",
    ]);
    let trace = read(&out, &ReadOptions::default()).unwrap();
    assert_eq!(trace.about.cut_short, format!("{} was removed", device.name));
    let recorded = trace.ios.len() as u64;
    assert!(
        recorded > 0 && recorded + missing(&trace) >= 100,
        "{recorded} {} {:?}",
        ran.stdout,
        trace.about
    );
}

#[test]
fn a_full_file_system_ends_the_trace_and_what_was_recorded_is_valid() {
    if !require(&["root", "dd"]) {
        return;
    }
    let lab = Lab::new();
    fs::write(lab.path("disk"), vec![1; 32 << 20]).unwrap();
    // From the page cache: 72,000 reads of a real disk take a minute.
    let options = LoopOptions { direct_io: false, ..LoopOptions::default() };
    let device = Loop::with(&lab.path("disk"), options);
    let place = lab.path("small");
    fs::create_dir(&place).unwrap();
    let small = Tmpfs::with(&place, "size=48m,mode=0700");
    let out = place.join("a.parquet");
    let child = started(&lab, &device.name, &out);
    // Fill the rest. Space is allocated for the current row group, but not for the next.
    let _ = Command::new("dd")
        .args(["if=/dev/zero", "bs=1M", "status=none"])
        .arg(format!("of={}", place.join("fill").display()))
        .output();
    for _ in 0..9 {
        dd(&format!("if={} of=/dev/null bs=4k count=8000 iflag=direct", device.path));
    }
    let ran = ended(child);
    let trace = read(&out, &ReadOptions::default());
    drop(small);
    ran.expect_status(1).says(&["no space was left"]);
    let trace = trace.unwrap();
    assert!(
        trace.ios.len() >= 65_536 && trace.about.cut_short.contains("no space"),
        "{:?}",
        trace.about
    );
}

#[test]
fn what_cannot_be_recorded_is_refused_with_what_can_and_no_file_is_left() {
    if !require(&["root", "setpriv"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 8);
    let out = lab.path("a.parquet");
    for (words, status, says) in [
        ("no-such-disk --for 1s".to_owned(), 1, "no such block device"),
        (format!("{} --for 1s --pid 4194304", device.name), 1, "process 4194304: not found"),
        (format!("{} --for 1s --cgroup no/such", device.name), 1, "control group no/such"),
        (format!("{} --for 1s --pid 1 --cgroup /", device.name), 2, "cannot be used with"),
        (format!("{} --for 9999h", device.name), 2, "out of range"),
    ] {
        lab.run(&format!("trace record {words} --out {}", out.display()))
            .expect_status(status)
            .says(&[says]);
        assert!(!out.exists(), "{words}");
    }
    lab.run(&format!("trace record {} --for 1s --out a.txt", device.name))
        .expect_status(1)
        .says(&[".parquet"]);
    let binary = crate::common::binary();
    let words = ["--bounding-set=-sys_admin,-bpf", "--inh-caps=-all"];
    let output = Command::new("setpriv")
        .args(words)
        .arg(&binary)
        .args(["trace", "record", &device.name, "--for", "1s", "--source", "bpf", "--out"])
        .arg(&out)
        .output()
        .unwrap();
    Ran::from(output).expect_status(1).says(&["does not have CAP_BPF"]);
    assert!(!out.exists());
}

#[test]
fn requests_of_the_disk_below_are_none_of_a_disk_whose_bios_were_merged() {
    if !require(&["root", "dd"]) {
        return;
    }
    let lab = Lab::new();
    let (device, out) = (Loop::new(&lab.dir, "disk", 64), lab.path("a.parquet"));
    let child = started(&lab, &format!("{} --source bpf", device.name), &out);
    // One page per bio, then merged; bios of the disk below reuse the merged ones' addresses.
    for _ in 0..6 {
        dd(&format!("if=/dev/zero of={} bs=1M count=48 conv=fsync", device.path));
        dd(&format!("if=/dev/zero of={} bs=4k count=500 conv=fsync", lab.path("below").display()));
    }
    interrupt(&child);
    ended(child).expect_status(0);
    let trace = read(&out, &ReadOptions::default()).unwrap();
    let sectors = 64 << 11;
    let foreign: Vec<_> = trace.ios.iter().filter(|io| io.end() > sectors).collect();
    assert!(foreign.is_empty(), "{} of {}: {:?}", foreign.len(), trace.ios.len(), foreign[0]);
    assert!(trace.ios.iter().any(|io| io.bios > 1) && trace.ios.len() > 100, "nothing was merged");
}
