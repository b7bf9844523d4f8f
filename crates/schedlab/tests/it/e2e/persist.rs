//! `persist` and `unpersist` on the real machine.
//!
//! udev reads only /etc/udev/rules.d, so the rules go there; they match the test's own loop device
//! and are always removed. A full or read-only /etc is created in a mount namespace.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use testbed::{Loop, is_soak, require};

use crate::common::{Lab, Ran};

/// Newer versions of `udevadm test` only print what they would write.
const TEST_WRITES_BEFORE: u32 = 257;

const EFFECTS: [&str; 14] = [
    "write",
    "fsync",
    "rename",
    "renameat",
    "unlink",
    "unlinkat",
    "rmdir",
    "mkdir",
    "mkdirat",
    "chmod",
    "fchmod",
    "fchmodat",
    "fcntl",
    "ftruncate",
];

/// Removes persisted files and `udevadm test` leftovers at the end.
struct PersistLab {
    lab: Lab,
    device: Loop,
    had_run: bool,
}

impl PersistLab {
    fn new() -> PersistLab {
        let lab = Lab::new();
        let device = Loop::new(&lab.dir, "disk", 4);
        PersistLab { lab, device, had_run: Path::new("/run/udev").exists() }
    }

    fn rule(&self) -> PathBuf {
        PathBuf::from(format!("/etc/udev/rules.d/90-schedlab-name-{}.rules", self.device.name))
    }

    fn run(&self, words: &str) -> Ran {
        self.lab.run(&words.replace("DEV", &self.device.path))
    }

    /// Names, contents and modes of files about this device, and directories that could be created.
    fn tree(&self) -> BTreeMap<PathBuf, (u32, Option<Vec<u8>>)> {
        let mut all = BTreeMap::new();
        for dir in ["/etc/udev", "/etc/modules-load.d", "/etc/tuned"] {
            walk(Path::new(dir), &mut all);
        }
        walk(&self.lab.state(), &mut all);
        // Other tests run at the same time; empty lock and journal directories stay.
        let ours = |path: &Path| {
            !path.display().to_string().contains("schedlab-name-")
                || path.display().to_string().contains(&self.device.name)
        };
        all.retain(|path, _| ours(path) && !path.starts_with(self.lab.state().join("lock")));
        [self.lab.state(), self.lab.state().join("journal")]
            .iter()
            .for_each(|dir| drop(all.remove(dir)));
        all
    }
}

impl Drop for PersistLab {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.rule());
        let _ = fs::remove_file(format!("{}.schedlab-new", self.rule().display()));
        if !self.had_run {
            // No udevd runs here, so `udevadm test` made these files.
            let _ = fs::remove_dir_all("/run/udev");
            for dir in ["/dev/block", "/dev/disk/by-diskseq", "/dev/disk"] {
                let entries =
                    fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
                let ours = |path: &PathBuf| {
                    fs::read_link(path).is_ok_and(|target| target.ends_with(&self.device.name))
                };
                entries.filter(ours).for_each(|link| drop(fs::remove_file(link)));
                let _ = fs::remove_dir(dir);
            }
        }
    }
}

fn walk(path: &Path, all: &mut BTreeMap<PathBuf, (u32, Option<Vec<u8>>)>) {
    let Ok(meta) = fs::symlink_metadata(path) else { return };
    all.insert(
        path.to_path_buf(),
        (meta.permissions().mode(), fs::read(path).ok().filter(|_| meta.is_file())),
    );
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        walk(&entry.path(), all);
    }
}

fn udev_version() -> u32 {
    let out = Command::new("udevadm").arg("--version").output().expect("udevadm runs");
    String::from_utf8_lossy(&out.stdout).trim().parse().expect("a number")
}

