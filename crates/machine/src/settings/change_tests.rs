//! Permanent changes on the fake machine; see `tests/it/settings.rs` for a real loop device.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use super::fake_kernel::{Machine, Stubborn};
use super::{Change, Done, Guard, PlannedWrite, Restoration, Setting, end, holder};
use crate::device;
use crate::error::Error;
use crate::{Outcome, restore_all};

pub(super) const LONG: Duration = Duration::from_secs(3600);

pub(super) fn plan(machine: &Machine, setting: &Setting) -> Result<Change, Error> {
    Change::plan(&machine.root(), &machine.disk(), setting)
}

pub(super) fn carried_out(machine: &Machine, setting: &Setting) -> Done {
    let change = plan(machine, setting).expect("a change that the fake kernel takes");
    change.carry_out().expect("nothing goes wrong")
}

/// Does not name the scheduler.
fn of_present(pairs: &[(&str, &str)]) -> Setting {
    let named = pairs.iter().map(|(name, value)| (name.to_string(), value.to_string()));
    Setting { scheduler: None, tunables: named.collect() }
}

/// Scheduler, tunables, and attributes that the kernel ties to others.
pub(super) fn everything() -> Setting {
    Setting::of("bfq")
        .with("slice_idle", "0")
        .with("nr_requests", "96")
        .with("max_sectors_kb", "64")
        .with("nomerges", "1")
        .with("io.cost.qos", "enable=1 rpct=95.5")
        .with("ncq_prio_enable", "0")
        .with("cdl_enable", "1")
}

fn changed(done: &Done) -> Vec<(&str, Option<&str>, &str, bool)> {
    let of = done.changed.iter();
    of.map(|c| (c.attribute.as_str(), c.old.as_deref(), c.new.as_str(), c.named)).collect()
}

#[test]
fn only_what_is_named_is_touched_when_the_scheduler_stays() {
    let machine = Machine::tuned();
    let before = machine.whole_queue();
    let done = carried_out(&machine, &Setting::of("mq-deadline").with("fifo_batch", "4"));
    assert_eq!(changed(&done), [("fifo_batch", Some("16"), "4", true)]);
    let differing = machine.whole_queue().into_iter().filter(|pair| !before.contains(pair)).count();
    assert_eq!(differing, 1, "the administrator's read_expire and window are as they were");
    assert!(machine.journal().is_empty(), "a change that stays leaves nothing to undo");
}

#[test]
fn another_scheduler_comes_with_the_kernels_defaults_for_what_is_not_named() {
    let machine = Machine::tuned();
    let done = carried_out(&machine, &Setting::of("bfq").with("slice_idle", "0"));
    assert_eq!(
        (machine.shows("iosched/slice_idle"), machine.shows("iosched/low_latency")),
        ("0".into(), "1".into())
    );
    assert_eq!(machine.shows("nr_requests"), "128", "not the 64 that was tuned for mq-deadline");
    assert_eq!(machine.shows("read_ahead_kb"), "1024", "read-ahead is not the scheduler's");
    assert!(changed(&done).contains(&("scheduler", Some("mq-deadline"), "bfq", true)));
    assert!(changed(&done).contains(&("nr_requests", Some("64"), "128", false)), "{done:?}");
}

#[test]
fn read_ahead_stays_when_a_limit_of_the_queue_is_named_and_the_plan_says_so() {
    let machine = Machine::tuned();
    let change = plan(&machine, &of_present(&[("max_sectors_kb", "64"), ("fifo_batch", "1")]))
        .expect("a plan");
    let names: Vec<(String, bool)> =
        change.writes().into_iter().map(|w| (w.attribute, w.named)).collect();
    let of = |name: &str, named| (name.to_string(), named);
    assert_eq!(
        names,
        [of("max_sectors_kb", true), of("read_ahead_kb", false), of("fifo_batch", true)]
    );
    change.carry_out().expect("nothing goes wrong");
    assert_eq!(
        (machine.shows("max_sectors_kb"), machine.shows("read_ahead_kb")),
        ("64".into(), "1024".into())
    );
}

