//! `schedlab watch` and `schedlab watch history` on a real loop device.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use testbed::{Loop, require};

use crate::common::Lab;

const TOOLS: [&str; 4] = ["root", "blkid", "systemctl", "systemd-analyze"];

/// With a unique name; its units are always removed.
struct Watched {
    lab: Lab,
    device: Loop,
    name: String,
}

impl Watched {
    fn new(name: &str) -> Watched {
        let lab = Lab::new();
        let device = Loop::new(&lab.dir, "disk", 16);
        Watched { lab, device, name: format!("e2e-{}-{name}", std::process::id()) }
    }

    fn add(&self, more: &str) -> crate::common::Ran {
        self.lab.run(&format!(
            "watch add --name {} --device {} --workload randread --schedulers none,kyber --rounds 3 --figures-only --trial-time 100ms {more}",
            self.name, self.device.path
        ))
    }

    fn units(&self) -> [PathBuf; 3] {
        let at = |rest: &str| {
            Path::new("/etc/systemd/system")
                .join(rest.replace("NAME", &format!("schedlab-watch-{}", self.name)))
        };
        [at("NAME.service"), at("NAME.timer"), at("timers.target.wants/NAME.timer")]
    }

    fn history(&self) -> Vec<serde_json::Value> {
        let list =
            self.lab.run(&format!("watch history {} --json", self.device.path)).expect_status(0);
        if list.stdout.starts_with('{') {
            list.json()["entries"].as_array().unwrap().clone()
        } else {
            Vec::new()
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.units().iter().for_each(|path| drop(fs::remove_file(path)));
    }
}

#[test]
fn a_watch_is_added_tested_told_of_and_removed_without_a_trace_but_its_history() {
    if !require(&TOOLS) {
        return;
    }
    let watched = Watched::new("whole");
    let (lab, name) = (&watched.lab, &watched.name);
    let before = watched.device.snapshot();
    let textfile = lab.path("schedlab.prom").display().to_string();
    watched.add("--between 00:00-23:59 --textfile metrics.txt").expect_status(2).says(&[".prom"]);
    watched.add(&format!("--between 00:00-23:59 --textfile {textfile}")).expect_status(0);
    for path in watched.units() {
        assert!(fs::symlink_metadata(&path).is_ok(), "{} is there", path.display());
    }
    watched.add("").expect_status(2).says(&["exists already", "watch remove"]);

    let metrics = lab.path("schedlab.prom");
    lab.run(&format!("watch run {name} --now")).expect_measured();
    let told = fs::read_to_string(&metrics).unwrap();
    assert!(
        told.contains(&format!("schedlab_value{{experiment=\"{name}\""))
            && told.ends_with("# EOF\n"),
        "{told}"
    );
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&metrics).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o644, "another user's node_exporter reads it");
    let history = watched.history();
    assert_eq!((history.len(), &history[0]["outcome"]), (1, &"measured".into()));
    assert!(history[0]["levels"][0]["mean"].as_f64().unwrap() > 0.0);
    assert!(history[0]["environment"]["kernel.release"].is_string(), "{}", history[0]);
    assert_eq!(history[0]["effects"][0]["variant"], "kyber");
    assert_eq!(watched.device.snapshot(), before, "a test changes no setting");
    let listed = lab.run("watch list --json").expect_status(0).json();
    assert_eq!(listed[0]["name"], name.as_str());
    assert_eq!(listed[0]["last"]["outcome"], "measured");

    let page = lab.path("history.html");
    lab.run(&format!("watch history --out {}", page.display())).expect_status(0);
    let page = fs::read_to_string(page).unwrap();
    assert!(
        page.contains("<svg") && page.contains("change against none") && !page.contains("http"),
        "{page}"
    );

    lab.run(&format!("watch remove {name}")).expect_status(0);
    for path in watched.units() {
        assert!(fs::symlink_metadata(&path).is_err(), "{} is gone", path.display());
    }
    assert!(!lab.state().join("watch").join(format!("{name}.toml")).exists());
    assert_eq!(watched.history().len(), 1, "the history stays");
}

