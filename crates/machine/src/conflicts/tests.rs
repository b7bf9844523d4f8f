//! One case per program, on fake trees.

use std::fs;

use super::{Conflict, Precedence, Question, find};
use crate::root::Root;

struct Tree {
    _dir: tempfile::TempDir,
    root: Root,
}

impl Tree {
    fn with(files: &[(&str, &str)]) -> Tree {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let tree = Tree { root: Root::at(dir.path()), _dir: dir };
        for (path, text) in
            [("sys/block/sda/queue/rotational", "1"), ("proc/sys/kernel/osrelease", "6.1.0")]
                .iter()
                .chain(files)
        {
            let path = tree.root.path(path);
            fs::create_dir_all(path.parent().expect("files have directories")).expect("own tree");
            fs::write(path, text).expect("own tree");
        }
        tree
    }

    fn conflicts(&self, insists: bool) -> Vec<Conflict> {
        let attributes = ["scheduler", "read_ahead_kb", "slice_idle"].map(String::from);
        let rule = "90-schedlab-wwn-0x5.rules";
        find(&self.root, &Question { device: "sda", attributes: &attributes, rule, insists })
    }
}

/// The only conflict: program, `file:line`, precedence.
fn only(files: &[(&str, &str)]) -> (&'static str, String, Precedence) {
    let conflicts = Tree::with(files).conflicts(false);
    let [conflict] = &conflicts[..] else { panic!("one conflict, not {conflicts:#?}") };
    assert!(
        !conflict.order.beats_ours() || !conflict.advice.is_empty(),
        "{conflict}: what is to be done?"
    );
    let line = conflict.line.map(|line| format!(":{line}")).unwrap_or_default();
    (conflict.program, format!("{}{line}", conflict.file.display()), conflict.order)
}

fn no_conflict(files: &[(&str, &str)]) {
    let conflicts = Tree::with(files).conflicts(false);
    assert!(conflicts.is_empty(), "{files:?}: {conflicts:#?}");
}

const SCHEDULER: &str = "ATTR{queue/scheduler}=\"none\"\n";

#[test]
fn a_bare_machine_has_no_conflicts() {
    no_conflict(&[]);
}

#[test]
fn a_rule_of_the_distribution_that_answers_changes_wins_at_the_next_one_unless_ours_insists() {
    let text = "# by kind of disk\nACTION==\"add|change\", KERNEL==\"sd[a-z]\", \\\n  ATTR{queue/rotational}==\"1\", ATTR{queue/scheduler}=\"bfq\"\n";
    let file = ("usr/lib/udev/rules.d/60-ioschedulers.rules", text);
    assert_eq!(
        only(&[file]),
        ("udev", "/usr/lib/udev/rules.d/60-ioschedulers.rules:2".into(), Precedence::AtChanges)
    );
    let tree = Tree::with(&[file]);
    assert_eq!(tree.conflicts(true)[0].order, Precedence::Before);
    let words = tree.conflicts(false)[0].to_string();
    assert!(
        words.contains("/etc/udev/rules.d/60-ioschedulers.rules") && words.contains("--insist"),
        "{words}"
    );
}

#[test]
fn a_rule_for_the_appearance_of_the_device_wins_by_its_name() {
    let text = format!("ACTION==\"add\", SUBSYSTEM==\"block\", {SCHEDULER}");
    assert_eq!(only(&[("etc/udev/rules.d/60-x.rules", &text)]).2, Precedence::Before);
    assert_eq!(only(&[("etc/udev/rules.d/99-x.rules", &text)]).2, Precedence::After);
    let top = format!("ACTION!=\"add\", GOTO=\"end\"\n{SCHEDULER}LABEL=\"end\"\n");
    assert_eq!(
        only(&[("etc/udev/rules.d/60-x.rules", &top)]),
        ("udev", "/etc/udev/rules.d/60-x.rules:2".into(), Precedence::Before)
    );
    no_conflict(&[("etc/udev/rules.d/99-x.rules", &format!("ACTION==\"remove\", {SCHEDULER}"))]);
}

