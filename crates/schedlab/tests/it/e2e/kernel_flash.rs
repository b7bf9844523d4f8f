//! Flash in the kernel arena: the simulator's model in the guest's block driver.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use testbed::require;

use crate::common::{Lab, Ran, kernel_cache, trials};

fn measure(lab: &Lab, cache: &Path, out: &str, words: &str) -> Ran {
    let words = format!(
        "compare --arena kernel --rounds 1 --figures-only --quiet --out {} {words}",
        lab.path(out).display()
    );
    let mut command = lab.command(&words);
    Ran::from(command.env("SCHEDLAB_CACHE_DIR", cache).output().unwrap()).expect_measured()
}

/// By variant.
fn iops(out: &Path) -> BTreeMap<String, f64> {
    let figure = |trial: &serde_json::Value| {
        let iops = trial["observation"]["metrics"]["iops"].as_f64().unwrap();
        (trial["variant"].as_str().unwrap().to_owned(), iops)
    };
    trials(out).iter().map(figure).collect()
}

#[test]
fn cpu_time_bounds_flash_as_published_and_twice_the_same() {
    let (Some(cache), lab) = (kernel_cache(), Lab::new()) else { return };
    let words = "--device nvme:capacity_mib=256 --workload randread:clients=64 --trial-time 50ms \
                 --schedulers none,mq-deadline,kyber,bfq,none:cpu_percent=0,bfq:cpu_percent=0";
    for out in ["one", "two"] {
        measure(&lab, &cache, out, words);
    }
    let results = |out: &str| fs::read(lab.path(out).join("results.jsonl")).unwrap();
    assert!(results("one") == results("two"));
    let found = iops(&lab.path("one"));
    // ICPE 2024, one core; the guest has one CPU.
    for (variant, published) in
        [("none", 381.1), ("kyber", 304.0), ("mq-deadline", 309.7), ("bfq", 241.2)]
    {
        let kiops = found[variant] / 1000.0;
        assert!((kiops / published - 1.0).abs() < 0.01, "{variant}: {kiops}");
    }
    let free = ["none:cpu_percent=0", "bfq:cpu_percent=0"].map(|variant| found[variant]);
    assert!((free[1] / free[0] - 1.0).abs() < 0.02 && free[0] > 430_000.0, "{free:?}");
}

#[test]
fn every_flash_preset_works_under_every_scheduler_of_linux() {
    let (Some(cache), lab) = (kernel_cache(), Lab::new()) else { return };
    for device in ["sata-ssd", "nvme", "femu", "970pro-like", "980pro-like"] {
        let words = format!(
            "--device {device}:capacity_mib=512 --workload mixed --trial-time 50ms --schedulers none,mq-deadline,kyber,bfq"
        );
        measure(&lab, &cache, device, &words);
        let found = iops(&lab.path(device));
        assert!(
            found.len() == 4 && found.values().all(|iops| *iops > 100.0),
            "{device}: {found:?}"
        );
    }
}

#[test]
fn a_flash_device_is_made_again_after_files_were_prepared() {
    if !require(&["root", "mkfs.ext4"]) {
        return;
    }
    let (Some(cache), lab) = (kernel_cache(), Lab::new()) else { return };
    let words = "--device sata-ssd:capacity_mib=512 --workload iozone:clients=2:phase=write:file_size=4M --trial-time 100ms \
                 --schedulers none:fs=ext4,kyber:fs=ext4";
    measure(&lab, &cache, "out", words);
    for trial in trials(&lab.path("out")) {
        let moved = trial["observation"]["counters"]["device_transfers"].as_f64().unwrap();
        assert!(moved > 0.0, "{trial}");
    }
}
