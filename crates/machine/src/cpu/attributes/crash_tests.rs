//! Crashes at every step of a CPU experiment, on the fake machine.

use crate::Error;
use crate::crashpoints::{Case, Cut, Effects};
use crate::session::Session;

use super::fake_machine::FakeCpus;
use super::tests::variant;
use crate::cpu::{Guard, Setting};

const EXPERIMENT: Case<FakeCpus, Error> = Case {
    name: "an experiment on CPUs",
    effects: Effects::Kernel,
    machine: FakeCpus::tuned,
    command: experiment,
    least_steps: 50,
};

/// Variants that touch every kind of value, including those that bound or move others.
fn experiment(machine: &FakeCpus) -> Result<(), Error> {
    let root = machine.root();
    let session = Session::begin(&root)?;
    let mut guard = Guard::begin(&root)?;
    let mut problems = Vec::new();
    for setting in [
        variant(&[
            ("sysctl:kernel.sched_rr_timeslice_ms", "50"),
            ("feature:HRTICK", "off"),
            ("governor", "performance"),
        ]),
        variant(&[
            ("sysctl:kernel.sched_rt_period_us", "500000"),
            ("sysctl:kernel.sched_rt_runtime_us", "400000"),
        ]),
        variant(&[("debug:tunable_scaling", "0"), ("debug:preempt", "none"), ("boost", "off")]),
        Setting::default(),
        variant(&[
            ("sysctl:kernel.sched_rr_timeslice_ms", "70"),
            ("debug:base_slice_ns", "1000000"),
            ("autogroup", "off"),
        ]),
    ] {
        guard.admit(&setting)?;
        problems.extend(guard.apply(&setting, &session)?);
        problems.extend(guard.check());
    }
    guard.restore()?;
    session.end()?;
    assert!(problems.is_empty(), "{problems:?}");
    Ok(())
}

#[test]
fn killed_at_any_step_everything_is_as_before_after_recovery() {
    assert_eq!(
        EXPERIMENT.whole().1,
        FakeCpus::tuned().all(),
        "a whole experiment leaves the machine as it was"
    );
    let left = EXPERIMENT.killed_at_every_step();
    assert!(left >= 20, "only {left} crashes left something to put back");
}

#[test]
fn killed_again_during_recovery_the_next_recovery_finishes() {
    EXPERIMENT.killed_again_in_recovery(5, &[0, 1, 2, 3, 5, 8]);
}

#[test]
fn killed_at_any_step_the_next_experiment_restores_what_the_dead_one_found() {
    let next = |machine: &FakeCpus| experiment(machine).expect("the next start recovers by itself");
    EXPERIMENT.next_command_recovers(2, next, |now, before| now == before);
}

#[test]
fn when_power_is_lost_the_old_values_were_durable_and_the_next_boot_is_left_alone() {
    EXPERIMENT.power_lost_at_every_step();
}
