//! Isolation on a fake machine: every interleaving, every point of death.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use proptest::prelude::*;

use super::back::put_back;
use super::fake::{CPUS, Event, Fake, Killed};
use super::moved::MovedTask;
use super::sweep::Sweep;
use super::*;

fn list(text: &str) -> CpuList {
    text.parse().unwrap()
}

fn sweep_of(fake: &Fake, cpus: &CpuList) -> Sweep<Fake> {
    let others = CpuList::of(0..CPUS).unwrap().difference(cpus).unwrap();
    Sweep::new(Arc::new(fake.clone()), fake.clone(), cpus, &others)
}

/// Recovers from the journal alone.
fn undo(fake: &Fake) -> Result<Vec<String>, Error> {
    let moved = fake.state().noted.clone().expect("something was moved");
    put_back(fake, &moved)
}

fn masks(fake: &Fake) -> Vec<(u32, String)> {
    fake.state().tasks.iter().map(|(id, task)| (*id, task.mask.to_string())).collect()
}

fn mask_of(fake: &Fake, id: u32) -> String {
    fake.state().tasks[&id].mask.to_string()
}

#[test]
fn every_task_leaves_and_every_task_comes_back_with_those_born_meanwhile() {
    let fake = Fake::with(&[list("0-5"), list("0"), list("1-2"), list("0,3")]);
    let before = masks(&fake);
    let mut sweep = sweep_of(&fake, &list("0"));
    sweep.begin().unwrap();
    assert_eq!(
        masks(&fake).iter().map(|(_, mask)| mask.as_str()).collect::<Vec<_>>(),
        ["1-5", "1-5", "1-5", "1-2", "3"]
    );
    assert_eq!((sweep.nr_moved, sweep.nr_late), (4, 0));
    // A child of a task bound to the isolated CPU, and an orphan.
    fake.state().happen(Event::Fork(2));
    fake.state().happen(Event::Fork(4));
    fake.state().happen(Event::Appear);
    fake.state().happen(Event::End(4));
    assert_eq!([mask_of(&fake, 6), mask_of(&fake, 7)], ["1-5", "3"]);
    let words = undo(&fake).unwrap();
    assert_eq!(masks(&fake)[..4], before[..4]);
    assert_eq!([mask_of(&fake, 6), mask_of(&fake, 7)], ["0", "0,3"], "each has what its line had");
    assert_eq!(
        words,
        ["3 tasks may use CPU 0 again", "2 tasks started in the meantime may also use CPU 0"]
    );
    assert!(undo(&fake).unwrap().is_empty(), "a second time does nothing");
}

#[test]
fn a_task_that_cannot_be_moved_is_listed_with_the_reason_and_asked_once() {
    let fake = Fake::with(&[list("0-5"), list("0")]);
    fake.state().tasks.get_mut(&3).unwrap().is_bound = true;
    let mut sweep = sweep_of(&fake, &list("0"));
    sweep.begin().unwrap();
    assert_eq!(
        sweep.unmovable.values().collect::<Vec<_>>(),
        [&("t3".into(), "the kernel binds it to its CPUs".into())]
    );
    assert_eq!((sweep.nr_moved, mask_of(&fake, 3).as_str()), (2, "0"));
    assert!(
        !sweep.moved.tasks.iter().any(|noted| noted.task == 3),
        "nothing is noted that is not to be moved"
    );
}

#[test]
fn what_another_has_set_meanwhile_is_left_and_reported() {
    let fake = Fake::with(&[list("0-5"), list("0-5")]);
    let mut sweep = sweep_of(&fake, &list("0"));
    sweep.begin().unwrap();
    fake.state().happen(Event::Bind(1, list("4")));
    fake.state().happen(Event::Bind(2, list("0,4")));
    let words = undo(&fake).unwrap();
    assert_eq!([mask_of(&fake, 1), mask_of(&fake, 2), mask_of(&fake, 3)], ["0-5", "4", "0,4"]);
    assert!(words[1].contains("t2 (2) has 4") && words[1].contains("t3 (3) has 0,4"), "{words:?}");
}

#[test]
fn a_task_of_the_same_id_that_is_another_one_is_not_touched() {
    let fake = Fake::with(&[list("0-5"), list("0,2")]);
    let mut sweep = sweep_of(&fake, &list("0"));
    sweep.begin().unwrap();
    let start = sweep.moved.since;
    // The id is reused by an older task that never had CPU 0.
    fake.state().tasks.remove(&3);
    fake.state().add(3, 1, list("2"), start);
    undo(&fake).unwrap();
    assert_eq!(mask_of(&fake, 3), "2");
}