#[test]
fn udev_writes_what_is_persisted_when_the_device_appears_and_unpersist_leaves_no_byte_behind() {
    if !require(&["root", "blkid", "udevadm"]) {
        return;
    }
    let persisted = PersistLab::new();
    let (before, queue) = (persisted.tree(), persisted.device.snapshot());
    let said = persisted
        .run("persist DEV scheduler=bfq slice_idle=0 low_latency=0 nr_requests=40 read_ahead_kb=64 --by-name --json")
        .expect_status(0)
        .json();
    assert_eq!(said["done"], true);
    assert_eq!(said["found_by"], format!("KERNEL={}", persisted.device.name));
    assert_eq!(said["not_in_effect"][0], "scheduler=bfq");
    assert_eq!(persisted.device.snapshot(), queue, "the running setting is not touched");
    assert!(persisted.rule().is_file());
    let list = persisted.run("persist --list --json").expect_status(0).json();
    assert_eq!((&list[0]["present"], &list[0]["altered"]), (&true.into(), &serde_json::json!([])));

    let test = Command::new("udevadm")
        .args(["test", "--action=add", &format!("/sys/block/{}", persisted.device.name)])
        .output()
        .expect("udevadm runs");
    let said =
        String::from_utf8_lossy(&test.stderr).into_owned() + &String::from_utf8_lossy(&test.stdout);
    let rule = persisted.rule().display().to_string();
    let about: Vec<&str> = said.lines().filter(|line| line.contains(&rule)).collect();
    assert!(about.iter().any(|line| line.contains("queue/scheduler")), "{said}");
    assert!(
        !about
            .iter()
            .any(|line| line.to_lowercase().contains("invalid") || line.contains("Failed")),
        "{about:#?}"
    );
    if udev_version() < TEST_WRITES_BEFORE {
        let found = |name: &str| {
            fs::read_to_string(persisted.device.queue().join(name))
                .expect("readable")
                .trim()
                .to_owned()
        };
        assert_eq!(persisted.device.scheduler(), "bfq");
        for (name, value) in [
            ("nr_requests", "40"),
            ("read_ahead_kb", "64"),
            ("iosched/slice_idle", "0"),
            ("iosched/low_latency", "0"),
        ] {
            assert_eq!(found(name), value, "{name}");
        }
        let again = persisted.run("persist DEV scheduler=bfq slice_idle=0 low_latency=0 nr_requests=40 read_ahead_kb=64 --by-name --json --dry-run");
        assert_eq!(again.expect_status(0).json()["not_in_effect"], serde_json::json!([]));
    }
    persisted.run("unpersist DEV").expect_status(0);
    assert_eq!(persisted.tree(), before);
}

#[test]
fn a_change_of_the_device_does_not_bring_the_persisted_setting_back() {
    if !require(&["root", "blkid", "udevadm"]) || udev_version() >= TEST_WRITES_BEFORE {
        return;
    }
    let persisted = PersistLab::new();
    let changed = |action: &str| {
        let path = format!("/sys/block/{}", persisted.device.name);
        let _ = Command::new("udevadm")
            .args(["test", "--action", action, &path])
            .output()
            .expect("udevadm runs");
        persisted.device.scheduler()
    };
    persisted.run("persist DEV scheduler=kyber --by-name").expect_status(0);
    persisted.device.set("scheduler", "none");
    assert_eq!(changed("change"), "none", "an experiment's setting is left alone");
    assert_eq!(changed("add"), "kyber");
    persisted.device.set("scheduler", "none");
    persisted.run("persist DEV scheduler=kyber --by-name --insist").expect_status(0);
    assert_eq!(changed("change"), "kyber");
    persisted.run("unpersist DEV").expect_status(0);
}

#[test]
fn with_now_the_setting_is_in_effect_at_once_as_well() {
    if !require(&["root", "blkid", "udevadm"]) {
        return;
    }
    let persisted = PersistLab::new();
    persisted.device.set("scheduler", "none");
    let said = persisted
        .run("persist DEV scheduler=mq-deadline fifo_batch=4 --by-name --now --json")
        .expect_status(0)
        .json();
    assert_eq!(said["not_in_effect"], serde_json::json!([]));
    assert_eq!(persisted.device.scheduler(), "mq-deadline");
    assert_eq!(
        fs::read_to_string(persisted.device.queue().join("iosched/fifo_batch"))
            .expect("readable")
            .trim(),
        "4"
    );
    persisted.run("unpersist DEV").expect_status(0);
    assert_eq!(persisted.device.scheduler(), "mq-deadline", "unpersisting is for the next start");
}

