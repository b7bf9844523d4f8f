//! Killed experiments and changes, and the next one after a crash.

use crate::crashpoints::{Case, Effects};

use super::change_tests::{LONG, carried_out, everything, plan};
use super::fake_kernel::Machine;
use super::{Guard, Setting};
use crate::error::Error;

pub(crate) const EXPERIMENT: Case<Machine, Error> = Case {
    name: "an experiment",
    effects: Effects::Kernel,
    machine: Machine::tuned,
    command: experiment,
    least_steps: 20,
};

pub(crate) const CHANGE: Case<Machine, Error> = Case {
    name: "a change that stays",
    effects: Effects::Kernel,
    machine: Machine::tuned,
    command: |machine| plan(machine, &everything())?.carry_out().map(drop),
    least_steps: 10,
};

pub(crate) const CHANGE_FOR_A_WHILE: Case<Machine, Error> = Case {
    name: "a change for a while",
    effects: Effects::Kernel,
    machine: Machine::tuned,
    command: |machine| plan(machine, &everything())?.hold(LONG)?.end().map(drop),
    least_steps: 15,
};

/// Three schedulers, a tunable of each, and queue attributes that the kernel ties to others.
fn experiment(machine: &Machine) -> Result<(), Error> {
    let mut guard = Guard::begin(&machine.root(), &machine.disk())?;
    let mut problems =
        guard.apply(&Setting::of("bfq").with("slice_idle", "0").with("nr_requests", "96"))?;
    problems.extend(guard.apply(
        &Setting::of("mq-deadline").with("read_expire", "100").with("read_ahead_kb", "512"),
    )?);
    let throttled = Setting::of("kyber")
        .with("io.cost.qos", "enable=1 rlat=5000")
        .with("io.cost.model", "rbps=5");
    problems.extend(guard.apply(&throttled.with("ncq_prio_enable", "0").with("cdl_enable", "1"))?);
    problems.extend(
        guard.apply(&Setting::of("none").with("max_sectors_kb", "64").with("wbt_lat_usec", "0"))?,
    );
    guard.restore()?;
    assert!(problems.is_empty(), "{problems:?}");
    Ok(())
}

#[test]
fn the_next_experiment_restores_what_a_dead_one_found() {
    assert_eq!(
        EXPERIMENT.whole().1,
        Machine::tuned().whole_queue(),
        "a whole experiment leaves the device as it was"
    );
    let next = |machine: &Machine| experiment(machine).expect("the next start recovers by itself");
    EXPERIMENT.next_command_recovers(3, next, |now, before| now == before);
}

#[test]
fn the_next_change_starts_from_what_was_before_a_dead_one() {
    assert_eq!(CHANGE_FOR_A_WHILE.whole().1, Machine::tuned().whole_queue());
    let next = |machine: &Machine| {
        let done = carried_out(machine, &Setting::of("kyber"));
        carried_out(machine, &done.undo);
    };
    CHANGE_FOR_A_WHILE.next_command_recovers(1, next, |now, before| now == before);
}
