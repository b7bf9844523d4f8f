//! The kernel arena: real schedulers and programs in guests, usage errors, leftovers after kills.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use sha2::{Digest, Sha256};
use testbed::{Directory, eventually, is_soak, require, skip};

use crate::common::{KERNEL, KERNEL_VARIABLE, Lab, Ran, kernel_cache, plain_kernel, trials, word};

struct Arena {
    lab: Lab,
    cache: PathBuf,
}

impl Arena {
    fn new() -> Option<Arena> {
        Some(Arena { cache: kernel_cache()?, lab: Lab::new() })
    }

    fn command(&self, words: &str) -> Command {
        let mut command = self.lab.command(words);
        command.env("SCHEDLAB_CACHE_DIR", &self.cache);
        command
    }

    fn run(&self, words: &str) -> Ran {
        Ran::from(self.command(words).output().unwrap())
    }

    fn compare(&self, out: &str, more: &str) -> String {
        format!(
            "compare --arena kernel --device hp97560 --out {} {more}",
            self.lab.path(out).display()
        )
    }

    fn start(&self, words: &str) -> Child {
        self.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// In the repository's root, which the guest sees wherever the clone is.
    fn exec(&self, options: &str, script: &str) -> Ran {
        let mut command = self.command(&format!("kernel exec {options} --"));
        Ran::from(command.args(["sh", "-c", script]).current_dir(repository()).output().unwrap())
    }

    fn guests(&self, of: u32) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.cache.join("run")).into_iter().flatten().flatten();
        let own = format!("{of}-");
        entries.map(|entry| entry.path()).filter(|path| named(path).starts_with(&own)).collect()
    }
}

fn named(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Includes process groups: a guest's address spaces have no command line.
fn processes(word: &str) -> Vec<u32> {
    let all: Vec<(u32, u32, bool)> = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            let group = stat.rsplit(") ").next()?.split(' ').nth(2)?.parse().ok()?;
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            Some((pid, group, String::from_utf8_lossy(&line).contains(word)))
        })
        .collect();
    let groups: Vec<u32> =
        all.iter().filter(|(.., names)| *names).map(|(_, group, _)| *group).collect();
    all.iter()
        .filter(|(_, group, names)| *names || groups.contains(group))
        .map(|(pid, ..)| *pid)
        .collect()
}

fn signal(child: &Child, signal: &str) {
    assert!(
        Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success()
    );
}

const LONG: &str = "--schedulers none,bfq --workload iozone --clients 40 --rounds 200 --trial-time 100s --budget 100000s --quiet --json";

/// Of this test alone: other tests act as their own users.
const NOBODY: u32 = 64_322;

fn files_of_an_unprivileged_user(dir: &str) -> Vec<PathBuf> {
    let owned = |path: &PathBuf| {
        fs::symlink_metadata(path).is_ok_and(|m| std::os::unix::fs::MetadataExt::uid(&m) == NOBODY)
    };
    fs::read_dir(dir).unwrap().flatten().map(|entry| entry.path()).filter(owned).collect()
}