#[test]
fn killed_at_every_call_with_an_effect_restore_brings_back_the_exact_state() {
    if !require(&["root", "blkid", "udevadm", "strace"]) {
        return;
    }
    let persisted = PersistLab::new();
    persisted.run("restore").expect_status(0);
    let before = persisted.tree();
    let persist = "persist DEV scheduler=bfq slice_idle=0 --by-name";
    persisted.run(persist).expect_status(0);
    let after = persisted.tree();
    persisted.run("unpersist DEV").expect_status(0);
    assert_eq!(persisted.tree(), before);
    for (words, from, to) in [(persist, &before, &after), ("unpersist DEV", &after, &before)] {
        let prepare = || {
            let unpersisted = persisted.tree() == before;
            match (from == &before, unpersisted) {
                (true, false) => drop(persisted.run("unpersist DEV").expect_status(0)),
                (false, true) => drop(persisted.run(persist).expect_status(0)),
                _ => {}
            }
            assert_eq!(&persisted.tree(), from);
        };
        let (mut killed, mut undone) = (0, 0);
        let every = if is_soak() { 1 } else { 3 };
        for (call, ordinal) in points(&persisted, words, prepare).into_iter().step_by(every) {
            prepare();
            let inject = format!("inject={call}:signal=KILL:when={ordinal}");
            let out = traced(&persisted, words, &["-e", &format!("trace={call}"), "-e", &inject]);
            killed += usize::from(!out);
            let found = persisted.tree();
            undone += usize::from(found != *from && found != *to);
            persisted.run("restore").expect_status(0);
            let now = persisted.tree();
            assert!(
                now == *from || now == *to,
                "{words} killed at {call} {ordinal}: {:?}",
                now.keys()
            );
            let left =
                fs::read_dir(persisted.lab.state().join("journal")).expect("the journal").count();
            assert_eq!(left, 0, "{words} killed at {call} {ordinal}");
        }
        println!("{words}: killed at {killed} calls; something was half done at {undone} of them");
        assert!(
            killed >= 15 && undone >= 5,
            "{words}: {killed} kills, {undone} of them in the middle"
        );
    }
    if persisted.tree() != before {
        persisted.run("unpersist DEV").expect_status(0);
    }
}

/// Each numbered among those of its name.
fn points(persisted: &PersistLab, words: &str, prepare: impl Fn()) -> Vec<(String, usize)> {
    prepare();
    let log = persisted.lab.path("strace.log");
    assert!(traced(persisted, words, &["-e", &format!("trace=?{}", EFFECTS.join(",?"))]));
    let text = fs::read_to_string(log).expect("strace's log");
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut all = Vec::new();
    for name in text.lines().filter_map(|line| Some(line.split_once('(')?.0.to_owned())) {
        if EFFECTS.contains(&name.as_str()) {
            let ordinal = seen.entry(name.clone()).or_insert(0);
            *ordinal += 1;
            all.push((name, *ordinal));
        }
    }
    all
}

fn traced(persisted: &PersistLab, words: &str, options: &[&str]) -> bool {
    let mut strace = Command::new("strace");
    strace
        .args(["-qq", "-e", "signal=none", "-o"])
        .arg(persisted.lab.path("strace.log"))
        .args(options);
    strace
        .arg(env!("CARGO_BIN_EXE_schedlab"))
        .args(words.replace("DEV", &persisted.device.path).split_whitespace());
    strace
        .env("SCHEDLAB_STATE_DIR", persisted.lab.state())
        .output()
        .expect("strace runs")
        .status
        .success()
}

