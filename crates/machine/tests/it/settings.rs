//! The properties of `settings::tests` on a real loop device.

use std::time::Instant;

use crate::common::{Bench, run};
use machine::settings::Watch;
use machine::{Error, Guard, Problem, Setting, restore_all};
use testbed::{Loop, eventually};

const ALL: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

/// Its values differ from the kernel's defaults.
fn tuned(bench: &Bench) -> Option<Loop> {
    let blank = bench.blank_loop(16);
    if !blank.offers(&ALL) {
        return None;
    }
    blank.set("scheduler", "mq-deadline");
    blank.set("nr_requests", "64");
    blank.set("iosched/async_depth", "48");
    blank.set("iosched/read_expire", "252");
    blank.set("read_ahead_kb", "512");
    Some(blank)
}

fn begin(bench: &Bench, blank: &Loop) -> Guard {
    Guard::begin(&bench.root, &bench.device(blank)).expect("no other process has this loop device")
}

fn wait_for_look(watch: &Watch) {
    let before = watch.looks();
    eventually("the watch has looked", || watch.looks() >= before + 2);
}

fn applied(guard: &mut Guard, setting: &Setting) {
    let problems = guard.apply(setting).expect("a setting that the kernel has");
    assert!(problems.is_empty(), "{setting:?}: {problems:?}");
}

#[test]
fn every_scheduler_is_applied_with_tunables_and_taken_back() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let Some(blank) = tuned(&bench) else { return };
    let before = blank.snapshot();
    let mut guard = begin(&bench, &blank);
    let settings = [
        Setting::of("none").with("nomerges", "2"),
        Setting::of("mq-deadline").with("read_expire", "100").with("nr_requests", "32"),
        Setting::of("kyber").with("read_lat_nsec", "1000000").with("max_sectors_kb", "64"),
        Setting::of("bfq").with("slice_idle", "0").with("read_ahead_kb", "4"),
    ];
    for setting in &settings {
        applied(&mut guard, setting);
        assert!(
            blank
                .show("scheduler")
                .contains(&format!("[{}]", setting.scheduler.as_deref().unwrap_or_default()))
        );
        assert_eq!(guard.check(), []);
    }
    guard.restore().expect("everything can be put back");
    assert_eq!(blank.snapshot(), before);
    assert!(
        restore_all(&bench.root, &[]).expect("readable").is_empty(),
        "nothing is left in the journal"
    );
}

#[test]
fn on_the_real_kernel_a_variant_inherits_nothing_from_the_variant_before() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let Some(blank) = tuned(&bench) else { return };
    let mut guard = begin(&bench, &blank);
    for scheduler in ALL {
        let alone = Setting::of(scheduler);
        applied(&mut guard, &alone);
        let start = blank.snapshot();
        for other in [
            Setting::of(scheduler).with("nr_requests", "16").with("max_sectors_kb", "32"),
            Setting::of("mq-deadline")
                .with("fifo_batch", "1")
                .with("nomerges", "1")
                .with("rotational", "1"),
            Setting::of("bfq").with("low_latency", "0").with("read_ahead_kb", "64"),
            Setting::default(),
        ] {
            applied(&mut guard, &other);
            applied(&mut guard, &alone);
            assert_eq!(blank.snapshot(), start, "{scheduler} after {other:?}");
        }
    }
}

#[test]
fn a_variant_of_the_tuned_scheduler_starts_from_the_kernels_defaults() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let Some(blank) = tuned(&bench) else { return };
    let mut guard = begin(&bench, &blank);
    applied(&mut guard, &Setting::of("mq-deadline"));
    assert_ne!(blank.show("iosched/read_expire"), "252");
    assert_ne!(blank.show("nr_requests"), "64");
    assert_eq!(blank.show("read_ahead_kb"), "512");
}

#[test]
fn a_scheduler_that_does_not_exist_is_a_problem_and_leaves_the_old_one() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let Some(blank) = tuned(&bench) else { return };
    let before = blank.snapshot();
    let mut guard = begin(&bench, &blank);
    let problems = guard.apply(&Setting::of("cfq")).expect("data, not an error");
    assert!(
        matches!(&problems[..], [Problem::WriteFailed { attribute, wanted, .. }]
        if attribute == "scheduler" && wanted == "cfq"),
        "{problems:?}"
    );
    assert!(
        problems[0].to_string().contains("mq-deadline"),
        "it says what there is: {}",
        problems[0]
    );
    drop(guard);
    assert_eq!(blank.snapshot(), before);
}

#[test]
fn values_that_the_kernel_refuses_or_clamps_are_problems_and_rounded_ones_are_not() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let Some(blank) = tuned(&bench) else { return };
    let mut guard = begin(&bench, &blank);
    let mut apply = |name: &str, value: &str| {
        guard.apply(&Setting::of("mq-deadline").with(name, value)).expect("the names are right")
    };
    assert!(
        matches!(&apply("read_expire", "soon")[..], [Problem::WriteFailed { attribute, .. }] if attribute == "read_expire")
    );
    assert!(
        matches!(&apply("nomerges", "3")[..], [Problem::NotInEffect { wanted, .. }] if wanted == "3")
    );
    assert!(matches!(
        &apply("nr_requests", "1")[..],
        [Problem::NotInEffect { .. } | Problem::WriteFailed { .. }]
    ));
    assert_eq!(apply("read_expire", "501"), []);
    assert_eq!(apply("read_ahead_kb", "5"), []);
}

