//! fio with job files, and hdparm: figures must match the program's own.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use testbed::{Loop, require};

use crate::common::{Lab, Ran, trials, word};

/// Shadows a program with a wrapper that keeps its output. Returns PATH and the directory of the
/// outputs.
fn listener(lab: &Lab, program: &str) -> (String, PathBuf) {
    let (bin, received) = (lab.path("bin"), lab.path("received"));
    fs::create_dir_all(&bin).unwrap();
    fs::create_dir_all(&received).unwrap();
    let path = std::env::var("PATH").unwrap() + ":/usr/sbin:/sbin";
    let real = path
        .split(':')
        .map(|dir| Path::new(dir).join(program))
        .find(|file| file.is_file())
        .unwrap();
    let script = format!(
        "#!/bin/sh\nout={}/$(date +%s%N)\n{} \"$@\" >$out\nstatus=$?\ncat $out\nexit $status\n",
        received.display(),
        real.display()
    );
    fs::write(bin.join(program), script).unwrap();
    fs::set_permissions(bin.join(program), fs::Permissions::from_mode(0o755)).unwrap();
    (format!("{}:{path}", bin.display()), received)
}

fn heard(dir: &Path) -> Vec<String> {
    let mut files: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read_to_string(file).unwrap()).collect()
}

fn json_of(text: &str) -> Option<Value> {
    let begin =
        text.find("\n{\n").map(|at| at + 1).or_else(|| text.starts_with("{\n").then_some(0))?;
    serde_json::from_str(&text[begin..]).ok()
}

#[track_caller]
fn same(what: &str, ours: &Value, theirs: f64) {
    let ours = ours.as_f64().unwrap_or_else(|| panic!("no {what}"));
    assert!((ours - theirs).abs() <= 1e-9 * theirs.abs(), "{what}: {ours} and {theirs}");
}

