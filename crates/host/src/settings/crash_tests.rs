//! Crashes at every step of a guard's life, on the fake machine: killed, killed again while recovering, and power lost.
//!
//! `tests/crash.rs` kills a real process at its real system calls; what it cannot do is lose power, and see what was durable.

use super::fake_kernel::Machine;
use super::{Guard, Outcome, Problem, Setting, restore_all};
use crate::error::Error;
use crate::root::Root;

/// A short experiment that touches everything: three schedulers, a tunable of each, and attributes of the queue that the kernel
/// ties to others.
fn experiment(machine: &Machine) -> Result<Vec<Problem>, Error> {
    let mut guard = Guard::begin(&machine.root(), &machine.disk())?;
    let mut problems = guard.apply(&Setting::of("bfq").with("slice_idle", "0").with("nr_requests", "96"))?;
    problems.extend(guard.apply(&Setting::of("mq-deadline").with("read_expire", "100").with("read_ahead_kb", "512"))?);
    problems.extend(guard.apply(&Setting::of("none").with("max_sectors_kb", "64").with("wbt_lat_usec", "0"))?);
    guard.restore()?;
    Ok(problems)
}

fn steps() -> usize {
    let machine = Machine::tuned();
    let before = machine.kernel.live();
    let queue = machine.whole_queue();
    let problems = experiment(&machine).expect("nothing goes wrong without a crash");
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(machine.whole_queue(), queue, "a whole experiment leaves the device as it was");
    assert!(machine.journal().is_empty());
    machine.kernel.live() - before
}

fn recover(root: &Root) {
    for outcome in restore_all(root, &[]).expect("the journal can be read") {
        assert!(!matches!(outcome, Outcome::Failed { .. } | Outcome::Busy { .. }), "{outcome}");
    }
}

#[test]
fn killed_at_any_step_the_device_is_as_before_after_recovery() {
    let all = steps();
    assert!(all >= 20, "only {all} steps: the experiment does too little to be worth crashing");
    for step in 0..=all {
        let machine = Machine::tuned();
        let queue = machine.whole_queue();
        machine.kernel.die_after(step);
        assert_eq!(experiment(&machine).is_err(), step < all, "step {step}");
        machine.kernel.live();
        recover(&machine.root());
        assert_eq!(machine.whole_queue(), queue, "killed after step {step} of {all}");
        assert!(machine.journal().is_empty(), "killed after step {step}: {:?}", machine.journal());
    }
}

#[test]
fn killed_again_during_recovery_the_next_recovery_finishes() {
    let all = steps();
    for step in (0..all).step_by(3) {
        for second in 0..12 {
            let machine = Machine::tuned();
            let queue = machine.whole_queue();
            machine.kernel.die_after(step);
            let _ = experiment(&machine);
            machine.kernel.die_after(second);
            let _ = restore_all(&machine.root(), &[]);
            machine.kernel.live();
            recover(&machine.root());
            assert_eq!(machine.whole_queue(), queue, "killed after step {step}, then after step {second} of recovery");
            assert!(machine.journal().is_empty());
        }
    }
}

#[test]
fn killed_at_any_step_the_next_experiment_restores_what_the_dead_one_found() {
    for step in 0..steps() {
        let machine = Machine::tuned();
        let queue = machine.whole_queue();
        machine.kernel.die_after(step);
        let _ = experiment(&machine);
        machine.kernel.live();
        experiment(&machine).expect("the next start recovers by itself");
        assert_eq!(machine.whole_queue(), queue, "killed after step {step}");
    }
}

#[test]
fn nothing_is_changed_before_the_old_values_are_durable() {
    for step in 0..steps() {
        for names_survive in [false, true] {
            let machine = Machine::tuned();
            let queue = machine.whole_queue();
            machine.kernel.die_after(step);
            let _ = experiment(&machine);
            let changed = machine.whole_queue() != queue;
            machine.kernel.lose_power(names_survive);
            let whole = machine.journal().iter().any(|name| name.ends_with(".json"));
            assert!(whole || !changed, "after step {step} the device is changed and the journal is lost");
        }
    }
}

#[test]
fn after_a_loss_of_power_at_any_step_recovery_leaves_the_rebooted_device_alone() {
    for step in 0..steps() {
        for names_survive in [false, true] {
            let machine = Machine::tuned();
            machine.kernel.die_after(step);
            let _ = experiment(&machine);
            machine.kernel.lose_power(names_survive);
            machine.kernel.live();
            machine.boot("boot-2");
            let queue = machine.whole_queue();
            recover(&machine.root());
            // Another test of this process may be starting a program: until its exec the child holds a copy of the lock, and
            // recovery rightly leaves what is locked to its owner.
            for _ in 0..1000 {
                if machine.journal().is_empty() {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(5));
                recover(&machine.root());
            }
            assert_eq!(machine.whole_queue(), queue, "power lost after step {step}, names survive: {names_survive}");
            assert!(machine.journal().is_empty(), "power lost after step {step}: {:?}", machine.journal());
        }
    }
}