#[test]
fn a_switch_away_and_back_during_a_trial_leaves_its_mark() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let Some(blank) = tuned(&bench) else { return };
    let mut guard = begin(&bench, &blank);
    applied(&mut guard, &Setting::of("bfq"));
    assert_eq!(guard.check(), []);
    blank.set("scheduler", "none");
    blank.set("scheduler", "bfq");
    assert!(
        matches!(&guard.check()[..], [Problem::ChangedMeanwhile { attribute, .. }] if attribute == "scheduler")
    );
}

#[test]
fn a_visit_to_another_scheduler_during_a_trial_of_none_is_seen_by_the_watch() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let Some(blank) = tuned(&bench) else { return };
    let mut guard = begin(&bench, &blank);
    applied(&mut guard, &Setting::of("none"));
    let watch = guard.watch();
    wait_for_look(&watch);
    blank.set("scheduler", "kyber");
    wait_for_look(&watch);
    blank.set("scheduler", "none");
    let seen = watch.stop();
    assert!(
        matches!(&seen[..], [Problem::ChangedMeanwhile { found, .. }, ..] if found == "kyber"),
        "{seen:?}"
    );
}

#[test]
fn a_value_changed_during_a_trial_and_put_back_before_its_end_is_seen_by_the_watch() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let Some(blank) = tuned(&bench) else { return };
    blank.set("nomerges", "0");
    let mut guard = begin(&bench, &blank);
    let deadline = Setting::of("mq-deadline").with("fifo_batch", "2");
    // Named by the variant, left to the kernel, and left as found.
    for (setting, path, wanted, visit) in [
        (&deadline, "iosched/fifo_batch", "2", "64"),
        (&deadline, "iosched/writes_starved", "2", "50"),
        (&Setting::of("none"), "nomerges", "0", "2"),
    ] {
        applied(&mut guard, setting);
        let undisturbed = guard.watch();
        wait_for_look(&undisturbed);
        assert_eq!(undisturbed.stop(), [], "an undisturbed trial has nothing to report");
        let watch = guard.watch();
        wait_for_look(&watch);
        blank.set(path, visit);
        wait_for_look(&watch);
        blank.set(path, wanted);
        assert_eq!(guard.check(), [], "the end of the trial alone does not tell");
        let attribute = path.trim_start_matches("iosched/").to_string();
        let seen =
            Problem::ChangedMeanwhile { attribute, wanted: wanted.into(), found: visit.into() };
        assert_eq!(watch.stop(), [seen]);
    }
}

#[test]
fn a_state_directory_that_cannot_be_written_changes_nothing_and_says_how_to_choose_another() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let Some(blank) = tuned(&bench) else { return };
    let before = blank.snapshot();
    let at = bench.dir.path().join("state").display().to_string();
    std::fs::create_dir_all(&at).expect("own directory");
    for (options, fill) in [("ro,size=64k,mode=0700", false), ("size=16k,mode=0700", true)] {
        run("mount", &["-t", "tmpfs", "-o", options, "schedlab-test", &at]);
        if fill {
            // Room for the lock's directory and nothing more.
            let _ = std::fs::write(format!("{at}/ballast"), vec![1u8; 64 << 10]);
        }
        let error = Guard::begin(&bench.root, &bench.device(&blank)).err();
        run("umount", &[&at]);
        let error = error.expect("the journal cannot be written").to_string();
        assert!(error.contains(&at) && error.contains("SCHEDLAB_STATE_DIR"), "{error}");
        assert_eq!(blank.snapshot(), before);
    }
}

#[test]
fn two_guards_on_one_device_do_not_both_get_it() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let Some(blank) = tuned(&bench) else { return };
    let guard = begin(&bench, &blank);
    let elsewhere = machine::Root::real().with_state_dir(bench.dir.path().join("elsewhere"));
    for root in [&bench.root, &elsewhere] {
        let error = Guard::begin(root, &bench.device(&blank)).unwrap_err();
        assert!(matches!(error, Error::Busy { .. }), "{error}");
    }
    drop(guard);
    begin(&bench, &blank);
}

#[test]
fn each_scheduler_is_applied_and_restored_and_the_times_are_printed() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let blank = bench.blank_loop(16);
    if !blank.offers(&ALL) {
        return;
    }
    let before = blank.snapshot();
    let ms = |since: Instant| since.elapsed().as_secs_f64() * 1e3;
    for scheduler in ALL {
        let since = Instant::now();
        let mut guard = begin(&bench, &blank);
        let begin = ms(since);
        let since = Instant::now();
        applied(&mut guard, &Setting::of(scheduler));
        let apply = ms(since);
        let since = Instant::now();
        applied(&mut guard, &Setting::of(scheduler).with("nomerges", "1"));
        let again = ms(since);
        let since = Instant::now();
        guard.restore().expect("everything can be put back");
        let restore = ms(since);
        println!(
            "{scheduler}: begin {begin:.1} ms, apply {apply:.1} ms, apply again {again:.1} ms, restore {restore:.1} ms"
        );
        assert_eq!(blank.snapshot(), before);
    }
}
