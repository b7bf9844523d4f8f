//! Both sources record each request once, with its place, process, stages and scheduler.

use std::fs;
use std::process::{Command, Stdio};

use recorder::live::{Options, Source};
use testbed::{LoopOptions, skip};
use trace::io::Stage;
use trace::{Flags, Kind};

use super::common::{Disk, Recorded, start};

fn of(device: &Disk) -> Options {
    Options { devices: vec![device.path.clone()], ..Options::default() }
}

fn reads_are_recorded(source: Source) {
    let Some(device) = Disk::new() else { return };
    let mut pid = 0;
    let recorded = Recorded::whole(source, || {
        device.scheduler("mq-deadline");
        let recorded = Recorded::of(source, of(&device), |drain| {
            pid = device.read(100, 500);
            // Tracefs needs sysfs for the scheduler.
            drain();
            device.scheduler("none");
            device.read(2000, 7);
        })?;
        let of_ours = recorded.ios.iter().filter(|io| (800..4800).contains(&io.sector)).count();
        assert!(
            of_ours + recorded.missing() >= 500,
            "{of_ours} recorded, of the others not all are counted as lost"
        );
        Some(recorded)
    });
    let Some(recorded) = recorded else { return };
    let ios = recorded.of_pid(pid);
    assert_eq!(ios.len(), 500);
    for (number, io) in ios.iter().enumerate() {
        assert_eq!((io.sector, io.sectors, io.kind), (800 + 8 * number as u64, 8, Kind::Read));
        assert!(io.flags.has(Flags::SYNC) && io.bios == 1, "{io:?}");
        assert_eq!(recorded.scheduler(io), "mq-deadline");
        for stage in [Stage::Inserted, Stage::Issued, Stage::Completed] {
            assert!(io.time_of(stage).is_some(), "{stage:?} of {io:?}");
        }
    }
    let process = &recorded.tables.processes[ios[0].process as usize];
    assert_eq!((process.name.as_str(), process.tid), ("dd", pid));
    let after: Vec<_> =
        recorded.ios.iter().filter(|io| io.sector >= 16_000 && io.sector < 16_056).collect();
    assert_eq!(after.len(), 7);
    assert!(
        after.iter().all(|io| recorded.scheduler(io) == "none" && io.inserted.get().is_none()),
        "{after:?}"
    );
}

#[test]
fn reads_are_recorded_by_bpf_with_every_stage_and_the_scheduler_in_effect() {
    reads_are_recorded(Source::Bpf);
}

#[test]
fn reads_are_recorded_by_tracefs_with_every_stage_and_the_scheduler_in_effect() {
    reads_are_recorded(Source::Tracefs);
}

fn a_flush_is_recorded(source: Source) {
    let Some(device) = Disk::new() else { return };
    let recorded =
        Recorded::whole(source, || Recorded::of(source, of(&device), |_| device.write(64, 20)));
    let Some(recorded) = recorded else { return };
    let writes = recorded.ios.iter().filter(|io| io.kind == Kind::Write).count();
    let flushes: Vec<_> = recorded.ios.iter().filter(|io| io.kind == Kind::Flush).collect();
    assert_eq!((writes, flushes.len()), (20, 1), "{:?}", recorded.ios);
    assert!(
        flushes[0].sectors == 0
            && flushes[0].flags.has(Flags::PREFLUSH)
            && flushes[0].completed.get().is_some()
    );
}

#[test]
fn a_flush_and_the_writes_before_it_are_recorded_by_bpf() {
    a_flush_is_recorded(Source::Bpf);
}

#[test]
fn a_flush_and_the_writes_before_it_are_recorded_by_tracefs() {
    a_flush_is_recorded(Source::Tracefs);
}