#[test]
fn rules_for_other_devices_or_attributes_comparisons_and_our_own_are_no_conflicts() {
    for text in [
        "KERNEL==\"nvme*\", ATTR{queue/scheduler}=\"none\"",
        "KERNEL!=\"sd*\", ATTR{queue/scheduler}=\"none\"",
        "ATTR{queue/rotational}==\"0\", ATTR{queue/scheduler}=\"none\"",
        "SUBSYSTEM==\"net\", ATTR{queue/scheduler}=\"none\"",
        "ATTR{queue/scheduler}==\"*bfq*\", SYMLINK+=\"x\"",
        "ATTR{queue/nomerges}=\"1\"",
        "ATTR{queue/scheduler_of_mine}=\"1\"",
        "# ATTR{queue/scheduler}=\"none\"",
    ] {
        no_conflict(&[("etc/udev/rules.d/99-x.rules", text)]);
    }
    no_conflict(&[("etc/udev/rules.d/90-schedlab-wwn-0x6.rules", SCHEDULER)]);
    no_conflict(&[("etc/udev/rules.d/99-x.rules.old", SCHEDULER)]);
}

#[test]
fn rules_that_write_by_other_ways_are_seen() {
    for text in [
        "RUN+=\"/bin/sh -c 'echo none > /sys/block/%k/queue/scheduler'\"",
        "RUN+=\"/sbin/blockdev --setra 4096 $devnode\"",
        "ATTR{bdi/read_ahead_kb}=\"4096\"",
        "ATTR{queue/iosched/slice_idle}=\"0\"",
    ] {
        assert_eq!(only(&[("etc/udev/rules.d/99-x.rules", text)]).2, Precedence::After, "{text}");
    }
}

#[test]
fn a_rule_that_is_shadowed_or_masked_does_not_count() {
    let vendor = ("usr/lib/udev/rules.d/60-x.rules", SCHEDULER);
    no_conflict(&[vendor, ("etc/udev/rules.d/60-x.rules", "")]);
    let shadowed = only(&[vendor, ("run/udev/rules.d/60-x.rules", SCHEDULER)]);
    assert_eq!(shadowed.1, "/run/udev/rules.d/60-x.rules:1");
}

#[test]
fn tuned_counts_with_its_active_profile_and_what_that_includes() {
    let active = ("etc/tuned/active_profile", "mine\n");
    let mine = ("etc/tuned/mine/tuned.conf", "[main]\ninclude=throughput-performance\n");
    let base =
        ("usr/lib/tuned/throughput-performance/tuned.conf", "[disk]\n# devices\nreadahead=>4096\n");
    assert_eq!(
        only(&[active, mine, base]),
        ("tuned", "/usr/lib/tuned/throughput-performance/tuned.conf:3".into(), Precedence::After)
    );
    no_conflict(&[mine, base]);
    assert_eq!(
        only(&[active, ("etc/tuned/profiles/mine/tuned.conf", "[disk]\nelevator=bfq\n")]).0,
        "tuned"
    );
    assert_eq!(
        only(&[
            active,
            ("etc/tuned/mine/tuned.conf", "[sysfs]\n/sys/block/sd*/queue/scheduler=bfq\n")
        ])
        .0,
        "tuned"
    );
    no_conflict(&[
        active,
        ("etc/tuned/mine/tuned.conf", "[sysfs]\n/sys/block/nvme*/queue/scheduler=bfq\n"),
    ]);
    no_conflict(&[
        active,
        ("etc/tuned/mine/tuned.conf", "include=mine\n#elevator=bfq\n[disk]\napm=128\n"),
    ]);
    no_conflict(&[
        ("etc/tuned/active_profile", "schedlab-x"),
        ("etc/tuned/schedlab-x/tuned.conf", "elevator=bfq\n"),
    ]);
}

