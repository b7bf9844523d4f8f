//! Foreign plans run as root: what they start, and as which user. Most use the cpu arena, where a
//! trial takes 100 ms and no device.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::attacks::attacker;
use crate::common::{Lab, Ran, binary};

const NOBODY: &str = "nobody";

fn open_lab() -> Lab {
    let lab = Lab::new();
    fs::set_permissions(lab.dir.path(), fs::Permissions::from_mode(0o755)).expect("root may");
    lab
}

fn planted(lab: &Lab, name: &str, head: &str, workload: &str) -> PathBuf {
    let home = lab.path("attacker");
    if !home.exists() {
        attacker::home(lab.dir.path(), "attacker");
    }
    let text = format!(
        "{head}\n[budget]\ntime_s = 60\nrounds = 1\nfigures_only = true\n[trial]\nduration_ms = 100\nwarmup_ms = 0\n[[workload]]\nname = 'mine'\n{workload}"
    );
    let plan = home.join(format!("{name}.toml"));
    fs::write(&plan, text).expect("written");
    plan
}

const CPU: &str = "arena = 'cpu'\n[[variant]]\nname = 'a'\nscheduler = 'default'\n[[variant]]\nname = 'b'\nscheduler = 'default'\n\
                   tunables = { nice = '1' }";

fn disk(size: &str) -> String {
    format!(
        "device = 'loop:{size}'\n[[variant]]\nname = 'a'\nscheduler = 'none'\n[[variant]]\nname = 'b'\nscheduler = 'mq-deadline'"
    )
}

fn run(lab: &Lab, plan: &Path, flags: &str) -> Ran {
    let out = lab.path("out");
    let _ = fs::remove_dir_all(&out);
    lab.run(&format!(
        "run {} --loop-dir {} --out {} {flags}",
        plan.display(),
        lab.path("").display(),
        out.display()
    ))
}

#[test]
fn a_command_in_a_plan_from_elsewhere_does_not_run_as_root() {
    if !attacker::can_attack(&[]) {
        return;
    }
    let lab = open_lab();
    let marker = lab.path("marker");
    for option in ["run", "version", "setup", "reset"] {
        let line = format!("touch {}; echo 1", marker.display());
        let own = if option == "run" { String::new() } else { "run = 'true', ".to_owned() };
        let plan = planted(
            &lab,
            option,
            CPU,
            &format!("kind = 'command'\nparams = {{ {own}{option} = '{line}', on = 'cpu' }}\n"),
        );
        let ran = run(&lab, &plan, "");
        assert!(!marker.exists(), "{option}: the plan wrote a file as root:\n{}", ran.stderr);
        ran.expect_status(2).says(&[
            "workload mine",
            option,
            "touch",
            "--allow-commands",
            "--as USER",
        ]);
    }
}

#[test]
fn a_script_beside_a_plan_from_elsewhere_does_not_run_as_root() {
    if !attacker::can_attack(&[]) {
        return;
    }
    let lab = open_lab();
    let marker = lab.path("marker");
    let plan = planted(
        &lab,
        "plan",
        CPU,
        "kind = 'command'\nparams = { file = './bench.sh', on = 'cpu' }\n",
    );
    let script = plan.with_file_name("bench.sh");
    fs::write(&script, format!("#!/bin/sh\ntouch {}\n", marker.display())).expect("written");
    let ran = run(&lab, &plan, "");
    assert!(!marker.exists(), "the script wrote a file as root:\n{}", ran.stderr);
    ran.expect_status(2).says(&["bench.sh", "--allow-commands"]);
}

