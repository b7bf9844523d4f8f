//! Applying and restoring on the fake machine; see `tests/it/settings.rs` for a real loop device.

use std::fs;
use std::sync::Arc;

use super::fake_kernel::{Machine, Stubborn};
use super::{Change, Guard, Problem, Restoration, Setting};
use crate::crashpoints::install_script;
use crate::device;
use crate::error::Error;
use crate::files::Files;
use crate::journal;
use crate::{Outcome, restore_all};

fn begin(machine: &Machine) -> Guard {
    Guard::begin(&machine.root(), &machine.disk()).expect("no other process has the fake disk")
}

fn applied(guard: &mut Guard, setting: &Setting) {
    let problems = guard.apply(setting).expect("a setting that the fake kernel has");
    assert!(problems.is_empty(), "{problems:?}");
}

#[test]
fn a_variant_gets_its_scheduler_and_its_tunables() {
    let machine = Machine::tuned();
    let mut guard = begin(&machine);
    applied(&mut guard, &Setting::of("bfq").with("slice_idle", "0").with("read_ahead_kb", "64"));
    assert_eq!(machine.shows("iosched/slice_idle"), "0");
    assert_eq!(machine.shows("read_ahead_kb"), "64");
    let seen = guard.in_effect().expect("it was applied");
    assert_eq!(seen.scheduler.as_deref(), Some("bfq"));
}

#[test]
fn a_variant_inherits_nothing_from_the_variant_before() {
    let first = Setting::of("mq-deadline");
    let others = [
        Setting::of("mq-deadline").with("read_expire", "1").with("nr_requests", "8"),
        Setting::of("mq-deadline").with("max_sectors_kb", "64"),
        Setting::of("bfq").with("read_ahead_kb", "4").with("nomerges", "2"),
        Setting::of("none").with("nr_requests", "8"),
        Setting::of("bfq").with("wbt_lat_usec", "5"),
        Setting {
            scheduler: None,
            tunables: [("read_expire".to_string(), "9".to_string())].into(),
        },
    ];
    let machine = Machine::tuned();
    let mut guard = begin(&machine);
    applied(&mut guard, &first);
    let alone = machine.whole_queue();
    for other in others {
        applied(&mut guard, &other);
        applied(&mut guard, &first);
        assert_eq!(machine.whole_queue(), alone, "after {other:?}");
    }
}

#[test]
fn throttling_chosen_by_hand_in_one_variant_does_not_reach_a_bfq_variant_that_comes_first_after_it()
{
    let machine = Machine::booted();
    let mut guard = begin(&machine);
    applied(&mut guard, &Setting::of("none").with("wbt_lat_usec", "5"));
    applied(&mut guard, &Setting::of("bfq"));
    assert_eq!(machine.shows("wbt_lat_usec"), "0");
    applied(&mut guard, &Setting::of("kyber"));
    assert_eq!(machine.shows("wbt_lat_usec"), "75000");
}

#[test]
fn a_variant_with_the_present_scheduler_starts_from_the_kernels_defaults_and_not_from_the_administrators_tuning()
 {
    let machine = Machine::tuned();
    let mut guard = begin(&machine);
    applied(&mut guard, &Setting::of("mq-deadline"));
    assert_eq!(machine.shows("iosched/read_expire"), "500");
    assert_eq!(machine.shows("nr_requests"), "128");
    assert_eq!(
        machine.shows("read_ahead_kb"),
        "1024",
        "read-ahead is not the scheduler's: it stays as it was found"
    );
}

#[test]
fn a_variant_without_a_scheduler_is_the_device_as_it_was_found() {
    let machine = Machine::tuned();
    let found = machine.whole_queue();
    let mut guard = begin(&machine);
    applied(&mut guard, &Setting::of("kyber").with("read_ahead_kb", "4"));
    applied(&mut guard, &Setting::default());
    assert_eq!(machine.whole_queue(), found);
}

#[test]
fn a_scheduler_that_the_kernel_does_not_have_is_a_problem_that_says_what_there_is() {
    let machine = Machine::tuned();
    let mut guard = begin(&machine);
    let problems = guard.apply(&Setting::of("cfq")).expect("data, not an error");
    assert!(
        matches!(&problems[..], [Problem::WriteFailed { attribute, .. }] if attribute == "scheduler"),
        "{problems:?}"
    );
    let text = problems[0].to_string();
    assert!(
        text.contains("cfq-iosched") && text.contains("offers: mq-deadline, none, kyber, bfq"),
        "{text}"
    );
}