#[test]
fn a_task_that_had_the_same_mask_all_along_does_not_get_more() {
    let fake = Fake::with(&[list("0-5"), list("1-5")]);
    let mut sweep = sweep_of(&fake, &list("0"));
    sweep.begin().unwrap();
    fake.state().happen(Event::Fork(2));
    fake.state().happen(Event::Tick);
    fake.state().happen(Event::Appear);
    undo(&fake).unwrap();
    assert_eq!(
        [mask_of(&fake, 2), mask_of(&fake, 3), mask_of(&fake, 4)],
        ["0-5", "1-5", "1-5"],
        "nor does its child"
    );
}

#[test]
fn what_is_measured_stays_and_who_binds_itself_anew_is_moved_again() {
    let fake = Fake::with(&[list("0-5"), list("0-5")]);
    let mut sweep = sweep_of(&fake, &list("0"));
    sweep.begin().unwrap();
    fake.state().add(10, 1, list("0"), 5000);
    fake.state().add(11, 1, list("0-1"), 5000);
    fake.state().happen(Event::Bind(1, list("0,3")));
    assert_eq!(sweep.find(true).iter().map(|stray| stray.task).collect::<Vec<_>>(), [2, 11]);
    assert_eq!(sweep.pass(false).unwrap(), 2);
    assert_eq!([mask_of(&fake, 10), mask_of(&fake, 11), mask_of(&fake, 2)], ["0", "1", "3"]);
    assert_eq!((sweep.nr_moved, sweep.nr_late), (3, 2));
    fake.state().happen(Event::Bind(2, list("0")));
    assert_eq!(sweep.pass(false).unwrap(), 1, "one of the first is no measured program");
    undo(&fake).unwrap();
    assert_eq!([mask_of(&fake, 2), mask_of(&fake, 3), mask_of(&fake, 11)], ["0,3", "0", "0-1"]);
}

#[test]
fn a_child_that_appears_while_its_parent_is_looked_at_is_moved_before_anything_is_measured() {
    let fake = Fake::with(&[list("0-5")]);
    let mut sweep = sweep_of(&fake, &list("0"));
    // After the tick, processes are listed; the second one's child appears during the check of the
    // first.
    let events = [Event::Tick, Event::Nothing, Event::Fork(1), Event::Appear];
    fake.state().events = events.into_iter().collect();
    sweep.begin().unwrap();
    assert_eq!(mask_of(&fake, 3), "1-5");
}

#[test]
fn a_thread_of_a_known_process_is_found_by_a_thorough_pass() {
    let fake = Fake::with(&[list("0-5")]);
    let mut sweep = sweep_of(&fake, &list("0"));
    sweep.begin().unwrap();
    fake.state().happen(Event::Thread(1));
    fake.state().happen(Event::Bind(2, list("0-1")));
    assert_eq!([sweep.pass(false).unwrap(), sweep.pass(true).unwrap()], [0, 1]);
}

#[test]
fn notes_of_tasks_that_are_gone_do_not_pile_up() {
    let fake = Fake::with(&[list("0-5")]);
    let mut sweep = sweep_of(&fake, &list("0"));
    sweep.begin().unwrap();
    for id in 10..2000 {
        fake.state().add(id, 1, list("0-1"), 5000);
        sweep.pass(false).unwrap();
        fake.state().tasks.remove(&id);
    }
    assert!(sweep.moved.tasks.len() <= 1025, "{}", sweep.moved.tasks.len());
    assert!(
        sweep.moved.tasks.iter().any(|noted| noted.mask == list("0-1")),
        "an orphan of them can still be put back"
    );
}

fn cpus() -> impl Strategy<Value = CpuList> {
    (1u32..1 << CPUS)
        .prop_map(|bits| CpuList::of((0..CPUS).filter(|cpu| bits >> cpu & 1 == 1)).unwrap())
}

fn event() -> impl Strategy<Value = Event> {
    let which = 0usize..30;
    prop_oneof![
        6 => Just(Event::Nothing),
        3 => which.clone().prop_map(Event::Fork),
        1 => which.clone().prop_map(Event::Thread),
        2 => Just(Event::Appear),
        2 => which.clone().prop_map(Event::End),
        1 => (which, cpus()).prop_map(|(which, mask)| Event::Bind(which, mask)),
        1 => Just(Event::Tick),
    ]
}

