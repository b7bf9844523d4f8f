//! Root's privileges: dropped where not needed, and named in the error where missing.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::{Command, Stdio};

use testbed::{Loop, eventually};

use crate::attacks::attacker;
use crate::common::{Lab, Ran, binary};

const SIM: &str =
    "compare --arena sim --device hp97560 --schedulers deadline,cfq --workload randread -q";

fn rights_of(status: &str) -> Vec<(String, String)> {
    let keys = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs"];
    let found = status.lines().filter_map(|line| line.split_once(":\t"));
    found
        .filter(|(key, _)| keys.contains(key))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

#[test]
fn an_experiment_in_the_simulator_has_no_right_of_root_in_any_thread() {
    if !attacker::can_attack(&[]) {
        return;
    }
    let lab = Lab::new();
    let out = lab.path("out");
    let mut child =
        lab.start(&format!("{SIM} --rounds 1000 --trial-time 10s --out {}", out.display()));
    eventually("the first trial is in the results file", || {
        !crate::common::trials(&out).is_empty()
    });
    let tasks = fs::read_dir(format!("/proc/{}/task", child.id())).expect("it runs").flatten();
    let all: Vec<String> =
        tasks.filter_map(|task| fs::read_to_string(task.path().join("status")).ok()).collect();
    child.kill().expect("it runs");
    child.wait().expect("it has ended");
    assert!(!all.is_empty());
    for status in all {
        for (key, value) in rights_of(&status) {
            let expected = if key == "NoNewPrivs" { "1" } else { "0000000000000000" };
            assert_eq!(value, expected, "{key}:\n{status}");
        }
    }
}

#[test]
fn commands_that_compute_give_up_root_before_their_first_thread_and_may_write_to_out_only() {
    if !attacker::can_attack(&["strace"]) {
        return;
    }
    let lab = Lab::new();
    let [first, log] = ["first", "log"].map(|name| lab.path(name));
    lab.run(&format!("{SIM} --rounds 2 --figures-only --trace csv --out {}", first.display()))
        .expect_measured();
    let shown = first.display();
    let trace = first.join("traces/randread-cfq.csv");
    for words in [
        format!("{SIM} --rounds 2 --figures-only --out {}", lab.path("second").display()),
        format!("analyze {shown} --out {}", lab.path("third").display()),
        format!("report {shown}"),
        format!("trace convert {} --to {}", trace.display(), lab.path("copy.csv").display()),
        format!("trace profile {} --html {}", trace.display(), lab.path("page.html").display()),
        format!(
            "trace synthesize {} --device hp97560 --out {}",
            trace.display(),
            lab.path("plan.toml").display()
        ),
        format!("shard run {shown}/plan.toml --rounds 0..2 --out {}", lab.path("piece").display()),
        format!(
            "shard merge {} --out {}",
            lab.path("piece").display(),
            lab.path("fourth").display()
        ),
        "list schedulers".to_owned(),
        "devices".to_owned(),
    ] {
        let calls =
            "trace=capset,landlock_create_ruleset,landlock_restrict_self,clone,clone3,execve";
        let mut traced = Command::new("strace");
        traced
            .args(["-f", "-qq", "-e", calls, "-o"])
            .arg(&log)
            .arg(binary())
            .args(words.split_whitespace());
        traced
            .env("SCHEDLAB_STATE_DIR", lab.state())
            .current_dir(lab.dir.path())
            .stdin(Stdio::null());
        let ran = Ran::from(traced.output().expect("strace runs"));
        assert!(matches!(ran.status, Some(0 | 3)), "{words}: {}", ran.stderr);
        let text = fs::read_to_string(&log).expect("a log");
        let at = |what: &str| text.lines().skip(1).position(|line| line.contains(what));
        let dropped =
            at("capset(").filter(|_| text.contains("{effective=0, permitted=0, inheritable=0}"));
        assert!(dropped.is_some(), "{words} keeps capabilities:\n{text}");
        let has_landlock = !text.contains("LANDLOCK_CREATE_RULESET_VERSION) = -1");
        if has_landlock {
            let bounded = at("landlock_restrict_self(")
                .unwrap_or_else(|| panic!("{words} is not bounded:\n{text}"));
            let first = ["clone(", "clone3(", "execve("].iter().filter_map(|call| at(call)).min();
            assert!(
                first.is_none_or(|first| first > bounded),
                "{words} starts something first:\n{text}"
            );
        }
    }
    assert!(lab.path("copy.csv").exists() && lab.path("third/report.html").exists());
}

#[test]
fn root_without_rights_still_reads_and_writes_what_belongs_to_others() {
    if !attacker::can_attack(&[]) {
        return;
    }
    let lab = Lab::new();
    let first = lab.path("first");
    lab.run(&format!("{SIM} --rounds 2 --figures-only --out {}", first.display()))
        .expect_measured();
    // As under sudo.
    let home = attacker::home(lab.dir.path(), "home");
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).expect("root may");
    let theirs = home.join("results");
    assert!(
        Command::new("cp").arg("-r").args([&first, &theirs]).status().expect("cp runs").success()
    );
    for path in fs::read_dir(&theirs)
        .expect("copied")
        .flatten()
        .map(|entry| entry.path())
        .chain([theirs.clone()])
    {
        chown(&path, Some(attacker::UID), Some(attacker::UID)).expect("root may");
        let mode = if path.is_dir() { 0o700 } else { 0o600 };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("root may");
    }
    lab.run(&format!("analyze {}", theirs.display())).expect_measured();
    let mut under_sudo = lab.command(&format!("report {}", theirs.display()));
    under_sudo
        .env("SUDO_UID", attacker::UID.to_string())
        .env("SUDO_GID", attacker::UID.to_string());
    Ran::from(under_sudo.output().expect("it runs")).expect_status(0);
}

