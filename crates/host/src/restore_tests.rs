//! Journals that schedlab 0.1.0 left are undone as it would have undone them. `tests/data/0.1.0` has them as they were on the disk.

use std::fs;
use std::path::{Path, PathBuf};

use crashpoints::install_script;

use crate::journal::{self, Lock};
use crate::loopdev::Removed;
use crate::persist::PutBack;
use crate::root::Root;
use crate::session::Cleanup;
use crate::settings::Restoration;
use crate::settings::fake_kernel::Machine;
use crate::{Outcome, restore_all};

/// The boot in which the journals were written.
const BOOT: &str = "64c7c6ae-e988-4eb6-8faf-1437935f4a0d";

/// The fake machine with the loop device of the journals in the midst of an experiment, and one of the journals.
fn machine(journal: &str) -> (Machine, Root) {
    let machine = Machine::booted();
    let tools = machine.root().path("/tools");
    let root = machine.root().with_tool_dirs(vec![tools.clone()]);
    let put = |path: PathBuf, text: &str| {
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("fake directory");
        fs::write(path, text).expect("fake file");
    };
    put(root.proc("sys/kernel/random/boot_id"), BOOT);
    put(root.sys("block/loop0/dev"), "7:0");
    put(root.dev("loop0"), "");
    let queue = root.sys("block/loop0/queue");
    put(queue.join("scheduler"), "none [mq-deadline] kyber");
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/0.1.0").join(journal);
    for entry in fs::read_dir(from).expect("test data").flatten() {
        let text = fs::read_to_string(entry.path()).expect("test data");
        // Files that are named in full are those of the fake machine here.
        let in_tree = |dir: &str| format!("\"{}/", root.path(dir).display());
        let text =
            ["/etc", "/var", "/run"].iter().fold(text, |text, dir| text.replace(&format!("\"{dir}/"), &in_tree(dir)));
        // Everything on the device is another value than the one to be put back.
        original(&text).iter().for_each(|(name, _)| put(queue.join(name), "7"));
        put(root.state("journal").join(entry.file_name()), &text);
    }
    fs::create_dir_all(&tools).expect("fake directory");
    (machine, root)
}

/// The queue's attributes in an entry of settings.
fn original(text: &str) -> Vec<(String, String)> {
    let entry: serde_json::Value = serde_json::from_str(text).expect("JSON");
    let queue = entry["undo"]["original"]["queue"].as_object().cloned().unwrap_or_default();
    queue.into_iter().map(|(name, value)| (name, value.as_str().expect("a text").to_string())).collect()
}

fn outcomes(root: &Root) -> Vec<Outcome> {
    restore_all(root, &[]).expect("the journal can be read")
}

#[track_caller]
fn assert_restored(machine: &Machine, root: &Root, outcome: &Outcome) {
    let restored = matches!(outcome.undone(), Some(Restoration::Restored { device, .. }) if device == "loop0");
    assert!(restored, "{outcome}");
    let shows = |name: &str| fs::read_to_string(root.sys("block/loop0/queue").join(name)).expect("fake file");
    assert_eq!(shows("scheduler"), "[none] mq-deadline kyber");
    let written =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/0.1.0/experiment/name%20loop0%20number%207%3A0.json");
    let original = original(&fs::read_to_string(written).expect("test data"));
    assert_eq!(original.len(), 16);
    original.iter().for_each(|(name, value)| assert_eq!(shows(name), *value, "{name}"));
    assert_eq!(machine.journal(), [""; 0]);
}

#[test]
fn an_experiments_settings_and_loop_device() {
    let (machine, root) = machine("experiment");
    let file = root.path("/var/tmp/schedlab-loop-9944-18ea70f360b4ef44.img");
    fs::create_dir_all(file.parent().expect("a directory")).expect("fake directory");
    fs::write(&file, "noise").expect("fake file");
    let outcomes = outcomes(&root);
    let [settings, removed] = &outcomes[..] else { panic!("settings, then the loop device: {outcomes:?}") };
    assert_restored(&machine, &root, settings);
    assert_eq!(removed.undone::<Removed>().expect("the loop device").file, file);
    assert!(!file.exists());
}

