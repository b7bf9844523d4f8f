//! `schedlab fit` and `schedlab advise` on modelled and real disks.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::process::CommandExt;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use testbed::{Loop, LoopOptions, eventually, require};

use crate::common::{Lab, Ran};

#[test]
fn the_fit_of_a_modelled_disk_has_its_seek_curve_and_its_file_is_a_device() {
    let lab = Lab::new();
    let file = lab.path("hp.toml").display().to_string();
    let words = &format!("fit --arena sim hp97560 --out {file} --json");
    let report = lab.run(words).expect_status(0).json();
    assert!(report["seek_error"].as_f64().unwrap() < 0.02, "{}", report["seek_error"]);
    assert!(report["error"]["demerit"].as_f64().unwrap() < 0.02, "{}", report["error"]);
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.starts_with("# Fitted by schedlab") && text.contains("\n# Held out: demerit"),
        "{text}"
    );
    assert_eq!(lab.run(words).expect_status(0).json(), report, "the same seed, the same model");
    let out = lab.path("c").display().to_string();
    lab.run(&format!(
        "compare --arena sim --device {file} --schedulers deadline,sstf --workload randread --rounds 4 --out {out}"
    ))
    .expect_status(0);
}

#[test]
fn what_cannot_be_fitted_or_advised_on_is_refused_with_the_next_step() {
    let lab = Lab::new();
    let csv = lab.path("t.csv").display().to_string();
    fs::write(&csv, "not a trace\n").unwrap();
    for (words, status, says) in [
        ("fit --arena sim hp97650", 2, "hp97560"),
        ("fit no-such-disk", 2, "no-such-disk"),
        ("fit --arena sim sata-ssd:capacity_mib=64 --as hdd", 1, "--as ssd"),
        ("advise no-such-file --model hp97560", 2, "no such trace"),
        ("advise CSV", 1, "schedlab fit DEVICE"),
        ("advise CSV --model hp97560 --out CSV.d", 1, "t.csv"),
    ] {
        let mut command = lab.command(&words.replace("CSV", &csv));
        Ran::from(command.current_dir(lab.dir.path()).output().unwrap())
            .expect_status(status)
            .says(&[says]);
    }
}

#[test]
fn a_real_device_is_only_read_and_left_as_it_was() {
    if !require(&["root"]) {
        return;
    }
    let lab = Lab::new();
    fs::write(lab.path("disk"), vec![1; 16 << 20]).unwrap();
    // From the page cache, and few sizes: thousands of reads of a real disk take half a minute.
    let options = LoopOptions { direct_io: false, ..LoopOptions::default() };
    let device = Loop::with(&lab.path("disk"), options);
    device.set("max_sectors_kb", "16");
    let before = (device.snapshot(), fs::read(lab.path("disk")).unwrap());
    let file = lab.path("loop.toml").display().to_string();
    let report = lab
        .run(&format!("fit {} --as ssd --json --out {file}", device.path))
        .expect_status(0)
        .json();
    assert!(report["cells"].as_array().unwrap().len() > 10, "{report}");
    assert_eq!(before, (device.snapshot(), fs::read(lab.path("disk")).unwrap()));
    assert!(fs::read_to_string(file).unwrap().contains("model = \"measured\""));
}

/// Two processes that read their own files one after another.
fn two_readers() -> String {
    readers(2, 1200, |process, round| process * 1_500_000 + round * 16)
}

/// Eight processes that read at random.
fn random_readers() -> String {
    readers(8, 800, |process, round| (round * 8 + process) * 60_013 % 150_000 * 16)
}

