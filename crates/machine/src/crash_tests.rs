//! Crashes at every step of the commands that write a journal, on fake machines.
//!
//! After recovery, a machine is as before the command or as after it. `tests/crash` kills a real
//! process at its real system calls, but cannot cut the power. The tests of CPU settings are in
//! their own module.

use crate::crashpoints::Cut;

use crate::{persist, settings, tracing};

struct Row {
    case: &'static dyn Cut,
    /// Minimum number of kills that leave something to undo.
    least: usize,
    /// Recovery is killed too at every nth step.
    stride: usize,
}

fn rows() -> Vec<Row> {
    let row = |case, least, stride| Row { case, least, stride };
    let mut rows = vec![
        row(&settings::crash_tests::EXPERIMENT as &dyn Cut, 20, 3),
        row(&settings::crash_tests::CHANGE, 5, 2),
        row(&settings::crash_tests::CHANGE_FOR_A_WHILE, 10, 2),
        // An instance exists between its creation and removal.
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
    // After the last step of a temporary change, a reboot undoes it without an entry.
    for Row { case, .. } in
        rows().iter().filter(|row| row.case.name() != settings::crash_tests::CHANGE.name)
    {
        case.power_lost_at_every_step();
    }
}
