//! `schedlab show` and `schedlab set` on a real loop device.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use testbed::{Loop, Tmpfs, eventually, require};

use crate::common::{Lab, Ran};

/// A loop device with an administrator's tuning; None if unavailable.
fn tuned(lab: &Lab) -> Option<Loop> {
    if !require(&["root", "blkid"]) {
        return None;
    }
    let device = Loop::new(&lab.dir, "disk", 4);
    let offered = fs::read_to_string(device.queue().join("scheduler")).unwrap();
    assert!(["mq-deadline", "kyber", "bfq"].iter().all(|name| offered.contains(name)), "{offered}");
    // A loop device keeps its last user's settings.
    device.set("max_sectors_kb", &shows(&device, "max_hw_sectors_kb"));
    for (name, value) in [
        ("scheduler", "mq-deadline"),
        ("nr_requests", "64"),
        ("iosched/async_depth", "40"),
        ("iosched/read_expire", "252"),
        ("read_ahead_kb", "512"),
    ] {
        device.set(name, value);
    }
    Some(device)
}

fn shows(device: &Loop, name: &str) -> String {
    fs::read_to_string(device.queue().join(name)).unwrap().trim().to_owned()
}

fn journal(lab: &Lab) -> usize {
    fs::read_dir(lab.state().join("journal")).map_or(0, Iterator::count)
}

/// The next test may get the same loop device.
struct Ended<'a>(&'a Lab, &'a Loop);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        let _ = self.0.command(&format!("set {} --end", self.1.path)).output();
    }
}

fn keeper(lab: &Lab, device: &Loop) -> Option<u64> {
    lab.run(&format!("show {} --json", device.path)).expect_status(0).json()["held"]["pid"].as_u64()
}

fn signal(pid: u64, name: &str) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
}

fn is_there(pid: u64) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // A zombie is not alive.
    !stat.is_empty() && stat.rsplit(") ").next().is_some_and(|rest| !rest.starts_with('Z'))
}

#[test]
fn everything_that_sysfs_shows_of_a_queue_is_shown_with_its_value_and_its_meaning() {
    let lab = Lab::new();
    let Some(device) = tuned(&lab) else { return };
    let shown = lab.run(&format!("show {} --json", device.path)).expect_status(0).json();
    let lines = shown["attributes"].as_array().unwrap();
    let mut seen = 0;
    for (dir, place) in [("", "queue"), ("iosched", "scheduler")] {
        for entry in fs::read_dir(device.queue().join(dir)).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            let Ok(text) = fs::read_to_string(entry.path()) else { continue };
            if name == "scheduler" {
                continue;
            }
            let line =
                lines.iter().find(|line| line["name"] == name.as_str() && line["place"] == place);
            let line = line.unwrap_or_else(|| panic!("{name} is not shown"));
            assert_eq!(line["value"], text.trim(), "{name}");
            assert!(
                line["help"].as_str().unwrap().len() > 5 && line["help"] != "unknown to schedlab",
                "{name}"
            );
            let writable = entry.metadata().unwrap().permissions().mode() & 0o222 != 0;
            assert_eq!(line["writable"], writable, "{name}");
            seen += 1;
        }
    }
    assert_eq!(lines.len(), seen, "and nothing that is not there");
    let line = |name: &str| lines.iter().find(|line| line["name"] == name).unwrap();
    assert_eq!(
        (&line("read_expire")["differs"], &line("read_expire")["default"]),
        (&true.into(), &"500".into())
    );
    assert_eq!(
        (&line("fifo_batch")["differs"], &line("fifo_batch")["unit"]),
        (&false.into(), &"requests".into())
    );
    assert_eq!(
        (&line("nr_requests")["differs"], &line("nr_requests")["default"]),
        (&true.into(), &"256".into())
    );
    assert_eq!(
        (&line("async_depth")["differs"], &line("async_depth")["default"]),
        (&true.into(), &"64".into())
    );
    assert_eq!(shown["scheduler"], "mq-deadline");
    assert_eq!(shown["held"], serde_json::Value::Null);
}