#[test]
fn a_scheduler_whose_module_is_not_loaded_is_loaded_first() {
    let machine = Machine::booted();
    let bin = tempfile::tempdir().expect("a temporary directory");
    let scheduler = machine.queue("scheduler").display().to_string();
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = adios-iosched ] && echo '[mq-deadline] none adios' > {scheduler}\n"
    );
    install_script(&bin.path().join("modprobe"), &script);
    let root = machine.root().with_tool_dirs(vec![bin.path().into()]);
    let mut guard = Guard::begin(&root, &machine.disk()).expect("free");
    applied(&mut guard, &Setting::of("adios"));
    assert!(machine.shows("scheduler").contains("[adios]"));
    guard.restore().expect("everything can be put back");
    assert!(machine.shows("scheduler").contains("[mq-deadline]"));
}

#[test]
fn a_value_that_the_kernel_refuses_is_a_problem_of_that_attribute() {
    let machine = Machine::tuned();
    let mut guard = begin(&machine);
    let problems =
        guard.apply(&Setting::of("kyber").with("nomerges", "many")).expect("data, not an error");
    assert!(
        matches!(&problems[..], [Problem::WriteFailed { attribute, wanted, error }]
        if attribute == "nomerges" && wanted == "many" && error.contains("refused")),
        "{problems:?}"
    );
}

#[test]
fn a_write_that_succeeds_without_effect_is_noticed() {
    let machine = Machine::booted();
    let root = machine.root().with_files(Arc::new(Stubborn::without_effect(&machine, "nomerges")));
    let mut guard = Guard::begin(&root, &machine.disk()).expect("free");
    let problems =
        guard.apply(&Setting::of("kyber").with("nomerges", "2")).expect("data, not an error");
    let expected = Problem::NotInEffect {
        attribute: "nomerges".into(),
        wanted: "2".into(),
        found: "0".into(),
    };
    assert_eq!(problems, [expected]);
}

#[test]
fn a_switch_that_succeeds_without_effect_is_noticed_and_no_tunable_of_the_wrong_scheduler_is_touched()
 {
    let machine = Machine::booted();
    let before = machine.whole_queue();
    let root = machine.root().with_files(Arc::new(Stubborn::without_effect(&machine, "scheduler")));
    let mut guard = Guard::begin(&root, &machine.disk()).expect("free");
    let problems =
        guard.apply(&Setting::of("bfq").with("nr_requests", "8")).expect("data, not an error");
    assert!(
        matches!(&problems[..], [Problem::NotInEffect { attribute, wanted, found }]
        if attribute == "scheduler" && wanted == "bfq" && found == "mq-deadline"),
        "{problems:?}"
    );
    assert_eq!(machine.whole_queue(), before);
}

#[test]
fn a_clamped_value_is_not_taken_for_the_one_that_was_asked_for() {
    let machine = Machine::booted();
    let mut guard = begin(&machine);
    let problems =
        guard.apply(&Setting::of("bfq").with("nr_requests", "1")).expect("data, not an error");
    let expected = Problem::NotInEffect {
        attribute: "nr_requests".into(),
        wanted: "1".into(),
        found: "4".into(),
    };
    assert_eq!(problems, [expected]);
}

#[test]
fn an_unknown_tunable_is_answered_with_the_nearest_and_all_there_are() {
    let machine = Machine::booted();
    let mut guard = begin(&machine);
    let error = guard.apply(&Setting::of("bfq").with("slice_idel", "0")).unwrap_err().to_string();
    for word in ["slice_idel", "did you mean \"slice_idle\"", "low_latency", "nr_requests"] {
        assert!(error.contains(word), "{word} is missing in: {error}");
    }
    for path in ["../scheduler", "scheduler", "iosched/slice_idle"] {
        let error = guard.apply(&Setting::of("bfq").with(path, "0")).unwrap_err();
        assert!(matches!(error, Error::UnknownTunable { .. }), "{path}: {error}");
    }
}

#[test]
fn a_second_guard_on_the_same_device_is_told_who_has_it_whatever_its_state_directory() {
    let machine = Machine::booted();
    let guard = begin(&machine);
    let busy = Guard::begin(&machine.root(), &machine.disk()).unwrap_err();
    assert!(
        matches!(busy, Error::Busy { pid_of_other: Some(pid), .. } if pid == std::process::id()),
        "{busy}"
    );
    let elsewhere = tempfile::tempdir().expect("a temporary directory");
    let other = Guard::begin(&machine.root().with_state_dir(elsewhere.path()), &machine.disk())
        .unwrap_err();
    assert!(matches!(other, Error::Busy { .. }), "{other}");
    assert!(matches!(
        &restore_all(&machine.root(), &[]).expect("readable")[..],
        [Outcome::Busy { .. }]
    ));
    drop(guard);
    begin(&machine);
}

