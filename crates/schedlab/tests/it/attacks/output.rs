//! Links and directories planted where schedlab writes.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::attacks::attacker;
use crate::common::{Lab, Ran, binary};

const EXPERIMENT: &str = "compare --arena sim --quiet --device hp97560 --schedulers noop,deadline --workload randread --rounds 2 --figures-only --trial-time 1s";

fn victim(lab: &Lab) -> PathBuf {
    let dir = lab.path("victim");
    fs::create_dir(&dir).expect("a new directory");
    fs::write(dir.join("precious"), "precious").expect("own");
    dir
}

#[track_caller]
fn assert_untouched(victim: &Path) {
    let names: Vec<_> =
        fs::read_dir(victim).expect("readable").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names, ["precious"], "nothing is made in the victim's directory");
    assert_eq!(fs::read_to_string(victim.join("precious")).expect("readable"), "precious");
}

/// The lab is private to root.
fn passable(lab: &Lab) {
    fs::set_permissions(lab.dir.path(), fs::Permissions::from_mode(0o755)).expect("own");
}

/// Without --out.
fn experiment_in(lab: &Lab, dir: &Path) -> Ran {
    Ran::from(lab.command(EXPERIMENT).current_dir(dir).output().expect("the binary starts"))
}

#[test]
fn links_at_the_names_that_a_result_in_a_shared_directory_will_have_lead_nowhere() {
    if !attacker::can_attack(&[]) {
        return;
    }
    for mode in [0o777, 0o1777] {
        let lab = Lab::new();
        passable(&lab);
        let (victim, shared) = (victim(&lab), attacker::shared(lab.dir.path(), "shared", mode));
        // Every name of the next thirty seconds.
        let plant = format!(
            "mkdir {0}/schedlab-out; cd {0}/schedlab-out; now=$(date +%s); for n in $(seq -2 30); do \
             ln -s {1} $(date -u -d @$((now + n)) +%Y%m%dT%H%M%SZ); done",
            shared.display(),
            victim.display()
        );
        attacker::sh(&plant).expect_status(0);
        let ran = experiment_in(&lab, &shared);
        assert_untouched(&victim);
        let why: &[&str] = if mode == 0o777 {
            &["shared: other users may write there"]
        } else {
            &["schedlab-out: belongs to another user", "found owner 64321", "name a directory"]
        };
        ran.expect_status(1).says(why);
    }
}

#[test]
fn a_directory_that_others_may_write_is_refused_before_anything_is_written() {
    if !attacker::can_attack(&[]) {
        return;
    }
    let lab = Lab::new();
    let shared = attacker::shared(lab.dir.path(), "shared", 0o777);
    experiment_in(&lab, &shared).expect_status(1).says(&[
        "other users may write there",
        "mode 0777",
        "chmod go-w",
    ]);
    assert_eq!(fs::read_dir(&shared).expect("readable").count(), 0);
    let group = attacker::shared(lab.dir.path(), "group", 0o775);
    chown(&group, None, Some(attacker::UID)).expect("root may give away");
    experiment_in(&lab, &group).expect_status(1).says(&[
        "other users may write there",
        "mode 0775",
        "chmod go-w",
    ]);
    assert_eq!(fs::read_dir(&group).expect("readable").count(), 0);
}

#[test]
fn a_directory_whose_list_lets_others_write_is_refused() {
    if !attacker::can_attack(&["setfacl"]) {
        return;
    }
    let lab = Lab::new();
    passable(&lab);
    for (number, entry) in
        ["u:64321:rwx", "g:64321:rwx", "d:u:64321:rwx", "d:g:64321:rwx"].into_iter().enumerate()
    {
        let dir = attacker::shared(lab.dir.path(), &number.to_string(), 0o755);
        let setfacl = |words: &[&str]| {
            assert!(
                Command::new("setfacl")
                    .args(words)
                    .arg(&dir)
                    .status()
                    .expect("setfacl runs")
                    .success(),
                "{words:?}"
            );
        };
        setfacl(&["-m", entry]);
        let out = dir.join("out");
        if !entry.starts_with("d:") {
            attacker::sh(&format!("mkdir {0}/theirs; rmdir {0}/theirs", dir.display()))
                .expect_status(0);
            let shown = fs::metadata(&dir).expect("it is there").permissions().mode() & 0o777;
            assert_eq!(shown, 0o775, "the mask shows in the bits of root's group");
        }
        let named = lab.run(&format!("{EXPERIMENT} --out {}", out.display()));
        let unnamed = experiment_in(&lab, &dir);
        assert_eq!(
            fs::read_dir(&dir).expect("readable").count(),
            0,
            "{entry}: {named:?} {unnamed:?}"
        );
        let remedy = entry.replace("rwx", "rx");
        for ran in [named, unnamed] {
            let said =
                ["an access control list lets others write", &format!("setfacl -m {remedy}")];
            ran.expect_status(1).says(&said);
        }
        setfacl(&["-m", &remedy]);
        lab.run(&format!("{EXPERIMENT} --out {}", out.display())).expect_measured();
    }
}