#[test]
fn the_page_fits_into_eighty_columns_and_marks_what_is_not_the_default() {
    let lab = Lab::new();
    let Some(device) = tuned(&lab) else { return };
    for columns in [80, 160] {
        let mut command = lab.command(&format!("show {}", device.path));
        let page = Ran::from(command.env("COLUMNS", columns.to_string()).output().unwrap())
            .expect_status(0)
            .stdout;
        assert!(page.lines().all(|line| line.chars().count() <= columns), "{columns}:\n{page}");
        assert!(
            page.contains("\n* read_expire = 252 ms")
                && page.contains("\n  fifo_batch = 16 requests"),
            "{page}"
        );
        assert!(page.contains("[mq-deadline]") && page.contains("Read-only"), "{page}");
    }
}

#[test]
fn what_is_set_is_told_as_old_and_new_and_the_command_that_is_told_takes_it_back() {
    let lab = Lab::new();
    let Some(device) = tuned(&lab) else { return };
    let before = device.snapshot();
    for values in [
        "scheduler=bfq slice_idle=0 nr_requests=96 max_sectors_kb=64",
        "scheduler=none",
        "scheduler=deadline fifo_batch=1 nomerges=1",
        "scheduler=kyber read_lat_nsec=1000000 read_ahead_kb=4",
        "nr_requests=100",
    ] {
        let ran = lab.run(&format!("set {} {values}", device.path)).expect_status(0);
        for (name, value) in values.split(' ').map(|word| word.split_once('=').unwrap()) {
            match name {
                "scheduler" => {
                    assert_eq!(device.scheduler(), value.replace("deadline", "mq-deadline"))
                }
                _ => {
                    let line = ran
                        .stdout
                        .lines()
                        .find(|line| line.trim_start().starts_with(name))
                        .unwrap_or_default();
                    assert!(line.ends_with(value), "{name}: {}", ran.stdout);
                }
            }
        }
        assert_ne!(device.snapshot(), before, "{values}");
        assert_eq!(journal(&lab), 0, "what stays needs no entry");
        // A long one is folded as for a shell.
        let undo = ran.stdout.split_once("To undo: schedlab ").unwrap().1.replace("\\\n", " ");
        lab.run(&undo).expect_status(0);
        assert_eq!(device.snapshot(), before, "{values}, and back by {undo}");
    }
    let again = lab.run(&format!("set {} nr_requests=64", device.path)).expect_status(0);
    assert!(again.stdout.contains("already set, nothing changed"), "{}", again.stdout);
    lab.run(&format!("set {} scheduler=deadline", device.path))
        .expect_status(0)
        .says(&["mq-deadline", "Linux 5.0"]);
}