/// Processes that compute for a millisecond between reads of these sectors, as blkparse prints it,
/// under a scheduler that served them in turn.
fn readers(processes: u64, turns: u64, sector: impl Fn(u64, u64) -> u64) -> String {
    const SERVICE_US: u64 = 12_000;
    const THINK_US: u64 = 1000;
    let mut events = Vec::new();
    for turn in 0..turns {
        let (process, round) = (turn % processes, turn / processes);
        let begins = turn * SERVICE_US;
        // Queued a think time after its own last completion, while the others were served.
        let last_end = (begins + SERVICE_US).saturating_sub(processes * SERVICE_US);
        let queued = if round == 0 { process } else { last_end + THINK_US };
        for (what, at) in [('Q', queued), ('D', begins.max(queued)), ('C', begins + SERVICE_US)] {
            events.push((at, process, round, what));
        }
    }
    events.sort_unstable();
    let mut text = String::new();
    for (number, (us, process, round, what)) in events.into_iter().enumerate() {
        let seconds = format!("{}.{:06}000", us / 1_000_000, us % 1_000_000);
        let name = ["left", "right"].get(process as usize).copied().unwrap_or("other");
        let (sector, pid) = (sector(process, round), 100 + process);
        let _ = writeln!(
            text,
            "  8,0    0 {number:8} {seconds:>15} {pid:5}  {what}   R {sector} + 16 [{name}]"
        );
    }
    text
}

#[test]
fn advice_for_two_readers_waits_and_plans_for_no_missing_disk() {
    let lab = Lab::new();
    let (file, out) =
        (lab.path("two.txt").display().to_string(), lab.path("a").display().to_string());
    fs::write(&file, two_readers()).unwrap();
    let options =
        "--model hp97560 --arena sim --schedulers anticipatory,none --confirm-on /dev/sdx --json";
    let report = lab.run(&format!("advise {file} {options} --out {out}")).expect_status(0).json();
    let advice = &report["advice"];
    assert_eq!(advice["baseline"], "none", "the trace names no scheduler");
    let cautions = advice["cautions"].to_string();
    assert!(cautions.contains("names no scheduler: the baseline is none"), "{cautions}");
    let reasons = advice["reasons"].to_string();
    assert!(
        reasons.contains("left (pid 100)") && reasons.contains("one after another"),
        "{reasons}"
    );
    assert!(advice["trust"]["replayed_to_recorded"].as_f64().is_some(), "{advice}");
    assert!(
        !lab.path("a/confirm.toml").exists()
            && report["confirm"].is_null()
            && report["command"].is_null()
    );
    assert_eq!(advice["set"], serde_json::json!(["scheduler=anticipatory"]));
    assert!(!reasons.contains("does not pay"), "{reasons}");
    assert!(lab.path("a/replay/results.jsonl").exists());
    assert_eq!(advice["best"], "anticipatory", "{advice:#}");
    let text = options.trim_end_matches(" --json");
    let ran = lab.run(&format!("advise {file} {text} --out {out}2")).expect_status(0);
    assert!(!ran.stdout.contains("schedlab set"), "of a disk that is elsewhere: {}", ran.stdout);
    assert!(ran.stdout.contains("Apply:    not on this machine"), "{}", ran.stdout);
}

/// Labels of the answer, and its lines.
fn answer(ran: &Ran) -> (Vec<&str>, Vec<&str>) {
    let lines: Vec<&str> = ran.stdout.lines().take_while(|line| !line.is_empty()).collect();
    (lines.iter().filter_map(|line| Some(line.split_once(':')?.0)).collect(), lines)
}