#[test]
fn a_program_for_cold_starts_or_a_loader_of_a_scheduler_does_not_run_as_root() {
    if !attacker::can_attack(&["mkfs.ext4", "ldd", "chroot"]) {
        return;
    }
    let lab = open_lab();
    let marker = lab.path("marker");
    // `startup` queries the program's version before the tree exists, and thus outside it.
    let starts = "kind = 'startup'\nparams = { program = '";
    let plan = planted(
        &lab,
        "starts",
        &disk("32M"),
        &format!("{starts}{}' }}\n", lab.path("attacker/evil").display()),
    );
    let evil = plan.with_file_name("evil");
    fs::write(&evil, format!("#!/bin/sh\ntouch {}\n", marker.display())).expect("written");
    fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).expect("root may");
    let ran = run(&lab, &plan, "");
    assert!(!marker.exists(), "the program wrote a file as root:\n{}", ran.stderr);
    ran.expect_status(2).says(&["workload mine", "startup program", "--allow-commands"]);

    let loader = CPU.replacen("'default'", &format!("'sched_ext:{}'", evil.display()), 1);
    let plan = planted(&lab, "loader", &loader, "kind = 'linpack'\n");
    let ran = run(&lab, &plan, "--as nobody");
    assert!(!marker.exists(), "the loader wrote a file as root:\n{}", ran.stderr);
    ran.expect_status(2).says(&["variant a: loads", "--allow-commands", "root's rights"]);
}

#[test]
fn a_patch_or_a_directory_of_a_plan_does_not_build_a_kernel_as_root() {
    if !attacker::can_attack(&[]) {
        return;
    }
    let lab = open_lab();
    let head = "arena = 'kernel'\ndevice = 'hp97560'\nkernel = './linux'\n[[variant]]\nname = 'a'\nscheduler = 'none'\n[[variant]]\n\
                name = 'b'\nscheduler = 'bfq@evil.patch'";
    let plan = planted(&lab, "plan", head, "kind = 'randread'\n");
    fs::write(plan.with_file_name("evil.patch"), "--- a/Makefile\n+++ b/Makefile\n")
        .expect("written");
    run(&lab, &plan, "").expect_status(2).says(&["evil.patch", "./linux", "--allow-commands"]);
    // The series is root's own argument; the plan's directory is not.
    let series = plan.with_file_name("evil.patch");
    let words = format!(
        "bisect --plan {} --source {} --out {}",
        plan.display(),
        series.display(),
        lab.path("out").display()
    );
    lab.run(&words).expect_status(2).says(&["./linux", "--allow-commands"]);
    assert!(!lab.path("out").exists());
}

#[test]
fn a_plan_says_what_it_starts_before_it_does_and_runs_when_root_agrees_or_typed_it() {
    if !attacker::can_attack(&[]) {
        return;
    }
    let lab = open_lab();
    let marker = lab.path("marker");
    let line = format!("touch {}", marker.display());
    let plan = planted(
        &lab,
        "plan",
        CPU,
        &format!("kind = 'command'\nparams = {{ run = '{line}', on = 'cpu' }}\n"),
    );
    let shown = run(&lab, &plan, "--dry-run").expect_status(0);
    assert!(
        shown
            .stdout
            .starts_with(&format!("# starts as root: workload mine: command run {line:?}\n")),
        "{}",
        shown.stdout
    );
    let shown = run(&lab, &plan, "--dry-run --as nobody").expect_status(0);
    assert!(shown.stdout.starts_with("# starts as nobody: workload mine"), "{}", shown.stdout);
    assert!(!marker.exists() && !lab.path("out").exists());

    let ran = run(&lab, &plan, "--allow-commands")
        .expect_measured()
        .says(&["starts as root: workload mine: command run"]);
    assert!(marker.exists(), "{}", ran.stderr);
    fs::remove_file(&marker).expect("there");

    let words = "compare --arena cpu --schedulers default,nice=1 --rounds 1 --figures-only --trial-time 100ms --warmup 0s --out";
    let mut typed = lab.command(&format!("{words} {}", lab.path("typed").display()));
    typed.args(["--workload", &format!("command:on=cpu:run={line}")]);
    Ran::from(typed.output().expect("it runs")).expect_measured().says(&["starts as root"]);
    assert!(marker.exists());
}