#[test]
fn dropping_a_guard_restores_the_device() {
    let machine = Machine::tuned();
    let found = machine.whole_queue();
    let mut guard = begin(&machine);
    applied(&mut guard, &Setting::of("bfq").with("nr_requests", "8"));
    drop(guard);
    assert_eq!(machine.whole_queue(), found);
    assert!(machine.journal().is_empty());
}

#[test]
fn what_cannot_be_restored_stays_in_the_journal_and_is_named() {
    let machine = Machine::tuned();
    let mut guard = begin(&machine);
    applied(&mut guard, &Setting::of("kyber"));
    fs::write(machine.queue("scheduler"), "none [kyber]").expect("mq-deadline's module is gone");
    let error = guard.restore().unwrap_err();
    assert!(matches!(&error, Error::NotRestored { found, .. } if found.len() == 1), "{error}");
    assert_eq!(machine.journal().len(), 1);
    fs::write(machine.queue("scheduler"), "none [kyber] mq-deadline").expect("it is back");
    let outcomes = restore_all(&machine.root(), &[]).expect("readable");
    assert!(
        matches!(&outcomes[..], [one] if matches!(one.undone(), Some(Restoration::Restored { .. }))),
        "{outcomes:?}"
    );
    assert_eq!(machine.shows("iosched/read_expire"), "250");
}

#[test]
fn a_journal_entry_that_cannot_be_read_is_reported_and_not_deleted() {
    let machine = Machine::tuned();
    drop(begin(&machine));
    let path = journal::path(&machine.root(), &journal::key(&machine.disk().identity));
    fs::write(&path, "{\"schema\":1,").expect("a cut entry");
    let outcomes = restore_all(&machine.root(), &[]).expect("the directory can be read");
    assert!(
        matches!(&outcomes[..], [Outcome::Failed { error: Error::Journal { .. } }]),
        "{outcomes:?}"
    );
    assert!(outcomes[0].to_string().contains(&path.display().to_string()));
    let error = Guard::begin(&machine.root(), &machine.disk()).unwrap_err();
    assert!(matches!(error, Error::Journal { .. }), "{error}");
    assert!(path.exists());
}

#[test]
fn a_disk_that_was_plugged_out_takes_its_settings_along() {
    let machine = Machine::booted();
    let mut guard = begin(&machine);
    applied(&mut guard, &Setting::of("bfq"));
    fs::remove_dir_all(machine.root().sys("block/sda")).expect("a fake disk");
    assert!(matches!(guard.check()[..], [Problem::DeviceGone { .. }]));
    assert!(matches!(guard.apply(&Setting::of("none")), Err(Error::DeviceGone { .. })));
    assert!(guard.restore().expect("nothing is left to restore").device_gone);
    assert!(machine.journal().is_empty());
}

#[test]
fn a_disk_is_restored_under_its_new_name_and_the_disk_that_took_its_name_is_left_alone() {
    let machine = Machine::tuned();
    let found = machine.whole_queue();
    let mut guard = begin(&machine);
    applied(&mut guard, &Setting::of("bfq"));
    let block = machine.root().sys("block");
    fs::rename(block.join("sda"), block.join("sdb")).expect("renamed");
    fs::create_dir_all(block.join("sda/device")).expect("another disk");
    fs::write(block.join("sda/device/wwid"), "naa.other").expect("another disk");
    assert!(!guard.restore().expect("it is there under another name").device_gone);
    fs::remove_dir_all(block.join("sda")).expect("a fake disk");
    fs::rename(block.join("sdb"), block.join("sda")).expect("renamed back to compare");
    assert_eq!(machine.whole_queue(), found);
}

#[test]
fn a_change_by_another_program_is_seen_at_the_end_of_the_trial() {
    let machine = Machine::booted();
    let mut guard = begin(&machine);
    applied(&mut guard, &Setting::of("mq-deadline"));
    assert_eq!(guard.check(), []);
    let change = |attribute: &str, value: &str| {
        machine
            .kernel
            .write_attribute(&machine.queue(attribute), value)
            .expect("the fake kernel takes it");
    };
    change("iosched/read_expire", "7");
    assert!(matches!(&guard.check()[..], [Problem::ChangedMeanwhile { attribute, wanted, found }]
        if attribute == "read_expire" && wanted == "500" && found == "7"));
    change("scheduler", "none");
    assert!(
        matches!(&guard.check()[0], Problem::ChangedMeanwhile { attribute, .. } if attribute == "scheduler")
    );
}