fn is_killed(run: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(()) => false,
        Err(what) if what.is::<Killed>() => true,
        Err(what) => std::panic::resume_unwind(what),
    }
}

/// The final mask of every task, unless it is ambiguous.
fn all_as_before(fake: &Fake, moved: &Moved) -> Result<(), TestCaseError> {
    for (id, task) in &fake.state().tasks {
        let lines: Vec<&MovedTask> = moved
            .tasks
            .iter()
            .filter(|noted| moved.reduced_mask(&noted.mask) == moved.reduced_mask(&task.own))
            .collect();
        let is_alike = moved.has(*id, task.start) || task.start <= moved.since;
        // Two tasks of a line have the same reduced mask, or one has bound itself to it.
        let is_in_doubt = !is_alike && lines.iter().any(|noted| noted.mask != task.own);
        let is_taken_for_ours = task.is_self_made
            && moved.tasks.iter().any(|noted| moved.is_reduced_mask_of(noted, &task.own));
        if is_taken_for_ours || (is_in_doubt && lines.iter().any(|noted| noted.mask == task.mask)) {
            continue;
        }
        prop_assert_eq!(&task.mask, &task.own, "task {} {:?} of {:?}", id, task, moved);
    }
    Ok(())
}

fn cases() -> u32 {
    if std::env::var_os("SCHEDLAB_SOAK").is_some() { 3000 } else { 400 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn afterwards_every_living_task_has_its_own_mask_or_that_of_its_line(
        tasks in prop::collection::vec(cpus(), 1..8),
        bound in prop::collection::vec(any::<bool>(), 8),
        isolated in prop_oneof![3 => Just(list("0")), 1 => Just(list("0-1"))],
        events in prop::collection::vec(event(), 0..400),
        later in prop::collection::vec(event(), 0..200),
        dies_in in prop::option::of(0usize..600),
        dies_in_notes in prop::option::of(0usize..4),
        dies_again in prop::option::of(0usize..200),
        looks in 0u32..6,
    ) {
        let fake = Fake::with(&tasks);
        for (nr, _) in bound.iter().enumerate().filter(|(nr, bound)| **bound && nr % 3 == 0) {
            if let Some(task) = fake.state().tasks.get_mut(&(2 + nr as u32)) {
                task.is_bound = true;
            }
        }
        let mut sweep = sweep_of(&fake, &isolated);
        let mut machine = fake.state();
        machine.events = events.into();
        (machine.dies_in, machine.dies_in_notes) = (dies_in, dies_in_notes);
        drop(machine);
        let killed = is_killed(|| {
            sweep.begin().unwrap();
            for look in 0..looks {
                sweep.pass(look % 3 == 2).unwrap();
            }
        });
        fake.state().dies_in = None;
        fake.state().dies_in_notes = None;
        if !killed {
            // Without further events, the isolation is in effect.
            fake.state().events.clear();
            fake.state().happen(Event::Appear);
            while sweep.pass(true).unwrap() > 0 {}
            for (id, task) in &fake.state().tasks {
                let stays = task.is_bound || (task.mask.is_within(&isolated) && !sweep.moved.has(*id, task.start));
                prop_assert!(stays || !task.mask.intersects(&isolated), "{id}: {task:?}");
                let listed = sweep.unmovable.contains_key(&(*id, task.start));
                prop_assert_eq!(listed, task.is_bound && task.mask.intersects(&isolated), "{} {:?}", id, task);
            }
        }
        let noted = fake.state().noted.clone();
        let Some(moved) = noted else {
            prop_assert_eq!(fake.state().nr_binds, 0, "nothing is moved that is not noted");
            return Ok(());
        };
        fake.state().events = later.into();
        fake.state().dies_in = dies_again;
        let _ = is_killed(|| { put_back(&fake, &moved).unwrap(); });
        fake.state().dies_in = None;
        put_back(&fake, &moved).unwrap();
        fake.state().events.clear();
        fake.state().happen(Event::Appear);
        all_as_before(&fake, &moved)?;
        let binds = fake.state().nr_binds;
        prop_assert!(put_back(&fake, &moved).is_ok());
        let again = fake.state().nr_binds - binds;
        prop_assert!(again == 0 || fake.state().tasks.values().any(|task| task.is_self_made), "once is enough: {again}");
    }
}
