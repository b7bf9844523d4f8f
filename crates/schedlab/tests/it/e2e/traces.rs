//! Traces of known trials, of other programs, of live disks.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use testbed::{Loop, LoopOptions, eventually, require};

use crate::common::Lab;

/// Under `none`.
fn trial(lab: &Lab, name: &str, device: &str, workload: &str, time: &str) -> PathBuf {
    let out = lab.path(name);
    lab.run(&format!(
        "compare --arena sim --device {device} --schedulers none,mq-deadline --workload {workload} --rounds 1 --figures-only \
         --trial-time {time} --warmup 0s --trace csv --quiet --out {}",
        out.display()
    ))
    .expect_measured();
    let mut files = fs::read_dir(out.join("traces")).unwrap().flatten().map(|entry| entry.path());
    files
        .find(|path| path.to_str().unwrap().ends_with("-none.csv"))
        .expect("a trace of the variant none")
}

/// Privileges are dropped once events are followed.
fn begun(child: &std::process::Child) {
    let status = format!("/proc/{}/status", child.id());
    eventually("events are followed", || {
        fs::read_to_string(&status).is_ok_and(|text| text.contains("NoNewPrivs:\t1"))
    });
}

fn number(of: &Value, pointer: &str) -> f64 {
    of.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{pointer} in {of:#}"))
}

#[test]
fn the_profile_of_a_trial_has_the_parameters_of_its_workload() {
    let lab = Lab::new();
    let words = "virtual-machines:clients=3:iodepth=1:read_share=80:jump_share=25:block_size=16K:think_time=2ms:think_dist=fixed";
    let file = trial(&lab, "t", "sata-ssd:capacity_mib=256", words, "20s");
    let page = lab.path("p.html");
    let ran = lab
        .run(&format!("trace profile {} --json --html {}", file.display(), page.display()))
        .expect_status(0);
    let disk = &ran.json()["devices"][0];
    let clients = disk["processes"].as_array().unwrap();
    assert_eq!(clients.len(), 3, "{clients:#?}");
    for client in clients {
        let (reads, writes) = (number(client, "/reads"), number(client, "/writes"));
        assert!((reads / (reads + writes) - 0.8).abs() < 0.03, "{client:#}");
        let steps = number(client, "/distance_sectors/count");
        assert!((number(client, "/sequential") / steps - 0.75).abs() < 0.03, "{client:#}");
        // The think time plus the simulated wake-up time.
        assert!((2.0..2.1).contains(&(number(client, "/think_ns/mean") / 1e6)), "{client:#}");
        assert_eq!(
            (number(client, "/size_sectors/min"), number(client, "/depth_max")),
            (32.0, 1.0)
        );
    }
    let all = number(disk, "/total/reads") + number(disk, "/total/writes");
    assert_eq!(number(disk, "/schedulers/0/1"), all);
    let text = fs::read_to_string(page).unwrap();
    assert!(text.matches("<svg").count() >= 2, "two heat maps at least");
    assert!(
        !text.contains("src=") && !text.contains("http://") && !text.contains("<script"),
        "a page of its own"
    );
    let shown =
        lab.run(&format!("trace profile {} --top 2", file.display())).expect_status(0).stdout;
    for word in
        ["Processes", "1 more (--top)", "Stages", "anticipation has nothing to decide", "The disk"]
    {
        assert!(shown.contains(word), "{word}:\n{shown}");
    }
}

#[test]
fn what_cannot_be_profiled_or_synthesized_is_refused_with_the_line_and_the_next_step() {
    let lab = Lab::new();
    let [broken, empty, fifo] =
        ["broken.txt", "empty.txt", "fifo.txt"].map(|name| lab.path(name).display().to_string());
    let line = "  8,0    0        1     0.000000000   100  Q   R 8 + 8 [a]\n";
    fs::write(
        &broken,
        format!("{line}  8,0    0        2     nonsense   100  Q   R 8 + 8 [a]\n{line}"),
    )
    .unwrap();
    fs::write(&empty, "").unwrap();
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for command in ["trace profile", "trace synthesize", "fit"] {
        for (file, status, says) in [
            ("no-such.parquet", 2, "no-such.parquet"),
            (broken.as_str(), 1, "line 2"),
            (empty.as_str(), 1, "empty.txt"),
            (fifo.as_str(), 1, "not a regular file"),
        ] {
            // To `fit`, anything but a file is a device.
            let is_device = command == "fit" && (file == fifo || file.starts_with("no-such"));
            let (status, says) = if is_device { (2, file) } else { (status, says) };
            lab.run(&format!("{command} {file}")).expect_status(status).says(&[says]);
        }
    }
    lab.run(&format!("fit {broken} --as hdd")).expect_status(2).says(&["fit the disk itself"]);
    lab.run(&format!("trace profile {broken} --for 3s"))
        .expect_status(2)
        .says(&["a trace is not live"]);
    lab.run("trace profile no-such-disk --for 100ms").expect_status(1).says(&["no-such-disk"]);
    lab.run(&format!("trace synthesize {broken} --skip-bad --device no-such"))
        .expect_status(2)
        .says(&["no-such"]);
    let shown =
        lab.run(&format!("trace profile {broken} --skip-bad --json")).expect_status(0).json();
    assert_eq!(
        (shown["about"]["bad"].as_u64(), number(&shown, "/devices/0/total/reads")),
        (Some(1), 2.0)
    );
}

#[test]
fn a_live_disk_is_profiled_by_who_reads_it() {
    if !require(&["root", "dd"]) {
        return;
    }
    for source in ["bpf", "tracefs"] {
        let lab = Lab::new();
        let device = Loop::new(&lab.dir, "disk", 32);
        let page = lab.path("live.html");
        let words = format!(
            "trace profile {} --for 6s --source {source} --json --html {}",
            device.path,
            page.display()
        );
        let child = lab.start(&words);
        begun(&child);
        let mut dd = Command::new("dd");
        dd.args([
            &format!("if={}", device.path),
            "of=/dev/null",
            "bs=8k",
            "count=300",
            "iflag=direct",
            "status=none",
        ]);
        assert!(dd.status().unwrap().success());
        let profile =
            crate::common::Ran::from(child.wait_with_output().unwrap()).expect_status(0).json();
        let disk = &profile["devices"][0];
        let dd = disk["processes"]
            .as_array()
            .unwrap()
            .iter()
            .find(|process| process["name"] == "dd")
            .unwrap();
        let (reads, sequential) = (number(dd, "/reads"), number(dd, "/sequential"));
        // On a busy machine the kernel may skip a BPF program.
        assert!((280.0..=300.0).contains(&reads) && sequential >= reads - 21.0, "{dd:#}");
        assert_eq!(number(dd, "/size_sectors/p50"), 16.0);
        assert!(
            number(dd, "/latency_ns/p50") > 0.0 && number(disk, "/idle/busy_ns") > 0.0,
            "{disk:#}"
        );
        assert!(fs::read_to_string(page).unwrap().contains("<svg"));
    }
}

#[test]
fn a_workload_that_is_synthesized_from_a_trial_is_the_one_of_the_trial_and_its_plan_runs() {
    let lab = Lab::new();
    let model = "sata-ssd:capacity_mib=256";
    let words = "virtual-machines:clients=3:iodepth=1:read_share=70:jump_share=50:block_size=16K:think_time=3ms:think_dist=exponential";
    let file = trial(&lab, "t", model, words, "20s");
    let out = lab.path("w.toml");
    let ran = lab.run(&format!(
        "trace synthesize {} --device {model} --json --out {}",
        file.display(),
        out.display()
    ));
    let made = ran.expect_status(0).json();
    let params = &made["workload"]["params"];
    let of = |name: &str| {
        params[name].as_str().unwrap_or_else(|| panic!("{name} in {params}")).to_owned()
    };
    assert_eq!(
        (made["workload"]["kind"].as_str(), of("clients"), of("iodepth")),
        (Some("virtual-machines"), "3".into(), "1".into())
    );
    assert_eq!((of("block_size"), of("think_dist")), ("16k".into(), "exponential".into()));
    let near =
        |name: &str, expected: f64| (of(name).parse::<f64>().unwrap() - expected).abs() <= 3.0;
    assert!(near("read_share", 70.0) && near("jump_share", 50.0), "{params}");
    let figures = made["figures"].as_array().unwrap();
    let distance = |name: &str| {
        let figure =
            figures.iter().find(|figure| figure["name"].as_str().unwrap().starts_with(name));
        number(figure.unwrap_or_else(|| panic!("{name} in {figures:#?}")), "/distance").abs()
    };
    assert!(
        distance("requests") < 10.0 && distance("reads") < 3.0 && distance("think time") < 5.0,
        "{figures:#?}"
    );
    let results = lab.path("results");
    lab.run(&format!("run {} --budget 20s --quiet --out {}", out.display(), results.display()))
        .expect_measured();
    assert!(results.join("analysis.json").exists());
    let shown = lab
        .run(&format!("trace synthesize {} --device {model}", file.display()))
        .expect_status(0)
        .stdout;
    assert!(
        shown.contains("[[workload]]")
            && shown.contains("DISTANCE")
            && shown.contains("No parameter says:"),
        "{shown}"
    );
}

#[test]
fn a_model_of_a_trace_says_what_it_was_made_of_and_how_far_it_is_off() {
    let lab = Lab::new();
    let words = "virtual-machines:clients=3:iodepth=1:read_share=60:block_size=16K:think_time=4ms";
    let file = trial(&lab, "t", "sata-ssd:capacity_mib=256", words, "20s");
    let model = lab.path("m.toml");
    let fitted = lab
        .run(&format!("fit {} --json --out {}", file.display(), model.display()))
        .expect_status(0)
        .json();
    let work = fitted["work"].as_array().unwrap();
    assert_eq!(
        work.iter().map(|of| of["kind"].as_str().unwrap()).collect::<Vec<_>>(),
        ["read", "write"]
    );
    for of in work {
        let off = number(of, "/model/mean_ns") / number(of, "/device/mean_ns") - 1.0;
        assert!(off.abs() < 0.15, "{of:#}");
    }
    let text = fs::read_to_string(&model).unwrap();
    assert!(text.contains("\n# Held out: ") && text.contains("# From a trace alone"), "{text}");
    let options = "--arena sim --schedulers none,mq-deadline --json";
    let out = lab.path("a");
    let ran = lab.run(&format!("advise {} {options} --out {}", file.display(), out.display()));
    let advice = ran.expect_status(0).json()["advice"].clone();
    let ratio = number(&advice, "/trust/replayed_to_recorded");
    assert!((0.8..1.25).contains(&ratio), "the replay is as slow as the trace: {ratio}");
    assert!(advice["trust"]["model"][0].as_str().unwrap().contains("reads: mean"), "{advice:#}");
}

#[test]
fn a_disk_of_blocks_of_4096_bytes_is_replayed_in_whole_blocks() {
    if !require(&["root", "dd"]) {
        return;
    }
    let lab = Lab::new();
    let file = lab.path("disk");
    fs::write(&file, vec![7; 32 << 20]).unwrap();
    let device = Loop::with(&file, LoopOptions { block_size: 4096, ..LoopOptions::default() });
    assert_eq!(device.show("logical_block_size"), "4096");
    let trace = lab.path("a.parquet");
    let child =
        lab.start(&format!("trace record {} --for 6s --out {}", device.name, trace.display()));
    begun(&child);
    for (skip, round) in [(1, "4k"), (100, "16k")] {
        let mut dd = Command::new("dd");
        dd.args([
            &format!("if={}", device.path),
            "of=/dev/null",
            "count=300",
            "iflag=direct",
            "status=none",
        ]);
        assert!(
            dd.args([format!("bs={round}"), format!("skip={skip}")]).status().unwrap().success()
        );
    }
    crate::common::Ran::from(child.wait_with_output().unwrap()).expect_status(0);
    let read = recorder::file::read(&trace, &recorder::file::ReadOptions::default()).unwrap();
    assert_eq!(
        (read.devices[0].logical_block, read.devices[0].sectors),
        (4096, 65_536),
        "sectors of 512 bytes"
    );
    assert!(read.ios.iter().filter(|io| io.sectors == 8).count() > 280, "{}", read.ios.len());
    assert!(read.ios.iter().all(|io| io.sector.is_multiple_of(8) && io.sectors.is_multiple_of(8)));
    assert!(
        read.ios.iter().any(|io| io.sector == 8 && io.sectors == 8),
        "the second round of 4096"
    );
    let model = lab.path("m.toml");
    lab.run(&format!("fit {} --out {}", trace.display(), model.display())).expect_status(0);
    let short = "--rounds 1 --figures-only --trial-time 5s --warmup 0s --quiet --schedulers none,mq-deadline";
    let replay = |file: &str, out: &str, more: &str| {
        let workload = format!("trace:{file}:loop=closed:reads_only=true");
        lab.run(&format!(
            "compare {more} --workload {workload} {short} --out {}",
            lab.path(out).display()
        ))
    };
    let trace = trace.display().to_string();
    replay(&trace, "sim", &format!("--arena sim --device {}", model.display())).expect_measured();
    replay(&trace, "real", &format!("--device {}", device.path)).expect_measured();
    // 512-byte blocks.
    let small = lab.path("small.txt").display().to_string();
    fs::write(&small, "8,0 0 1 0.000000000 7 Q R 1 + 1 [a]\n8,0 0 2 0.001000000 7 C R 1 + 1 [0]\n")
        .unwrap();
    replay(&small, "small", &format!("--device {}", device.path))
        .expect_status(2)
        .says(&["block of 4096 bytes"]);
}