#[test]
fn a_session_with_a_file_system() {
    let (machine, root) = machine("programs");
    let wiped = root.path("/wiped").display().to_string();
    let uuid = "5a799c62-7b33-40e6-9b48-63caffeb988b";
    install_script(&root.path("/tools/blkid"), &format!("#!/bin/sh\n[ -e '{wiped}' ] || echo {uuid}\n"));
    install_script(&root.path("/tools/wipefs"), &format!("#!/bin/sh\n: > '{wiped}'\n"));
    let at = root.path("/run/schedlab-session-22133-18ea71393ba268c8");
    fs::create_dir_all(&at).expect("fake directory");
    let outcomes = outcomes(&root);
    let [session, settings, removed] = &outcomes[..] else { panic!("programs come first: {outcomes:?}") };
    let cleanup: &Cleanup = session.undone().unwrap_or_else(|| panic!("{session}"));
    assert_eq!((cleanup.at.as_ref(), cleanup.wiped.as_deref()), (Some(&at), Some("/dev/loop0")));
    assert!(!at.exists() && Path::new(&wiped).exists());
    assert!(removed.undone::<Removed>().is_some());
    assert_restored(&machine, &root, settings);
}

#[test]
fn a_keep_that_was_cut_between_two_files() {
    let (machine, root) = machine("keep");
    let entry = fs::read_to_string(root.state("journal/schedlab-kept-name-loop0.json")).expect("the entry");
    let entry: serde_json::Value = serde_json::from_str(&entry).expect("JSON");
    let rule = root.path("/etc/udev/rules.d/90-schedlab-name-loop0.rules");
    fs::create_dir_all(rule.parent().expect("a directory")).expect("fake directory");
    fs::write(&rule, entry["undo"]["files"][0]["after"]["bytes"].as_str().expect("text")).expect("fake file");
    fs::create_dir_all(root.state("kept")).expect("fake directory");
    let outcomes = outcomes(&root);
    let [put_back] = &outcomes[..] else { panic!("{outcomes:?}") };
    assert_eq!(put_back.undone::<PutBack>().expect("files").about, "/dev/loop0");
    assert!(!rule.exists() && !root.state("kept").exists());
    assert_eq!(machine.journal(), [""; 0]);
}

#[test]
fn a_setting_for_a_while_while_its_owner_lives_and_afterwards() {
    let (machine, root) = machine("set-for-a-while");
    let key = journal::key("name loop0 number 7:0");
    let lock = Lock::take(&root, &key, "loop0").expect("free");
    let outcomes_of_owner = outcomes(&root);
    let [Outcome::Busy { subject, lasting: Some(lasting), .. }] = &outcomes_of_owner[..] else {
        panic!("{outcomes_of_owner:?}")
    };
    assert_eq!((subject.as_str(), lasting.begun_ms, lasting.until_ms), ("loop0", 2_223_832, 5_823_832));
    drop(lock);
    assert_restored(&machine, &root, &outcomes(&root)[0]);
}

#[test]
fn an_entry_of_a_kind_that_has_no_owner_is_named_and_stays() {
    let (machine, root) = machine("experiment");
    let before = machine.journal();
    let path = root.state("journal").join(&before[0]);
    let text = fs::read_to_string(&path).expect("the entry").replace("\"settings\"", "\"tomorrow\"");
    fs::write(&path, text).expect("own tree");
    let outcomes = outcomes(&root);
    let failed = outcomes.iter().find(|outcome| matches!(outcome, Outcome::Failed { .. })).expect("one fails");
    let message = failed.to_string();
    assert!(message.contains("\"tomorrow\", expected one of session, settings, files, loop-file"), "{message}");
    assert!(path.exists(), "it stays");
}

#[test]
fn an_entry_that_names_what_schedlab_never_changes_is_refused_and_stays() {
    let journals = [
        ("keep", "/etc/udev/rules.d/90-schedlab-name-loop0.rules", "/etc/cron.d/x"),
        ("keep", "\"mode\": 420", "\"mode\": 2541"),
        ("experiment", "/var/tmp/schedlab-loop-", "/var/tmp/another-"),
        ("experiment", "\"nr_requests\"", "\"../../../../nr_requests\""),
        ("programs", "/run/schedlab-session-", "/run/another-"),
    ];
    for (journal, from, to) in journals {
        let (machine, root) = machine(journal);
        let entries = machine.journal();
        for name in &entries {
            let path = root.state("journal").join(name);
            let text = fs::read_to_string(&path).expect("an entry");
            let to = to.strip_prefix('/').map_or(to.to_string(), |to| root.path(to).display().to_string());
            let from = from.strip_prefix('/').map_or(from.to_string(), |from| root.path(from).display().to_string());
            fs::write(&path, text.replace(&from, &to)).expect("writable");
        }
        let refused =
            outcomes(&root).iter().filter(|outcome| outcome.to_string().contains("none of schedlab's")).count();
        assert!(refused == 1 && !machine.journal().is_empty(), "{journal}: {refused} refused for {to}");
    }
}