#[test]
fn a_watch_is_removed_by_any_word_that_adds_it() {
    if !require(&TOOLS) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 16);
    let link = lab.path("link");
    std::os::unix::fs::symlink(&device.path, &link).unwrap();
    let link = link.display().to_string();
    let units = |name: &str| {
        let dir = Path::new("/etc/systemd/system");
        ["service", "timer"].map(|kind| dir.join(format!("schedlab-watch-{name}.{kind}")))
    };
    let add = |word: &str, more: &str| {
        lab.run(&format!(
            "watch add --device {word} --workload randread --schedulers none,kyber --rounds 3 --figures-only --trial-time 100ms {more}"
        ))
    };
    let words = [device.name.as_str(), &device.path, &link];
    for word in words {
        for other in words {
            add(word, "").expect_status(0);
            let removed = lab.run(&format!("watch remove {other}"));
            let left = units(&device.name).map(|path| fs::remove_file(path).is_ok());
            removed.expect_status(0);
            assert_eq!(left, [false, false], "added as {word}, removed as {other}");
        }
    }
    let names = ["one", "two"].map(|name| format!("e2e-{}-{name}", std::process::id()));
    add(&device.path, &format!("--name {}", names[0])).expect_status(0);
    add(&device.path, &format!("--name {}", names[1])).expect_status(0);
    let several = lab.run(&format!("watch remove {}", device.path));
    let removed =
        [names[1].as_str(), &device.path].map(|word| lab.run(&format!("watch remove {word}")));
    let left: Vec<bool> = names
        .iter()
        .flat_map(|name| units(name))
        .map(|path| fs::remove_file(path).is_ok())
        .collect();
    several.expect_status(2).says(&["has several watches", &names[0], &names[1]]);
    removed.into_iter().for_each(|ran| drop(ran.expect_status(0)));
    assert_eq!(left, [false; 4]);
    lab.run(&format!("watch remove {}", device.path)).expect_status(2).says(&["none yet"]);
}

#[test]
fn systemd_takes_the_units() {
    if !require(&TOOLS) {
        return;
    }
    let watched = Watched::new("units");
    watched.add("--between 23:30-01:00 --every daily").expect_status(0);
    let [service, timer, _] = watched.units();
    // Needs no running systemd.
    let checked =
        Command::new("systemd-analyze").arg("verify").arg(&service).arg(&timer).output().unwrap();
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success() && !said.contains(watched.name.as_str()), "{said}");
    let text = fs::read_to_string(timer).unwrap();
    let calendar = text.lines().find_map(|line| line.strip_prefix("OnCalendar=")).unwrap();
    let next = Command::new("systemd-analyze").args(["calendar", calendar]).output().unwrap();
    assert!(
        next.status.success() && String::from_utf8_lossy(&next.stdout).contains("23:30:00"),
        "{calendar}"
    );
}

#[test]
fn outside_of_its_hours_or_on_another_device_nothing_is_measured() {
    if !require(&TOOLS) {
        return;
    }
    let watched = Watched::new("hours");
    let (lab, name) = (&watched.lab, &watched.name);
    watched.add("--between 02:00-03:00").expect_status(0);
    let path = lab.state().join("watch").join(format!("{name}.toml"));
    // Closed for at least an hour, at any time of day.
    let hour = Command::new("date").arg("+%H").output().unwrap();
    let hour: u32 = String::from_utf8(hour.stdout).unwrap().trim().parse().unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let closed = format!("{:02}:00-{:02}:30", (hour + 22) % 24, (hour + 22) % 24);
    fs::write(&path, text.replace("02:00-03:00", &closed)).unwrap();
    let ran = lab.run(&format!("watch run {name}")).expect_status(0);
    assert!(ran.stdout.contains("not tested") && ran.stdout.contains("window"), "{}", ran.stdout);
    assert_eq!(watched.history()[0]["outcome"], "skipped");

    fs::write(&path, text.replace("identity = \"", "identity = \"not ")).unwrap();
    lab.run(&format!("watch run {name} --now")).expect_status(1).says(&[
        "not name",
        "replaced",
        "watch remove",
    ]);
}

