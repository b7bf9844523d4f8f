//! Planted journal entries that root would obey.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use testbed::{Loop, eventually};

use crate::attacks::attacker::{self, UID};
use crate::attacks::output::walk;
use crate::common::{Lab, Ran, binary};

fn victim(lab: &Lab) -> PathBuf {
    let path = lab.path("precious");
    fs::write(&path, "precious\n").expect("own");
    path
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("own");
}

/// An entry of this boot with a dead owner.
fn entry(payload: Value) -> String {
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("a boot");
    json!({"schema": 1, "boot_id": boot_id.trim(), "pid": 4_194_305, "undo": payload}).to_string()
}

/// Makes `restore` create a setuid file owned by root.
fn setuid(path: &Path) -> Value {
    let file =
        json!({"path": path, "before": {"mode": 0o4755, "bytes": "#!/bin/sh\n"}, "after": null});
    json!({"what": "files", "about": "x", "files": [file], "directories": []})
}

fn plant(lab: &Lab, key: &str, payload: Value) -> PathBuf {
    let journal = lab.state().join("journal");
    fs::create_dir_all(&journal).expect("own");
    let path = journal.join(format!("{key}.json"));
    fs::write(&path, entry(payload)).expect("own");
    path
}

type Loosen = fn(&Path);

#[test]
fn entries_in_a_state_directory_that_another_user_owns_or_can_write_are_not_obeyed() {
    if !attacker::can_attack(&[]) {
        return;
    }
    let cases: [(&str, Loosen); 4] = [
        ("belongs to another user", |state| drop(chown(state, Some(UID), Some(UID)))),
        ("other users may write there", |state| chmod(state, 0o777)),
        ("other users may write there", |state| chmod(&state.join("journal"), 0o777)),
        ("belongs to another user", |state| {
            drop(chown(state.join("journal/schedlab-kept-x.json"), Some(UID), None))
        }),
    ];
    for (why, loosen) in cases {
        let lab = Lab::new();
        let made = lab.path("made");
        plant(&lab, "schedlab-kept-x", setuid(&made));
        chmod(&lab.state(), 0o755);
        loosen(&lab.state());
        let ran = lab.run("restore");
        assert!(
            !made.exists(),
            "{why}: a file of mode {:o} is made",
            fs::metadata(&made).expect("made").permissions().mode()
        );
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            ran.status == Some(1) && said.contains(why) && said.contains("state"),
            "{why}: {said}"
        );
    }
}

#[test]
fn an_entry_that_names_what_schedlab_never_changes_is_refused_and_stays() {
    if !attacker::can_attack(&[]) {
        return;
    }
    let lab = Lab::new();
    let (victim, made) = (victim(&lab), lab.path("made"));
    let device = Loop::new(&lab.dir, "disk", 4);
    let number = fs::read_to_string(format!("/sys/block/{}/dev", device.name)).expect("a disk");
    let identity = format!("name {} number {}", device.name, number.trim());
    let key = identity.replace(' ', "%20").replace(':', "%3A");
    let up =
        format!("{}{}", "../".repeat(12), victim.strip_prefix("/").expect("absolute").display());
    let file = json!({"path": victim, "before": {"mode": 0o644, "bytes": "gone\n"}, "after": {"mode": 0o644, "bytes": "precious\n"}});
    let loose = json!({"path": lab.state().join("kept/x.json"), "before": {"mode": 0o666, "bytes": ""}, "after": null});
    let cases = [
        ("schedlab-kept-x", setuid(&made)),
        (
            "schedlab-kept-x",
            json!({"what": "files", "about": "x", "files": [file], "directories": []}),
        ),
        (
            "schedlab-kept-x",
            json!({"what": "files", "about": "x", "files": [loose], "directories": []}),
        ),
        (
            "schedlab-kept-x",
            json!({"what": "files", "about": "x", "files": [], "directories": [lab.path("empty")]}),
        ),
        ("schedlab-loop-1-2", json!({"what": "loop-file", "file": victim})),
        (
            "cpu",
            json!({"what": "cpu", "attributes": [{"name": "kernel.sched_x", "path": victim, "value": "gone"}]}),
        ),
        (
            "schedlab-session-1-2",
            json!({"what": "session", "controllers": [{"file": victim, "controller": "io"}]}),
        ),
        (
            &key,
            json!({"what": "settings", "identity": identity, "device": device.name,
                   "original": {"scheduler": null, "tunables": {}, "queue": {up: "gone"}}}),
        ),
    ];
    for (key, payload) in cases {
        fs::create_dir_all(lab.path("empty")).expect("own");
        let planted = plant(&lab, key, payload.clone());
        let ran = lab.run("restore");
        assert_eq!(fs::read_to_string(&victim).ok().as_deref(), Some("precious\n"), "{payload}");
        assert!(!made.exists() && lab.path("empty").exists(), "{payload}");
        assert!(planted.exists() && ran.status == Some(1), "{payload}: {ran:?}");
        assert!(ran.stdout.contains(&planted.display().to_string()), "{payload}: {ran:?}");
        fs::remove_file(planted).expect("own");
    }
}

