//! Claims of docs/internals/kernel-arena.md on CPU schedulers that need no kernel build.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use testbed::require;

use crate::common::{Lab, Ran, kernel_cache, plain_kernel, word};

/// A dry run.
fn applies(patch: &Path, tree: &Path) -> bool {
    let mut command = Command::new("patch");
    command
        .args(["-p1", "--fuzz=0", "--forward", "--batch", "--dry-run", "-d"])
        .arg(tree)
        .arg("-i")
        .arg(patch);
    command.stdout(Stdio::null()).status().unwrap().success()
}

#[test]
fn the_patch_of_the_cpu_scheduler_applies_to_the_kernel_that_is_built() {
    if !require(&["root", "patch"]) {
        return;
    }
    let Some(cache) = kernel_cache() else { return };
    let tree = plain_kernel(&cache).unwrap().join("tree");
    let patch =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans/sched-wakeup-granularity.patch");
    let patch = patch.canonicalize().unwrap();
    assert!(applies(&patch, &tree), "to {}", tree.display());
    let lab = Lab::new();
    let other = lab.path("other.patch");
    let text = fs::read_to_string(&patch).unwrap();
    fs::write(&other, text.replace("-\tunsigned long gran = ", "-\tunsigned int gran = ")).unwrap();
    assert!(!applies(&other, &tree), "what is not in the source is not taken for it");
}

#[test]
fn computing_takes_no_time_of_a_guest_and_takes_some_in_the_plain_way() {
    if !require(&["root", "bash"]) {
        return;
    }
    let Some(cache) = kernel_cache() else { return };
    let lab = Lab::new();
    let spent = |mode: &str| -> u64 {
        let script = "a=${EPOCHREALTIME/./}; for ((i = 0; i < 100000; i++)); do :; done; echo $((${EPOCHREALTIME/./} - a))";
        let mut command = lab.command(&format!(
            "kernel exec --quiet --time-travel {mode} --cache-dir {} --",
            word(&cache)
        ));
        let ran =
            Ran::from(command.args(["bash", "-c", script]).output().unwrap()).expect_status(0);
        ran.stdout.trim().parse().unwrap_or_else(|_| panic!("{ran:?}"))
    };
    // Only two clock reads pass in virtual time, while a hundred thousand iterations exceed a tick
    // on any machine.
    assert!(spent("inf-cpu") <= 1, "{}", spent("inf-cpu"));
    assert!(spent("plain") > 1000);
}
