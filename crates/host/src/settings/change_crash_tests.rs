//! Crashes at every step of a change, for good and for a while, on the fake machine: killed, killed again while recovering, and power
//! lost. `tests/crash.rs` kills a real process at its real system calls.

use super::change_tests::{LONG, carried_out, everything, plan, recover};
use super::fake_kernel::Machine;
use super::{Setting, restore_all};
use crate::error::Error;

/// A change for a while, from the first step to the last.
fn for_a_while(machine: &Machine) -> Result<(), Error> {
    plan(machine, &everything())?.hold(LONG)?.end().map(drop)
}

fn for_good(machine: &Machine) -> Result<(), Error> {
    plan(machine, &everything())?.carry_out().map(drop)
}

fn steps(of: fn(&Machine) -> Result<(), Error>) -> usize {
    let machine = Machine::tuned();
    let before = machine.kernel.live();
    of(&machine).expect("nothing goes wrong without a crash");
    assert!(machine.journal().is_empty());
    machine.kernel.live() - before
}

#[test]
fn killed_at_any_step_the_device_is_as_before_or_set_and_nothing_between() {
    let all = steps(for_good);
    assert!(all >= 10, "only {all} steps");
    let set = {
        let machine = Machine::tuned();
        for_good(&machine).expect("nothing goes wrong");
        machine.whole_queue()
    };
    let mut ends = Vec::new();
    for step in 0..=all {
        let machine = Machine::tuned();
        let before = machine.whole_queue();
        machine.kernel.die_after(step);
        let succeeded = for_good(&machine).is_ok();
        machine.kernel.live();
        recover(&machine.root());
        let expected = if succeeded { &set } else { &before };
        assert_eq!(&machine.whole_queue(), expected, "killed after step {step} of {all}");
        assert!(machine.journal().is_empty(), "killed after step {step}: {:?}", machine.journal());
        ends.push(succeeded);
    }
    assert_eq!(ends.iter().filter(|succeeded| **succeeded).count(), 1, "only the last step commits: {ends:?}");
}

#[test]
fn a_change_for_a_while_that_is_killed_at_any_step_and_killed_again_in_recovery_ends_as_before() {
    let all = steps(for_a_while);
    assert!(all >= 15, "only {all} steps");
    for step in 0..=all {
        for second in (0..12).chain([usize::MAX]) {
            let machine = Machine::tuned();
            let before = machine.whole_queue();
            machine.kernel.die_after(step);
            assert_eq!(for_a_while(&machine).is_err(), step < all, "step {step}");
            machine.kernel.die_after(second);
            let _ = restore_all(&machine.root(), &[]);
            machine.kernel.live();
            recover(&machine.root());
            assert_eq!(machine.whole_queue(), before, "killed after step {step}, then after step {second} of recovery");
            assert!(machine.journal().is_empty(), "{:?}", machine.journal());
        }
    }
}

#[test]
fn killed_at_any_step_the_next_change_starts_from_what_was_before() {
    for step in 0..steps(for_a_while) {
        let machine = Machine::tuned();
        let before = machine.whole_queue();
        machine.kernel.die_after(step);
        let _ = for_a_while(&machine);
        machine.kernel.live();
        let done = carried_out(&machine, &Setting::of("kyber"));
        carried_out(&machine, &done.undo);
        assert_eq!(machine.whole_queue(), before, "killed after step {step}");
    }
}

#[test]
fn when_power_is_lost_at_any_step_the_old_values_were_durable_and_the_next_boot_is_left_alone() {
    for step in 0..=steps(for_a_while) {
        for names_survive in [false, true] {
            let machine = Machine::tuned();
            let before = machine.whole_queue();
            machine.kernel.die_after(step);
            let _ = for_a_while(&machine);
            let changed = machine.whole_queue() != before;
            machine.kernel.lose_power(names_survive);
            let whole = machine.journal().iter().any(|name| name.ends_with(".json"));
            assert!(whole || !changed, "after step {step} the device is changed and the journal is lost");
            machine.kernel.live();
            machine.boot("boot-2");
            let booted = machine.whole_queue();
            recover(&machine.root());
            assert_eq!(machine.whole_queue(), booted, "power lost after step {step}, names survive: {names_survive}");
            assert!(machine.journal().is_empty());
        }
    }
}
