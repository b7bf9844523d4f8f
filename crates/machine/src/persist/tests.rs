//! Persisting on the fake machine.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use super::bench::{Bench, note};
use super::udev::pattern;
use super::{
    Address, By, Form, Refusal, Request, When, address, as_boot_parameter,
    as_boot_parameter_of_an_older_kernel, as_hwdb, current, keys_of, list, persist, propose,
    rule_name, unpersist,
};
use crate::device;
use crate::error::Error;
use crate::journal::Lock;
use crate::settings::Setting;

fn bfq() -> Setting {
    Setting::of("bfq").with("slice_idle", "0").with("read_ahead_kb", "64").with("nr_requests", "96")
}

/// Omits comments.
fn lines(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect()
}

fn refusal(error: Error) -> Refusal {
    match error {
        Error::Persist(refusal) => refusal,
        other => panic!("not a refusal: {other}"),
    }
}

#[test]
fn the_rule_finds_the_device_by_its_identity_and_writes_in_the_order_that_the_kernel_needs() {
    let bench = Bench::new();
    let persisted = bench.propose(&bfq()).persisted;
    let rule = persisted.files[0].content.shown();
    assert_eq!(
        lines(&rule),
        [
            "SUBSYSTEM!=\"block\", GOTO=\"schedlab_end\"",
            "ENV{DEVTYPE}!=\"disk\", GOTO=\"schedlab_end\"",
            "ACTION!=\"add\", GOTO=\"schedlab_end\"",
            "ENV{ID_WWN}!=\"0x5000c500a1b2c3d4\", GOTO=\"schedlab_end\"",
            "ATTR{queue/scheduler}=\"bfq\"",
            "ATTR{queue/nr_requests}=\"96\"",
            "ATTR{queue/read_ahead_kb}=\"64\"",
            "TEST==\"queue/iosched/slice_idle\", ATTR{queue/iosched/slice_idle}=\"0\"",
            "LABEL=\"schedlab_end\"",
        ]
    );
    for word in [
        "because  better",
        "2026-11-22",
        "6.18.0-fake",
        "schedlab unpersist wwn-0x5000c500a1b2c3d4",
        "by hand  rm ",
    ] {
        assert!(rule.contains(word), "{word} is missing in:\n{rule}");
    }
    assert!(
        persisted.files[0]
            .path
            .ends_with("etc/udev/rules.d/90-schedlab-wwn-0x5000c500a1b2c3d4.rules")
    );
    assert_eq!(lines(&persisted.files[1].content.shown()), ["bfq"]);
    assert!(
        persisted.files[1]
            .path
            .ends_with("etc/modules-load.d/schedlab-wwn-0x5000c500a1b2c3d4.conf")
    );
}

#[test]
fn a_scheduler_that_is_built_in_needs_no_list_of_modules() {
    let bench = Bench::new();
    assert_eq!(bench.propose(&Setting::of("kyber")).persisted.files.len(), 1);
}

#[test]
fn a_tunable_without_a_scheduler_persists_the_one_in_effect_and_an_attribute_of_the_queue_does_not()
{
    let bench = Bench::new();
    let none = Setting::default();
    assert_eq!(
        bench.propose(&none.clone().with("fifo_batch", "8")).persisted.scheduler.as_deref(),
        Some("mq-deadline")
    );
    assert_eq!(bench.propose(&none.with("nomerges", "1")).persisted.scheduler, None);
}