#[test]
fn an_ordinary_user_gets_the_same_results_and_analysis_twice_and_leaves_nothing_behind() {
    if !require(&["root", "setpriv", "cp"]) {
        return;
    }
    let Some(cache) = kernel_cache() else { return };
    let shared = ["/tmp", "/var/tmp", "/dev/shm"];
    let before = shared.map(files_of_an_unprivileged_user);
    // A home with a copy of the kernel, since another user's cache may be inaccessible.
    let home = Directory::new();
    let kernel = plain_kernel(&cache).unwrap();
    let copy = home.path().join(".cache/schedlab/kernels").join(named(&kernel));
    fs::create_dir_all(copy.join("tree")).unwrap();
    // This program's modules are built when the first guest runs.
    Ran::from(
        Command::new(env!("CARGO_BIN_EXE_schedlab"))
            .args(["kernel", "exec", "--cache-dir"])
            .arg(&cache)
            .args(["--", "true"])
            .env(KERNEL_VARIABLE, KERNEL)
            .output()
            .unwrap(),
    )
    .expect_status(0);
    let modules = fs::read_dir(&kernel)
        .unwrap()
        .flatten()
        .map(|e| e.path())
        .filter(|p| named(p).starts_with("modules-"));
    for part in modules.chain([kernel.join("kernel.json")]) {
        assert!(Command::new("cp").arg("-r").arg(&part).arg(&copy).status().unwrap().success());
    }
    testbed::copy_program(kernel.join("tree/linux"), copy.join("tree/linux"));
    let binary = home.path().join("schedlab");
    testbed::copy_program(env!("CARGO_BIN_EXE_schedlab"), &binary);
    let owner = format!("{NOBODY}:{NOBODY}");
    assert!(
        Command::new("chown").args(["-R", &owner]).arg(home.path()).status().unwrap().success()
    );
    let show = |out: &str| {
        let words = "compare --arena kernel --device hp97560 --schedulers none,mq-deadline,kyber,bfq,anticipatory,wpcas,occupancy --workload iozone \
                     --clients 40 --rounds 1 --figures-only --trial-time 2s --json --out";
        let mut command = Command::new("setpriv");
        let ids =
            [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"), "--clear-groups".to_owned()];
        command.args(ids).arg(&binary).args(words.split_whitespace()).arg(home.path().join(out));
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", home.path());
        command.env(KERNEL_VARIABLE, KERNEL).current_dir("/");
        Ran::from(command.output().unwrap()).expect_status(0)
    };
    let (one, two) = (show("one"), show("two"));
    assert!(one.stdout == two.stdout, "two analyses of the same");
    for file in
        ["analysis.json", "results.jsonl", "report.html", "report.md", "trials.csv", "plan.toml"]
    {
        let read = |out: &str| fs::read(home.path().join(out).join(file)).unwrap();
        assert!(read("one") == read("two"), "{file} differs");
    }
    let header: Value = serde_json::from_str(
        fs::read_to_string(home.path().join("one/results.jsonl")).unwrap().lines().next().unwrap(),
    )
    .unwrap();
    let kernel = &header["environment"]["kernel"];
    assert!(
        kernel["release"].as_str().unwrap().ends_with("-schedlab") && kernel["build"].is_string(),
        "{kernel}"
    );
    one.says(&["times as fast", "requests a second"]);
    assert_eq!(
        fs::read_dir(home.path().join(".cache/schedlab/run")).unwrap().count(),
        0,
        "working directories are gone"
    );
    let mut left: Vec<String> =
        fs::read_dir(home.path()).unwrap().flatten().map(|entry| named(&entry.path())).collect();
    left.sort();
    assert_eq!(left, [".cache", "one", "schedlab", "two"]);
    for (dir, before) in shared.into_iter().zip(before) {
        let left: Vec<_> = files_of_an_unprivileged_user(dir)
            .into_iter()
            .filter(|path| path != home.path() && !before.contains(path))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// Root's guest runs as another user, who reads this with any umask.
fn write_for_all(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
}

#[test]
fn a_program_in_a_guest_prints_and_ends_as_it_does_anywhere() {
    let Some(arena) = Arena::new() else { return };
    // The first guest of a kernel builds modules and reports it.
    arena.exec("--quiet", "true").expect_status(0);
    let ran =
        arena.exec("", "echo out; echo err >&2; sleep 100; date +%F; pwd; exit 7").expect_status(7);
    assert_eq!(ran.stdout, format!("out\n2030-01-01\n{}\n", repository().display()));
    assert!(ran.stderr.starts_with("err\nschedlab: 100."), "{}", ran.stderr);
    // The guest's own directories show the machine's files under the same paths.
    for parent in ["/tmp", "/var/tmp"] {
        let dir = tempfile::Builder::new().prefix("schedlab test ").tempdir_in(parent).unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        write_for_all(&dir.path().join("file"), b"here");
        let mut command = arena.command("kernel exec --quiet -- sh -c");
        let ran = Ran::from(command.arg("pwd; cat file").current_dir(dir.path()).output().unwrap())
            .expect_status(0);
        assert_eq!(ran.stdout, format!("{}\nhere", dir.path().display()));
    }
    assert_eq!(arena.exec("--quiet", "kill -KILL $$").expect_status(137).stderr, "");
    arena
        .exec("", "echo x > /etc/schedlab-was-here")
        .expect_status(2)
        .says(&["Read-only file system"]);
    let name = format!("schedlab-e2e-{}", std::process::id());
    arena
        .exec(
            "",
            &format!("for d in /tmp /var/tmp /run /dev/shm; do echo x > $d/{name} || exit 9; done"),
        )
        .expect_status(0);
    assert!(
        ["/tmp", "/var/tmp", "/run", "/dev/shm"]
            .iter()
            .all(|dir| !Path::new(dir).join(&name).exists())
    );
    // Files of the machine there remain visible, byte for byte.
    let bytes: Vec<u8> =
        (0..300_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    fs::set_permissions(arena.lab.dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    write_for_all(&arena.lab.path("bytes"), &bytes);
    let same =
        arena.command("kernel exec -q -- cat").arg(arena.lab.path("bytes")).output().unwrap();
    assert!(same.stdout == bytes, "{} bytes of {}", same.stdout.len(), bytes.len());
    arena
        .run("kernel exec -- nosuchprogram")
        .expect_status(127)
        .says(&["nosuchprogram: cannot run in the guest"]);
    arena.exec("", "sleep 1000000000 & echo on").expect_status(0);
    let dd = "cat $SCHEDLAB_DEVICE | head -c 4096 | tr -d '\\0' | wc -c; cat /sys/block/disk0/queue/scheduler /sys/block/disk0/queue/iosched/slice_idle";
    let ran = arena.exec("--device hp97560 --scheduler bfq:slice_idle=3", dd).expect_status(0);
    assert!(
        ran.stdout.starts_with("0\n")
            && ran.stdout.contains("[bfq]")
            && ran.stdout.ends_with("\n3\n"),
        "{}",
        ran.stdout
    );
}

#[test]
fn every_boot_has_the_same_memory() {
    if !require(&["root"]) {
        return;
    }
    let Some(arena) = Arena::new() else { return };
    let memory = || {
        let script = "grep MemTotal /proc/meminfo; grep -m 1 spanned /proc/zoneinfo";
        arena.exec("--quiet --memory 256", script).expect_status(0).stdout
    };
    let (first, second) = (memory(), memory());
    assert_eq!(first, second);
    // In 4 KiB pages: gaps between kernel and heap do not count as memory.
    assert_eq!(first.split_whitespace().last(), Some("65536"), "{first}");
}

#[test]
fn fio_runs_in_plain_time_travel_and_a_program_that_never_sleeps_is_ended_with_advice() {
    if !require(&["root", "fio"]) {
        return;
    }
    let Some(arena) = Arena::new() else { return };
    let work = "fio --clocksource=clock_gettime --name=r --filename=/dev/disk0 --rw=randread --direct=1 --runtime=5 --time_based --minimal";
    let ran = arena
        .run(&format!("kernel exec --device hp97560 --time-travel plain -- {work}"))
        .expect_status(0);
    let iops: f64 = ran.stdout.split(';').nth(7).unwrap().parse().unwrap();
    assert!((30.0..60.0).contains(&iops), "random reads of a disk of 1990: {}", ran.stdout);
    // fio itself may get through: each clock read advances it by 256 ns.
    arena.exec("--device hp97560 --timeout 5s", "while :; do :; done").expect_status(125).says(&[
        "silent for 5 s",
        "polls the clock",
        "its virtual clock was at",
        "--time-travel plain",
    ]);
}

#[test]
fn the_real_postmark_runs_on_ext4_and_gives_the_same_twice() {
    if !require(&["root", "postmark", "mkfs.ext4"]) {
        return;
    }
    let Some(arena) = Arena::new() else { return };
    // Background work such as lazy initialisation would happen at random times.
    let script = "! grep -l ext4lazyinit /proc/[0-9]*/comm || exit 9; printf 'set location %s\\nset number 300\\nset transactions 500\\nrun\\nquit\\n' $SCHEDLAB_DIR > /tmp/p; postmark /tmp/p; \
                  sync; cat /sys/block/disk0/stat; df $SCHEDLAB_DIR | tail -1";
    let run = || {
        arena
            .exec("--device hp97560 --scheduler mq-deadline --fs ext4", script)
            .expect_status(0)
            .stdout
    };
    let first = run();
    assert!(first.contains("transactions") && first.contains("/tmp/disk0"), "{first}");
    let requests: u64 =
        first.lines().rev().nth(1).unwrap().split_whitespace().nth(4).unwrap().parse().unwrap();
    assert!(requests > 10, "it reaches the disk: {first}");
    assert_eq!(first, run());
}

#[test]
fn a_guest_that_panics_shows_its_last_words_and_its_clock() {
    if !require(&["root", "mkfs.ext4", "mount"]) {
        return;
    }
    let Some(arena) = Arena::new() else { return };
    let script = "sleep 3; mount -o remount,errors=panic $SCHEDLAB_DIR; echo before; echo boom > /sys/fs/ext4/disk0/trigger_fs_error; echo after";
    let ran = arena.exec("--device hp97560 --fs ext4", script).expect_status(125).says(&[
        "guest: the kernel panicked: EXT4-fs (device disk0): panic forced after error",
        "boom",
    ]);
    let clock: f64 = ran
        .stderr
        .split("its virtual clock was at ")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!((2.0..10.0).contains(&clock), "within a beat or a few of the three seconds: {clock}");
    assert_eq!(ran.stdout, "before\n", "what was said before is not lost");
}

#[test]
fn file_workloads_run_on_ext4_beside_the_bare_device() {
    if !require(&["root", "mkfs.ext4"]) {
        return;
    }
    let Some(arena) = Arena::new() else { return };
    let words = "--schedulers none,none:fs=ext4 --workload iozone:clients=2:phase=write:direct=false --rounds 2 --figures-only --trial-time 5s --quiet --json";
    arena.run(&arena.compare("a", words)).expect_measured();
    let moved = |variant: &str| {
        let all = trials(&arena.lab.path("a"));
        let of = all.iter().find(|trial| trial["variant"] == variant).unwrap().clone();
        let invalid = of["observation"]["invalid"].as_array().cloned().unwrap_or_default();
        assert!(invalid.iter().all(|invalid| invalid["reason"] == "too-few-ios"), "{invalid:?}");
        of["observation"]["counters"]["device_transfers"].as_f64().unwrap()
    };
    assert!(moved("none:fs=ext4") > 0.0 && moved("none") > 0.0);
    assert_ne!(moved("none:fs=ext4"), moved("none"), "a file system writes more than the data");
}

#[test]
fn a_trace_shows_the_block_layer_of_the_guest_and_leaves_the_results_as_it_is() {
    let Some(arena) = Arena::new() else { return };
    let words = "--schedulers mq-deadline,anticipatory --workload seqread:clients=2:think_time=100us:block_size=16k \
                 --rounds 2 --figures-only --trial-time 2s --quiet";
    arena.run(&arena.compare("plain", words)).expect_status(0);
    arena.run(&arena.compare("traced", &format!("{words} --trace perfetto"))).expect_status(0);
    let trials = |name: &str| {
        let results = fs::read_to_string(arena.lab.path(name).join("results.jsonl")).unwrap();
        results.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(trials("plain"), trials("traced"));
    let traces = arena.lab.path("traced/traces");
    for (variant, waits) in [("mq-deadline", false), ("anticipatory", true)] {
        let name =
            format!("seqread-clients-2-think_time-100us-block_size-16k-{variant}.perfetto-trace");
        let trace = fs::read(traces.join(&name)).unwrap();
        let has = |text: &str| trace.windows(text.len()).any(|part| part == text.as_bytes());
        assert!(
            has("modelload/0") && has("modelload/1") && has("disk0") && has("read 32 sectors"),
            "{name}"
        );
        assert_eq!(has("waits of the scheduler"), waits, "{name}");
    }
}

#[test]
fn wrong_words_are_refused_before_anything_is_built_or_booted() {
    let lab = Lab::new();
    let empty = lab.path("no-cache");
    let refused = |more: &str, says: &[&str]| {
        let words = format!(
            "compare --arena kernel --workload randread --rounds 1 --figures-only --cache-dir {} {more}",
            empty.display()
        );
        lab.run(&words).expect_status(2).says(says);
        assert!(!empty.exists(), "nothing was begun for: {more}");
    };
    refused("--device hp97560 --schedulers none,kyver", &["kyver", "kyber"]);
    refused("--device hp97560 --schedulers none,cfq", &["cfq", "--arena sim"]);
    refused(
        "--device hp97560 --schedulers none,mq-deadline:fifo_bach=1",
        &["fifo_bach", "fifo_batch"],
    );
    refused("--device hp97560 --schedulers none,bfq:clients=many", &["auto, kernel, syscalls"]);
    refused(
        "--device hp97560 --schedulers none,bfq@no.patch",
        &["there is no patch no.patch", "bfq@FILE"],
    );
    refused(
        "--device hp97560 --schedulers none,bfq --kernel fedora:40",
        &["fedora:40", "debian:7.3"],
    );
    refused(
        "--device hp97560 --schedulers none,bfq --trace csv",
        &["--trace perfetto", "--arena sim"],
    );
    refused(
        "--device hp97560 --schedulers none,bfq --destroy-data /dev/sda",
        &["--destroy-data", "leave it out"],
    );
    refused(
        "--device hp97560 --schedulers none,bfq --workload cached-read",
        &["cached-read", "no request reaches the device"],
    );
    refused("--device /dev/sda --schedulers none,bfq", &["/dev/sda", "--arena disk"]);
    if require(&["root", "mkfs.ext4"]) {
        refused("--device hp97560 --schedulers none,bfq:fs=ext4", &["randread", "file_size"]);
    }
    let sim = "compare --arena sim --device hp97560 --workload randread --kernel debian:6.12";
    lab.run(sim).expect_status(2).says(&["--kernel", "kernel arena"]);
    lab.run("kernel exec --scheduler bfq:clients=kernel -- true")
        .expect_status(2)
        .says(&["clients", "a setting of schedlab's clients"]);
    lab.run("kernel exec --fs ext4 -- true").expect_status(2).says(&["--device"]);
    lab.run("kernel exec --timeout 5 -- true").expect_status(2).says(&["--timeout", "60s"]);
}

#[test]
fn the_published_collapse_of_a_delayed_kyber_is_a_verdict() {
    if !require(&["root", "patch", "gcc", "make", "flex", "bison", "bc"]) {
        return;
    }
    let Some(arena) = Arena::new() else { return };
    let plans = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans");
    let (out, plan, patch) =
        (arena.lab.path("out"), arena.lab.path("plan.toml"), arena.lab.path("kyber-delay.patch"));
    fs::copy(plans.join("kyber-delay.patch"), &patch).unwrap();
    // The published one, shorter.
    let text = fs::read_to_string(plans.join("kyber-delay.toml")).unwrap();
    let text = text.replace("rounds = 6", "rounds = 4").replace("= 3000", "= 1000");
    fs::write(&plan, text).unwrap();
    let words = |more: &str| {
        format!("run {} --allow-commands --out {} --json {more}", plan.display(), out.display())
    };
    let analysis = arena.run(&words("")).expect_status(0).json();
    let delayed = analysis["comparisons"]
        .as_array()
        .unwrap()
        .iter()
        .find(|j| j["primary"] == true && j["variant"] == "kyber+mdelay100")
        .unwrap();
    assert_eq!(delayed["verdict"], "worse");
    let ratio = delayed["ratio"].as_f64().unwrap();
    assert!((1.0 / 300.0..1.0 / 100.0).contains(&ratio), "{delayed}");
    // schedlab cannot check a patched scheduler's name and tunables; the kernel rejects them.
    let compare = |variant: &str| {
        arena.run(&arena.compare(
            variant,
            &format!(
                "--schedulers none,{variant} --workload randread --rounds 1 --figures-only -q"
            ),
        ))
    };
    let tunable = format!("kyber@{}:nosuch=1", word(&patch));
    compare(&tunable).expect_status(1).says(&["nosuch", "queue/iosched/nosuch"]);
    compare(&format!("mine@{}", word(&patch)))
        .expect_status(1)
        .says(&["refused mine", "queue/scheduler"]);
    // As from an edited patch.
    let results = out.join("results.jsonl");
    let text = fs::read_to_string(&results).unwrap();
    assert!(text.contains("\"6.1-patched-"), "the build is part of the results file");
    fs::write(&results, text.replacen("\"6.1-patched-", "\"6.1-patched-f", 1)).unwrap();
    arena.run(&words("--resume")).expect_status(2).says(&[
        "build with",
        "different kernels",
        "another --out",
    ]);
    fs::write(&results, text).unwrap();
    arena.run(&words("--resume")).expect_status(0);
}

#[test]
fn kill_9_leaves_neither_a_process_nor_a_directory_of_a_guest() {
    let Some(arena) = Arena::new() else { return };
    let mut child = arena.start(&arena.compare("a", LONG));
    let own = format!("/run/{}-", child.id());
    eventually("guests run", || !arena.guests(child.id()).is_empty() && processes(&own).len() > 2);
    child.kill().unwrap();
    eventually("no process of the guests is left", || processes(&own).is_empty());
    child.wait().unwrap();
    // A new directory had no supervisor yet; the next guest removes it.
    arena.exec("", "true").expect_status(0);
    assert_eq!(arena.guests(child.id()), [] as [PathBuf; 0]);
}

#[test]
fn a_signal_keeps_the_results_which_can_be_resumed_and_two_comparisons_do_not_disturb_one_another()
{
    let Some(arena) = Arena::new() else { return };
    let words = |out: &str, rounds: u32, more: &str| {
        arena.compare(
            out,
            &format!(
                "--schedulers none,mq-deadline --workload randread --trial-time 2s --rounds {rounds} --figures-only -q --json {more}"
            ),
        )
    };
    let beside = arena.start(&arena.compare("beside", LONG));
    arena.run(&words("whole", 4, "")).expect_measured();
    arena.run(&words("cut", 2, "")).expect_measured();
    arena.run(&words("cut", 4, "--resume")).expect_measured();
    assert_eq!(trials(&arena.lab.path("whole")).len(), 8);
    assert!(
        trials(&arena.lab.path("whole")) == trials(&arena.lab.path("cut")),
        "the results file that it would have had"
    );
    let out = arena.lab.path("beside");
    eventually("some trials are measured", || trials(&out).len() >= 2);
    let own = format!("/run/{}-", beside.id());
    let pid = beside.id();
    signal(&beside, "-INT");
    let ran = Ran::from(beside.wait_with_output().unwrap()).expect_status(130);
    ran.says(&["interrupted", "--resume"]);
    assert!(
        processes(&own).is_empty() && arena.guests(pid).is_empty(),
        "nothing is left of its guests"
    );
    let measured = |trial: &Value| !trial["observation"]["metrics"].as_object().unwrap().is_empty();
    assert!(trials(&out).iter().take(2).all(measured), "what was measured is kept");
}

#[test]
fn the_list_of_schedulers_shows_what_the_kernel_arena_has() {
    let lab = Lab::new();
    let rows = lab.run("list schedulers --json").expect_status(0).json();
    let of = |name: &str| {
        rows.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap()["kernel"].clone()
    };
    assert_eq!(
        ["bfq", "wpcas", "occupancy", "cfq"].map(of),
        ["yes", "ours", "ours", "no"].map(serde_json::Value::from)
    );
    assert!(lab.run("list schedulers").expect_status(0).stdout.contains("NAME@PATCH"));
}

#[test]
fn schedulers_switch_back_and_forth_under_load_and_modules_come_and_go() {
    let Some(arena) = Arena::new() else { return };
    let switches = if is_soak() { 1000 } else { 20 };
    let script =
        format!("exec sh kernel/tests/stress.sh disk0 {switches} $SCHEDLAB_MODULES/*-iosched.ko");
    let ran = arena.exec("--device hp97560 --timeout 30min", &script);
    assert!(ran.stdout.contains(&format!("STRESS OK {switches} switches")), "{ran:?}");
}

#[test]
fn modules_keep_what_their_glue_guarantees() {
    let Some(arena) = Arena::new() else { return };
    let script = "for module in $SCHEDLAB_MODULES/*-iosched.ko; do insmod $module 2>/dev/null; done; \
                  insmod $SCHEDLAB_MODULES/null_blk.ko irqmode=2 completion_nsec=1000000 hw_queue_depth=32 nr_devices=1 && \
                  exec sh kernel/tests/glue.sh nullb0";
    let ran = arena.exec("--device hp97560 --timeout 10min", script);
    assert!(ran.stdout.contains("GLUE OK"), "{ran:?}");
}

#[test]
fn a_sector_that_cannot_be_read_is_an_error_of_that_sector_alone() {
    let Some(arena) = Arena::new() else { return };
    let script = "cd /sys/kernel/config/modeldisk/disk0 && echo 1000 > error_sector && echo 1 > error_count && \
                  dd if=/dev/disk0 of=/dev/null bs=4k skip=10 count=1 iflag=direct 2>/dev/null && echo elsewhere && \
                  { dd if=/dev/disk0 of=/dev/null bs=4k skip=125 count=1 iflag=direct 2>&1 || echo refused; } && \
                  dd if=/dev/disk0 of=/dev/null bs=4k skip=125 count=1 iflag=direct 2>/dev/null && echo again";
    let ran = arena.exec("--device hp97560 --scheduler wpcas", script);
    let ran = ran.expect_status(0);
    let told = ["elsewhere", "Input/output error", "refused", "again"]
        .map(|word| ran.stdout.contains(word));
    assert_eq!(told, [true; 4], "{ran:?}");
}

/// Everything that an out-of-tree build of the elevators depends on.
fn built_from() -> String {
    let script = "cat scripts/test-dkms-build kernel/Makefile kernel/Kbuild kernel/dkms.conf kernel/*.c kernel/*.h; \
                  find kernel/block-headers kernel/core -type f | sort | xargs -d '\\n' cat; grep '^version' Cargo.toml; \
                  cat /lib/modules/6.1.*-amd64/build/Module.symvers /lib/modules/6.1.*-amd64/build/.config; \
                  ls -l --time-style=full-iso /usr/src; gcc --version; make --version; dkms --version";
    let read = Command::new("sh").args(["-c", script]).current_dir(repository()).output().unwrap();
    Sha256::digest(&read.stdout).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_elevators_build_for_an_installed_kernel() {
    let headers = fs::read_dir("/lib/modules").into_iter().flatten().flatten().any(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with("6.1.") && name.ends_with("-amd64") && entry.path().join("build").exists()
    });
    if !headers {
        return skip("the packages linux-headers-amd64 and linux-source-6.1 of Debian 12 needed");
    }
    // The same inputs give the same modules, so a successful build is not repeated.
    let known = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("dkms-build-{}", built_from()));
    if known.exists() && !is_soak() {
        return;
    }
    let done = Command::new(repository().join("scripts/test-dkms-build")).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    let why = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}{why}");
    assert!(said.contains("anticipatory-iosched.ko") && said.contains("by DKMS"), "{said}");
    fs::write(known, said.as_bytes()).unwrap();
}
