//! Device attributes on the fake machine, which has the v2 io controller.

use std::fs;

use super::fake_kernel::{Machine, Stubborn, restore};
use super::{Change, Guard, Problem, Setting};
use crate::error::Error;
use crate::files::Files;
use crate::journal;

const COST: &str = "enable=1 rpct=95 rlat=5000";

fn variant() -> Setting {
    let variant =
        Setting::of("kyber").with("io.cost.qos", COST).with("io.cost.model", "rbps=5 rseqiops=6");
    variant.with("ncq_prio_enable", "0").with("cdl_enable", "1")
}

fn line(machine: &Machine, name: &str) -> String {
    fs::read_to_string(machine.control(name)).expect("a fake file").trim().to_string()
}

fn applied(guard: &mut Guard, setting: &Setting) {
    assert_eq!(guard.apply(setting).expect("a setting that the fake kernel has"), []);
}

#[test]
fn a_variant_gets_a_cost_model_and_duration_limits_and_the_next_one_has_neither() {
    let machine = Machine::tuned();
    let mut guard = Guard::begin(&machine.root(), &machine.disk()).expect("free");
    applied(&mut guard, &Setting::of("kyber"));
    let alone = machine.whole_queue();
    applied(&mut guard, &variant());
    assert_eq!(line(&machine, "io.cost.qos"), "8:0 enable=1 ctrl=user rpct=95 rlat=5000");
    assert_eq!(line(&machine, "io.cost.model"), "8:0 ctrl=user model=linear rbps=5 rseqiops=6");
    assert_eq!(
        (machine.shows("../device/cdl_enable"), machine.shows("wbt_lat_usec")),
        ("1".into(), "0".into())
    );
    let shown = guard.in_effect().and_then(|now| now.device.get("io.cost.qos").cloned());
    assert_eq!(shown.as_deref(), Some("enable=1 ctrl=user rpct=95 rlat=5000"));
    applied(&mut guard, &Setting::of("kyber"));
    assert_eq!(machine.whole_queue(), alone);
}

#[test]
fn a_scheduler_that_comes_first_after_a_cost_model_has_the_throttling_that_the_kernel_gives_it_without()
 {
    let machine = Machine::booted();
    let mut guard = Guard::begin(&machine.root(), &machine.disk()).expect("free");
    applied(&mut guard, &Setting::of("kyber").with("io.cost.qos", COST));
    applied(&mut guard, &Setting::of("none"));
    assert_eq!(machine.shows("wbt_lat_usec"), "75000");
}

#[test]
fn a_change_by_another_program_is_seen() {
    let machine = Machine::booted();
    let mut guard = Guard::begin(&machine.root(), &machine.disk()).expect("free");
    applied(&mut guard, &variant());
    let watch = guard.watch();
    machine.kernel.write_attribute(&machine.control("io.cost.qos"), "8:0 enable=0").expect("taken");
    let is_seen = |found: Vec<Problem>| {
        found.iter().any(|p| matches!(p, Problem::ChangedMeanwhile { attribute, .. } if attribute == "io.cost.qos"))
    };
    assert!(is_seen(guard.check()));
    watch.wait_for_look();
    assert!(is_seen(watch.stop()));
}

#[test]
fn a_model_that_the_kernel_takes_without_effect_invalidates_the_trial() {
    let machine = Machine::booted();
    let stubborn = std::sync::Arc::new(Stubborn::without_effect(&machine, "io.cost.qos"));
    let mut guard =
        Guard::begin(&machine.root().with_files(stubborn), &machine.disk()).expect("free");
    let found =
        guard.apply(&Setting::of("kyber").with("io.cost.qos", COST)).expect("data, not an error");
    assert!(
        matches!(&found[..], [Problem::NotInEffect { attribute, .. }] if attribute == "io.cost.qos"),
        "{found:?}"
    );
}

#[test]
fn what_takes_a_change_back_names_the_former_line() {
    let machine = Machine::tuned();
    let before = machine.whole_queue();
    let plan = |setting: &Setting| {
        Change::plan(&machine.root(), &machine.disk(), setting).expect("a valid change")
    };
    let change = Setting { scheduler: None, tunables: variant().tunables };
    let done = plan(&change).carry_out().expect("taken");
    assert_eq!(done.undo.tunables["io.cost.qos"], "enable=0 ctrl=auto");
    assert_eq!(done.undo.tunables["io.cost.model"], "ctrl=user model=linear rbps=1000 rseqiops=7");
    plan(&done.undo).carry_out().expect("taken");
    assert_eq!(machine.whole_queue(), before);
}