#[test]
fn what_the_device_cannot_have_is_refused_before_anything_is_written() {
    let bench = Bench::new();
    let before = bench.tree();
    let fails = |setting: Setting| bench.try_propose(&setting).unwrap_err();
    assert!(
        matches!(fails(Setting::of("bfk")), Error::UnknownScheduler { word, .. } if word == "bfk")
    );
    assert!(matches!(
        fails(Setting::of("mq-deadline").with("fifo_batch", "-1")),
        Error::OutOfRange { .. }
    ));
    assert!(matches!(
        fails(Setting::of("bfq").with("fifo_batch", "1")),
        Error::TunableOfOther { .. }
    ));
    for (name, value) in [("io.cost.qos", "enable=1"), ("cdl_enable", "1")] {
        let error = fails(Setting::of("bfq").with(name, value));
        assert!(matches!(error, Error::Persist(Refusal::NotOfTheQueue { .. })), "{error}");
    }
    assert!(matches!(
        fails(Setting::of("none").with("logical_block_size", "4096")),
        Error::ReadOnlyAttribute { .. }
    ));
    for value in ["1\"", "$x", "1\n2", "", "%k", "1\\"] {
        let odd = refusal(fails(Setting::default().with("nomerges", value)));
        assert!(matches!(odd, Refusal::OddValue { .. }), "{value:?}: {odd}");
    }
    assert!(matches!(refusal(fails(Setting::default())), Refusal::Nothing { .. }));
    assert_eq!(bench.tree(), before);
}

#[test]
fn identities_are_preferred_from_the_most_stable_on() {
    let bench = Bench::new();
    let words = || bench.address().words();
    let all = [
        ("ID_WWN_WITH_EXTENSION", "0x6001"),
        ("ID_WWN", "0x6"),
        ("ID_SERIAL", "M_S"),
        ("ID_SERIAL_SHORT", "S"),
        ("ID_MODEL", "M"),
    ];
    let expected = [
        "ID_WWN_WITH_EXTENSION=0x6001",
        "ID_WWN=0x6",
        "ID_SERIAL=M_S",
        "ID_SERIAL_SHORT=S ID_MODEL=M",
    ];
    for (first, expected) in expected.into_iter().enumerate() {
        bench.has("sda", &all[first..]);
        assert_eq!(words(), expected);
    }
    bench.has("sda", &all[4..]);
    let error = address(&bench.root, &bench.disk(), By::Identity).unwrap_err();
    assert!(matches!(refusal(error), Refusal::NoIdentity { .. }));
}

#[test]
fn two_disks_with_one_serial_are_refused_and_a_second_property_may_tell_them_apart() {
    let bench = Bench::new();
    fs::create_dir_all(bench.root.sys("block/sdb/queue")).expect("own tree");
    bench.has("sdb", &[("ID_WWN", "0x5000c500a1b2c3d4"), ("ID_SERIAL", "MODEL_ZA2")]);
    assert_eq!(bench.address().words(), "ID_SERIAL=MODEL_ZA1");
    bench.has("sdb", &[("ID_WWN", "0x5000c500a1b2c3d4"), ("ID_SERIAL", "MODEL_ZA1")]);
    let error = refusal(address(&bench.root, &bench.disk(), By::Identity).unwrap_err());
    assert!(matches!(&error, Refusal::Duplicates { other, .. } if other == "/dev/sdb"), "{error}");
    fs::write(bench.root.sys("block/sdb/hidden"), "1").expect("own tree");
    assert_eq!(
        bench.address().words(),
        "ID_WWN=0x5000c500a1b2c3d4",
        "a hidden path of a multipath device is no duplicate"
    );
}

#[test]
fn a_loop_device_has_a_name_only_and_that_must_be_asked_for() {
    let bench = Bench::new();
    fs::create_dir_all(bench.root.sys("block/loop3/queue")).expect("own tree");
    bench.has("loop3", &[("ID_SERIAL", "x"), ("USEC_INITIALIZED", "1")]);
    let device = device::find(&bench.root, "loop3").expect("a fake loop device");
    let error = address(&bench.root, &device, By::Identity).unwrap_err().to_string();
    assert!(error.contains("--by-name"), "{error}");
    let by_name = address(&bench.root, &device, By::Name).expect("it has a name");
    assert_eq!((by_name.words().as_str(), by_name.key.as_str()), ("KERNEL=loop3", "name-loop3"));
    assert!(matches!(
        refusal(address(&bench.root, &device, By::Path).unwrap_err()),
        Refusal::NoIdentity { .. }
    ));
}