#[test]
fn every_scheduler_as_the_kernel_starts_it_is_persisted_without_tunables() {
    if !require(&["root", "blkid", "udevadm"]) {
        return;
    }
    let persisted = PersistLab::new();
    let text = fs::read_to_string(persisted.device.queue().join("scheduler")).expect("readable");
    for name in text.split_whitespace().map(|name| name.trim_matches(['[', ']'])) {
        persisted.device.set("scheduler", "none");
        persisted.device.set("scheduler", name);
        let said = persisted.run("persist DEV --by-name --dry-run --json").expect_status(0).json();
        assert_eq!(
            (&said["scheduler"], &said["tunables"]),
            (&name.into(), &serde_json::json!({})),
            "{name}"
        );
        assert_eq!(said["not_in_effect"], serde_json::json!([]), "{name}");
    }
    if text.contains("mq-deadline") {
        persisted.device.set("scheduler", "mq-deadline");
        persisted.device.set("iosched/fifo_batch", "4");
        let said = persisted.run("persist DEV --by-name --dry-run --json").expect_status(0).json();
        assert_eq!(said["tunables"], serde_json::json!({"fifo_batch": "4"}));
    }
}

#[test]
fn what_cannot_be_persisted_is_refused_with_the_reason_and_changes_nothing() {
    if !require(&["root", "blkid", "udevadm"]) {
        return;
    }
    let persisted = PersistLab::new();
    let before = persisted.tree();
    for (words, status, says) in [
        ("persist DEV scheduler=bfq", 1, "--by-name"),
        ("persist DEV scheduler=bfk --by-name", 2, "did you mean \"bfq\""),
        (
            "persist DEV scheduler=mq-deadline fifo_batch=-1 --by-name",
            2,
            "a whole number from 0 to",
        ),
        ("persist DEV scheduler=bfq fifo_batch=1 --by-name", 2, "fifo_batch"),
        ("persist DEV bfq --by-name", 2, "NAME=VALUE"),
        ("persist DEV scheduler=bfq --as boot", 2, "5.0"),
        ("persist DEV scheduler=bfq --as boot --force", 2, "noop, deadline and cfq"),
        ("persist /dev/no-such-disk scheduler=bfq", 2, "no-such-disk"),
        ("persist", 2, "required"),
        ("unpersist DEV", 2, "no setting is persisted"),
        ("unpersist no-such-key", 2, "no setting is persisted"),
    ] {
        persisted.run(words).expect_status(status).says(&[says]);
    }
    for words in [
        "persist DEV scheduler=bfq --by-name --print",
        "persist DEV scheduler=bfq --by-name --dry-run",
    ] {
        let ran = persisted.run(words).expect_status(0);
        assert!(ran.stdout.contains(&persisted.rule().display().to_string()), "{}", ran.stdout);
        assert!(
            !ran.stdout.contains("--print"),
            "the rule names the command that writes it: {}",
            ran.stdout
        );
    }
    assert!(
        persisted.run("persist --list").expect_status(0).stdout.contains("no setting is persisted")
    );
    assert_eq!(persisted.tree(), before);
}

#[test]
fn a_rule_that_was_edited_by_hand_is_left_alone_until_force_is_used() {
    if !require(&["root", "blkid", "udevadm"]) {
        return;
    }
    let persisted = PersistLab::new();
    let before = persisted.tree();
    persisted.run("persist DEV scheduler=kyber --by-name").expect_status(0);
    let text =
        fs::read_to_string(persisted.rule()).expect("it was written").replace("kyber\"", "bfq\"");
    fs::write(persisted.rule(), &text).expect("root may");
    for words in ["persist DEV scheduler=none --by-name", "unpersist DEV"] {
        persisted.run(words).expect_status(1).says(&["+ ATTR{queue/scheduler}=\"bfq\"", "--force"]);
        assert_eq!(fs::read_to_string(persisted.rule()).expect("still there"), text);
    }
    assert!(persisted.run("persist --list").expect_status(0).stdout.contains("EDITED"));
    persisted.run("unpersist DEV --force").expect_status(0);
    assert_eq!(persisted.tree(), before);
}

