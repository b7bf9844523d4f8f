//! Crashes at every step of the commands that write a journal, one row each, on fake machines.
//!
//! After recovery, a machine is as before an interrupted command, or as after a complete one; a
//! command with effects on files may also turn out to be complete. `tests/crash` kills a real
//! process at its real system calls, but cannot cut the power or see what was durable. The tests of
//! the CPU settings are in their own module.

use crate::crashpoints::Cut;

use crate::{persist, settings, tracing};

struct Row {
    case: &'static dyn Cut,
    /// Minimum number of kills that leave something to undo.
    least: usize,
    /// Recovery is killed too at every `stride`th step.
    stride: usize,
}

fn rows() -> Vec<Row> {
    let row = |case, least, stride| Row { case, least, stride };
    let mut rows = vec![
        row(&settings::crash_tests::EXPERIMENT as &dyn Cut, 20, 3),
        row(&settings::crash_tests::CHANGE, 5, 2),
        row(&settings::crash_tests::CHANGE_FOR_A_WHILE, 10, 2),
        // Between its creation and its removal an instance exists.
        row(&tracing::tests::TRACE, 1, 1),
    ];
    rows.extend(persist::crash_tests::CASES.map(|case| row(case, 6, 3)));
    rows
}

#[test]
fn killed_at_any_step_nothing_of_it_is_left_after_recovery() {
    for Row { case, least, .. } in rows() {
        let left = case.killed_at_every_step();
        assert!(left >= least, "{}: only {left} kills left something to undo", case.name());
    }
}

#[test]
fn killed_again_during_recovery_the_next_recovery_finishes() {
    for Row { case, stride, .. } in rows() {
        case.killed_again_in_recovery(stride, &[0, 1, 2, 3, 5, 8, 13]);
    }
}

#[test]
fn after_power_was_lost_at_any_step_the_next_boot_is_right() {
    // A temporary change has no entry after its last step and needs none: a reboot undoes it.
    for Row { case, .. } in
        rows().iter().filter(|row| row.case.name() != settings::crash_tests::CHANGE.name)
    {
        case.power_lost_at_every_step();
    }
}