#[test]
fn a_device_that_udev_has_not_looked_at_says_so() {
    let bench = Bench::new();
    bench.has("sda", &[("DEVNAME", "/dev/sda")]);
    let error = address(&bench.root, &bench.disk(), By::Identity).unwrap_err().to_string();
    assert!(error.contains("systemd-udevd"), "{error}");
}

#[test]
fn stacked_devices_wait_until_they_have_a_table_or_are_assembled() {
    let bench = Bench::new();
    for (name, property, when, line) in [
        ("dm-0", "DM_UUID", When::Activated, "ENV{DM_ACTIVATION}!=\"1\", GOTO=\"schedlab_end\""),
        (
            "md0",
            "MD_UUID",
            When::Assembled,
            "ACTION==\"change\", IMPORT{db}=\"SCHEDLAB_PERSISTED\"",
        ),
    ] {
        let queue = bench.root.sys("block").join(name).join("queue");
        fs::create_dir_all(&queue).expect("own tree");
        fs::write(queue.join("read_ahead_kb"), "128").expect("own tree");
        bench.has(name, &[(property, "LVM-abc"), ("ID_SERIAL", "of-the-disk-below")]);
        let device = device::find(&bench.root, name).expect("a fake device");
        let address = address(&bench.root, &device, By::Identity).expect("it has a UUID");
        assert_eq!((address.words(), address.when), (format!("{property}=LVM-abc"), when));
        let setting = Setting::default().with("read_ahead_kb", "64");
        let request = Request { device: &device, setting: &setting, address, note: note() };
        let rule = propose(&bench.root, &request, Form::Udev)
            .expect("read-ahead can be persisted")
            .persisted
            .files[0]
            .content
            .shown();
        assert!(
            lines(&rule).contains(&line)
                && lines(&rule).contains(&"ACTION!=\"add|change\", GOTO=\"schedlab_end\""),
            "{rule}"
        );
        let error =
            propose(&bench.root, &Request { setting: &Setting::of("bfq"), ..request }, Form::Udev)
                .unwrap_err();
        assert!(matches!(error, Error::NoScheduler { .. }), "{error}");
    }
}

#[test]
fn a_serial_number_with_wildcards_means_itself() {
    assert_eq!(pattern("plain\\x20"), "plain\\x20");
    assert_eq!(pattern("a*b?c[d\\e"), "a\\*b\\?c\\[d\\\\e");
    // A backslash would make the closing quote part of the value, and a carriage return end the
    // line.
    assert_eq!(pattern("d\\e\\"), "d\\\\e?");
    assert_eq!(pattern("a\rb\\\\"), "a?b??");
    assert_eq!(pattern("a|b\"c"), "a?b?c");
}

#[test]
fn long_identities_that_begin_alike_have_different_keys_of_bounded_length() {
    let bench = Bench::new();
    let key = |end: &str| {
        bench.has("sda", &[("ID_WWN", &format!("nvme.{}{end}", "4142".repeat(80)))]);
        bench.address().key
    };
    let (one, two) = (key("a"), key("b"));
    assert!(one != two && one.len() <= 160, "{one}");
}

#[test]
fn what_persist_writes_unpersist_removes_to_the_last_byte() {
    let bench = Bench::new();
    bench.write("etc/hostname", "x");
    let before = bench.tree();
    bench.persist(&bfq()).expect("nothing is in the way");
    let persisted = list(&bench.root).expect("readable");
    assert_eq!(
        (persisted.len(), persisted[0].words().as_str()),
        (1, "scheduler=bfq nr_requests=96 read_ahead_kb=64 slice_idle=0")
    );
    assert_eq!(keys_of(&bench.root, &bench.disk()).expect("readable"), [persisted[0].key.clone()]);
    unpersist(&bench.root, &persisted[0].key, false).expect("nothing was edited");
    assert_eq!(bench.tree(), before);
}