#[test]
fn where_etc_is_full_or_read_only_nothing_changes_and_the_message_says_what_to_do() {
    if !require(&["root", "blkid", "udevadm", "unshare"]) {
        return;
    }
    let persisted = PersistLab::new();
    let inside = |mount: &str, words: &str| -> Ran {
        let script = format!(
            "{mount} && {{ \"$0\" {}; status=$?; ls -A /etc/udev/rules.d >&2; exit $status; }}",
            words.replace("DEV", &persisted.device.path)
        );
        let mut unshare = Command::new("unshare");
        unshare.args([
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-c",
            &script,
            env!("CARGO_BIN_EXE_schedlab"),
        ]);
        Ran::from(
            unshare
                .env("SCHEDLAB_STATE_DIR", persisted.lab.state())
                .output()
                .expect("unshare runs"),
        )
    };
    let before = persisted.tree();
    let full = "mount -t tmpfs -o size=4k,mode=755 tmpfs /etc/udev/rules.d && head -c 4096 /dev/zero > /etc/udev/rules.d/full";
    let ran = inside(full, "persist DEV scheduler=kyber --by-name").expect_status(1);
    let ran =
        ran.says(&[&persisted.rule().display().to_string(), "No space left", "free some space"]);
    assert!(ran.stderr.ends_with("full\n"), "nothing else is in the directory: {}", ran.stderr);
    let read_only = "mount --bind /etc/udev/rules.d /etc/udev/rules.d && mount -o remount,ro,bind /etc/udev/rules.d";
    inside(read_only, "persist DEV scheduler=kyber --by-name")
        .expect_status(1)
        .says(&["Read-only", "--print"]);
    let linked = "mount -t tmpfs -o mode=755 tmpfs /mnt && mount -t tmpfs -o mode=755 tmpfs /etc/udev && mkdir /mnt/rules && \
                  ln -s /mnt/rules /etc/udev/rules.d";
    inside(linked, "persist DEV scheduler=kyber --by-name")
        .expect_status(0)
        .says(&["90-schedlab-name-"]);
    assert!(!persisted.rule().exists(), "it was written through the link of that namespace");
    persisted.run("unpersist DEV").expect_status(1).says(&["it is gone"]);
    persisted.run("unpersist DEV --force").expect_status(0);
    assert_eq!(persisted.tree(), before);
}

/// Simulated, won by mq-deadline; `as_on` relabels it as measured on this loop device.
fn experiment(persisted: &PersistLab, as_on: Option<&str>) -> PathBuf {
    let out = persisted.lab.path(if as_on.is_some() { "here" } else { "simulated" });
    let words = "compare --arena sim --device hp97560 --schedulers none,mq-deadline --workload randread:clients=32 --rounds 12 --trial-time 20s --json --out";
    persisted.run(&format!("{words} {}", out.display())).expect_status(0);
    if let Some(identity) = as_on {
        let path = out.join("results.jsonl");
        let text = fs::read_to_string(&path).expect("the results file");
        let (first, rest) = text.split_once('\n').expect("several lines");
        let mut header: serde_json::Value = serde_json::from_str(first).expect("JSON");
        header["plan"]["arena"] = "disk".into();
        header["environment"]["device"]["identity"] = identity.into();
        fs::write(&path, format!("{header}\n{rest}")).expect("own file");
    }
    out
}

#[test]
fn an_experiment_is_persisted_where_it_was_measured_and_better_and_nowhere_else() {
    if !require(&["root", "blkid", "udevadm"]) {
        return;
    }
    let persisted = PersistLab::new();
    let from = |dir: &Path, more: &str| {
        persisted
            .run(&format!("persist DEV --by-name --dry-run --json --from {} {more}", dir.display()))
    };
    let simulated = experiment(&persisted, None);
    from(&simulated, "").expect_status(1).says(&["sim arena", "--force"]);
    let said = from(&simulated, "--force").expect_status(0).json();
    assert_eq!(said["scheduler"], "mq-deadline");
    assert!(
        said["cautions"][0].as_str().is_some_and(|words| words.starts_with("CAUTION")),
        "{said}"
    );
    let devices = persisted.run("devices DEV --json").expect_status(0).json();
    let here = experiment(&persisted, devices[0]["identity"].as_str());
    let said = from(&here, "").expect_status(0).json();
    assert_eq!(said["scheduler"], "mq-deadline");
    let because = said["because"].as_str().expect("a verdict");
    assert!(
        because.starts_with("better than none: iops of randread") && because.contains('['),
        "{because}"
    );
    from(&here, "read_ahead_kb=1").expect_status(2);
    let results = here.join("results.jsonl");
    let own = fs::read_to_string(&results).expect("the results file");
    let (first, rest) = own.split_once('\n').expect("several lines");
    let mut header: serde_json::Value = serde_json::from_str(first).expect("JSON");
    let diskseq = &mut header["environment"]["device"]["diskseq"];
    *diskseq = persisted.device.show("../diskseq").into();
    fs::write(&results, format!("{header}\n{rest}")).expect("own file");
    from(&here, "").expect_status(0);
    header["environment"]["device"]["diskseq"] = "1".into();
    fs::write(&results, format!("{header}\n{rest}")).expect("own file");
    from(&here, "").expect_status(1).says(&["another device", "medium 1)"]);
    fs::write(&results, own).expect("own file");
    from(&persisted.lab.path("nothing"), "").expect_status(2).says(&["cannot read"]);
    // With the baseline swapped, no variant is better.
    let text = fs::read_to_string(here.join("results.jsonl")).expect("the results file");
    fs::write(
        here.join("results.jsonl"),
        text.replace("\"baseline\":\"none\"", "\"baseline\":\"mq-deadline\""),
    )
    .expect("own file");
    from(&here, "").expect_status(1).says(&["shown to be better"]);
}

