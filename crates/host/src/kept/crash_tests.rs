//! Crashes at every step of `keep` and `forget`, on the fake machine: killed, killed again while recovering, and power lost.
//!
//! Whatever happens, after recovery the machine's files are exactly those before the command, or exactly those after it; and once the
//! command has said that it is done, nothing brings the former back.

use super::bench::{Bench, Tree};
use super::{forget, keep};
use crate::error::Error;
use crate::settings::{Outcome, Setting, restore_all};

/// A situation, and the command that is to be interrupted.
struct Case {
    name: &'static str,
    prepare: fn(&Bench),
    command: fn(&Bench) -> Result<(), Error>,
}

fn bfq() -> Setting {
    Setting::of("bfq").with("slice_idle", "0")
}

fn rule_of(bench: &Bench) -> std::path::PathBuf {
    bench.propose(&bfq()).kept.files[0].path.clone()
}

const CASES: [Case; 4] = [
    Case {
        name: "the first keep, which makes directories and names a module",
        prepare: |bench| drop(bench.write("etc/hostname", "x")),
        command: |bench| bench.keep(&bfq()).map(drop),
    },
    Case {
        name: "a keep that replaces another and drops the module",
        prepare: |bench| drop(bench.keep(&bfq()).expect("nothing goes wrong yet")),
        command: |bench| bench.keep(&Setting::of("kyber").with("read_ahead_kb", "64")).map(drop),
    },
    Case {
        name: "a keep over a file of somebody else's",
        prepare: |bench| {
            drop(
                std::fs::create_dir_all(rule_of(bench).parent().expect("a directory"))
                    .and_then(|()| std::fs::write(rule_of(bench), "# mine\n")),
            )
        },
        command: |bench| keep(&bench.root, &bench.propose(&bfq()), true).map(drop),
    },
    Case {
        name: "a forget that puts back somebody else's file and removes directories",
        prepare: |bench| {
            bench.write(&format!("etc/udev/rules.d/{}", super::rule_name(&bench.address().key)), "# mine\n");
            keep(&bench.root, &bench.propose(&bfq()), true).expect("nothing goes wrong yet");
        },
        command: |bench| forget(&bench.root, &bench.address().key, false).map(drop),
    },
];

impl Case {
    fn prepared(&self) -> (Bench, Tree) {
        let bench = Bench::without_tools();
        (self.prepare)(&bench);
        let before = bench.tree();
        (bench, before)
    }

    /// How many steps it takes, and what it leaves.
    fn whole(&self) -> (usize, Tree) {
        let (bench, before) = self.prepared();
        let began = bench.machine.kernel.live();
        (self.command)(&bench).expect("nothing goes wrong without a crash");
        let after = bench.tree();
        assert_ne!(after, before, "{}: it does something", self.name);
        assert!(bench.machine.journal().is_empty());
        (bench.machine.kernel.live() - began, after)
    }
}

fn recover(bench: &Bench) {
    for outcome in restore_all(&bench.root, &[]).expect("the journal can be read") {
        assert!(!matches!(outcome, Outcome::Failed { .. } | Outcome::Busy { .. }), "{outcome}");
    }
    assert!(bench.machine.journal().is_empty(), "{:?}", bench.machine.journal());
}

fn check(case: &Case, bench: &Bench, before: &Tree, after: &Tree, done: bool, when: &str) {
    let now = bench.tree();
    assert!(now == *after || (!done && now == *before), "{}: {when}: {}", case.name, shown(&now, before, after));
}

fn shown(now: &Tree, before: &Tree, after: &Tree) -> String {
    let names = |tree: &Tree| tree.keys().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ");
    format!("\nnow:    {}\nbefore: {}\nafter:  {}", names(now), names(before), names(after))
}

#[test]
fn killed_at_any_step_the_files_are_those_before_or_those_after() {
    for case in &CASES {
        let (all, after) = case.whole();
        assert!(all >= 15, "{}: only {all} steps", case.name);
        let mut undone = 0;
        for step in 0..=all {
            let (bench, before) = case.prepared();
            bench.machine.kernel.die_after(step);
            let done = (case.command)(&bench).is_ok();
            assert_eq!(done, step == all, "{} at step {step}", case.name);
            bench.machine.kernel.live();
            undone += usize::from(bench.tree() != before && !bench.machine.journal().is_empty());
            recover(&bench);
            check(case, &bench, &before, &after, done, &format!("killed after step {step} of {all}"));
        }
        assert!(undone > 5, "{}: {undone} of {all} kills left something to undo", case.name);
    }
}

#[test]
fn killed_again_during_recovery_the_next_recovery_finishes() {
    for case in &CASES {
        let (all, after) = case.whole();
        for step in (0..all).step_by(3) {
            for second in (0..16).step_by(2) {
                let (bench, before) = case.prepared();
                bench.machine.kernel.die_after(step);
                let _ = (case.command)(&bench);
                bench.machine.kernel.die_after(second);
                let _ = restore_all(&bench.root, &[]);
                bench.machine.kernel.live();
                recover(&bench);
                check(case, &bench, &before, &after, false, &format!("killed after {step}, then after {second}"));
            }
        }
    }
}

#[test]
fn power_lost_at_any_step_the_files_are_those_before_or_those_after_in_the_next_boot() {
    for case in &CASES {
        let (all, after) = case.whole();
        for step in 0..=all {
            for names_survive in [false, true] {
                let (bench, before) = case.prepared();
                // What was there long before is durable.
                bench.machine.kernel.settle();
                bench.machine.kernel.die_after(step);
                let done = (case.command)(&bench).is_ok();
                bench.machine.kernel.lose_power(names_survive);
                bench.machine.kernel.live();
                bench.machine.boot("boot-2");
                recover(&bench);
                let when = format!("power lost after step {step} of {all}, names survive: {names_survive}");
                check(case, &bench, &before, &after, done, &when);
            }
        }
    }
}

#[test]
fn the_next_keep_undoes_what_a_dead_one_left() {
    let case = &CASES[1];
    let (all, after) = case.whole();
    for step in 0..all {
        let (bench, _) = case.prepared();
        bench.machine.kernel.die_after(step);
        let _ = (case.command)(&bench);
        bench.machine.kernel.live();
        (case.command)(&bench).expect("it recovers by itself");
        assert!(bench.tree() == after, "killed after step {step}");
    }
}

#[test]
fn a_file_that_was_edited_after_the_crash_is_left_alone_and_named() {
    let case = &CASES[0];
    let (all, _) = case.whole();
    let (bench, _) = case.prepared();
    bench.machine.kernel.die_after(all - 2);
    let _ = (case.command)(&bench);
    bench.machine.kernel.live();
    let rule = rule_of(&bench);
    std::fs::write(&rule, "# edited\n").expect("own tree");
    let tree = bench.tree();
    let outcomes = restore_all(&bench.root, &[]).expect("the journal can be read");
    assert!(
        matches!(&outcomes[..], [Outcome::Failed { error }] if error.to_string().contains("edited")),
        "{outcomes:?}"
    );
    assert_eq!(bench.tree(), tree, "nothing is changed");
    assert_eq!(bench.machine.journal().len(), 1, "the entry stays");
}