#[test]
fn directories_that_others_use_by_then_stay() {
    let bench = Bench::new();
    let done = bench.persist(&bfq()).expect("nothing is in the way");
    let other = bench.write("etc/udev/rules.d/50-other.rules", "");
    unpersist(&bench.root, &done.persisted.key, false).expect("nothing was edited");
    assert!(other.exists() && !bench.root.path("/etc/modules-load.d").exists());
}

#[test]
fn a_rule_that_was_edited_is_neither_overwritten_nor_deleted_and_the_difference_is_shown() {
    let bench = Bench::new();
    let before = bench.tree();
    let done = bench.persist(&bfq()).expect("nothing is in the way");
    let rule = &done.persisted.files[0].path;
    let text = fs::read_to_string(rule).expect("it was written").replace("\"96\"", "\"32\"");
    fs::write(rule, text).expect("own tree");
    let edited = bench.tree();
    let answers = [
        bench.persist(&Setting::of("none")).unwrap_err(),
        unpersist(&bench.root, &done.persisted.key, false).unwrap_err(),
    ];
    for error in answers {
        let words = error.to_string();
        assert!(
            words.contains("- ATTR{queue/nr_requests}=\"96\"")
                && words.contains("+ ATTR{queue/nr_requests}=\"32\""),
            "{words}"
        );
        assert!(matches!(refusal(error), Refusal::Edited { .. }));
    }
    assert_eq!(bench.tree(), edited);
    fs::remove_file(rule).expect("own tree");
    assert!(
        unpersist(&bench.root, &done.persisted.key, false)
            .unwrap_err()
            .to_string()
            .contains("it is gone")
    );
    unpersist(&bench.root, &done.persisted.key, true).expect("forced");
    assert_eq!(bench.tree().len(), before.len());
}

#[test]
fn a_file_that_schedlab_did_not_write_is_replaced_by_force_only_and_put_back_by_unpersist() {
    let bench = Bench::new();
    let proposal = bench.propose(&bfq());
    let path =
        bench.write(&format!("etc/udev/rules.d/{}", rule_name(&bench.address().key)), "# mine\n");
    let before = bench.tree();
    let error = refusal(persist(&bench.root, &proposal, false).unwrap_err());
    assert!(
        matches!(&error, Refusal::NotOurs { difference, .. } if difference.contains("+ # mine")),
        "{error}"
    );
    assert_eq!(bench.tree(), before);
    persist(&bench.root, &proposal, true).expect("forced");
    // Persisting again keeps the original file.
    persist(&bench.root, &bench.propose(&Setting::of("none")), false).expect("ours now");
    assert_ne!(fs::read_to_string(&path).expect("written"), "# mine\n");
    unpersist(&bench.root, &proposal.persisted.key, false).expect("nothing was edited");
    assert_eq!(bench.tree(), before);
}

#[test]
fn a_symbolic_link_is_never_written_through_and_a_linked_directory_is() {
    let bench = Bench::new();
    let proposal = bench.propose(&bfq());
    let rule = proposal.persisted.files[0].path.clone();
    let real = bench.write("usr/rules/other", "").parent().expect("a directory").to_path_buf();
    fs::create_dir_all(rule.parent().and_then(|dir| dir.parent()).expect("etc/udev"))
        .expect("own tree");
    std::os::unix::fs::symlink(&real, rule.parent().expect("rules.d")).expect("own tree");
    std::os::unix::fs::symlink("/dev/null", &rule).expect("own tree");
    let error = refusal(persist(&bench.root, &proposal, true).unwrap_err());
    assert!(
        matches!(&error, Refusal::NoPlainFile { what, .. } if what.contains("/dev/null")),
        "{error}"
    );
    fs::remove_file(&rule).expect("own tree");
    persist(&bench.root, &proposal, false).expect("the directory is a link, the file is ours");
    assert!(real.join(rule_name(&bench.address().key)).is_file());
    unpersist(&bench.root, &proposal.persisted.key, false).expect("nothing was edited");
    assert_eq!(fs::read_dir(&real).expect("it stays").count(), 1);
}