/// Prints `key value` lines to the file named by its last word.
const SELF: &str = r#"{ echo uid $(id -u); echo groups $(id -G); echo umask $(umask); echo home $HOME; echo user $USER
echo session $(cut -d' ' -f6 /proc/$$/stat) pid $$ tty $(cut -d' ' -f7 /proc/$$/stat)
grep -E '^(Cap|NoNewPrivs)' /proc/$$/status
(exec 5<>/dev/tty) 2>/dev/null && echo terminal open
python3 -c pass && echo python runs
[ -e /proc/$$/fd/7 ] && echo descriptor 7
python3 -c 'import fcntl, os, termios; fcntl.ioctl(os.open("/dev/tty", os.O_RDWR), termios.TIOCSTI, b"x")' 2>/dev/null && echo typed; } >"#;

#[test]
fn a_program_of_another_user_has_no_rights_terminal_or_descriptor_of_roots() {
    if !attacker::can_attack(&["script", "python3", "id"]) {
        return;
    }
    let lab = open_lab();
    let found = attacker::shared(lab.dir.path(), "found", 0o777).join("self");
    let work = format!(
        "kind = 'command'\nparams = {{ on = 'cpu', run = '''{SELF} {}''' }}\n",
        found.display()
    );
    let plan = planted(&lab, "plan", CPU, &work);
    // `script` provides a terminal; root's shell left descriptor 7 open.
    let schedlab = format!(
        "exec 7</etc/passwd; '{}' run {} --out {} --as {NOBODY}",
        binary().display(),
        plan.display(),
        lab.path("out").display()
    );
    let ran = Command::new("script")
        .args(["-qec", &schedlab, "/dev/null"])
        .env("SCHEDLAB_STATE_DIR", lab.state())
        .stdin(Stdio::null())
        .output()
        .expect("script runs");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(said.contains("starts as nobody: workload mine"), "{said}");
    let text = fs::read_to_string(&found).unwrap_or_else(|e| panic!("{e}: {said}"));
    let id = |flag: &str| {
        let output = Command::new("id").args([flag, NOBODY]).output().expect("id runs");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    for (flag, key) in [("-u", "uid"), ("-G", "groups")] {
        assert!(text.contains(&format!("{key} {}\n", id(flag))), "{text}");
    }
    assert!(text.contains("umask 0022") && text.contains(&format!("user {NOBODY}")), "{text}");
    let session: Vec<&str> =
        text.lines().find(|line| line.starts_with("session")).expect("a line").split(' ').collect();
    assert_eq!(
        (session[1], session[5]),
        (session[3], "0"),
        "a session of its own without a terminal: {text}"
    );
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert!(text.contains(&format!("{set}:\t0000000000000000")), "{text}");
    }
    assert!(text.contains("NoNewPrivs:\t1") && text.contains("python runs"), "{text}");
    for harm in ["terminal open", "descriptor 7", "typed"] {
        assert!(!text.contains(harm), "{harm}: {text}");
    }
}

#[test]
fn a_program_of_another_user_can_use_the_file_system_made_for_it() {
    if !attacker::can_attack(&["mkfs.ext4", "ldd", "chroot", "id"]) {
        return;
    }
    let lab = open_lab();
    let line = "id -u > {dir}/mine && stat -c %u {dir}/mine && dd if=/dev/zero of={dir}/x bs=64k count=16 conv=fsync";
    let work = format!(
        "kind = 'command'\nparams = {{ run = '{line}', regex = '(?<owner>[0-9]+)', better = 'lower' }}\n"
    );
    let starts = "[[workload]]\nname = 'start'\nkind = 'startup'\nparams = { program = '/usr/bin/id', args = '-u', ready = '^65534', starts = 1 }\n";
    let plan = planted(&lab, "plan", &disk("32M"), &format!("{work}{starts}"));
    run(&lab, &plan, "--as nobody").expect_measured().says(&["starts as nobody: workload start"]);
    let trials = crate::common::trials(&lab.path("out"));
    assert!(!trials.is_empty());
    for trial in trials.iter().filter(|trial| trial["workload"] == "mine") {
        assert_eq!(trial["observation"]["metrics"]["owner"], 65534.0, "{trial}");
    }
    run(&lab, &plan, "--as root").expect_status(2).says(&["root", "--as nobody"]);
    run(&lab, &plan, "--as nobody-here").expect_status(2).says(&["no such user"]);
}
