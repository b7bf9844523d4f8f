//! Killed `persist` and `unpersist` commands, and commands after a crash.

use crate::crashpoints::{Case, Effects};

use super::bench::Bench;
use super::{persist, unpersist};
use crate::error::Error;
use crate::settings::Setting;
use crate::{Outcome, restore_all};

const fn case(
    name: &'static str,
    machine: fn() -> Bench,
    command: fn(&Bench) -> Result<(), Error>,
) -> Case<Bench, Error> {
    Case { name, effects: Effects::Files, machine, command, least_steps: 15 }
}

fn bfq() -> Setting {
    Setting::of("bfq").with("slice_idle", "0")
}

fn rule_of(bench: &Bench) -> std::path::PathBuf {
    bench.propose(&bfq()).persisted.files[0].path.clone()
}

fn after(prepare: impl Fn(&Bench)) -> Bench {
    let bench = Bench::without_tools();
    prepare(&bench);
    bench
}

const FIRST: Case<Bench, Error> = case(
    "the first persist, which makes directories and names a module",
    || after(|bench| drop(bench.write("etc/hostname", "x"))),
    |bench| bench.persist(&bfq()).map(drop),
);

const SECOND: Case<Bench, Error> = case(
    "a persist that replaces another and drops the module",
    || after(|bench| drop(bench.persist(&bfq()).expect("nothing goes wrong yet"))),
    |bench| bench.persist(&Setting::of("kyber").with("read_ahead_kb", "64")).map(drop),
);

const OVER_ANOTHERS: Case<Bench, Error> = case(
    "a persist over a file of another program",
    || {
        after(|bench| {
            let rule = rule_of(bench);
            let made = std::fs::create_dir_all(rule.parent().expect("a directory"));
            made.and_then(|()| std::fs::write(rule, "# mine\n")).expect("own tree");
        })
    },
    |bench| persist(&bench.root, &bench.propose(&bfq()), true).map(drop),
);

const UNPERSIST: Case<Bench, Error> = case(
    "an unpersist that puts back another program's file and removes directories",
    || {
        after(|bench| {
            bench.write(
                &format!("etc/udev/rules.d/{}", super::rule_name(&bench.address().key)),
                "# mine\n",
            );
            persist(&bench.root, &bench.propose(&bfq()), true).expect("nothing goes wrong yet");
        })
    },
    |bench| unpersist(&bench.root, &bench.address().key, false).map(drop),
);

pub(crate) const CASES: [&Case<Bench, Error>; 4] = [&FIRST, &SECOND, &OVER_ANOTHERS, &UNPERSIST];

#[test]
fn every_command_changes_files() {
    for case in CASES {
        assert!(case.whole().1 != (case.machine)().tree(), "{}: it does something", case.name);
    }
}

#[test]
fn the_next_persist_undoes_what_a_dead_one_left() {
    let after = SECOND.whole().1;
    let next = |bench: &Bench| (SECOND.command)(bench).expect("it recovers by itself");
    SECOND.next_command_recovers(1, next, |now, _| *now == after);
}

#[test]
fn a_file_that_was_edited_after_the_crash_is_left_alone_and_named() {
    let all = FIRST.whole().0;
    let bench = (FIRST.machine)();
    bench.machine.kernel.die_after(all - 2);
    let _ = (FIRST.command)(&bench);
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