#[test]
fn devices_show_and_list_need_no_root_even_where_the_state_directory_is_closed() {
    if !attacker::can_attack(&[]) {
        return;
    }
    let lab = Lab::new();
    fs::set_permissions(lab.dir.path(), fs::Permissions::from_mode(0o755)).expect("root may");
    let device = Loop::new(&lab.dir, "disk", 16);
    let own = lab.path("schedlab");
    testbed::copy_program(binary(), &own);
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).expect("root may");
    fs::create_dir(lab.state()).expect("new");
    fs::set_permissions(lab.state(), fs::Permissions::from_mode(0o700)).expect("root may");
    let run = |words: &str| {
        let mut command = attacker::command(&own);
        command.args(words.split_whitespace()).env("SCHEDLAB_STATE_DIR", lab.state());
        Ran::from(command.output().expect("setpriv runs"))
    };
    for words in
        ["list schedulers", "list devices", "list workloads", "list metrics", "list settings"]
    {
        assert!(!run(words).expect_status(0).stdout.is_empty(), "{words}");
    }
    let listed = run("devices").expect_status(0).stdout;
    assert!(listed.contains(&device.path) && listed.contains("cannot read"), "{listed}");
    let shown = run(&format!("show {}", device.path)).expect_status(0).stdout;
    assert!(
        shown.contains("scheduler") && shown.contains("the origin of settings is unknown"),
        "{shown}"
    );
    run(&format!("devices {}", device.name)).expect_status(0);
}

/// Rows of a table in docs/src/reference/system.md.
#[test]
fn each_capability_of_the_table_suffices_and_is_named_where_it_is_missing() {
    if !attacker::can_attack(&["mkfs.ext4"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 64);
    let path = &device.path;
    let short = "--rounds 1 --figures-only --trial-time 100ms --warmup 0s -q";
    let reads = format!(
        "compare --device {path} --schedulers none,mq-deadline --workload randread {short}"
    );
    let writes = reads.replace("randread", &format!("randwrite --destroy-data {path}"));
    let files = format!(
        "compare --device loop:64M --fs ext4 --schedulers none,mq-deadline --workload oltp:file_size=16M:clients=2 {short}"
    );
    let cpu = |variant: &str| {
        format!("compare --arena cpu --schedulers default,{variant} --workload linpack {short}")
    };
    let other = format!(
        "compare --arena cpu --schedulers default,nice=19 --workload command:on=cpu:run=true --as nobody {short}"
    );
    let rows: [(&str, &str, &[&str]); 8] = [
        (&reads, "", &[]),
        (&format!("set {path} nr_requests=32"), "", &[]),
        (&writes, "sys_ptrace", &["CAP_SYS_PTRACE", "checking what uses"]),
        (&files, "sys_admin", &["CAP_SYS_ADMIN", "mounting ext4"]),
        (&cpu("nice=-5"), "sys_nice", &["CAP_SYS_NICE", "run as root"]),
        (&cpu("policy=fifo:10"), "sys_nice", &["CAP_SYS_NICE", "run as root"]),
        (&other, "setuid,setgid,kill", &["CAP_SETUID, CAP_SETGID, CAP_KILL", "run as root"]),
        (SIM, "", &[]),
    ];
    for (number, (words, needed, said)) in rows.iter().enumerate() {
        let run = |name: &str, capabilities: &str| {
            let mut command = Command::new("setpriv");
            let granted = capabilities
                .split(',')
                .filter(|name| !name.is_empty())
                .map(|name| format!(",+{name}"));
            let set = format!("-all{}", granted.collect::<String>());
            command.args([
                format!("--bounding-set={set}"),
                "--inh-caps=-all".to_owned(),
                "--".to_owned(),
            ]);
            command
                .arg(binary())
                .args(words.split_whitespace())
                .env("SCHEDLAB_STATE_DIR", lab.state());
            if words.starts_with("compare") {
                command.arg("--out").arg(lab.path(&format!("out-{number}-{name}")));
            }
            if words.contains("--arena sim") {
                command.args(["--rounds", "2", "--figures-only"]);
            }
            Ran::from(command.stdin(Stdio::null()).output().expect("setpriv runs"))
        };
        let with = run("with", needed);
        assert!(matches!(with.status, Some(0 | 3)), "{words} with {needed:?}: {}", with.stderr);
        if !needed.is_empty() {
            let without = run("without", "");
            assert!(
                matches!(without.status, Some(1 | 2)),
                "{words} works without {needed}: {}",
                without.stderr
            );
            without.says(said);
        }
    }
    lab.run("restore").expect_status(0);
}

fn value<'a>(unit: &'a str, key: &str) -> &'a str {
    unit.lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
        .unwrap_or_else(|| panic!("{key}: {unit}"))
}

