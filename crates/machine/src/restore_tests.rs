//! The order of `restore_all`, and refused entries.

use std::fs;

use serde_json::{Value, json};

use crate::loopdev::Removed;
use crate::session::Cleanup;
use crate::settings::fake_kernel::Machine;
use crate::settings::{Guard, Restoration, Setting};
use crate::{Outcome, restore_all};

/// Adds an entry as left by a dead process of this boot.
fn plant(machine: &Machine, key: &str, undo: &Value) {
    let root = machine.root();
    let entry = json!({"schema": 1, "boot_id": "boot-1", "pid": 4_194_305, "undo": undo});
    fs::create_dir_all(root.state("journal")).expect("own tree");
    fs::write(root.state("journal").join(format!("{key}.json")), entry.to_string())
        .expect("own tree");
}

fn outcomes(machine: &Machine) -> Vec<Outcome> {
    restore_all(&machine.root(), &[]).expect("the journal can be read")
}

/// Dies after it has set up its device.
fn die_in_an_experiment(machine: &Machine) {
    let mut guard =
        Guard::begin(&machine.root(), &machine.disk()).expect("no other process has it");
    guard.apply(&Setting::of("bfq")).expect("offered");
    machine.kernel.die_after(0);
    drop(guard);
    machine.kernel.live();
}

#[test]
fn programs_are_undone_first_then_settings_then_devices() {
    let machine = Machine::tuned();
    let before = machine.whole_queue();
    die_in_an_experiment(&machine);
    assert_ne!(machine.whole_queue(), before);
    let file = machine.root().path("/var/tmp/schedlab-loop-7-1.img");
    fs::create_dir_all(file.parent().expect("a directory")).expect("own tree");
    fs::write(&file, "noise").expect("own tree");
    plant(&machine, "schedlab-loop-7-1", &json!({"what": "loop-file", "file": file}));
    plant(&machine, "schedlab-session-7-1", &json!({"what": "session"}));
    let outcomes = outcomes(&machine);
    let [session, settings, removed] = &outcomes[..] else { panic!("{outcomes:?}") };
    assert!(session.undone::<Cleanup>().is_some(), "{session}");
    assert!(
        matches!(settings.undone(), Some(Restoration::Restored { device, .. }) if device == "sda"),
        "{settings}"
    );
    assert_eq!(removed.undone::<Removed>().expect("the loop device").file, file);
    assert_eq!((machine.whole_queue(), file.exists(), machine.journal()), (before, false, vec![]));
}

#[test]
fn an_entry_of_a_kind_that_has_no_owner_is_named_and_stays() {
    let machine = Machine::booted();
    plant(&machine, "x", &json!({"what": "tomorrow"}));
    let message = outcomes(&machine)[0].to_string();
    assert!(
        message.contains("\"tomorrow\", expected one of session, settings, files, loop-file"),
        "{message}"
    );
    assert_eq!(machine.journal(), ["x.json"]);
}

#[test]
fn an_entry_that_names_what_schedlab_never_changes_is_refused_and_stays() {
    let file = |path: &str, mode: u32, machine: &Machine| {
        let after = json!({"mode": mode, "bytes": "x"});
        let file = json!({"path": machine.root().path(path), "before": null, "after": after});
        json!({"what": "files", "about": "x", "files": [file], "directories": []})
    };
    let rule = "/etc/udev/rules.d/90-schedlab-x.rules";
    type Undo<'a> = &'a dyn Fn(&Machine) -> Value;
    let cases: [(&str, Undo); 5] = [
        ("schedlab-kept-x", &|machine| file("/etc/cron.d/x", 0o644, machine)),
        ("schedlab-kept-x", &|machine| file(rule, 0o4755, machine)),
        (
            "schedlab-loop-1-2",
            &|machine| json!({"what": "loop-file", "file": machine.root().path("/var/tmp/another-1-2.img")}),
        ),
        ("wwid%20naa.5", &|_| {
            let original = json!({"scheduler": null, "tunables": {}, "queue": {"../../../../nr_requests": "1"}});
            json!({"what": "settings", "identity": "wwid naa.5", "device": "sda", "original": original})
        }),
        ("schedlab-session-1-2", &|machine| {
            let at = machine.root().path("/run/another-1-2");
            let files =
                json!({"identity": "wwid naa.5", "device": "sda", "uuid": "5a799c62", "at": at});
            json!({"what": "session", "files": files})
        }),
    ];
    for (key, undo) in cases {
        let machine = Machine::booted();
        let undo = undo(&machine);
        plant(&machine, key, &undo);
        let outcomes = outcomes(&machine);
        assert!(
            outcomes.len() == 1 && outcomes[0].to_string().contains("not schedlab's"),
            "{undo}: {outcomes:?}"
        );
        assert_eq!(machine.journal().len(), 1, "{undo}");
    }
}
