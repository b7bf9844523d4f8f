//! Crashes at every step of an experiment on processors, on the fake machine: killed, killed again while recovering, and power lost.

use super::fake_machine::Processors;
use super::tests::arm;
use crate::{Guard, Setting, UNDO};
use host::Error;
use host::Root;
use host::session::Session;
use host::settings::{Outcome, Problem, restore_all};

/// Several arms one after another, which touch every kind of value, those that bound and those that move others too.
fn experiment(machine: &Processors) -> Result<Vec<Problem>, Error> {
    let root = machine.root();
    let session = Session::begin(&root)?;
    let mut guard = Guard::begin(&root)?;
    let mut problems = Vec::new();
    for setting in [
        arm(&[("sysctl:kernel.sched_rr_timeslice_ms", "50"), ("feature:HRTICK", "off"), ("governor", "performance")]),
        arm(&[("sysctl:kernel.sched_rt_period_us", "500000"), ("sysctl:kernel.sched_rt_runtime_us", "400000")]),
        arm(&[("debug:tunable_scaling", "0"), ("debug:preempt", "none"), ("boost", "off")]),
        Setting::default(),
        arm(&[("sysctl:kernel.sched_rr_timeslice_ms", "70"), ("debug:base_slice_ns", "1000000"), ("autogroup", "off")]),
    ] {
        guard.admit(&setting)?;
        problems.extend(guard.apply(&setting, &session)?);
        problems.extend(guard.check());
    }
    guard.restore()?;
    session.end()?;
    Ok(problems)
}

fn steps() -> usize {
    let machine = Processors::tuned();
    let (before, all) = (machine.kernel.live(), machine.all());
    let problems = experiment(&machine).expect("nothing goes wrong without a crash");
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(machine.all(), all, "a whole experiment leaves the machine as it was");
    assert!(machine.journal().is_empty());
    machine.kernel.live() - before
}

fn recover(root: &Root) {
    for _ in 0..1000 {
        let outcomes = restore_all(root, &[UNDO]).expect("the journal can be read");
        let busy = outcomes.iter().any(|outcome| matches!(outcome, Outcome::Busy { .. }));
        assert!(!outcomes.iter().any(|outcome| matches!(outcome, Outcome::Failed { .. })), "{outcomes:?}");
        if !busy {
            return;
        }
        // Another test of this process may be starting a program: until its exec the child holds a copy of the lock.
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("the lock of the dead owner is never let go of");
}

#[test]
fn killed_at_any_step_everything_is_as_before_after_recovery() {
    let all = steps();
    assert!(all >= 50, "only {all} steps: the experiment does too little to be worth crashing");
    let mut changed = 0;
    for step in 0..=all {
        let machine = Processors::tuned();
        let before = machine.all();
        machine.kernel.die_after(step);
        assert_eq!(experiment(&machine).is_err(), step < all, "step {step}");
        machine.kernel.live();
        changed += usize::from(machine.all() != before);
        recover(&machine.root());
        assert_eq!(machine.all(), before, "killed after step {step} of {all}");
        assert!(machine.journal().is_empty(), "killed after step {step}: {:?}", machine.journal());
    }
    assert!(changed >= 20, "only {changed} of {all} crashes left something to put back");
}

#[test]
fn killed_again_during_recovery_the_next_recovery_finishes() {
    for step in (0..steps()).step_by(5) {
        for second in 0..10 {
            let machine = Processors::tuned();
            let before = machine.all();
            machine.kernel.die_after(step);
            let _ = experiment(&machine);
            machine.kernel.die_after(second);
            let _ = restore_all(&machine.root(), &[UNDO]);
            machine.kernel.live();
            recover(&machine.root());
            assert_eq!(machine.all(), before, "killed after step {step}, then after step {second} of recovery");
            assert!(machine.journal().is_empty());
        }
    }
}

#[test]
fn killed_at_any_step_the_next_experiment_restores_what_the_dead_one_found() {
    for step in (0..steps()).step_by(2) {
        let machine = Processors::tuned();
        let before = machine.all();
        machine.kernel.die_after(step);
        let _ = experiment(&machine);
        machine.kernel.live();
        experiment(&machine).expect("the next start recovers by itself");
        assert_eq!(machine.all(), before, "killed after step {step}");
    }
}

#[test]
fn nothing_is_changed_before_the_old_values_are_durable() {
    for step in 0..steps() {
        for names_survive in [false, true] {
            let machine = Processors::tuned();
            let before = machine.all();
            machine.kernel.die_after(step);
            let _ = experiment(&machine);
            let changed = machine.all() != before;
            machine.kernel.lose_power(names_survive);
            let whole =
                std::fs::read(machine.root().state("journal/processors.json")).is_ok_and(|text| !text.is_empty());
            assert!(whole || !changed, "after step {step} something is changed and the journal is lost");
            machine.kernel.live();
            machine.boot("boot-2");
            let booted = machine.all();
            recover(&machine.root());
            assert_eq!(machine.all(), booted, "a restarted machine is left alone (step {step})");
            assert!(machine.journal().is_empty(), "power lost after step {step}: {:?}", machine.journal());
        }
    }
}