/// Another shell reads too.
fn a_process_is_filtered(source: Source) {
    let Some(device) = Disk::new() else { return };
    let script = format!(
        "read go; exec dd if={} of=/dev/null bs=4k count=30 iflag=direct status=none",
        device.path
    );
    let mut pid = 0;
    let recorded = Recorded::whole(source, || {
        let mut shell = Command::new("sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .spawn()
            .expect("sh runs");
        pid = shell.id();
        let options = Options { pids: vec![pid], ..of(&device) };
        let recorded = Recorded::of(source, options, |_| {
            device.read(4000, 50);
            drop(shell.stdin.take());
            assert!(shell.wait().expect("sh ends").success());
        });
        let _ = shell.kill();
        recorded
    });
    let Some(recorded) = recorded else { return };
    assert_eq!((recorded.ios.len(), recorded.of_pid(pid).len()), (30, 30));
    assert_eq!(recorded.about.filter, format!("pid {pid}"));
    // The process's name changes when it executes another program.
    assert!(recorded.tables.processes.iter().any(|process| process.name == "dd"));
}

#[test]
fn one_process_is_recorded_by_bpf() {
    a_process_is_filtered(Source::Bpf);
}

#[test]
fn one_process_is_recorded_by_tracefs() {
    a_process_is_filtered(Source::Tracefs);
}

fn a_control_group_is_filtered(source: Source) {
    let Some(device) = Disk::new() else { return };
    let top = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"]
        .into_iter()
        .find(|top| fs::exists(format!("{top}/cgroup.procs")).unwrap_or(false));
    let Some(top) = top else { return skip("no unified hierarchy of control groups") };
    let group = format!("{top}/schedlab-record-test-{}", std::process::id());
    let below = format!("{group}/below");
    fs::create_dir_all(&below).expect("a control group");
    let script = format!(
        "echo $$ >{below}/cgroup.procs; dd if={} of=/dev/null bs=4k count=25 iflag=direct status=none",
        device.path
    );
    let recorded = Recorded::whole(source, || {
        let options = Options { cgroups: vec![group.clone()], ..of(&device) };
        Recorded::of(source, options, |drain| {
            device.read(4000, 50);
            assert!(Command::new("sh").args(["-c", &script]).status().expect("sh runs").success());
            drain();
        })
    });
    fs::remove_dir(&below).and_then(|()| fs::remove_dir(&group)).expect("the groups are empty");
    let Some(recorded) = recorded else { return };
    let groups: Vec<&str> =
        recorded.tables.processes.iter().map(|process| process.cgroup.as_str()).collect();
    if source == Source::Tracefs && recorded.ios.is_empty() {
        return skip("the process had ended before /proc was read");
    }
    assert_eq!(recorded.ios.len(), 25);
    assert!(groups.iter().all(|path| path.ends_with("/below")), "{groups:?}");
}

#[test]
fn the_processes_of_a_control_group_and_those_below_are_recorded_by_bpf() {
    a_control_group_is_filtered(Source::Bpf);
}

/// Requests are the disk's, within the partition.
fn a_partition_is_part_of_its_disk(source: Source) {
    let Some(device) = Disk::with(LoopOptions { partitions: true, ..LoopOptions::default() })
    else {
        return;
    };
    let table = "label: dos\nstart=2048, size=20480\nstart=22528, size=20480\n";
    let command =
        format!("printf '{table}' | sfdisk --quiet {0} && partx --update {0}", device.path);
    assert!(Command::new("sh").args(["-c", &command]).status().expect("sfdisk runs").success());
    let part = format!("{}p2", device.name());
    let Ok(number) = fs::read_to_string(format!("/sys/block/{}/{part}/dev", device.name())) else {
        return skip("loop devices have no partitions here");
    };
    let options = Options { devices: vec![part], ..Options::default() };
    // Without udev.
    let part = format!("/var/tmp/schedlab-record-{}-{source:?}", std::process::id());
    let node = format!("rm -f {part}; mknod {part} b {}", number.trim().replace(':', " "));
    assert!(Command::new("sh").args(["-c", &node]).status().expect("mknod runs").success());
    let recorded = Recorded::whole(source, || {
        Recorded::of(source, options.clone(), |_| {
            device.read(1000, 20);
            let words = [format!("if={part}"), "of=/dev/null".to_owned()];
            let words = words.iter().map(String::as_str).chain([
                "bs=4k",
                "count=10",
                "iflag=direct",
                "status=none",
            ]);
            assert!(Command::new("dd").args(words).status().expect("dd runs").success());
        })
    });
    fs::remove_file(&part).expect("the node");
    let Some(recorded) = recorded else { return };
    assert_eq!(recorded.ios.len(), 10, "{:?}", recorded.ios);
    assert_eq!(
        (recorded.ios[0].sector, recorded.tables.devices[0].name.as_str()),
        (22_528, device.name())
    );
    assert!(recorded.about.filter.contains("partition"));
}

#[test]
fn a_partition_is_part_of_its_disk_by_bpf() {
    a_partition_is_part_of_its_disk(Source::Bpf);
}

#[test]
fn a_partition_is_part_of_its_disk_by_tracefs() {
    a_partition_is_part_of_its_disk(Source::Tracefs);
}

/// The disk has requests, the volume none.
fn a_volume_is_recorded_above_its_disk(source: Source) {
    let Some(device) = Disk::new() else { return };
    let name = format!("schedlab-record-{}-{source:?}", std::process::id());
    let table = format!("0 65536 linear {} 4096", device.path);
    if !fs::read_to_string("/proc/misc").is_ok_and(|misc| misc.contains("device-mapper")) {
        return eprintln!("SKIPPED: this kernel has no device-mapper");
    }
    if !Command::new("dmsetup")
        .args(["create", &name, "--table", &table])
        .status()
        .is_ok_and(|status| status.success())
    {
        return skip("device-mapper cannot make a volume here");
    }
    let volume = format!("/dev/mapper/{name}");
    let options =
        Options { devices: vec![volume.clone(), device.path.clone()], ..Options::default() };
    let recorded = Recorded::of(source, options, |_| {
        let words = [format!("if={volume}"), "of=/dev/null".to_owned()];
        let words = words.iter().map(String::as_str).chain([
            "bs=4k",
            "count=10",
            "iflag=direct",
            "status=none",
        ]);
        assert!(Command::new("dd").args(words).status().expect("dd runs").success());
    });
    let removed = Command::new("dmsetup").args(["remove", "--retry", &name]).status();
    assert!(removed.expect("dmsetup runs").success());
    let Some(recorded) = recorded else { return };
    assert_eq!(recorded.tables.devices[0].below, [device.name()]);
    let of = |number: u16| {
        recorded.ios.iter().filter(move |io| io.device == number && io.kind == Kind::Read)
    };
    assert_eq!((of(0).count(), of(1).count()), (10, 10), "{:?}", recorded.ios);
    assert!(of(0).all(|io| io.issued.get().is_none() && io.completed.get().is_some()));
    assert_eq!(
        (of(0).next().map(|io| io.sector), of(1).next().map(|io| io.sector)),
        (Some(0), Some(4096))
    );
}

#[test]
fn a_volume_is_recorded_above_its_disk_by_bpf() {
    a_volume_is_recorded_above_its_disk(Source::Bpf);
}

#[test]
fn a_volume_is_recorded_above_its_disk_by_tracefs() {
    a_volume_is_recorded_above_its_disk(Source::Tracefs);
}

#[test]
fn at_its_end_a_trace_removes_its_tracing_instance() {
    let Some(device) = Disk::new() else { return };
    let instances = std::path::Path::new("/sys/kernel/tracing/instances");
    if !instances.is_dir() {
        return skip("tracefs is not mounted");
    }
    let own = || {
        let names = fs::read_dir(instances)
            .expect("tracefs")
            .flatten()
            .map(|entry| entry.file_name().into_string());
        names
            .flatten()
            .filter(|name| name.starts_with(&format!("schedlab-record-{}-", std::process::id())))
            .count()
    };
    let live = start(&Options { source: Source::Tracefs, ..of(&device) }).expect("tracefs");
    let during = own();
    drop(live);
    assert!(during >= 1 && own() < during, "{during}");
}

#[test]
fn another_disk_under_the_name_is_noticed() {
    let Some(device) = Disk::new() else { return };
    let Ok(live) = start(&of(&device)) else { return };
    assert_eq!(live.removed(), None);
    device.detach();
    assert_eq!(live.removed().as_deref(), Some(device.name()));
}

/// A RAM disk, which is available everywhere.
fn a_disk_without_requests_is_recorded(source: Source) {
    let control = "/sys/class/zram-control";
    let Ok(number) = fs::read_to_string(format!("{control}/hot_add")) else {
        return eprintln!("SKIPPED: no zram can be made here");
    };
    let name = format!("zram{}", number.trim());
    fs::write(format!("/sys/block/{name}/disksize"), "16M").expect("a size");
    let options = Options { devices: vec![name.clone()], ..Options::default() };
    let script = format!("dd if=/dev/zero of=/dev/{name} bs=4k count=40 oflag=direct status=none");
    let recorded = Recorded::whole(source, || {
        Recorded::of(source, options.clone(), |_| {
            assert!(Command::new("sh").args(["-c", &script]).status().expect("sh runs").success());
        })
    });
    fs::write(format!("{control}/hot_remove"), number.trim()).expect("nobody uses it");
    let Some(recorded) = recorded else { return };
    let writes: Vec<_> = recorded.ios.iter().filter(|io| io.kind == Kind::Write).collect();
    assert_eq!(writes.len(), 40, "{:?}", recorded.ios);
    assert!(
        writes
            .iter()
            .all(|io| io.sectors == 8 && io.issued.get().is_none() && io.completed.get().is_some())
    );
    assert!(recorded.tables.devices[0].below.is_empty() && recorded.about.lost == 0);
}

#[test]
fn a_disk_without_requests_is_recorded_by_bpf() {
    a_disk_without_requests_is_recorded(Source::Bpf);
}

#[test]
fn a_disk_without_requests_is_recorded_by_tracefs() {
    a_disk_without_requests_is_recorded(Source::Tracefs);
}