#[test]
fn a_dry_run_tells_each_write_in_order_changes_nothing_and_needs_no_root() {
    let lab = Lab::new();
    let Some(device) = tuned(&lab) else { return };
    let before = device.snapshot();
    // Directories above the built binary may be closed to others.
    let exe = lab.path("schedlab");
    testbed::copy_program(env!("CARGO_BIN_EXE_schedlab"), &exe);
    fs::set_permissions(lab.dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let words = format!(
        "set {} read_ahead_kb=4 slice_idle=0 scheduler=bfq nr_requests=96 --dry-run",
        device.name
    );
    let ran = Command::new(&exe)
        .args(words.split(' '))
        .env("SCHEDLAB_STATE_DIR", lab.state())
        .current_dir("/")
        .uid(65_534)
        .gid(65_534)
        .output();
    let ran = Ran::from(ran.unwrap()).expect_status(0);
    let queue = device.queue().display().to_string();
    let paths: Vec<&str> =
        ran.stdout.lines().map(|line| line.split("    ").next().unwrap()).collect();
    let expected =
        ["scheduler = bfq", "nr_requests = 96", "read_ahead_kb = 4", "iosched/slice_idle = 0"];
    assert_eq!(paths, expected.map(|write| format!("{queue}/{write}")));
    assert_eq!(device.snapshot(), before);
    assert!(!lab.state().exists());
}

#[test]
fn a_wrong_name_or_value_is_wrong_usage_that_says_what_is_right_and_nothing_is_written() {
    let lab = Lab::new();
    let Some(device) = tuned(&lab) else { return };
    let before = device.snapshot();
    for (values, words) in [
        (
            "fifo_batch=4 nr_requests=1",
            &["nr_requests is out of range (found 1", "from 4 to 2048 requests"][..],
        ),
        ("fifo_batch=4 scheduler=none nr_requests=100000", &["fifo_batch", "mq-deadline"]),
        ("scheduler=none nr_requests=100000", &["from 4 to 128 requests"]),
        ("fifo_batch=4 read_expire=soon", &["from 0 to 2147483647 ms"]),
        ("fifo_batch=4 slice_idle=0", &["tunable of bfq", "scheduler=bfq"]),
        ("fifo_batch=4 logical_block_size=512", &["read-only"]),
        ("fifo_batch=4 fifo_bacth=4", &["did you mean \"fifo_batch\""]),
        ("fifo_batch=4 io_timeout=4", &["no io_timeout"]),
        ("scheduler=kyver", &["did you mean \"kyber\""]),
        ("scheduler=cfq", &["nearest alternative is bfq"]),
        ("fifo_batch=4 fifo_batch=5", &["given twice"]),
        ("fifo_batch", &["NAME=VALUE"]),
        ("fifo_batch=4 --for 0s", &["--for"]),
        ("", &["NAME=VALUE"]),
        ("fifo_batch=4 --end", &["cannot be used with"]),
    ] {
        lab.run(&format!("set {} {values}", device.path)).expect_status(2).says(words);
        assert_eq!(device.snapshot(), before, "{values}");
    }
    lab.run("set no-such-disk nomerges=1").expect_status(2).says(&["no such block device"]);
}

#[test]
fn a_write_without_effect_takes_everything_back() {
    let lab = Lab::new();
    let Some(device) = tuned(&lab) else { return };
    let before = device.snapshot();
    // Linux accepts writes to this attribute and ignores them on a device that cannot poll.
    for lasting in ["", " --for 1h"] {
        let words = format!(
            "set {} scheduler=bfq slice_idle=0 nr_requests=96 io_poll_delay=7{lasting}",
            device.path
        );
        lab.run(&words).expect_status(1).says(&["io_poll_delay", "all settings are restored"]);
        assert_eq!(device.snapshot(), before);
        assert_eq!(journal(&lab), 0);
    }
}

#[test]
fn a_state_directory_without_room_is_named_and_nothing_is_written() {
    let lab = Lab::new();
    let Some(device) = tuned(&lab) else { return };
    let before = device.snapshot();
    fs::create_dir_all(lab.state()).unwrap();
    let small = Tmpfs::with(&lab.state(), "size=16k,mode=0700");
    let _ = fs::write(lab.path("state/ballast"), vec![1; 64 << 10]);
    let ran: Vec<Ran> = ["", " --for 1h"]
        .iter()
        .map(|l| lab.run(&format!("set {} scheduler=bfq{l}", device.path)))
        .collect();
    drop(small);
    for ran in ran {
        let state = lab.state().display().to_string();
        ran.expect_status(1).says(&[&state, "SCHEDLAB_STATE_DIR"]);
    }
    assert_eq!(device.snapshot(), before);
}

#[test]
fn set_for_a_while_it_is_taken_back_by_itself_and_the_process_that_does_it_belongs_to_no_terminal()
{
    let lab = Lab::new();
    let Some(device) = tuned(&lab) else { return };
    let _ended = Ended(&lab, &device);
    let before = device.snapshot();
    let ran = lab
        .run(&format!("set {} scheduler=bfq slice_idle=0 --for 3s", device.path))
        .expect_status(0);
    assert!(ran.stdout.contains("until ") && ran.stdout.contains("--end"), "{}", ran.stdout);
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
    eventually("the time is over and everything is as before", || {
        device.snapshot() == before && journal(&lab) == 0
    });

    let told = lab
        .run(&format!("set {} scheduler=kyber --for 1h --json", device.path))
        .expect_status(0)
        .json();
    assert!(told["for"]["left_s"].as_u64().is_some_and(|s| (3500..=3600).contains(&s)), "{told}");
    let pid = told["for"]["pid"].as_u64().unwrap();
    assert_eq!(
        (keeper(&lab, &device), device.scheduler().as_str(), journal(&lab)),
        (Some(pid), "kyber", 1)
    );
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    assert_eq!(fields[3], pid.to_string(), "it leads a session of its own");
    assert_eq!(fields[4], "0", "it has no terminal");
    for descriptor in ["0", "1", "2"] {
        let target = fs::read_link(format!("/proc/{pid}/fd/{descriptor}")).unwrap();
        assert_eq!(
            target.display().to_string(),
            "/dev/null",
            "no reader of our output waits for it"
        );
    }
    let timers = fs::read_dir(format!("/proc/{pid}/fdinfo")).unwrap().flatten();
    let timers = timers.filter_map(|entry| fs::read_to_string(entry.path()).ok());
    let clocks: Vec<String> = timers
        .filter_map(|text| Some(text.lines().find(|line| line.starts_with("clockid"))?.to_owned()))
        .collect();
    assert_eq!(
        clocks,
        ["clockid: 7"],
        "it waits by CLOCK_BOOTTIME, which goes on while the machine sleeps"
    );
    assert_eq!(fs::read_link(format!("/proc/{pid}/cwd")).unwrap().display().to_string(), "/");
    signal(pid, "-HUP");
    eventually("it has taken the signal and sleeps, or is gone", || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.is_empty()
            || (status.contains("ShdPnd:\t0000000000000000") && status.contains("State:\tS"))
    });
    assert!(
        is_there(pid) && device.scheduler() == "kyber",
        "a terminal that goes away means nothing to it"
    );
    signal(pid, "-TERM");
    eventually("it has put everything back", || !is_there(pid));
    assert_eq!((device.snapshot(), journal(&lab)), (before, 0));
}