#[test]
fn an_entry_removes_no_tracing_instance_but_a_dead_traces() {
    let instances = Path::new("/sys/kernel/tracing/instances");
    if !attacker::can_attack(&[]) || !instances.is_dir() {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 4);
    let victim = format!("test-victim-{}", std::process::id());
    fs::create_dir(instances.join(&victim)).expect("an instance of another program");
    let up = format!("../instances/{victim}");
    let forged = [
        (victim.as_str(), &victim),
        ("schedlab-record-1-2-3", &victim),
        ("schedlab-record-1-2-3", &up),
    ];
    let mut answers: Vec<Ran> = Vec::new();
    for (key, instance) in forged {
        let planted = plant(&lab, key, json!({"what": "tracing-instance", "instance": instance}));
        answers.push(lab.run("restore"));
        let _ = fs::remove_file(planted);
    }
    let stayed = instances.join(&victim).is_dir();
    let _ = fs::remove_dir(instances.join(&victim));
    assert!(stayed, "{answers:?}");
    for ran in answers {
        assert!(ran.status == Some(1) && ran.stdout.contains("not schedlab's"), "{ran:?}");
    }
    // The instance of a process that records for another state directory.
    let other = Lab::new();
    let out = other.path("a.parquet").display().to_string();
    let mut trace =
        other.start(&format!("trace record {} --source tracefs --out {out}", device.name));
    let own = format!("schedlab-record-{}-", trace.id());
    let name = || {
        let mut names = fs::read_dir(instances)
            .expect("tracefs")
            .flatten()
            .map(|entry| entry.file_name().into_string());
        names.find_map(|name| name.ok().filter(|name| name.starts_with(&own)))
    };
    eventually("the trace has begun", || name().is_some());
    let name = name().expect("it was there");
    plant(&lab, &name, json!({"what": "tracing-instance", "instance": name}));
    let ran = lab.run("restore");
    let stayed = instances.join(&name).is_dir();
    trace.kill().expect("our child");
    trace.wait().expect("our child");
    let removed = other.run("restore");
    assert!(
        stayed && ran.status == Some(1) && ran.stdout.contains("in use by another schedlab"),
        "{ran:?}"
    );
    removed.expect_status(0);
    assert!(!instances.join(&name).exists());
}

#[test]
fn whatever_the_umask_the_state_is_for_root_alone_and_that_of_an_earlier_version_is_closed() {
    if !attacker::can_attack(&[]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 4);
    fs::create_dir_all(lab.state().join("journal")).expect("own");
    [lab.state(), lab.state().join("journal")].iter().for_each(|dir| chmod(dir, 0o755));
    let script = format!("umask 0; exec '{}' set {} nomerges=1", binary().display(), device.path);
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &script]).env("SCHEDLAB_STATE_DIR", lab.state());
    let ran = Ran::from(shell.output().expect("a shell"));
    device.set("nomerges", "0");
    ran.expect_status(0);
    let mut all = Vec::new();
    walk(&lab.state(), &mut |path, mode| all.push((path.to_owned(), mode)));
    assert!(all.len() > 3, "{all:?}");
    for (path, mode) in all {
        assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
}

#[test]
fn another_user_cannot_read_the_state_and_is_shown_everything_else() {
    if !attacker::can_attack(&[]) {
        return;
    }
    let lab = Lab::new();
    chmod(lab.dir.path(), 0o755);
    let program = lab.path("schedlab");
    testbed::copy_program(binary(), &program);
    lab.run("restore").expect_status(0);
    fs::create_dir_all(lab.state()).expect("own");
    chmod(&lab.state(), 0o700);
    for words in ["devices", "list schedulers", "list workloads"] {
        let mut command = attacker::command(&program);
        command.args(words.split_whitespace()).env("SCHEDLAB_STATE_DIR", lab.state());
        Ran::from(command.output().expect("setpriv runs")).expect_status(0);
    }
}