/// Recomputed from fio's output alone.
#[test]
fn the_figures_of_a_job_file_are_fios_own() {
    if !require(&["root", "blkid", "fio"]) {
        return;
    }
    let lab = Lab::new();
    let (path, dir) = listener(&lab, "fio");
    let device = Loop::new(&lab.dir, "disk", 64);
    let out = lab.path("out");
    let file = word(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans/fio-mixed.fio")));
    let words = format!(
        "compare --device {0} --destroy-data {0} --schedulers none,mq-deadline --workload fio:{file} --rounds 2 --figures-only --trial-time 300ms --out {1}",
        device.path,
        out.display()
    );
    Ran::from(lab.command(&words).env("PATH", path).output().unwrap()).expect_measured();

    let trials = trials(&out);
    let outputs: Vec<Value> = heard(&dir).iter().filter_map(|text| json_of(text)).collect();
    assert!(
        trials.len() == 4 && outputs.len() >= 4,
        "{} trials of {} outputs",
        trials.len(),
        outputs.len()
    );
    // fio first runs for its version and for an uncounted warm-up.
    for (trial, fio) in trials.iter().zip(&outputs[outputs.len() - 4..]) {
        let metrics = &trial["observation"]["metrics"];
        let job = |name: &str| {
            fio["jobs"].as_array().unwrap().iter().find(|job| job["jobname"] == name).unwrap()
        };
        let (reads, writes) = (&job("reader")["read"], &job("writer")["write"]);
        let of = |way: &Value, name: &str| way[name].as_f64().unwrap();
        same("reader.read_iops", &metrics["reader.read_iops"], of(reads, "iops"));
        same(
            "writer.write_mb_per_s",
            &metrics["writer.write_mb_per_s"],
            of(writes, "bw_bytes") / 1e6,
        );
        same("iops", &metrics["iops"], of(reads, "iops") + of(writes, "iops"));
        let bytes = of(reads, "bw_bytes") + of(writes, "bw_bytes");
        same("throughput", &metrics["throughput_mb_per_s"], bytes / 1e6);
        let (a, b) = (&reads["lat_ns"], &writes["lat_ns"]);
        let mean =
            (of(a, "mean") * of(a, "N") + of(b, "mean") * of(b, "N")) / (of(a, "N") + of(b, "N"));
        same("mean", &metrics["latency_mean_us"], mean / 1000.0);
        for (ours, theirs) in [("p50", "50.000000"), ("p99", "99.000000"), ("p999", "99.900000")] {
            let name = format!("reader.latency_{ours}_us");
            same(&name, &metrics[name.as_str()], of(&a["percentile"], theirs) / 1000.0);
            let name = format!("latency_{ours}_us");
            same(
                &name,
                &metrics[name.as_str()],
                together(&[a, b], theirs.parse().unwrap()) / 1000.0,
            );
        }
        let requests = of(reads, "total_ios");
        assert_eq!(trial["observation"]["counters"]["read_requests"].as_f64(), Some(requests));
    }
}

fn together(parts: &[&Value], percent: f64) -> f64 {
    let mut sorted: BTreeMap<u64, u64> = BTreeMap::new();
    for (ns, count) in parts.iter().flat_map(|part| part["bins"].as_object().unwrap()) {
        *sorted.entry(ns.parse().unwrap()).or_default() += count.as_u64().unwrap();
    }
    let total: u64 = sorted.values().sum();
    let mut below = 0;
    for (ns, count) in sorted {
        below += count;
        if below as f64 >= total as f64 * percent / 100.0 {
            return ns as f64;
        }
    }
    unreachable!("a percentile of nothing")
}

#[test]
fn a_job_file_that_names_another_device_is_refused_with_its_line() {
    let lab = Lab::new();
    let file = lab.path("bad.fio");
    fs::write(&file, "[global]\nrw=randwrite\n\n[a]\nfilename=/dev/null\nioscheduler=none\n")
        .unwrap();
    let out = lab.path("out");
    lab.run(&format!(
        "compare --device loop:16M --schedulers none,bfq --workload fio:{} --out {}",
        file.display(),
        out.display()
    ))
    .expect_status(2)
    .says(&[
        "bad.fio:5: filename=/dev/null is refused",
        "remove the line",
        "bad.fio:6: ioscheduler",
        "--schedulers",
    ]);
    assert!(!out.exists());
}

/// System directories are searched regardless of PATH, so fio is hidden in a mount namespace.
#[test]
fn a_machine_without_fio_is_told_its_package() {
    if !require(&["root", "blkid", "fio", "unshare"]) {
        return;
    }
    let lab = Lab::new();
    let file = lab.path("a.fio");
    fs::write(&file, "[a]\nrw=read\n").unwrap();
    let (dir, out) = (lab.path(""), lab.path("out"));
    let words = format!(
        "compare --device loop:16M --loop-dir {} --schedulers none,bfq --workload fio:{} --rounds 1 --figures-only --out {}",
        dir.display(),
        file.display(),
        out.display()
    );
    let hidden = "for dir in $(echo $PATH:/usr/bin:/bin:/usr/local/bin | tr : ' '); do [ ! -f $dir/fio ] || mount --bind /dev/null $dir/fio; done; exec \"$@\"";
    let schedlab = lab.command(&words);
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", hidden, "sh"])
        .arg(schedlab.get_program())
        .args(schedlab.get_args());
    command.env("SCHEDLAB_STATE_DIR", lab.state()).env("NO_COLOR", "1");
    Ran::from(command.output().unwrap()).expect_status(2).says(&["fio", "install", "package"]);
}

#[test]
fn jobs_that_write_find_new_files_before_each_trial_unless_told_otherwise() {
    if !require(&["root", "blkid", "fio", "mkfs.ext4", "wipefs"]) {
        return;
    }
    let lab = Lab::new();
    let (path, dir) = listener(&lab, "fio");
    let file = lab.path("write.fio");
    fs::write(&file, "[w]\nrw=write\nbs=64k\nsize=4M\nend_fsync=1\n").unwrap();
    let times_made = |fresh: bool| {
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir(&dir).unwrap();
        let words = format!(
            "compare --device loop:64M --loop-dir {} --fs ext4 --schedulers none,bfq --workload fio:{}:fresh={fresh} --rounds 1 --figures-only --out {}",
            lab.path("").display(),
            file.display(),
            lab.path(&format!("out-{fresh}")).display()
        );
        Ran::from(lab.command(&words).env("PATH", &path).output().unwrap()).expect_measured();
        let outputs: Vec<Value> = heard(&dir).iter().filter_map(|text| json_of(text)).collect();
        let made = outputs.iter().filter(|fio| fio["jobs"][0]["write"]["total_ios"] == 0).count();
        (made, outputs.len() - made)
    };
    let (made, measured) = times_made(true);
    assert!(measured >= 2 && made == measured + 1, "made {made} times for {measured} trials");
    assert_eq!(times_made(false).0, 1);
}

#[test]
fn a_job_that_fails_is_told_in_fios_words() {
    if !require(&["root", "blkid", "fio", "mkfs.ext4"]) {
        return;
    }
    let lab = Lab::new();
    let file = lab.path("big.fio");
    fs::write(&file, "[big]\nrw=write\nbs=64k\nsize=200M\nfallocate=none\n").unwrap();
    let (dir, out) = (lab.path(""), lab.path("out"));
    lab.run(&format!(
        "compare --device loop:64M --loop-dir {} --fs ext4 --schedulers none,bfq --workload fio:{} --rounds 1 --figures-only --out {}",
        dir.display(),
        file.display(),
        out.display()
    ))
    .expect_status(1)
    .says(&["ended with exit status", "its last lines:", "No space left on device"]);
}

/// fio's workers are in their own sessions, so killing the process group misses them.
#[test]
fn a_job_past_its_deadline_is_ended_with_its_workers() {
    if !require(&["root", "blkid", "fio"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 16);
    let file = lab.path("long.fio");
    fs::write(&file, "[long]\nrw=randread\nruntime=50\ntime_based\ndirect=1\n").unwrap();
    lab.run(&format!(
        "compare --device {} --schedulers none,bfq --workload fio:{}:deadline=1s --rounds 1 --figures-only --out {}",
        device.path,
        file.display(),
        lab.path("out").display()
    ))
    .expect_status(1)
    .says(&["still running after 1 s, terminated", "deadline="]);
    let open = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .flat_map(|process| fs::read_dir(process.path().join("fd")));
    let left = open.flatten().flatten().filter_map(|fd| fs::read_link(fd.path()).ok());
    assert_eq!(
        left.filter(|file| *file == Path::new(&device.path)).count(),
        0,
        "a worker of fio is still there"
    );
}

#[test]
fn hdparms_figures_are_its_own_and_cached_reads_are_invalid() {
    if !require(&["root", "blkid", "hdparm"]) {
        return;
    }
    let lab = Lab::new();
    let (path, dir) = listener(&lab, "hdparm");
    let device = Loop::new(&lab.dir, "disk", 64);
    let out = lab.path("out");
    let words = format!(
        "compare --device {} --schedulers none,bfq --workload buffered=hdparm,cached=hdparm:test=cached --rounds 1 --figures-only --budget 1h --fail-if partly-invalid --out {} --json",
        device.path,
        out.display()
    );
    let ran = Ran::from(lab.command(&words).env("PATH", path).output().unwrap()).expect_status(8);
    let analysis = ran.json();
    let compared = |workload: &str| {
        let comparisons = analysis["comparisons"].as_array().unwrap().iter();
        comparisons
            .filter(|j| j["workload"] == workload && j["primary"] == true)
            .cloned()
            .collect::<Vec<_>>()
    };
    assert!(
        compared("cached").iter().all(|j| j["verdict"] == "invalid"),
        "{:?}",
        compared("cached")
    );
    let printed = heard(&dir).join("");
    for trial in trials(&out) {
        let test = if trial["workload"] == "cached" {
            " Timing cached reads:"
        } else {
            " Timing buffered disk reads:"
        };
        let rates = printed.lines().filter(|line| line.starts_with(test)).map(|line| {
            let words: Vec<&str> = line.split_whitespace().rev().take(2).collect();
            assert_eq!(words[0], "MB/sec", "{line}");
            words[1].parse::<f64>().unwrap() * 1.048_576
        });
        let ours = trial["observation"]["metrics"]["throughput_mb_per_s"].as_f64().unwrap();
        assert!(
            rates.clone().any(|rate| (rate - ours).abs() < 1e-9 * rate),
            "{ours} of {:?}",
            rates.collect::<Vec<_>>()
        );
    }
}
