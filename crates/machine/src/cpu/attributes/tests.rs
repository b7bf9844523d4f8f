//! Applying and restoring on the fake machine.

use super::fake_machine::FakeCpus;
use super::*;
use crate::cpu::ledger::{KEY, Ledger, PREVIOUS};
use crate::cpu::{Guard, Setting, UNDO};
use crate::restore_all;
use crate::session::Session;
use serde_json::json;

pub(super) fn variant(pairs: &[(&str, &str)]) -> Setting {
    Setting::read("default", pairs.iter().copied()).expect("settings that can be read")
}

fn attributes(pairs: &[(&str, &str)]) -> Vec<Attribute> {
    variant(pairs).attributes
}

const EVERYTHING: [(&str, &str, &str, &str); 9] = [
    ("sysctl:kernel.sched_rr_timeslice_ms", "50", "proc/sys/kernel/sched_rr_timeslice_ms", "50"),
    ("sysctl:kernel.timer_migration", "0", "proc/sys/kernel/timer_migration", "0"),
    ("autogroup", "off", "proc/sys/kernel/sched_autogroup_enabled", "0"),
    (
        "feature:WAKEUP_PREEMPTION",
        "off",
        "sys/kernel/debug/sched/features",
        "PLACE_LAG NO_HRTICK NO_WAKEUP_PREEMPTION",
    ),
    ("debug:base_slice_ns", "3000000", "sys/kernel/debug/sched/base_slice_ns", "3000000"),
    ("debug:preempt", "none", "sys/kernel/debug/sched/preempt", "(none) voluntary full lazy"),
    ("debug:verbose", "on", "sys/kernel/debug/sched/verbose", "Y"),
    (
        "governor",
        "performance",
        "sys/devices/system/cpu/cpufreq/policy1/scaling_governor",
        "performance",
    ),
    ("boost", "off", "sys/devices/system/cpu/cpufreq/boost", "0"),
];

#[test]
fn each_kind_of_value_is_written_where_it_belongs_and_put_back() {
    for (key, value, file, text) in EVERYTHING {
        let machine = FakeCpus::booted();
        let (root, before) = (machine.root(), machine.all());
        let ledger = Ledger::new(&root);
        let (targets, problems) = apply(&root, &attributes(&[(key, value)]), &ledger).unwrap();
        assert!(problems.is_empty(), "{key}: {problems:?}");
        assert_eq!(machine.shows(file), text, "{key}");
        let noted = ledger.made().attributes;
        assert!(
            noted.iter().all(|original| original.written.len() == 1),
            "our own value can be recognised: {noted:?}"
        );
        assert!(check(&root, &targets).is_empty(), "{key}");
        let (done, problems) = put_back(&root, &ledger.made().attributes);
        assert!(problems.is_empty() && !done.is_empty(), "{key}: {problems:?}");
        assert!(
            done.iter().all(|line| line.contains(" -> ") && !line.contains("another program")),
            "{done:?}"
        );
        assert_eq!(machine.all(), before, "{key}");
        assert_eq!(
            put_back(&root, &ledger.made().attributes),
            (vec![], vec![]),
            "a second time there is nothing to do"
        );
    }
}

#[test]
fn a_turbo_that_is_switched_by_its_opposite_is_switched_the_right_way() {
    let machine = FakeCpus::booted();
    let root = machine.root();
    std::fs::remove_file(machine.path("sys/devices/system/cpu/cpufreq/boost")).unwrap();
    let no_turbo = "sys/devices/system/cpu/intel_pstate/no_turbo";
    machine.put(no_turbo, "0");
    let ledger = Ledger::new(&root);
    for (value, text) in [("off", "1"), ("on", "0")] {
        assert!(apply(&root, &attributes(&[("boost", value)]), &ledger).unwrap().1.is_empty());
        assert_eq!(machine.shows(no_turbo), text, "boost={value}");
    }
}

