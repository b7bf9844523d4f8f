//! Several CPUs of a guest in virtual time; `make soak` builds their kernel.

use std::fs;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use testbed::is_soak;

use super::kernel_scheduler::{in_cache, observed, plan, run};
use crate::common::{Lab, NEWEST, kernel_with_cpus, trials};

const COMPUTE: &str = "kind = \"linpack\"";
/// What LINPACK reaches with a whole CPU.
const ALONE: f64 = 1e6;

fn background(spinners: u32) -> String {
    format!("[[workload.background]]\nkind = \"spin\"\nparams = {{ threads = \"{spinners}\" }}\n")
}

/// One trial of each variant.
fn tried(lab: &Lab, variants: &[&str], workload: &str, spinners: u32) -> Vec<Value> {
    let plan = plan(variants, workload, &background(spinners)).replace("debian:6.1", NEWEST);
    run(lab, &plan, "out");
    let found = trials(&lab.path("out"));
    fs::remove_dir_all(lab.path("out")).unwrap();
    found
}

fn counter(observation: &Value, name: &str) -> f64 {
    observation["counters"][name].as_f64().unwrap_or_else(|| panic!("no {name}: {observation}"))
}

#[test]
fn two_programs_on_two_cpus_take_half_the_time() {
    if kernel_with_cpus().is_none() {
        return;
    }
    let lab = Lab::new();
    let trials = tried(&lab, &["cpus = 1", "cpus = 2"], COMPUTE, 1);
    let rate = |variant| observed(&trials, variant)["metrics"]["kflops"].as_f64().unwrap();
    let ratio = rate(1) / rate(0);
    assert!((ratio - 2.0).abs() < 0.02, "{ratio}: {trials:?}");
}

#[test]
fn twice_as_many_programs_as_cpus_get_half_a_cpu_each_and_a_pinned_one_never_moves() {
    if kernel_with_cpus().is_none() {
        return;
    }
    let lab = Lab::new();
    for cpus in [2, 4, 8] {
        let free = format!("cpus = {cpus}");
        let pinned = format!("{free}, affinity = \"{}\"", cpus - 1);
        let trials = tried(&lab, &[&free, &pinned], COMPUTE, 2 * cpus - 1);
        for variant in 0..2 {
            let found = observed(&trials, variant)["metrics"]["kflops"].as_f64().unwrap() / ALONE;
            assert!((found - 0.5).abs() < 0.01, "{cpus} CPUs, v{variant}: {found}");
        }
        assert_eq!(counter(observed(&trials, 1), "migrations"), 0.0, "{cpus}");
    }
    // An odd number is balanced by moving.
    let odd = tried(&lab, &["cpus = 2", "cpus = 2, affinity = \"0\""], COMPUTE, 2);
    assert!(counter(observed(&odd, 0), "migrations") > 10.0, "{odd:?}");
    assert_eq!(counter(observed(&odd, 1), "migrations"), 0.0);
}

/// The module counts each wait, from a wake-up or preemption on; the kernel counts a sum.
#[test]
fn waits_are_those_of_the_kernels_own_counters_across_migrations() {
    if kernel_with_cpus().is_none() {
        return;
    }
    let lab = Lab::new();
    let work = "kind = \"wakeup\"\nprimary = \"wakeup_max_us\"\nparams = { workers = \"1\", work = \"50ms\" }";
    let trials = tried(&lab, &["cpus = 2", "cpus = 2, nice = 5"], work, 2);
    for variant in 0..2 {
        let found = observed(&trials, variant);
        let (ours, theirs) =
            (counter(found, "queue_wait_sum_us") / 1e3, counter(found, "task_wait_ms"));
        // Threads begin and end their own counting within the program's.
        assert!((ours - theirs).abs() < 10.0, "{ours} {theirs}: {found}");
        assert_eq!(counter(found, "migrations"), counter(found, "task_migrations"), "{found}");
        assert!(found["counters"]["share_us"].is_null(), "weights do not give a share: {found}");
    }
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn guests_with_four_cpus_give_the_same_bytes_beside_other_load() {
    if kernel_with_cpus().is_none() {
        return;
    }
    let lab = Lab::new();
    let spin =
        || Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn();
    let _load: Vec<Killed> = (0..4).map(|_| Killed(spin().unwrap())).collect();
    let rounds = if is_soak() { 50 } else { 3 };
    let run = |out: &str| {
        let words = format!(
            "compare --arena kernel --kernel {NEWEST} --workload wakeup:workers=4 --background \
             spin:threads=5 --schedulers cpus=4,four=cpus=4+nice=5 --trial-time 300ms --rounds 4 \
             --figures-only -q --out {}",
            lab.path(out).display()
        );
        in_cache(&lab, &words).expect_measured();
        let text = fs::read(lab.path(out).join("results.jsonl")).unwrap();
        fs::remove_dir_all(lab.path(out)).unwrap();
        text
    };
    let first = run("out");
    for round in 1..rounds {
        assert!(run("out") == first, "run {round} differs from the first");
    }
}