/// Returns the text of the service.
fn watched(lab: &Lab, device: &str, more: &str) -> String {
    let add = format!(
        "watch add --name attacks --device {device} --schedulers none,mq-deadline --rounds 1 --figures-only --trial-time 100ms --dry-run {more}"
    );
    let printed = lab.run(&add).expect_status(0).stdout;
    let parts: Vec<&str> = printed.split("\n# /").collect();
    let [watch, service, _] = parts[..] else { panic!("three files: {printed}") };
    let text = watch.split_once('\n').expect("a name and a text").1;
    fs::create_dir_all(lab.state().join("watch")).expect("made");
    for dir in [lab.state(), lab.state().join("watch")] {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).expect("root may");
    }
    fs::write(lab.state().join("watch/attacks.toml"), text).expect("written");
    service.split_once('\n').expect("a name and a text").1.to_owned()
}

/// Approximates systemd's sandbox with util-linux. Omits system call filter, device list, memory
/// and address families.
fn in_sandbox(lab: &Lab, unit: &str) -> Ran {
    let writable = value(unit, "ReadWritePaths").replace('"', "");
    let capabilities =
        value(unit, "CapabilityBoundingSet").split(' ').filter(|name| !name.is_empty());
    let set: String = capabilities
        .map(|name| format!(",+{}", name.trim_start_matches("CAP_").to_lowercase()))
        .collect();
    let start = value(unit, "ExecStart");
    let script = format!(
        "for at in {writable}; do mount --bind $at $at; done; mount -o remount,bind,ro /; \
         exec setpriv --no-new-privs --inh-caps=-all --bounding-set=-all{set} -- {start} --now"
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "--net", "--propagation", "private", "/bin/sh", "-ec", &script]);
    Ran::from(
        command
            .env("SCHEDLAB_STATE_DIR", lab.state())
            .stdin(Stdio::null())
            .output()
            .expect("unshare runs"),
    )
}

#[test]
fn a_test_of_a_watch_works_with_what_its_service_is_granted() {
    if !attacker::can_attack(&["unshare", "mkfs.ext4"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 64);
    let unit = watched(&lab, &device.path, "--workload randread");
    assert_eq!(value(&unit, "CapabilityBoundingSet"), "");
    in_sandbox(&lab, &unit).expect_measured();
    // `watch add` refuses writes to a device without a stable name, so edit the file.
    let file = lab.state().join("watch/attacks.toml");
    let text = fs::read_to_string(&file).expect("written");
    let head = text
        .split_once("[[plan.workload]]")
        .expect("a workload")
        .0
        .replace("destroy_data = false", "destroy_data = true");
    let plan = "[plan.files]\nkind = 'ext4'\n[[plan.workload]]\nname = 'oltp'\nkind = 'oltp'\nprimary = 'iops'\n\
                params = { file_size = '16M', clients = '2' }\n";
    fs::write(&file, format!("{head}{plan}")).expect("written");
    // See lab's tests.
    let unit = unit.replace(
        "CapabilityBoundingSet=\n",
        "CapabilityBoundingSet=CAP_SYS_ADMIN CAP_SYS_PTRACE\n",
    );
    let state = value(&unit, "ReadWritePaths").to_owned();
    in_sandbox(&lab, &unit.replace(&format!("Paths={state}"), &format!("Paths={state} /run")))
        .expect_measured();
    in_sandbox(&lab, &unit).says(&["/run"]);
}