#[test]
fn while_a_setting_is_in_force_everybody_else_is_told_who_has_it_until_when_and_how_to_end_it() {
    let lab = Lab::new();
    let Some(device) = tuned(&lab) else { return };
    let _ended = Ended(&lab, &device);
    let before = device.snapshot();
    lab.run(&format!("set {} read_expire=100 --for 1h", device.path)).expect_status(0);
    let pid = keeper(&lab, &device).unwrap().to_string();
    let told = [device.path.as_str(), &pid, "until ", "another 59 min", "--end"];
    lab.run(&format!("set {} nomerges=1", device.path)).expect_status(1).says(&told);
    lab.run(&format!("set {} nomerges=1 --for 5m", device.path)).expect_status(1).says(&told);
    let compare = format!(
        "compare --device {} --schedulers none,bfq --workload randread --rounds 1 --figures-only",
        device.path
    );
    lab.run(&format!("{compare} --out {}", lab.path("out").display())).expect_status(1).says(&told);
    let restore = lab.run("restore").expect_status(4).stdout;
    assert!(restore.contains("--end") && restore.contains(&pid), "{restore}");
    let shown = lab.run(&format!("show {}", device.path)).expect_status(0).stdout;
    assert!(shown.contains("> read_expire = 100 ms") && shown.contains("was 252"), "{shown}");
    assert!(shown.contains(&pid) && shown.contains("--end"), "{shown}");
    assert_eq!(shows(&device, "iosched/read_expire"), "100", "and it stays in force");

    let ended = lab.run(&format!("set {} --end", device.path)).expect_status(0).stdout;
    assert!(ended.contains("has its former values"), "{ended}");
    assert_eq!((device.snapshot(), journal(&lab)), (before, 0));
    eventually("its process is gone", || !is_there(pid.parse().unwrap()));
    let nothing = lab.run(&format!("set {} --end", device.path)).expect_status(0).stdout;
    assert!(nothing.contains("no temporary setting"), "{nothing}");
}