#[test]
fn tlp_counts_unless_it_is_told_to_persist() {
    let line = "# x\nDISK_IOSCHED=\"mq-deadline persist\"\n";
    assert_eq!(
        only(&[("etc/tlp.conf", line)]),
        ("TLP", "/etc/tlp.conf:2".into(), Precedence::After)
    );
    assert_eq!(only(&[("etc/tlp.d/01-disk.conf", line)]).1, "/etc/tlp.d/01-disk.conf:2");
    no_conflict(&[(
        "etc/tlp.conf",
        "#DISK_IOSCHED=\"bfq\"\nDISK_IOSCHED=\"keep keep\"\nDISK_IDLE=1\n",
    )]);
}

#[test]
fn laptop_mode_counts_when_it_controls_read_ahead() {
    let file = "etc/laptop-mode/laptop-mode.conf";
    assert_eq!(
        only(&[(file, "CONTROL_READAHEAD=1\n")]),
        ("laptop-mode-tools", format!("/{file}:1"), Precedence::After)
    );
    no_conflict(&[(file, "CONTROL_READAHEAD=0\n")]);
}

#[test]
fn tmpfiles_count_when_they_write_to_this_queue() {
    let line = "w! /sys/block/sd[a-c]/queue/scheduler - - - - bfq\n";
    assert_eq!(
        only(&[("etc/tmpfiles.d/io.conf", line)]),
        ("systemd-tmpfiles", "/etc/tmpfiles.d/io.conf:1".into(), Precedence::After)
    );
    no_conflict(&[(
        "etc/tmpfiles.d/io.conf",
        "w /sys/block/sdb/queue/scheduler - - - - bfq\nd /sys/block/sda/queue/scheduler\n",
    )]);
}

#[test]
fn sysfsutils_count_when_they_write_to_this_queue() {
    let line = "\nblock/sda/queue/read_ahead_kb = 128\n";
    assert_eq!(
        only(&[("etc/sysfs.conf", line)]),
        ("sysfsutils", "/etc/sysfs.conf:2".into(), Precedence::After)
    );
    assert_eq!(only(&[("etc/sysfs.d/x.conf", line)]).1, "/etc/sysfs.d/x.conf:2");
    no_conflict(&[(
        "etc/sysfs.conf",
        "mode block/sda/queue/scheduler = 0660\n# block/sda/queue/scheduler = bfq\n",
    )]);
}

#[test]
fn scripts_and_units_that_run_at_boot_are_searched() {
    let script = "#!/bin/sh\nfor d in sda; do\necho bfq > /sys/block/$d/queue/scheduler\ndone\n";
    assert_eq!(
        only(&[("etc/rc.local", script)]),
        ("rc.local", "/etc/rc.local:3".into(), Precedence::After)
    );
    let unit = "[Service]\nExecStart=/bin/sh -c 'echo none > /sys/block/sda/queue/scheduler'\n";
    assert_eq!(
        only(&[("etc/systemd/system/io.service", unit)]),
        ("a systemd unit", "/etc/systemd/system/io.service:2".into(), Precedence::After)
    );
    no_conflict(&[(
        "etc/rc.local",
        "# echo bfq > /sys/block/sda/queue/scheduler\ncat /sys/block/sdb/queue/scheduler\n",
    )]);
}

#[test]
fn the_kernel_parameter_is_named_with_the_versions_that_heed_it() {
    let line = ("proc/cmdline", "BOOT_IMAGE=/vmlinuz elevator=deadline quiet\n");
    assert_eq!(only(&[line]), ("the kernel", "/proc/cmdline".into(), Precedence::Idle));
    assert_eq!(only(&[line, ("proc/sys/kernel/osrelease", "4.19.0")]).2, Precedence::Before);
    no_conflict(&[("proc/cmdline", "quiet\n")]);
}

#[test]
fn those_that_win_come_first() {
    let conflicts = Tree::with(&[
        ("proc/cmdline", "elevator=bfq"),
        ("etc/tlp.conf", "DISK_IOSCHED=bfq"),
        ("etc/udev/rules.d/1.rules", "ACTION==\"add\", ATTR{queue/scheduler}=\"x\""),
    ])
    .conflicts(false);
    assert_eq!(
        conflicts.iter().map(|conflict| conflict.order.beats_ours()).collect::<Vec<_>>(),
        [true, false, false]
    );
}