#[test]
fn a_variant_starts_from_what_was_found_whatever_the_variant_before_has_set() {
    let machine = FakeCpus::tuned();
    let (root, before) = (machine.root(), machine.all());
    let session = Session::begin(&root).unwrap();
    let mut guard = Guard::begin(&root).unwrap();
    let first =
        variant(&[("sysctl:kernel.sched_rr_timeslice_ms", "50"), ("governor", "performance")]);
    let second = variant(&[("feature:HRTICK", "off")]);
    assert_eq!(guard.apply(&first, &session).unwrap(), []);
    assert_eq!(guard.apply(&second, &session).unwrap(), []);
    assert_eq!(machine.shows("proc/sys/kernel/sched_rr_timeslice_ms"), "30");
    assert_eq!(
        machine.shows("sys/devices/system/cpu/cpufreq/policy1/scaling_governor"),
        "powersave"
    );
    assert!(machine.shows("sys/kernel/debug/sched/features").contains("NO_HRTICK"));
    assert_eq!(guard.apply(&Setting::default(), &session).unwrap(), []);
    assert_eq!(machine.all(), before, "a variant that names nothing has what was found");
    guard.restore().unwrap();
    session.end().unwrap();
    assert_eq!((machine.all(), machine.journal()), (before, vec![]));
}

#[test]
fn values_that_bound_each_other_are_set_and_put_back_whatever_their_order() {
    for (period, runtime) in [("500000", "400000"), ("2000000", "1500000")] {
        let machine = FakeCpus::tuned();
        let (root, before) = (machine.root(), machine.all());
        let ledger = Ledger::new(&root);
        let both = [
            ("sysctl:kernel.sched_rt_period_us", period),
            ("sysctl:kernel.sched_rt_runtime_us", runtime),
        ];
        assert_eq!(apply(&root, &attributes(&both), &ledger).unwrap().1, []);
        assert_eq!(machine.shows("proc/sys/kernel/sched_rt_runtime_us"), runtime);
        assert_eq!(put_back(&root, &ledger.made().attributes).1, []);
        assert_eq!(machine.all(), before);
    }
}

#[test]
fn what_the_kernel_computes_anew_is_put_back_with_what_made_it() {
    let machine = FakeCpus::tuned();
    let (root, before) = (machine.root(), machine.all());
    let ledger = Ledger::new(&root);
    let (targets, problems) =
        apply(&root, &attributes(&[("debug:tunable_scaling", "0")]), &ledger).unwrap();
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(
        machine.shows("sys/kernel/debug/sched/base_slice_ns"),
        "700000",
        "that is what the variant asks for"
    );
    assert!(check(&root, &targets).is_empty());
    assert_eq!(put_back(&root, &ledger.made().attributes).1, []);
    assert_eq!(machine.all(), before, "an administrator's slice is there again");
}

#[test]
fn what_is_refused_and_what_has_no_effect_are_told_apart() {
    let machine = FakeCpus::booted();
    let (root, before) = (machine.root(), machine.all());
    let ledger = Ledger::new(&root);
    let wanted = attributes(&[
        ("debug:nr_migrate", "128"),
        ("sysctl:kernel.sched_rr_timeslice_ms", "0"),
        ("sysctl:kernel.sched_rt_runtime_us", "2000000"),
    ]);
    let problems = apply(&root, &wanted, &ledger).unwrap().1;
    let [first, second, third] = problems.as_slice() else { panic!("{problems:?}") };
    assert!(matches!(first, Problem::NotInEffect { found, .. } if found == "32"), "{first}");
    assert!(matches!(second, Problem::NotInEffect { found, .. } if found == "100"), "{second}");
    assert!(
        matches!(third, Problem::WriteFailed { error, .. } if error.contains("refused the value")),
        "{third}"
    );
    assert_eq!(put_back(&root, &ledger.made().attributes), (vec![], vec![]));
    assert_eq!(machine.all(), before);
}

#[test]
fn what_cannot_be_found_any_more_is_a_problem_of_the_trial_and_ends_nothing() {
    let machine = FakeCpus::booted();
    let root = machine.root();
    std::fs::remove_dir_all(machine.path("sys/kernel/debug")).unwrap();
    std::fs::create_dir(machine.path("sys/kernel/debug")).unwrap();
    let wanted = attributes(&[("debug:nr_migrate", "16"), ("autogroup", "off")]);
    let problems = apply(&root, &wanted, &Ledger::new(&root)).unwrap().1;
    assert!(
        matches!(&problems[..], [Problem::WriteFailed { error, .. }] if error.contains("mount -t debugfs")),
        "{problems:?}"
    );
    assert_eq!(machine.shows("proc/sys/kernel/sched_autogroup_enabled"), "0", "the others are set");
}