#[test]
fn when_the_keeper_is_killed_restore_or_the_next_start_or_ending_it_puts_everything_back() {
    let lab = Lab::new();
    let Some(device) = tuned(&lab) else { return };
    let _ended = Ended(&lab, &device);
    let before = device.snapshot();
    for next in ["restore", "set DEVICE --end", "set DEVICE scheduler=mq-deadline"] {
        lab.run(&format!("set {} scheduler=bfq slice_idle=0 --for 1h", device.path))
            .expect_status(0);
        let pid = keeper(&lab, &device).unwrap();
        signal(pid, "-KILL");
        eventually("it is gone", || !is_there(pid));
        assert_eq!((device.scheduler().as_str(), journal(&lab)), ("bfq", 1));
        lab.run(&next.replace("DEVICE", &device.path)).expect_status(0);
        assert_eq!((device.snapshot(), journal(&lab)), (before.clone(), 0), "{next}");
    }
}

#[test]
fn a_keeper_whose_command_dies_before_it_has_told_its_user_takes_the_setting_back() {
    let lab = Lab::new();
    let Some(device) = tuned(&lab) else { return };
    let _ended = Ended(&lab, &device);
    let before = device.snapshot();
    let mut command =
        lab.command(&format!("setting-keeper {} 3600000 scheduler=bfq slice_idle=0", device.path));
    let mut keeper = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut report = String::new();
    BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut report).unwrap();
    assert!(
        report.contains("slice_idle") && device.scheduler() == "bfq",
        "in force, and owned: {report}"
    );
    assert_eq!(journal(&lab), 1);
    drop(keeper.stdin.take());
    assert_eq!(keeper.wait().unwrap().code(), Some(1));
    assert_eq!((device.snapshot(), journal(&lab)), (before, 0));
}

#[test]
fn a_partition_names_its_disk() {
    let lab = Lab::new();
    let Some(device) = tuned(&lab) else { return };
    if !require(&["root", "addpart", "delpart"]) {
        return;
    }
    assert!(
        Command::new("addpart").args([&device.path, "1", "8", "1000"]).status().unwrap().success()
    );
    let part = format!("{}p1", device.path);
    let of_partition = lab.run(&format!("set {part} nomerges=1"));
    let shown = lab.run(&format!("show {part}"));
    assert!(Command::new("delpart").args([&device.path, "1"]).status().unwrap().success());
    of_partition.expect_status(2).says(&["partition", &device.path]);
    shown.expect_status(2).says(&["partition", &device.path]);
}

#[test]
fn a_stacked_device_names_the_disk_below_it() {
    let lab = Lab::new();
    let Some(device) = tuned(&lab) else { return };
    if !require(&["root", "dmsetup"]) {
        return;
    }
    let name = format!("schedlab-test-{}", std::process::id());
    let table = format!("0 1000 linear {} 0", device.path);
    let made = Command::new("dmsetup")
        .args(["create", &name, "--table", &table, "--noudevsync"])
        .output()
        .unwrap();
    if !made.status.success() {
        eprintln!("SKIPPED: no device-mapper here: {}", String::from_utf8_lossy(&made.stderr));
        return;
    }
    let node = Command::new("dmsetup")
        .args(["info", "-c", "--noheadings", "-o", "blkdevname", &name])
        .output()
        .unwrap();
    let node = String::from_utf8(node.stdout).unwrap().trim().to_owned();
    let of_stacked = lab.run(&format!("set {node} read_ahead_kb=4"));
    assert!(
        Command::new("dmsetup").args(["remove", "--noudevsync", &name]).status().unwrap().success()
    );
    of_stacked.expect_status(2).says(&["bio-based", &device.path]);
}