#[test]
fn a_rule_that_udev_does_not_understand_is_not_persisted() {
    let bench = Bench::new();
    let before = bench.tree();
    let rule = bench.propose(&bfq()).persisted.files[0].path.clone();
    let said = format!(
        "Reading rules file: {0}\n{0}:7 Invalid key 'BOGUS'\n/other.rules:1 Invalid key\n",
        rule.display()
    );
    bench.write("complaints", &said);
    let error = refusal(bench.persist(&bfq()).unwrap_err());
    assert!(
        matches!(&error, Refusal::BadRule { complaints, .. } if complaints.len() == 1),
        "{error}"
    );
    assert_eq!(bench.tree(), before);
}

#[test]
fn two_schedlabs_do_not_persist_for_one_device_at_once_and_no_lock_file_stays() {
    let bench = Bench::new();
    let proposal = bench.propose(&bfq());
    let lock = Lock::take(
        &bench.root,
        &format!("{}{}", super::transaction::KEYS, proposal.persisted.key),
        "x",
    )
    .expect("free");
    assert!(matches!(persist(&bench.root, &proposal, false).unwrap_err(), Error::Busy { .. }));
    assert!(matches!(
        unpersist(&bench.root, &proposal.persisted.key, false).unwrap_err(),
        Error::Busy { .. }
    ));
    drop(lock);
    persist(&bench.root, &proposal, false).expect("free again");
    assert!(bench.root.names(bench.root.state("lock")).is_empty());
}

#[test]
fn a_lock_whose_file_is_deleted_at_its_end_never_has_two_owners() {
    let bench = Bench::without_tools();
    let key = format!("{}x", super::transaction::KEYS);
    let (owners, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..4000 {
                    let Ok(lock) = Lock::take(&bench.root, &key, "x") else { continue };
                    assert_eq!(owners.fetch_add(1, SeqCst), 0, "two owners at once");
                    taken.fetch_add(1, SeqCst);
                    (0..20).for_each(|_| std::thread::yield_now());
                    owners.fetch_sub(1, SeqCst);
                    lock.retire();
                }
            });
        }
    });
    assert!(taken.load(SeqCst) > 0);
}

#[test]
fn what_is_found_by_name_is_not_mistaken_for_another_device() {
    let bench = Bench::new();
    let done = bench.persist(&bfq()).expect("nothing is in the way");
    // Another disk is called sda now.
    fs::write(bench.root.sys("block/sda/device/wwid"), "naa.other").expect("own tree");
    bench.has("sda", &[("ID_WWN", "0x5000000000000001")]);
    assert!(keys_of(&bench.root, &bench.disk()).expect("readable").is_empty());
    let error = refusal(unpersist(&bench.root, "wwn-0x5000000000000001", false).unwrap_err());
    assert!(
        matches!(&error, Refusal::NothingPersisted { known, .. } if *known == [done.persisted.key.clone()]),
        "{error}"
    );
}

#[test]
fn the_current_setting_is_the_scheduler_and_what_differs_from_its_defaults() {
    let bench = Bench::new();
    assert_eq!(current(&bench.root, &bench.disk()), (Setting::of("mq-deadline"), Vec::new()));
    fs::write(bench.machine.queue("iosched/read_expire"), "250").expect("own tree");
    fs::write(bench.machine.queue("iosched/secret"), "1").expect("own tree");
    fs::write(bench.machine.queue("read_ahead_kb"), "4096").expect("own tree");
    let (setting, left_out) = current(&bench.root, &bench.disk());
    assert_eq!(setting, Setting::of("mq-deadline").with("read_expire", "250"));
    assert_eq!(left_out, ["secret"]);
}