#[test]
fn what_the_kernel_moves_along_is_reported_as_not_asked_for() {
    let machine = Machine::tuned();
    let done = carried_out(&machine, &of_present(&[("nr_requests", "96")]));
    assert_eq!(
        changed(&done),
        [("nr_requests", Some("64"), "96", true), ("async_depth", Some("48"), "96", false)]
    );
    let machine = Machine::tuned();
    let done = carried_out(&machine, &of_present(&[("nr_requests", "64")]));
    assert_eq!(
        done.changed,
        [],
        "what is in effect already is not written again: async_depth stays 48"
    );
    let both = of_present(&[("async_depth", "10"), ("nr_requests", "80")]);
    carried_out(&machine, &both);
    assert_eq!(
        (machine.shows("nr_requests"), machine.shows("iosched/async_depth")),
        ("80".into(), "10".into())
    );
}

#[test]
fn the_undo_that_is_told_brings_back_exactly_the_state_before() {
    let settings = [
        everything(),
        Setting::of("none"),
        Setting::of("kyber").with("wbt_lat_usec", "5").with("read_ahead_kb", "4"),
        of_present(&[("nr_requests", "96"), ("read_expire", "1")]),
        of_present(&[("rotational", "0"), ("fifo_batch", "1")]),
    ];
    for setting in settings {
        let machine = Machine::tuned();
        fs::write(machine.queue("rotational"), "1").expect("a fake attribute");
        let before = machine.whole_queue();
        let done = carried_out(&machine, &setting);
        assert_ne!(machine.whole_queue(), before);
        carried_out(&machine, &done.undo);
        assert_eq!(machine.whole_queue(), before, "{setting:?} and back by {:?}", done.undo);
    }
}

#[test]
fn the_undo_of_a_planned_switch_brings_back_the_state_before() {
    for setting in [
        Setting::of("none"),
        Setting::of("kyber").with("read_lat_nsec", "5000000"),
        Setting::of("bfq").with("slice_idle", "0"),
        of_present(&[("fifo_batch", "1")]),
    ] {
        let machine = Machine::tuned();
        let before = machine.whole_queue();
        let undo = plan(&machine, &setting).expect("a plan").undo();
        carried_out(&machine, &setting);
        carried_out(&machine, &undo);
        assert_eq!(machine.whole_queue(), before, "{setting:?} and back by {undo:?}");
    }
}

#[test]
fn planning_writes_nothing_and_says_path_and_value_in_order() {
    let machine = Machine::tuned();
    let (before, steps) = (machine.whole_queue(), machine.kernel.live());
    let writes = plan(&machine, &everything().with("read_ahead_kb", "4")).expect("a plan").writes();
    let order: Vec<&str> = writes.iter().map(|w| w.attribute.as_str()).collect();
    let of_the_device = ["ncq_prio_enable", "cdl_enable", "io.cost.qos"];
    assert_eq!((order[0], &order[1..4]), ("scheduler", &of_the_device[..]));
    assert_eq!(
        order[4..],
        ["max_sectors_kb", "nomerges", "nr_requests", "read_ahead_kb", "slice_idle"]
    );
    assert_eq!(writes[3].path, machine.control("io.cost.qos"));
    assert!(matches!(&writes[0], PlannedWrite { path, value, now: Some(now), .. }
        if *path == machine.queue("scheduler") && value == "bfq" && now == "mq-deadline"));
    assert_eq!(
        (writes[8].path.clone(), &writes[8].now),
        (machine.queue("iosched/slice_idle"), &None)
    );
    assert_eq!((machine.whole_queue(), machine.kernel.live()), (before, steps));
    assert!(machine.journal().is_empty());
}