#[test]
fn a_changed_verdict_is_told_and_applied_only_if_asked_for() {
    if !require(&TOOLS) {
        return;
    }
    for apply in [false, true] {
        let watched = Watched::new(if apply { "apply" } else { "tell" });
        let (lab, name, device) = (&watched.lab, &watched.name, &watched.device);
        let told = lab.path("told");
        // Without shell quotes, which words cannot contain.
        let tell = format!("tee={};cat>$tee", told.display());
        let words =
            if apply { format!("--tell {tell} --apply set") } else { format!("--tell {tell}") };
        watched.add(&words).expect_status(0);
        lab.run(&format!("watch run {name} --now")).expect_measured();
        assert!(!told.exists(), "the first verdict is no change");

        // Rewrite the last recommendation, so that the next test finds a change: by a ratio that no
        // disturbance of three trials can hide.
        let file = fs::read_dir(lab.state().join("history"))
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path()
            .join("history.jsonl");
        let mut last: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        last["recommended"] = "kyber".into();
        for effect in last["effects"].as_array_mut().unwrap() {
            let shift = if effect["variant"] == "kyber" { 60.0 } else { 0.0 };
            for ratio in effect["log_ratios"].as_array_mut().unwrap() {
                *ratio = (ratio.as_f64().unwrap() + shift).into();
            }
        }
        fs::write(&file, format!("{last}\n")).unwrap();
        device.set("scheduler", "kyber");
        lab.run(&format!("watch run {name} --now")).expect_measured();
        let entry = watched.history().pop().unwrap();
        let recommended = entry["recommended"].as_str();
        let is_other = recommended.is_some_and(|variant| variant != "kyber");
        assert_eq!(
            (entry["outcome"].as_str(), entry["changed"].as_bool()),
            (Some("measured"), Some(is_other))
        );
        let text = fs::read_to_string(&told).unwrap_or_default();
        assert_eq!(text.contains("has changed from kyber"), is_other, "{text}");
        let expected = if apply { recommended.unwrap_or("kyber") } else { "kyber" };
        assert_eq!(device.scheduler(), expected, "{entry}");
        assert_eq!(entry["applied"].is_string(), apply && is_other, "{entry}");
    }
}

#[test]
fn what_is_left_of_a_broken_watch_can_be_removed() {
    if !require(&TOOLS) {
        return;
    }
    let watched = Watched::new("broken");
    let (lab, name) = (&watched.lab, &watched.name);
    let config = lab.state().join("watch").join(format!("{name}.toml"));
    watched.add("").expect_status(0);
    fs::write(&config, "garbage").unwrap();
    let listed = lab.run("watch list").expect_status(0);
    assert!(listed.stdout.contains("--force"), "{}", listed.stdout);
    lab.run(&format!("watch remove {name}")).expect_status(1).says(&["--force"]);
    lab.run(&format!("watch remove {name} --force")).expect_status(0);
    assert!(
        !config.exists() && watched.units().iter().all(|path| fs::symlink_metadata(path).is_err())
    );
    watched.add("").expect_status(0);
    fs::remove_file(&config).unwrap();
    lab.run(&format!("watch remove {name} --force")).expect_status(0);
    assert!(watched.units().iter().all(|path| fs::symlink_metadata(path).is_err()));
}