/// A variant and a change have the same error.
fn refused(machine: &Machine, name: &str, value: &str) -> String {
    let setting = Setting::of("kyber").with(name, value);
    let before = machine.whole_queue();
    let mut guard = Guard::begin(&machine.root(), &machine.disk()).expect("free");
    let of_variant = guard.apply(&setting).expect_err("not here").to_string();
    guard.restore().expect("nothing was set");
    let of_change =
        Change::plan(&machine.root(), &machine.disk(), &setting).expect_err("not here").to_string();
    assert!(
        of_change.ends_with(of_variant.trim_start_matches("/dev/sda")),
        "{of_change}\n{of_variant}"
    );
    assert_eq!(machine.whole_queue(), before);
    of_change
}

#[test]
fn what_is_missing_is_named_with_what_gives_it() {
    let machine = Machine::booted();
    let mounts = machine.root().proc("self/mounts");
    let error = refused(&machine, "io.cost.qos", "8:16 enable=1");
    assert!(error.contains("io.cost.qos") && error.contains("enable, ctrl, rpct"), "{error}");
    fs::remove_file(machine.control("io.cost.qos")).expect("a fake file");
    assert!(refused(&machine, "io.cost.qos", COST).contains("CONFIG_BLK_CGROUP_IOCOST"));
    fs::write(machine.control("cgroup.controllers"), "cpu hugetlb").expect("a fake file");
    assert!(refused(&machine, "io.cost.model", "rbps=5").contains("cgroup.controllers"));
    let v1 = "cgroup /sys/fs/cgroup/blkio cgroup rw,blkio 0 0\n";
    fs::write(&mounts, format!("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n{v1}"))
        .expect("a fake file");
    let error = refused(&machine, "io.cost.qos", COST);
    assert!(
        error.contains("bound to control groups v1's blkio; boot with cgroup_no_v1=io"),
        "{error}"
    );
    fs::write(&mounts, "").expect("a fake file");
    assert!(refused(&machine, "io.cost.qos", COST).contains("mount -t cgroup2"));
    fs::write(machine.queue("../device/cdl_supported"), "0").expect("a fake file");
    assert!(refused(&machine, "cdl_enable", "1").contains("cdl_supported is 0"));
    fs::remove_file(machine.queue("../device/ncq_prio_enable")).expect("a fake file");
    assert!(refused(&machine, "ncq_prio_enable", "1").contains("does not exist"));
    fs::remove_file(machine.queue("wbt_lat_usec")).expect("a fake file");
    assert!(refused(&machine, "wbt_lat_usec", "0").contains("not supported by this kernel"));
}

#[test]
fn a_forged_entry_reaches_no_other_device_and_no_other_file() {
    let machine = Machine::tuned();
    let (root, disk) = (machine.root(), machine.disk());
    let mut guard = Guard::begin(&root, &disk).expect("free");
    applied(&mut guard, &variant());
    let path = journal::path(&root, &journal::key(&disk.identity));
    let own = fs::read_to_string(&path).expect("the entry of the guard");
    std::mem::forget(guard);
    for (from, to) in [
        ("\"io.cost.qos\"", "\"io.cost.weight\""),
        ("\"io.cost.qos\"", "\"../../release_agent\""),
        ("enable=0 ctrl=auto", "8:16 enable=0"),
        ("enable=0 ctrl=auto", "enable=0\\n8:16 enable=1"),
    ] {
        let forged = own.replace(from, to);
        assert_ne!(forged, own, "{from}");
        let entry = serde_json::from_str::<journal::Entry>(&forged).expect("an entry");
        let read =
            entry.expect::<super::recover::Found>(&root, "settings", &journal::key(&disk.identity));
        assert!(matches!(read, Err(Error::Journal { .. })), "{to}");
    }
    let entry = serde_json::from_str::<journal::Entry>(&own).expect("an entry");
    assert!(
        entry
            .expect::<super::recover::Found>(&root, "settings", &journal::key(&disk.identity))
            .is_ok()
    );
    drop(restore(&root));
}
