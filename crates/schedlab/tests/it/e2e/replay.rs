//! A recorded trace as a comparison's workload.

use std::fmt::Write as _;
use std::fs;

use testbed::require;

use crate::common::{Lab, trials};

/// Two processes that read 4 KiB each millisecond; also the bytes moved.
fn trace(last_offset: u64) -> (String, u64) {
    let mut text = String::new();
    for i in 0..200u64 {
        let (pid, sector) =
            (100 + i % 2, if i == 199 { last_offset / 512 } else { (i * 977 % 1000) * 8 });
        writeln!(text, "8,0 1 {i} 0.{:09} {pid} Q R {sector} + 8 [cat]", i * 1_000_000).unwrap();
    }
    (text, 200 * 4096)
}

#[test]
fn every_trial_of_a_replay_makes_exactly_the_requests_of_the_trace() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let (text, bytes) = trace(4096);
    let (file, out, dir) = (lab.path("disk.txt"), lab.path("out"), lab.path(""));
    fs::write(&file, text).unwrap();
    for mode in ["open", "closed"] {
        let out = out.join(mode);
        lab.run(&format!(
            "compare --device loop:16M --loop-dir {} --schedulers none,mq-deadline --workload trace:{}:loop={mode} --rounds 2 --figures-only --trial-time 3s --out {}",
            dir.display(),
            file.display(),
            out.display()
        ))
        .expect_measured();
        let trials = trials(&out);
        assert_eq!(trials.len(), 4, "2 rounds of 2 variants");
        for trial in &trials {
            let counters = &trial["observation"]["counters"];
            assert_eq!(
                counters["issued_read_bytes"].as_f64(),
                Some(bytes as f64),
                "{mode}: {trial}"
            );
            assert!(
                counters["device_read_bytes"].as_f64().unwrap() >= bytes as f64,
                "{mode}: {trial}"
            );
        }
    }
}

#[test]
fn a_trace_that_is_broken_or_does_not_fit_is_refused_by_its_line_before_anything_is_done() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let file = lab.path("disk.txt");
    let compare = |more: &str| {
        lab.run(&format!(
            "compare --device loop:16M --loop-dir {} --schedulers none,mq-deadline --workload replay:file={}{more} --rounds 2 --figures-only --trial-time 300ms --out {}",
            lab.path("").display(),
            file.display(),
            lab.path("out").display()
        ))
        .expect_status(2)
        .stderr
    };
    let named = file.to_str().unwrap();
    assert!(compare("").contains(&format!("{named}: cannot read the trace")));
    fs::write(&file, trace(1 << 30).0).unwrap();
    let far = compare("");
    assert!(
        far.contains(&format!(
            "{named}, request 200: read of 4096 bytes at 1073741824 ends beyond the target's 16M"
        )),
        "{far}"
    );
    fs::write(&file, trace(0).0.replace("0.005000000", "0.000500000")).unwrap();
    let backwards = compare("");
    assert!(
        backwards.contains(&format!("{named}: cannot read the trace: line 6: "))
            && backwards.contains("time runs backwards"),
        "{backwards}"
    );
    assert!(!lab.path("out").exists(), "nothing was begun");
}