#[test]
fn unfinished_files_of_a_killed_process_are_removed() {
    if !attacker::can_attack(&["strace"]) {
        return;
    }
    let lab = Lab::new();
    let out = lab.path("out");
    let atlas = format!(
        "atlas --quick --devices nvme --schedulers none,bfq --workloads oltp --quiet --out {}",
        out.display()
    );
    let unfinished = || {
        let names = fs::read_dir(&out)
            .expect("readable")
            .flatten()
            .map(|entry| entry.file_name().into_string());
        let mut names: Vec<String> =
            names.flatten().filter(|name| name.starts_with(".schedlab-")).collect();
        names.sort();
        names
    };
    let mut strace = Command::new("strace");
    strace.args([
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        "inject=renameat,renameat2:signal=KILL:when=1",
    ]);
    strace.arg(binary()).args(atlas.split_whitespace()).env("SCHEDLAB_STATE_DIR", lab.state());
    assert!(!strace.status().expect("strace runs").success());
    let left = unfinished();
    assert_eq!(left.len(), 1, "it was killed before the file had its name");
    // With a PID above the kernel's maximum: another user's file, and one not named by schedlab.
    let (theirs, named) = (".schedlab-4194305-0", ".schedlab-4194305-x");
    [theirs, named].iter().for_each(|name| fs::write(out.join(name), "half").expect("own"));
    chown(out.join(theirs), Some(attacker::UID), None).expect("root may give away");
    // Even under sudo, where root accepts that user's files.
    let mut again = lab.command(&atlas);
    again.env("SUDO_UID", attacker::UID.to_string());
    Ran::from(again.output().expect("the binary starts")).expect_status(0);
    assert_eq!(unfinished(), [theirs, named]);
}

#[test]
fn a_result_in_a_directory_of_another_user_is_refused_and_links_in_it_are_not_followed() {
    if !attacker::can_attack(&[]) {
        return;
    }
    let lab = Lab::new();
    let (victim, home) = (victim(&lab), attacker::home(lab.dir.path(), "home"));
    let out = home.join("out");
    fs::create_dir_all(out.join("traces")).expect("as the attacker would");
    for name in ["traces/randread-noop.csv", "traces/randread-deadline.csv"] {
        symlink(victim.join("precious"), out.join(name)).expect("as the attacker would");
    }
    let ran = lab.run(&format!("{EXPERIMENT} --trace csv --out {}", out.display()));
    assert_untouched(&victim);
    ran.expect_status(1).says(&[&home.display().to_string(), "belongs to another user"]);
}

#[test]
fn links_that_are_left_in_a_directory_which_is_used_again_are_not_followed() {
    if !attacker::can_attack(&[]) {
        return;
    }
    let lab = Lab::new();
    let (victim, out) = (victim(&lab), lab.path("out"));
    fs::create_dir_all(out.join("traces")).expect("own");
    for name in [
        "traces/randread-noop.csv",
        "traces/randread-deadline.csv",
        "report.html",
        "analysis.json",
        "plan.toml",
    ] {
        symlink(victim.join("precious"), out.join(name)).expect("own");
    }
    lab.run(&format!("{EXPERIMENT} --trace csv --out {}", out.display())).expect_measured();
    assert_untouched(&victim);
    assert!(fs::symlink_metadata(out.join("traces/randread-noop.csv")).expect("written").is_file());
    // A results file would be appended to through the link.
    fs::remove_file(out.join("results.jsonl")).expect("own");
    fs::write(victim.join("precious"), "").expect("own");
    symlink(victim.join("precious"), out.join("results.jsonl")).expect("own");
    let ran = lab.run(&format!("{EXPERIMENT} --out {}", out.display()));
    assert_eq!(fs::read_to_string(victim.join("precious")).expect("readable"), "");
    ran.expect_status(1).says(&["results.jsonl: in the way (found a symbolic link", "remove it"]);
}

#[test]
fn pages_and_converted_traces_replace_a_planted_link_in_a_sticky_directory() {
    if !attacker::can_attack(&[]) {
        return;
    }
    let lab = Lab::new();
    passable(&lab);
    let (victim, shared) = (victim(&lab), attacker::shared(lab.dir.path(), "shared", 0o1777));
    lab.run(&format!("{EXPERIMENT} --trace csv --out {}", lab.path("out").display()))
        .expect_measured();
    // A dangling link: its target looks free.
    let plant = format!("ln -s {}/made {}/events.csv", victim.display(), shared.display());
    attacker::sh(&plant).expect_status(0);
    let (from, to) = (lab.path("out/traces/randread-noop.csv"), shared.join("events.csv"));
    let ran = lab.run(&format!("trace convert {} --to {}", from.display(), to.display()));
    assert_untouched(&victim);
    ran.expect_status(2).says(&["events.csv: exists already"]);
}

#[test]
fn whatever_the_umask_no_other_user_can_write_what_root_has_written() {
    if !attacker::can_attack(&[]) {
        return;
    }
    let lab = Lab::new();
    let script = format!(
        "umask 0; exec '{}' {EXPERIMENT} --trace csv --out {}",
        binary().display(),
        lab.path("out").display()
    );
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &script]).env("SCHEDLAB_STATE_DIR", lab.state());
    Ran::from(shell.output().expect("a shell")).expect_measured();
    let mut open = Vec::new();
    walk(&lab.path("out"), &mut |path, mode| {
        if mode & 0o022 != 0 {
            open.push(format!("{mode:o} {}", path.display()));
        }
    });
    assert_eq!(open, [""; 0]);
}

pub(crate) fn walk(dir: &Path, each: &mut dyn FnMut(&Path, u32)) {
    let mode = |path: &Path| {
        fs::symlink_metadata(path).expect("it is there").permissions().mode() & 0o7777
    };
    each(dir, mode(dir));
    for path in fs::read_dir(dir).expect("readable").flatten().map(|entry| entry.path()) {
        if path.is_dir() { walk(&path, each) } else { each(&path, mode(&path)) }
    }
}