#[test]
fn a_change_by_another_program_is_seen_also_when_it_is_taken_back_and_put_back_with_a_word_about_it()
 {
    let machine = FakeCpus::booted();
    let root = machine.root();
    let session = Session::begin(&root).unwrap();
    let mut guard = Guard::begin(&root).unwrap();
    let slice = "proc/sys/kernel/sched_rr_timeslice_ms";
    let setting = variant(&[("sysctl:kernel.sched_rr_timeslice_ms", "50")]);
    assert_eq!(guard.apply(&setting, &session).unwrap(), []);
    machine.put(slice, "70");
    testbed::eventually("the watch has seen it", || guard.watched() > 0);
    machine.put(slice, "50");
    let problems = guard.check();
    assert!(
        matches!(&problems[..], [Problem::ChangedMeanwhile { found, .. }] if found == "70"),
        "{problems:?}"
    );
    assert_eq!(guard.apply(&setting, &session).unwrap(), []);
    assert_eq!(guard.check(), [], "a trial does not answer for the one before");
    machine.put(slice, "70");
    std::mem::forget(guard);
    // This process still holds the owner's lock: undone as in recovery.
    let entry = crate::journal::read(&root, KEY).unwrap().unwrap();
    let made: crate::cpu::ledger::Made = entry.payload(KEY).expect("an entry of the CPUs");
    let (done, problems) = put_back(&root, &made.attributes);
    assert_eq!((machine.shows(slice).as_str(), problems), ("100", vec![]));
    assert!(done[0].contains("70 -> 100 (another program had set it to 70)"), "{done:?}");
}

#[test]
fn values_of_a_driver_that_is_gone_are_told_and_those_of_an_unmounted_debugfs_stay_in_the_journal()
{
    let machine = FakeCpus::booted();
    let root = machine.root();
    let session = Session::begin(&root).unwrap();
    let mut guard = Guard::begin(&root).unwrap();
    let setting = variant(&[("governor", "performance"), ("debug:nr_migrate", "16")]);
    assert_eq!(guard.apply(&setting, &session).unwrap(), []);
    std::fs::remove_dir_all(machine.path("sys/devices/system/cpu/cpufreq")).unwrap();
    let hidden = machine.path("sys/kernel/hidden");
    std::fs::rename(machine.path("sys/kernel/debug"), &hidden).unwrap();
    let error = guard.restore().unwrap_err().to_string();
    assert!(
        error.contains("nr_migrate")
            && error.contains("debugfs")
            && error.contains("schedlab restore"),
        "{error}"
    );
    std::fs::rename(&hidden, machine.path("sys/kernel/debug")).unwrap();
    session.end().unwrap();
    let outcomes = restore_all(&root, &UNDO).unwrap();
    let report = outcomes.iter().map(ToString::to_string).collect::<String>();
    assert!(
        report.contains("nr_migrate 16 -> 32") && report.contains("governor of policy0 is gone"),
        "{report}"
    );
    assert_eq!(
        (machine.shows("sys/kernel/debug/sched/nr_migrate").as_str(), machine.journal()),
        ("32", vec![])
    );
}

#[test]
fn values_are_put_back_while_tasks_of_another_pid_namespace_wait() {
    let machine = FakeCpus::booted();
    let slice = "proc/sys/kernel/sched_rr_timeslice_ms";
    machine.put(slice, "50");
    let entry = json!({"schema": 1, "boot_id": "boot-1", "pid": 6, "undo": {
        "what": PREVIOUS,
        "attributes": [{
            "name": "kernel.sched_rr_timeslice_ms", "path": machine.path(slice), "value": "100", "written": ["50"],
        }],
        "moved": {
            "cpus": "0", "others": "1", "since": 227_355, "namespace": "pid:[4026532178]",
            "tasks": [{"task": 5, "process": 5, "start": 226_111, "name": "sleep", "mask": "0-1"}],
        },
    }});
    machine.put(&format!("var/lib/schedlab/journal/{PREVIOUS}.json"), &entry.to_string());
    let outcomes = restore_all(&machine.root(), &UNDO).unwrap();
    assert!(
        outcomes[0].to_string().contains("another PID namespace"),
        "its tasks are those of a container: {outcomes:?}"
    );
    assert_eq!(
        (machine.shows(slice).as_str(), machine.journal().len()),
        ("100", 1),
        "values are put back nevertheless"
    );
    let namespace = machine.path("proc/self/ns/pid");
    std::fs::create_dir_all(namespace.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("pid:[4026531836]", namespace).unwrap();
    let outcomes = restore_all(&machine.root(), &UNDO).unwrap();
    assert!(
        outcomes[0].undone::<crate::cpu::Restoration>().is_some(),
        "the namespace is gone, and its tasks with it: {outcomes:?}"
    );
    assert_eq!(machine.journal(), [""; 0]);
}