#[test]
fn a_watch_sees_a_visit_that_is_over_before_the_trial_ends() {
    let machine = Machine::booted();
    let mut guard = begin(&machine);
    applied(&mut guard, &Setting::of("none"));
    let watch = guard.watch();
    let switch = |to: &str| {
        machine
            .kernel
            .write_attribute(&machine.queue("scheduler"), to)
            .expect("the fake kernel takes it");
    };
    watch.wait_for_look();
    switch("kyber");
    watch.wait_for_look();
    switch("none");
    assert_eq!(guard.check(), [], "the end of the trial alone does not tell");
    let seen = watch.stop();
    let kyber = |problem: &Problem| matches!(problem, Problem::ChangedMeanwhile { found, .. } if found == "kyber");
    // Unlike sysfs, a file may be seen empty during a write.
    assert!(seen.iter().any(kyber), "{seen:?}");
    assert!(guard.watch().stop().is_empty(), "an undisturbed trial has nothing to report");
}

#[test]
fn a_device_without_a_scheduler_says_so() {
    let machine = Machine::booted();
    fs::remove_file(machine.queue("scheduler")).expect("a fake file");
    let disk = device::find(&machine.root(), "sda").expect("still a disk");
    assert_eq!(disk.no_scheduler, Some(device::NoScheduler::BioBased));
    let mut guard = Guard::begin(&machine.root(), &disk).expect("free");
    let error = guard.apply(&Setting::of("none")).unwrap_err();
    assert!(
        matches!(&error, Error::NoScheduler { why, .. } if why.contains("bio-based")),
        "{error}"
    );
}

#[test]
fn bfq_has_its_own_limits_whatever_was_before_it() {
    for before in ["mq-deadline", "none", "kyber"] {
        let machine = Machine::of_linux_7();
        let mut guard = begin(&machine);
        applied(&mut guard, &Setting::of(before));
        assert_eq!(guard.remark(), None);
        applied(&mut guard, &Setting::of("bfq"));
        assert_eq!(machine.bfq_limit(), 96, "after {before}");
        assert!(guard.remark().is_some_and(|remark| remark.contains("async_depth")));
        applied(&mut guard, &Setting::of("bfq").with("async_depth", "40"));
        assert_eq!(machine.bfq_limit(), 40, "after {before}");
    }
    let machine = Machine::booted();
    let mut guard = begin(&machine);
    applied(&mut guard, &Setting::of("bfq"));
    assert_eq!(guard.remark(), None, "before 7.0 nothing is written again");
}

#[test]
fn bfq_that_is_restored_has_its_own_limits() {
    let machine = Machine::of_linux_7();
    let mut guard = begin(&machine);
    applied(&mut guard, &Setting::of("bfq"));
    guard.restore().expect("everything is restored");
    let change = Change::plan(&machine.root(), &machine.disk(), &Setting::of("bfq"));
    let done = change.expect("a plan").carry_out().expect("nothing goes wrong");
    assert!(done.remark.is_some_and(|remark| remark.contains("async_depth")));
    let mut guard = begin(&machine);
    applied(&mut guard, &Setting::of("none"));
    guard.restore().expect("everything is restored");
    assert_eq!((machine.bfq_limit(), machine.shows("async_depth")), (96, "96".to_owned()));
}

#[test]
fn a_switch_of_a_busy_adapter_is_repeated_and_not_for_ever() {
    let machine = Machine::of_linux_7();
    let mut guard = begin(&machine);
    machine.keep_busy(8);
    applied(&mut guard, &Setting::of("kyber"));
    machine.keep_busy(100);
    let problems = guard.apply(&Setting::of("bfq")).expect("data, not an error");
    assert_eq!(machine.nr_busy(), 91, "the first attempt and eight more");
    let text = problems[0].to_string();
    assert!(text.contains("queues are being changed") && text.contains("try again"), "{text}");
    machine.keep_busy(3);
    guard.restore().expect("everything is restored");
    assert!(machine.shows("scheduler").contains("[mq-deadline]"));
}

#[test]
fn a_failed_switch_that_ends_at_none_is_restored_by_name() {
    let machine = Machine::of_linux_7();
    machine.fail_switch_to("kyber");
    let found = machine.whole_queue();
    let mut guard = begin(&machine);
    let problems = guard.apply(&Setting::of("kyber")).expect("data, not an error");
    assert!(matches!(&problems[..], [Problem::WriteFailed { .. }]), "{problems:?}");
    assert!(machine.shows("scheduler").contains("[none]"));
    guard.restore().expect("everything is restored");
    assert_eq!(machine.whole_queue(), found);

    let change = Change::plan(&machine.root(), &machine.disk(), &Setting::of("kyber"));
    let error = change.expect("a plan").carry_out().expect_err("the switch fails");
    assert!(matches!(&error, Error::NotSet { left: None, .. }), "{error}");
    assert_eq!(machine.whole_queue(), found);
}