#[test]
fn slips_are_named_before_anything_is_written() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let watched = Watched::new("slips");
    let lab = &watched.lab;
    watched.add("--between night").expect_status(2).says(&["--between", "02:00-05:00"]);
    watched.add("--every fortnight").expect_status(2).says(&["--every", "weekly"]);
    watched.add("--max-load 0").expect_status(2).says(&["--max-load"]);
    watched
        .add("--budget 2h --between 02:00-03:00")
        .expect_status(2)
        .says(&["--between", "--budget"]);
    watched.add("--destroy-data /dev/loop-other").expect_status(2).says(&["--destroy-data"]);
    lab.run("watch add --device loop:64M").expect_status(2).says(&["temporary"]);
    lab.run("watch add --arena sim --device hp97560").expect_status(2).says(&["--arena"]);
    lab.run("watch run nothing").expect_status(2).says(&["watch add"]);
    lab.run("watch remove nothing").expect_status(2).says(&["watch add"]);
    assert!(
        !lab.state().join("watch").exists() && watched.units().iter().all(|path| !path.exists())
    );

    let device = &watched.device.path;
    let refused =
        lab.run(&format!("watch add --device {device} --workload oltp --dry-run")).expect_status(2);
    refused.says(&["only reads", "--workload randread", "--destroy-data"]);
    let printed = lab.run(&format!("watch add --device {device} --dry-run")).expect_status(0);
    assert!(printed.stdout.contains("kind = \"randread\""), "{printed:?}");
    // Next week its name may belong to another disk.
    lab.run(&format!(
        "watch add --device {device} --workload oltp --destroy-data {device} --dry-run"
    ))
    .expect_status(2)
    .says(&["--destroy-data", "no serial number", "only reads"]);
    assert!(!lab.state().join("watch").exists());
}

#[test]
fn a_change_in_a_history_is_named_with_the_kernel_that_came_with_it() {
    let lab = Lab::new();
    let dir = lab.state().join("history/disk");
    fs::create_dir_all(&dir).unwrap();
    // From the 25th week on a new kernel, where bfq drops to four fifths.
    let line = |week: u32| {
        let kernel = if week < 24 { "6.1.0" } else { "6.12.0" };
        let noise = 1.0 + 0.01 * (f64::from(week * 7919 % 13) - 6.0) / 6.0;
        let bfq = 900.0 * noise * if week < 24 { 1.0 } else { 0.8 };
        let level = |variant: &str, mean: f64| serde_json::json!({"workload": "r", "metric": "iops", "variant": variant, "n": 9, "mean": mean});
        let line = serde_json::json!({"at": format!("2026-{:02}-{:02}T02:00:00Z", 1 + week / 28, 1 + week % 28), "watch": "sdb",
            "device": "/dev/sdb", "outcome": "measured", "recommended": null, "sentence": "s", "changed": false, "effects": [],
            "report": "r", "levels": [level("none", 1000.0 * noise), level("bfq", bfq)],
            "environment": {"kernel.release": kernel, "tools.fio": "3.33"}});
        format!("{line}\n")
    };
    fs::write(dir.join("history.jsonl"), (0..40).map(line).collect::<String>()).unwrap();
    let text = lab.run("watch history").expect_status(0).stdout;
    let changed: Vec<&str> = text.lines().filter(|line| line.starts_with("CHANGED")).collect();
    let [change] = changed[..] else { panic!("{text}") };
    assert!(
        change.starts_with("CHANGED since 2026-01-25 02:00:00: bfq on r (sdb): iops -"),
        "{change}"
    );
    assert!(change.ends_with("kernel.release 6.12.0 (was 6.1.0)"), "{change}");
    let json = lab.run("watch history --json").expect_status(0).json();
    assert_eq!(
        (json["entries"].as_array().unwrap().len(), &json["changes"][0]["followed"]),
        (40, &"level".into())
    );
    let page = lab.path("history.html");
    lab.run(&format!("watch history --out {}", page.display())).expect_status(0);
    assert!(fs::read_to_string(page).unwrap().contains("<li>CHANGED since 2026-01-25"));
}