#[test]
fn a_tuning_is_persisted_only_if_confirmed_and_on_its_device() {
    if !require(&["root", "blkid", "udevadm"]) {
        return;
    }
    let persisted = PersistLab::new();
    let devices = persisted.run("devices DEV --json").expect_status(0).json();
    let identity = devices[0]["identity"].as_str().expect("an identity");
    let dir = persisted.lab.path("tuned");
    fs::create_dir(&dir).expect("own directory");
    let from = |identity: &str, arena: &str, verdict: &str| {
        let tuning = serde_json::json!({"recommended": {
            "device": persisted.device.path, "identity": identity, "arena": arena, "scheduler": "bfq",
            "tunables": {"slice_idle": "0"}, "verdict": verdict, "date": "2026-11-22",
        }});
        fs::write(dir.join("tune.json"), tuning.to_string()).expect("own file");
        persisted.run(&format!("persist DEV --by-name --dry-run --json --from {}", dir.display()))
    };
    let said = from(identity, "disk", "better").expect_status(0).json();
    assert_eq!((&said["scheduler"], &said["tunables"]["slice_idle"]), (&"bfq".into(), &"0".into()));
    from(identity, "sim", "better").expect_status(1).says(&["modelled disk"]);
    from("wwid naa.5", "disk", "better").expect_status(1).says(&["another device"]);
    from(identity, "disk", "inconclusive").expect_status(1).says(&["inconclusive", "not better"]);
    fs::write(dir.join("tune.json"), "{\"recommended\": null}").expect("own file");
    persisted
        .run(&format!("persist DEV --by-name --from {}", dir.display()))
        .expect_status(1)
        .says(&["no setting to persist"]);
}

#[test]
fn the_entry_for_the_hardware_database_is_one_that_systemd_reads() {
    if !require(&["root", "blkid", "udevadm", "systemd-hwdb"]) {
        return;
    }
    let persisted = PersistLab::new();
    let text = persisted
        .run("persist DEV scheduler=bfq slice_idle=0 --by-name --as hwdb")
        .expect_status(0)
        .stdout;
    let entry =
        text.split("# 1. ").nth(1).and_then(|rest| rest.split("# 2. ").next()).expect("two parts");
    let entry = entry.split_once('\n').expect("a heading").1;
    let root = persisted.lab.path("root");
    fs::create_dir_all(root.join("etc/udev/hwdb.d")).expect("own directory");
    fs::write(root.join("etc/udev/hwdb.d/90-schedlab.hwdb"), entry).expect("own file");
    let hwdb = |words: &[&str]| {
        let out = Command::new("systemd-hwdb")
            .arg("--root")
            .arg(&root)
            .args(words)
            .output()
            .expect("it runs");
        assert!(out.status.success(), "{words:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    hwdb(&["--strict", "update"]);
    let found = hwdb(&["query", &format!("schedlab:{}", persisted.device.name)]);
    assert_eq!(found, "SCHEDLAB_0=bfq\nSCHEDLAB_1=0\n");
}
