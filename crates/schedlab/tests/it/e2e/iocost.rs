//! `schedlab iocost` on a modelled device and on a real loop device.

use std::fs;
use std::process::Command;

use testbed::{Loop, require};

use crate::common::Lab;

#[test]
fn a_modelled_device_has_the_coefficients_that_its_description_states_bit_for_bit_twice() {
    let lab = Lab::new();
    let words = "iocost --arena sim null:service_ns=100000:servers=4:queue_depth=4 --json";
    let ran = lab.run(words).expect_status(0);
    let report = ran.json();
    assert_eq!(
        (&report["model"]["read"]["seqiops"], &report["number"]),
        (&40_000.into(), &"0:0".into()),
        "{report}"
    );
    let line = report["io.cost.model"].as_str().unwrap();
    assert!(
        line.starts_with("0:0 ctrl=user model=linear rbps=2099")
            && line.contains("wrandiops=40000"),
        "{line}"
    );
    assert!(
        report["hwdb"]
            .as_str()
            .unwrap()
            .starts_with("block::name:MODEL:fwrev:*:\n IOCOST_SOLUTIONS=schedlab\n")
    );
    assert_eq!(lab.run(words).stdout, ran.stdout);
}

#[test]
fn what_cannot_be_measured_is_refused_with_what_can() {
    let lab = Lab::new();
    for (words, says) in [
        ("iocost --arena sim hp97650", "hp97560"),
        ("iocost --arena sim hp97560 --destroy-data sda", "leave it out"),
        ("iocost --arena sim hp97560 --trial-time 2h", "10ms to 1h"),
        ("iocost --arena kernel hp97560", "possible values: disk, sim"),
        ("iocost hp97560 --reads-only --destroy-data sda", "cannot be used with"),
    ] {
        lab.run(words).expect_status(2).says(&[says]);
    }
}

#[test]
fn a_device_that_holds_data_is_read_and_not_written_and_left_as_it_was() {
    if !require(&["root", "blkid", "mkfs.ext4"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 64);
    assert!(Command::new("mkfs.ext4").args(["-q", &device.path]).status().unwrap().success());
    device.set("scheduler", "mq-deadline");
    let before = (device.snapshot(), fs::read(lab.path("disk")).unwrap());
    let iocost = |options: &str| {
        lab.run(&format!("iocost {} --trial-time 200ms --repetitions 1 {options}", device.path))
    };
    iocost("").expect_status(2).says(&["ext4", "--destroy-data"]);
    let ran = iocost("--reads-only --json");
    assert!([Some(0), Some(3)].contains(&ran.status), "{ran:?}");
    let report = ran.json();
    assert_eq!(report["figures"].as_array().unwrap().len(), 4);
    let line = report["io.cost.model"].as_str().unwrap_or_default();
    assert!(!line.contains('w'), "{line}");
    assert_eq!(before, (device.snapshot(), fs::read(lab.path("disk")).unwrap()));
    assert_eq!(fs::read_dir(lab.path("state/journal")).map_or(0, Iterator::count), 0);
}

#[test]
fn reads_and_writes_of_a_temporary_loop_device_give_all_six_coefficients() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let ran = lab.run(&format!(
        "iocost loop:64M --trial-time 300ms --repetitions 2 --quiet --loop-dir {}",
        lab.dir.path().display()
    ));
    // Interference from other tests can invalidate a figure.
    assert!([Some(0), Some(3)].contains(&ran.status), "{ran:?}");
    for figure in
        ["rbps", "rseqiops", "rrandiops", "wbps", "wseqiops", "wrandiops", "kernel's preset"]
    {
        assert!(ran.stdout.contains(figure), "{}", ran.stdout);
    }
}