#[test]
fn advice_is_five_lines_of_80_columns_with_both_commands() {
    if !require(&["root"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 32);
    let file = lab.path("trace.txt").display().to_string();
    fs::write(&file, random_readers()).unwrap();
    let run = |schedulers: &str, out: &str| {
        let words = format!(
            "advise {file} --model hp97560 --arena sim --confirm-on {} --schedulers {schedulers} --quiet",
            device.path
        );
        let mut command = lab.command(&words);
        command.arg("--out").arg(lab.path(out)).env("COLUMNS", "80");
        Ran::from(command.output().unwrap()).expect_status(0)
    };
    let ran = run("none,mq-deadline", "use");
    let (labels, lines) = answer(&ran);
    assert_eq!(labels, ["Recorded", "Advice", "Loses", "Apply", "Undo"], "{}", ran.stdout);
    let words = |line: &str| line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ");
    assert!(words(lines[1]).starts_with("use mq-deadline: mean latency "), "{}", ran.stdout);
    assert_eq!(words(lines[3]), format!("sudo schedlab set {} scheduler=mq-deadline", device.path));
    let undo = format!("sudo schedlab set {} scheduler=none", device.path);
    assert!(words(lines[4]).starts_with(&undo), "{}", ran.stdout);
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
    assert!(!ran.stdout.contains("Why:"), "only with --verbose: {}", ran.stdout);
    // What it prints, it does.
    let before = device.snapshot();
    for line in &lines[3..] {
        let command = words(line);
        let command = command.strip_prefix("sudo schedlab ").expect("a command of schedlab");
        lab.run(command).expect_status(0);
    }
    assert_eq!(device.snapshot(), before);
    fs::write(&file, two_readers()).unwrap();
    let ran = run("none,mq-deadline", "keep");
    assert_eq!(answer(&ran).0, ["Recorded", "Advice", "Closest", "Apply"], "{}", ran.stdout);
    assert!(ran.stdout.contains("Advice:   keep none: "), "{}", ran.stdout);
}

/// Reads and writes of a loop device, until dropped. Each process lives at least 0.1 s, since
/// advice names only processes with 5 % of the disk's work.
struct Work(std::process::Child);

impl Work {
    fn on(device: &str) -> Work {
        let script = "while :; do dd if=$0 of=/dev/null bs=8k count=4000 iflag=direct status=none; \
                      dd if=/dev/zero of=$0 bs=16k count=20 seek=50 oflag=direct status=none; sleep 0.03; done";
        // A process group, since dd would outlive the shell.
        Work(
            std::process::Command::new("sh")
                .args(["-c", script, device])
                .process_group(0)
                .spawn()
                .unwrap(),
        )
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let group = Pid::from_child(&self.0);
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.0.wait();
        eventually("dd has ended", || test_kill_process_group(group).is_err());
    }
}

#[test]
fn a_live_disk_is_recorded_fitted_and_advised_on_in_one_command_in_each_arena() {
    if !require(&["root", "dd"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 32);
    let before = device.snapshot();
    let cache = crate::common::kernel_cache();
    let arenas: &[&str] = if cache.is_some() { &["sim", "kernel"] } else { &["sim"] };
    for arena in arenas {
        let out = lab.path(arena);
        let work = Work::on(&device.path);
        let words = format!(
            "advise {} --for 2s --arena {arena} --schedulers none,mq-deadline --json",
            device.path
        );
        let mut command = lab.command(&words);
        command.arg("--out").arg(&out).envs(cache.iter().map(|dir| ("SCHEDLAB_CACHE_DIR", dir)));
        let ran = Ran::from(command.output().unwrap());
        drop(work);
        let report = ran.expect_status(0).json();
        let advice = &report["advice"];
        assert_eq!(
            (advice["arena"].as_str(), advice["baseline"].as_str()),
            (Some(*arena), Some("none")),
            "{advice:#}"
        );
        assert!(
            advice["trust"]["replayed_to_recorded"].as_f64().is_some_and(|ratio| ratio > 0.0),
            "{advice:#}"
        );
        assert!(advice["reasons"].to_string().contains("dd"), "{advice:#}");
        assert!(!advice["cautions"].to_string().contains("another schedlab"), "{advice:#}");
        for file in ["trace.parquet", "model.toml", "replay/results.jsonl", "confirm.toml"] {
            assert!(out.join(file).exists(), "{arena}: {file}");
        }
        let plan = fs::read_to_string(out.join("confirm.toml")).unwrap();
        assert!(plan.contains(&format!("device = \"{}\"", device.path)), "{plan}");
    }
    assert_eq!(device.snapshot(), before, "no setting of it was changed");
    lab.run(&format!("set {} nr_requests=16 --for 1h", device.path)).expect_status(0);
    let work = Work::on(&device.path);
    let out = lab.path("changed");
    let words =
        format!("advise {} --for 1s --arena sim --json --out {}", device.path, out.display());
    let report = lab.run(&words).expect_status(0).json();
    drop(work);
    lab.run(&format!("set {} --end", device.path)).expect_status(0);
    let cautions = report["advice"]["cautions"].to_string();
    assert!(cautions.contains("another schedlab (process "), "{cautions}");
    let idle = format!("advise {} --for 300ms --out {}", device.path, lab.path("idle").display());
    // Too few requests, or none: another test's list of devices reads signatures from this one.
    lab.run(&idle).expect_status(1).says(&["while it works", "--for"]);
    let wrong = format!("advise {} --for never --out {}", device.path, lab.path("wrong").display());
    lab.run(&wrong).expect_status(2).says(&["--for", "never"]);
}