#[test]
fn a_value_out_of_range_is_answered_with_the_range_and_its_unit_before_anything_is_written() {
    let machine = Machine::tuned();
    let steps = machine.kernel.live();
    let hw =
        |kb: &str| fs::write(machine.queue("max_hw_sectors_kb"), kb).expect("a fake attribute");
    hw("1280");
    fs::write(machine.queue("scheduler"), "none [mq-deadline] kyber bfq")
        .expect("a fake attribute");
    for (setting, words) in [
        (
            of_present(&[("nr_requests", "1")]),
            "/dev/sda: nr_requests is out of range (found 1, expected a whole number from 4 to 2048 requests)",
        ),
        (Setting::of("none").with("nr_requests", "33"), "from 4 to 32 requests"),
        (of_present(&[("max_sectors_kb", "1281")]), "from 4 to 1280 KiB"),
        (of_present(&[("read_expire", "5s")]), "from 0 to 2147483647 ms"),
        (of_present(&[("nomerges", "-1")]), "from 0 to 2"),
        (of_present(&[("write_cache", "off")]), "one of: write back, write through"),
        (Setting::of("bfq").with("low_latency", "2"), "from 0 to 1 (a switch)"),
    ] {
        let error = plan(&machine, &setting).unwrap_err();
        assert!(matches!(error, Error::OutOfRange { .. }), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
    assert_eq!(machine.kernel.live(), steps);
}

#[test]
fn the_ceiling_of_async_depth_in_the_queue_is_the_window_that_is_asked_for() {
    let machine = Machine::booted();
    fs::write(machine.queue("async_depth"), "128").expect("a kernel of 7.0");
    fs::remove_file(machine.queue("iosched/async_depth")).expect("where it is no tunable");
    let with = |window: &str| of_present(&[("async_depth", "200"), ("nr_requests", window)]);
    assert!(
        plan(&machine, &with("199")).unwrap_err().to_string().contains("from 1 to 199 requests")
    );
    let writes = plan(&machine, &with("200")).expect("within the window").writes();
    let order: Vec<&str> = writes.iter().map(|w| w.attribute.as_str()).collect();
    assert_eq!(order, ["nr_requests", "async_depth"], "the window resets the depth");
}

#[test]
fn a_name_that_is_not_there_is_answered_with_what_helps() {
    let machine = Machine::booted();
    let message = |setting: &Setting| plan(&machine, setting).unwrap_err().to_string();
    let of_other = message(&of_present(&[("slice_idle", "0")]));
    assert!(
        of_other.contains("a tunable of bfq") && of_other.contains("scheduler=bfq"),
        "{of_other}"
    );
    let of_present_one = message(&Setting::of("bfq").with("fifo_batch", "4"));
    assert!(of_present_one.contains("a tunable of mq-deadline"), "{of_present_one}");
    let slip = message(&of_present(&[("fifo_bacth", "1")]));
    assert!(slip.contains("did you mean \"fifo_batch\"") && !slip.contains("scheduler,"), "{slip}");
    let to_come = message(&Setting::of("bfq").with("slice_idel", "1"));
    assert!(to_come.contains("did you mean \"slice_idle\""), "{to_come}");
    let missing = message(&of_present(&[("io_timeout", "5")]));
    assert!(
        missing.contains("no io_timeout") && missing.contains("driver starts recovery"),
        "{missing}"
    );
    let read_only = message(&of_present(&[("logical_block_size", "512")]));
    assert!(read_only.contains("read-only"), "{read_only}");
    let scheduler = message(&Setting::of("mq-deadlin"));
    assert!(
        scheduler.contains("did you mean \"mq-deadline\"") && scheduler.contains("kyber"),
        "{scheduler}"
    );
    for path in ["../scheduler", "scheduler", "iosched/fifo_batch"] {
        assert!(
            matches!(
                plan(&machine, &of_present(&[(path, "1")])),
                Err(Error::UnknownTunable { .. })
            ),
            "{path}"
        );
        let to_come = plan(&machine, &Setting::of("bfq").with(path, "1"));
        assert!(matches!(to_come, Err(Error::UnknownTunable { .. })), "{path}");
    }
}

#[test]
fn what_could_not_be_put_back_is_not_changed() {
    let machine = Machine::booted();
    fs::write(machine.queue("discard_max_bytes"), "4294966784").expect("as loop devices show it");
    fs::write(machine.queue("discard_granularity"), "4096").expect("as loop devices show it");
    let error = plan(&machine, &of_present(&[("discard_max_bytes", "4096")])).unwrap_err();
    assert!(
        matches!(&error, Error::NoWayBack { .. }) && error.to_string().contains("4294966784"),
        "{error}"
    );
    fs::write(machine.queue("discard_max_bytes"), "8192").expect("a multiple");
    plan(&machine, &of_present(&[("discard_max_bytes", "4096")])).expect("there is a way back");
}

#[test]
fn a_device_without_a_scheduler_names_the_disk_below_it() {
    let machine = Machine::booted();
    let block = machine.root().sys("block");
    fs::create_dir_all(block.join("sda/sda1")).expect("a partition");
    fs::write(block.join("sda/sda1/partition"), "1").expect("a partition");
    for (name, below) in [("dm-0", "sda1"), ("dm-1", "dm-0")] {
        fs::create_dir_all(block.join(name).join("queue")).expect("a stacked device");
        fs::create_dir_all(block.join(name).join("slaves").join(below))
            .expect("what it is stacked on");
        fs::write(block.join(name).join("queue/read_ahead_kb"), "128").expect("a stacked device");
        let device = device::find(&machine.root(), name).expect("it is there");
        let error = Change::plan(&machine.root(), &device, &of_present(&[("read_ahead_kb", "4")]))
            .unwrap_err();
        assert!(matches!(error, Error::NoScheduler { .. }), "{error}");
        assert!(error.to_string().ends_with(": /dev/sda"), "{error}");
    }
    let error = device::find(&machine.root(), "sda1").unwrap_err().to_string();
    assert!(error.contains("partition") && error.contains("/dev/sda"), "{error}");
}

#[test]
fn a_scheduler_that_is_a_module_can_be_planned_and_the_tunables_of_one_that_no_table_knows_are_left_to_the_kernel()
 {
    for (tunable, fits) in [("depth", true), ("no_such_tunable", false)] {
        let machine = Machine::booted();
        let before = machine.whole_queue();
        let root = machine.root();
        fs::create_dir_all(root.modules()).expect("fake modules");
        fs::write(root.modules().join("modules.alias"), "alias adios-iosched adios\n")
            .expect("fake alias");
        let setting = Setting::of("adios").with(tunable, "7");
        let change = Change::plan(&root, &machine.disk(), &setting)
            .expect("its tunables are known after the switch only");
        assert_eq!(machine.whole_queue(), before, "planning loads nothing");
        fs::write(machine.queue("scheduler"), "[mq-deadline] none adios")
            .expect("its module is loaded");
        match change.carry_out() {
            Ok(done) => {
                assert!(fits && changed(&done).contains(&("depth", None, "7", true)), "{done:?}")
            }
            Err(error) => {
                assert!(!fits && error.to_string().contains("no_such_tunable"), "{error}")
            }
        }
        let present = device::current_scheduler(&root, "sda");
        assert_eq!(present.as_deref(), Some(if fits { "adios" } else { "mq-deadline" }));
    }
}

#[test]
fn a_write_that_is_refused_or_has_no_effect_takes_everything_back_and_is_named() {
    let named = [
        ("scheduler", "bfq"),
        ("nr_requests", "96"),
        ("max_sectors_kb", "64"),
        ("nomerges", "1"),
        ("slice_idle", "0"),
    ];
    for (about, value) in named {
        for refuses in [true, false] {
            let machine = Machine::tuned();
            let before = machine.whole_queue();
            let stubborn =
                Stubborn { kernel: machine.kernel.clone(), about, value: Some(value), refuses };
            let root = machine.root().with_files(Arc::new(stubborn));
            let change = Change::plan(&root, &machine.disk(), &everything())
                .expect("nothing is wrong with it");
            let error = change.carry_out().unwrap_err();
            assert!(matches!(&error, Error::NotSet { left: None, .. }), "{about}: {error}");
            let text = error.to_string();
            assert!(text.contains(about) && text.contains("all settings are restored"), "{text}");
            assert_eq!(machine.whole_queue(), before, "{about}, refuses: {refuses}");
            assert!(machine.journal().is_empty());
        }
    }
}

#[test]
fn what_cannot_be_taken_back_is_named_and_stays_in_the_journal() {
    let machine = Machine::tuned();
    let before = machine.whole_queue();
    let stubborn = Stubborn {
        kernel: machine.kernel.clone(),
        about: "nr_requests",
        value: None,
        refuses: true,
    };
    let root = machine.root().with_files(Arc::new(stubborn));
    let change =
        Change::plan(&root, &machine.disk(), &everything()).expect("nothing is wrong with it");
    let error = change.carry_out().unwrap_err();
    assert!(matches!(&error, Error::NotSet { left: Some(_), .. }), "{error}");
    assert!(
        error.to_string().contains("schedlab restore") && machine.journal().len() == 1,
        "{error}"
    );
    crate::crashpoints::recover(&machine);
    assert_eq!(machine.whole_queue(), before);
}

#[test]
fn two_changes_of_one_device_at_a_time_are_refused_and_the_second_is_told_until_when() {
    let machine = Machine::booted();
    let held =
        plan(&machine, &everything()).expect("a plan").hold(LONG).expect("no other process has it");
    let during = machine.whole_queue();
    let error =
        plan(&machine, &Setting::of("none")).expect("planning only reads").carry_out().unwrap_err();
    let me = std::process::id();
    assert!(matches!(&error, Error::Held { pid_of_other: Some(pid), .. } if *pid == me), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("another 59 min") && text.contains("schedlab set /dev/sda --end"),
        "{text}"
    );
    assert!(
        matches!(Guard::begin(&machine.root(), &machine.disk()), Err(Error::Held { .. })),
        "an experiment too"
    );
    let outcomes = restore_all(&machine.root(), &[]).expect("readable");
    assert!(matches!(&outcomes[..], [Outcome::Busy { lasting: Some(_), .. }]), "{outcomes:?}");
    assert!(outcomes[0].to_string().contains("--end") && !outcomes[0].owner_is_dead());
    assert_eq!(machine.whole_queue(), during);
    held.end().expect("everything can be put back");
}

#[test]
fn what_an_entry_of_another_boot_says_of_its_end_is_not_believed() {
    let machine = Machine::booted();
    let held =
        plan(&machine, &everything()).expect("a plan").hold(LONG).expect("no other process has it");
    fs::write(machine.root().proc("sys/kernel/random/boot_id"), "boot-2").expect("another boot");
    assert!(matches!(Guard::begin(&machine.root(), &machine.disk()), Err(Error::Busy { .. })));
    assert_eq!(holder(&machine.root(), &machine.disk()).expect("readable"), None);
    drop(held);
}

#[test]
fn a_change_for_a_while_is_in_the_journal_until_it_ends_and_then_everything_is_as_before() {
    let machine = Machine::tuned();
    let before = machine.whole_queue();
    let held =
        plan(&machine, &everything()).expect("a plan").hold(LONG).expect("no other process has it");
    let known =
        holder(&machine.root(), &machine.disk()).expect("readable").expect("somebody has it");
    assert_eq!((known.pid, known.lasting), (std::process::id(), Some(held.lasting())));
    assert_eq!(known.original.scheduler.as_deref(), Some("mq-deadline"));
    let restored = held.end().expect("everything can be put back");
    assert!(restored.changed.contains(&"scheduler".to_string()));
    assert_eq!(machine.whole_queue(), before);
    assert!(machine.journal().is_empty());
    assert_eq!(holder(&machine.root(), &machine.disk()).expect("readable"), None);
}

#[test]
fn another_disk_that_took_the_name_meanwhile_is_left_alone() {
    let machine = Machine::tuned();
    let held =
        plan(&machine, &everything()).expect("a plan").hold(LONG).expect("no other process has it");
    let block = machine.root().sys("block");
    fs::write(block.join("sda/device/wwid"), "naa.another").expect("another disk");
    let during = machine.whole_queue();
    assert!(held.end().expect("nothing is left to restore").device_gone);
    assert_eq!(machine.whole_queue(), during, "its settings are its own");
    assert!(machine.journal().is_empty());
}

#[test]
fn a_disk_that_was_replaced_between_looking_it_up_and_setting_it_is_left_alone() {
    let machine = Machine::tuned();
    let change = plan(&machine, &everything()).expect("a plan");
    fs::write(machine.root().sys("block/sda/device/wwid"), "naa.another").expect("another disk");
    let during = machine.whole_queue();
    assert!(matches!(change.carry_out(), Err(Error::DeviceGone { .. })));
    assert_eq!(machine.whole_queue(), during);
}

#[test]
fn ending_what_a_dead_process_held_restores_it_here_and_ending_nothing_says_so() {
    let machine = Machine::tuned();
    let before = machine.whole_queue();
    assert!(end(&machine.root(), &machine.disk()).expect("readable").is_none());
    let held =
        plan(&machine, &everything()).expect("a plan").hold(LONG).expect("no other process has it");
    machine.kernel.die_after(0);
    drop(held);
    machine.kernel.live();
    assert_ne!(machine.whole_queue(), before, "the owner could not restore it");
    let outcome = end(&machine.root(), &machine.disk())
        .expect("it can be restored")
        .expect("there was something");
    assert!(matches!(outcome, Restoration::Restored { .. }), "{outcome}");
    assert_eq!(machine.whole_queue(), before);
}

#[test]
fn an_experiment_is_not_ended_by_ending_a_setting_for_a_while() {
    let machine = Machine::booted();
    let guard = Guard::begin(&machine.root(), &machine.disk()).expect("no other process has it");
    assert!(matches!(end(&machine.root(), &machine.disk()), Err(Error::Busy { .. })));
    drop(guard);
}
