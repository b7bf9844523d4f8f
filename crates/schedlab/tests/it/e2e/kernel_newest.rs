//! The newest kernel that the conformance table covers, and those between it and the one of the
//! other tests, where they are in the cache: `make kernels` builds one kernel, `make soak` all.

use std::path::{Path, PathBuf};

use testbed::require;

use crate::common::{Lab, Ran, kernel_cache, kernels_in};

/// Caches with kernels, and those of [`kernels_in`] that are in it.
fn built() -> Option<(PathBuf, Vec<&'static str>)> {
    let cache = kernel_cache()?;
    let built = kernels_in(&cache);
    Some((cache, built))
}

fn run(lab: &Lab, cache: &Path, words: &str) -> Ran {
    let repository = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let mut command = lab.command(words);
    command.env("SCHEDLAB_CACHE_DIR", cache).current_dir(repository);
    Ran::from(command.output().unwrap())
}

#[test]
fn every_scheduler_and_flows_run_on_each_kernel() {
    let Some((cache, built)) = built() else { return };
    for kernel in built {
        let lab = Lab::new();
        let out = lab.path("out");
        let words = format!(
            "compare --arena kernel --kernel {kernel} --device hp97560 --rounds 1 --figures-only \
             --schedulers none,mq-deadline,kyber,bfq,anticipatory,wpcas,occupancy --quiet --json \
             --trial-time 1s --workload oltp:clients=4:amount=32k:sync_every=4 --workload flows \
             --out {}",
            out.display()
        );
        run(&lab, &cache, &words).expect_measured();
        let trials = crate::common::trials(&out);
        assert_eq!(trials.len(), 14, "{kernel}");
    }
}

#[test]
fn a_limit_on_tags_means_the_same_on_each_kernel() {
    if !require(&["fio"]) {
        return;
    }
    let Some((cache, built)) = built() else { return };
    let lab = Lab::new();
    let tags = |kernel: &str, scheduler: &str| {
        let words = format!(
            "kernel exec --quiet --kernel {kernel} --device hp97560 --scheduler {scheduler} \
             --time-travel plain -- sh kernel/tests/tags.sh disk0"
        );
        let ran = run(&lab, &cache, &words).expect_status(0);
        let held = ran.stdout.rsplit(": ").next().unwrap().split(' ').next().unwrap().to_owned();
        (held, ran.stderr)
    };
    for kernel in built {
        // Seven eighths of 64, with either meaning of a shallow depth.
        assert_eq!(tags(kernel, "anticipatory").0, "56", "{kernel}");
        let (held, said) = tags(kernel, "bfq");
        let is_renewed = kernel.starts_with("debian:7");
        assert_eq!(held, "24", "{kernel}: half of three quarters while the writer is raised");
        assert_eq!(said.contains("async_depth was written again"), is_renewed, "{kernel}: {said}");
        for (scheduler, stale) in [("bfq:after=none", "16"), ("bfq:after=mq-deadline", "32")] {
            let (held, said) = tags(kernel, scheduler);
            assert_eq!(held, if is_renewed { stale } else { "24" }, "{kernel}: {scheduler}");
            assert!(!said.contains("written again"), "{said}");
        }
    }
}

#[test]
fn async_depth_is_kept_beside_nr_requests() {
    let Some((cache, built)) = built() else { return };
    let lab = Lab::new();
    for kernel in built {
        let exec = |scheduler: &str| {
            let words = format!(
                "kernel exec --quiet --kernel {kernel} --device hp97560 --scheduler {scheduler} -- \
                 sh -c"
            );
            let mut command = lab.command(&words);
            command
                .arg("cat /sys/block/disk0/queue/async_depth /sys/block/disk0/queue/*/async_depth");
            Ran::from(command.env("SCHEDLAB_CACHE_DIR", &cache).output().unwrap())
        };
        let ran = exec("mq-deadline:async_depth=4:nr_requests=32");
        assert_eq!(ran.stdout.trim(), "4", "{kernel}: {}", ran.stderr);
        let ran = exec("bfq:async_depth=20");
        match kernel.starts_with("debian:7") {
            true => assert_eq!(ran.stdout.trim(), "20", "{kernel}: {}", ran.stderr),
            false => drop(ran.expect_status(125).says(&["async_depth", "bfq", "7.0"])),
        }
    }
}