#[test]
fn a_setting_can_be_persisted_by_slot_and_the_caution_is_in_the_file() {
    let bench = Bench::new();
    bench.has("sda", &[("ID_PATH", "pci-0000:00:1f.2-ata-1")]);
    let device = bench.disk();
    let address = address(&bench.root, &device, By::Path).expect("it has a slot");
    assert_eq!(address.key, "path-pci-0000%3A00%3A1f.2-ata-1");
    let request = Request { device: &device, setting: &Setting::of("none"), address, note: note() };
    let proposal = propose(&bench.root, &request, Form::Udev).expect("possible");
    assert!(proposal.cautions[0].contains("any device plugged in there"));
    assert!(proposal.persisted.files[0].content.shown().contains("# CAUTION  matched by its slot"));
}

#[test]
fn the_forms_for_other_programs_say_what_they_can_do() {
    let bench = Bench::new();
    bench.write("etc/tuned/active_profile", "throughput-performance\n");
    let (device, setting) = (bench.disk(), bfq());
    let request =
        Request { device: &device, setting: &setting, address: bench.address(), note: note() };
    let persisted = propose(&bench.root, &request, Form::Tuned).expect("possible").persisted;
    let text = persisted.files[0].content.shown();
    assert!(
        persisted.files[0].path.ends_with("etc/tuned/schedlab-wwn-0x5000c500a1b2c3d4/tuned.conf")
    );
    for line in [
        "include=throughput-performance",
        "devices_udev_regex=(?m)^ID_WWN=0x5000c500a1b2c3d4$",
        "elevator=bfq",
        "readahead=64",
        "/sys/block/sda/queue/nr_requests=96",
        "/sys/block/sda/queue/iosched/slice_idle=0",
    ] {
        assert!(lines(&text).contains(&line), "{line} is missing in:\n{text}");
    }
    let hwdb = as_hwdb(&bench.root, &request).expect("possible");
    assert!(
        hwdb.contains("schedlab:0x5000c500a1b2c3d4\n SCHEDLAB_0=bfq\n")
            && hwdb.contains("it sets nothing"),
        "{hwdb}"
    );
}

#[test]
fn the_kernel_parameter_is_for_kernels_before_5_0_only() {
    let bench = Bench::new();
    let device = bench.disk();
    let why = as_boot_parameter(&bench.root, &device, &Setting::of("bfq"))
        .expect("possible")
        .unwrap_err();
    assert!(why.contains("6.18.0-fake ignores elevator="), "{why}");
    bench.write("proc/sys/kernel/osrelease", "4.19.0-27-amd64");
    bench.write("sys/block/sda/queue/scheduler", "noop deadline [cfq]");
    let line =
        as_boot_parameter(&bench.root, &bench.disk(), &Setting::of("deadline")).expect("possible");
    assert!(line.expect("heeded").ends_with("elevator=deadline\n"));
}

#[test]
fn an_older_kernels_parameter_needs_no_older_kernel() {
    let line = |name| as_boot_parameter_of_an_older_kernel(&Setting::of(name));
    assert!(line("cfq").is_ok_and(|line| line.ends_with("elevator=cfq\n")));
    assert!(line("bfq").is_err_and(|why| why.contains("noop, deadline and cfq")));
}

#[test]
fn no_text_of_others_can_end_the_comment_that_it_stands_in() {
    let bench = Bench::new();
    let device = device::Device { model: Some("EVIL\nRUN+=\"/bin/x\"".into()), ..bench.disk() };
    let because = Some("x\r\nRUN+=\"/bin/y\"\\".into());
    let address = Address { by: By::Identity, ..bench.address() };
    let request = Request {
        device: &device,
        setting: &bfq(),
        address,
        note: super::Note { because, ..note() },
    };
    let rule = propose(&bench.root, &request, Form::Udev).expect("possible").persisted.files[0]
        .content
        .shown();
    assert!(lines(&rule).iter().all(|line| !line.contains("RUN")), "{rule}");
    assert!(
        rule.lines().filter(|line| line.starts_with('#')).all(|line| !line.ends_with('\\')),
        "{rule}"
    );
}
