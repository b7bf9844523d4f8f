//! Programs, files on the device and background load on real loop devices.

use std::fs;
use std::process::Command;

use testbed::{Loop, require};

use crate::common::{Lab, trials};

fn signature(device: &Loop) -> String {
    let seen = Command::new("blkid").args(["-p", "-o", "export", &device.path]).output().unwrap();
    String::from_utf8(seen.stdout).unwrap()
}

fn mounts_of(name: &str) -> Vec<String> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    mounts
        .lines()
        .filter(|line| line.starts_with(&format!("/dev/{name} ")))
        .map(str::to_owned)
        .collect()
}

fn counter(trial: &serde_json::Value, name: &str) -> f64 {
    trial["observation"]["counters"][name].as_f64().unwrap_or_else(|| panic!("no {name}: {trial}"))
}

#[test]
fn clients_work_on_files_beside_a_load_and_the_device_is_empty_again_afterwards() {
    if !require(&["root", "blkid", "mkfs.ext4", "wipefs"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 128);
    let before = device.snapshot();
    let out = lab.path("out");
    lab.run(&format!(
        "compare --device {0} --destroy-data {0} --schedulers none,bfq --fs ext4 --mount-options noatime --workload oltp:file_size=16M:clients=2 \
         --background seqwrite:file_size=16M:block_size=64k --rounds 2 --figures-only --trial-time 200ms --out {1} --json",
        device.path,
        out.display()
    ))
    .expect_measured();
    let all = trials(&out);
    assert_eq!(all.len(), 4);
    for trial in &all {
        assert!(counter(trial, "background_write_mb_per_s") > 0.0, "{trial}");
        assert!(counter(trial, "issued_written_bytes") > 0.0, "{trial}");
        let by_all = counter(trial, "device_written_bytes");
        assert!(
            by_all > counter(trial, "issued_written_bytes"),
            "the load's writes came to the device too: {trial}"
        );
    }
    assert_eq!(device.snapshot(), before);
    assert!(mounts_of(&device.name).is_empty());
    assert_eq!(signature(&device), "", "the file system that was made is taken off again");
}

#[test]
fn a_file_system_with_data_is_never_made_anew_without_consent() {
    if !require(&["root", "blkid", "mkfs.ext4"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 64);
    assert!(
        Command::new("mkfs.ext4")
            .args(["-q", "-F", "-L", "precious", &device.path])
            .status()
            .unwrap()
            .success()
    );
    let held = signature(&device);
    assert!(held.contains("precious"), "{held}");
    for work in [
        "--workload randread:file_size=8M --fs xfs",
        "--workload command:run=true",
        "--workload randread --background randwrite",
    ] {
        let ran = lab.run(&format!(
            "compare --device {} --schedulers none,bfq {work} --out {}",
            device.path,
            lab.path("out").display()
        ));
        ran.expect_status(2).says(&["ext4", "--destroy-data"]);
        assert_eq!(signature(&device), held, "{work}");
    }
}

#[test]
fn what_can_be_known_without_the_file_system_is_asked_before_anything_is_overwritten() {
    if !require(&["root", "blkid", "mkfs.ext4", "fio"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 64);
    assert!(
        Command::new("mkfs.ext4")
            .args(["-q", "-F", "-L", "precious", &device.path])
            .status()
            .unwrap()
            .success()
    );
    let held = signature(&device);
    let job = lab.path("job.fio");
    fs::write(&job, "[a]\nrw=randread\nsize=8m\npre_read=1\n").unwrap();
    for (work, said) in [
        ("--fs ext4 --workload randread", "file_size"),
        ("--fs ext4 --workload randread:file_size=8M --background seqwrite", "file_size"),
        (
            "--fs ext4 --workload randread:file_size=8M --background seqwrite:file_size=8M:direct=false:io_max=wbps=1M",
            "direct=true",
        ),
        ("--workload pgbench:user=nobodyhere", "nobodyhere"),
        ("--workload command:/nonexistent.sh", "/nonexistent.sh"),
        (&format!("--fs ext4 --workload fio:{}", job.display()), "pre_read"),
        ("--fs ext4 --workload fio:/dev/zero", "regular file"),
    ] {
        let ran = lab.run(&format!(
            "compare --device {0} --destroy-data {0} --schedulers none,bfq {work} --out {1}",
            device.path,
            lab.path("out").display()
        ));
        ran.expect_status(2).says(&[said]);
        assert_eq!(signature(&device), held, "{work}");
    }
    // A command on the raw device counts as a writer.
    let ran = lab.run(&format!(
        "compare --device {} --schedulers none,bfq --workload command:run=true:on=device",
        device.path
    ));
    ran.expect_status(2).says(&["ext4", "--destroy-data"]);
}

#[test]
fn what_needs_a_machine_is_refused_in_virtual_time_with_the_way_to_do_it() {
    let lab = Lab::new();
    let compare = |arguments: &str| {
        lab.run(&format!("compare --arena sim --device hp97560 --schedulers none,bfq {arguments}"))
            .expect_status(2)
    };
    compare("--workload command:run=true").says(&["kernel exec", "--arena disk"]);
    compare("--workload randread --fs ext4").says(&["--fs", "fs=ext4"]);
    compare("--workload randread --background seqwrite").says(&["--background", "mixed"]);
}

#[test]
fn slips_in_programs_and_loads_are_named_before_anything_is_touched() {
    let lab = Lab::new();
    let compare = |arguments: &str| {
        lab.run(&format!("compare --device loop:64M --schedulers none,bfq {arguments}"))
            .expect_status(2)
    };
    compare("--workload comand:run=true").says(&["did you mean \"command\""]);
    compare("--workload command").says(&["give the program to run"]);
    compare("--workload command:run=true:deadlin=1s").says(&["did you mean \"deadline\""]);
    compare("--workload command:run=true:primary=wall").says(&["unknown metric", "wall_s"]);
    compare("--workload command:run=true:metric=orders_done:regex=(x)")
        .says(&["orders_done", "better=higher"]);
    compare("--workload randread:io_weight=50").says(&["no I/O share of its own"]);
    compare("--workload randread --background command:run=true").says(&["is a program"]);
    compare("--workload randread --background iozone").says(&["ends on its own"]);
    compare("--workload randread --background seqwrite:ioprio=high").says(&["best-effort"]);
    compare("--workload randread --fs ext9").says(&["ext4"]);
    let listed = lab.run("list workloads").expect_status(0);
    assert!(
        listed.stdout.contains("command") && listed.stdout.contains("deadline"),
        "{}",
        listed.stdout
    );
}

#[test]
fn a_program_that_gives_no_figures_from_the_start_ends_the_experiment_and_later_makes_its_trial_invalid()
 {
    if !require(&["root", "blkid", "mkfs.ext4"]) {
        return;
    }
    let lab = Lab::new();
    let plan = lab.path("plan.toml");
    let run = |script: &str, out: &str| {
        let text = format!(
            "device = 'loop:64M'\n[budget]\nrounds = 2\nfigures_only = true\n[[variant]]\nname = 'none'\nscheduler = 'none'\n[[variant]]\nname = 'bfq'\n\
             scheduler = 'bfq'\n[[workload]]\nname = 'mine'\nkind = 'command'\nparams = {{ run = '''{script}''' }}\n"
        );
        fs::write(&plan, text).unwrap();
        let (plan, dir, out) = (plan.display(), lab.path(""), lab.path(out));
        lab.run(&format!(
            "run {plan} --allow-commands --loop-dir {} --out {} --json",
            dir.display(),
            out.display()
        ))
    };
    let ran = run("echo the disk is on fire >&2; exit 7", "out-1").expect_status(1);
    assert!(
        ran.stderr.contains("exit status: 7") && ran.stderr.contains("the disk is on fire"),
        "{}",
        ran.stderr
    );
    assert!(trials(&lab.path("out-1")).is_empty());

    let script = "n=$(cat n || echo 0); echo $((n+1)) > n; sync n; [ $n -lt 2 ] || { echo gone wrong; exit 1; }";
    run(script, "out-2").expect_status(3);
    let all = trials(&lab.path("out-2"));
    assert!(all[0]["observation"]["invalid"].is_null(), "{}", all[0]);
    let invalid = &all[1]["observation"]["invalid"][0];
    assert_eq!(invalid["reason"], "program-failed", "{}", all[1]);
    assert!(invalid["detail"].as_str().unwrap().contains("gone wrong"), "{invalid}");
}
