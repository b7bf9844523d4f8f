//! A session's file systems. Foreign ones are left alone.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;

use machine::session::FileSystem;
use machine::{Error, LoopDevice, Session};
use testbed::Loop;

use super::{assert_no_trace, begin, holds};
use crate::common::{Bench, run, try_run};

fn wanted(kind: &str, mkfs: &str, mount: &str) -> FileSystem {
    FileSystem { kind: kind.into(), mkfs: mkfs.into(), mount: mount.into() }
}

fn make(bench: &Bench, blank: &Loop, wanted: &FileSystem) -> Result<Session, Error> {
    let mut session = begin(bench);
    let device = bench.device(blank);
    session.make_files(&device, wanted, &mut bench.claim(&device)?)?;
    Ok(session)
}

fn mounted(blank: &Loop) -> String {
    let mounts = run("cat", &["/proc/mounts"]);
    mounts
        .lines()
        .find(|line| line.starts_with(&format!("{} ", &blank.path)))
        .unwrap_or_default()
        .to_string()
}

fn is_gone(blank: &Loop, at: &std::path::Path) {
    assert_eq!(
        (mounted(blank).as_str(), holds(&blank.path).as_str(), at.exists()),
        ("", "", false)
    );
}

#[test]
fn each_file_system_is_made_with_its_options_survives_cooling_and_leaves_a_blank_device() {
    let Some(bench) = Bench::set_up(&["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"]) else { return };
    for (kind, mib, mkfs, mount, option) in [
        ("ext4", 16, "-b 1024", "data=writeback", "data=writeback"),
        ("xfs", 320, "-m reflink=0", "noatime,nodiratime", "noatime"),
        ("btrfs", 160, "-m single", "nodatacow", "nodatacow"),
    ] {
        let blank = bench.blank_loop(mib);
        let mut session = make(&bench, &blank, &wanted(kind, mkfs, mount)).expect(kind);
        let at = session.directory().expect("a mount").to_path_buf();
        let line = mounted(&blank);
        assert!(
            line.contains(&format!(" {} {kind} ", at.display())) && line.contains(option),
            "{line}"
        );
        fs::write(at.join("file"), "kept").expect("writable");
        session.cool().expect("no process uses it");
        assert_eq!(fs::read_to_string(at.join("file")).expect("there"), "kept");
        session.end().expect("no process uses it");
        is_gone(&blank, &at);
        assert_no_trace(&bench);
    }
}

/// As a container does that is started while the files are mounted.
struct Copy(std::process::Child);

impl Copy {
    fn of(at: &std::path::Path) -> Copy {
        let script =
            format!("grep -q ' {} ' /proc/mounts && echo there && exec sleep 1000", at.display());
        let mut child = std::process::Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-c", &script])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("util-linux");
        let mut said = [0; 6];
        let output = child.stdout.as_mut().expect("it is piped");
        std::io::Read::read_exact(output, &mut said).expect("the namespace has the mount");
        Copy(child)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn files_are_read_from_the_device_after_cooling_even_if_another_namespace_has_the_mount() {
    let Some(bench) = Bench::set_up(&["mkfs.ext4"]) else { return };
    let blank = bench.blank_loop(32);
    let mut session = make(&bench, &blank, &wanted("ext4", "", "")).expect("ext4");
    let at = session.directory().expect("a mount").to_path_buf();
    let (inside, content) = (at.join("of").join("ours"), vec![7; 4 << 20]);
    fs::create_dir(at.join("of")).expect("writable");
    fs::write(&inside, &content).expect("writable");
    let copy = Copy::of(&at);
    session.cool().expect("no process uses it");
    let read_bytes = || {
        let stat = fs::read_to_string(blank.sys().join("stat")).expect("a device has counters");
        stat.split_whitespace().nth(2).and_then(|it| it.parse::<u64>().ok()).expect("a number")
            * 512
    };
    let before = read_bytes();
    assert_eq!(fs::read(&inside).expect("there"), content);
    assert!(read_bytes() - before >= 4 << 20, "{} bytes", read_bytes() - before);
    drop(copy);
    session.end().expect("no process uses it");
    assert_no_trace(&bench);
}

#[test]
fn a_loop_devices_file_keeps_all_its_blocks() {
    let Some(bench) = Bench::set_up(&["mkfs.ext4"]) else { return };
    let made = LoopDevice::create(&bench.root, 16 << 20, bench.dir.path(), &mut |_| {
        std::ops::ControlFlow::Continue(())
    });
    let device = made.expect("there is room");
    let blocks = || fs::metadata(device.file()).expect("its file").blocks();
    let before = blocks();
    let mut session = begin(&bench);
    let described = device.describe().expect("there");
    let mut claim = bench.claim(&described).expect("no process uses it");
    session.make_files(&described, &wanted("ext4", "", ""), &mut claim).expect("ext4");
    assert!(blocks() >= before, "{} of {before}", blocks());
    session.end().expect("no process uses it");
    device.remove().expect("no process uses it");
    assert_no_trace(&bench);
}

#[test]
fn a_session_that_is_dropped_with_programs_at_work_in_its_files_leaves_nothing() {
    let Some(bench) = Bench::set_up(&["mkfs.ext4"]) else { return };
    let blank = bench.blank_loop(16);
    let session = make(&bench, &blank, &wanted("ext4", "", "")).expect("ext4");
    let at = session.directory().expect("a mount").to_path_buf();
    let launch = machine::session::Launch {
        program: "sleep".into(),
        args: vec!["1000".into()],
        dir: at.clone(),
        ..Default::default()
    };
    let running = session.start(&launch).expect("it can be started");
    drop(session);
    is_gone(&blank, &at);
    drop(running);
    assert_no_trace(&bench);
}

#[test]
fn who_uses_the_files_is_named_when_they_cannot_be_unmounted() {
    let Some(bench) = Bench::set_up(&["mkfs.ext4"]) else { return };
    let blank = bench.blank_loop(16);
    let mut session = make(&bench, &blank, &wanted("ext4", "", "")).expect("ext4");
    let at = session.directory().expect("a mount").to_path_buf();
    let open = File::create(at.join("open")).expect("writable");
    let error = session.cool().expect_err("we have a file open").to_string();
    assert!(
        error.contains(&at.display().to_string())
            && error.contains(&format!("({})", std::process::id())),
        "{error}"
    );
    let error = session.end().expect_err("we still have").to_string();
    assert!(error.contains("schedlab restore"), "{error}");
    assert_eq!(holds(&blank.path), "ext4", "what is mounted is not wiped");
    drop(open);
    let outcomes = machine::restore_all(&bench.root, &[]).expect("readable");
    assert!(
        matches!(&outcomes[..], [one] if one.undone::<machine::session::Cleanup>().is_some()),
        "{outcomes:?}"
    );
    assert!(outcomes[0].to_string().contains(&blank.path), "{}", outcomes[0]);
    is_gone(&blank, &at);
    assert_no_trace(&bench);
}

#[test]
fn what_cannot_be_made_is_refused_before_anything_is_written() {
    let Some(bench) = Bench::set_up(&["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"]) else { return };
    let blank = bench.blank_loop(16);
    for (files, needle) in [
        (wanted("zfs", "", ""), "ext4, xfs, btrfs"),
        (wanted("xfs", "", ""), "too small for xfs (found 16.0 MiB, expected 300"),
        (wanted("btrfs", "", ""), "too small for btrfs (found 16.0 MiB, expected 110"),
        (wanted("ext4", "/dev/vda", ""), "only the device under test"),
        (wanted("ext4", "-J device=UUID=0", ""), "only the device under test"),
        (wanted("xfs", "-l logdev=/dev/vda", ""), "only the device under test"),
        (wanted("ext4", "", "noatime,bind"), "\"bind\""),
    ] {
        let error = make(&bench, &blank, &files).map(drop).expect_err(needle).to_string();
        assert!(error.contains(needle), "{error}");
        assert_eq!(holds(&blank.path), "", "{files:?}");
        assert_no_trace(&bench);
    }
    let root = bench.root.clone().with_tool_dirs(vec![]);
    let mut session = Session::begin(&root).expect("writable");
    let device = bench.device(&blank);
    let mut claim = bench.claim(&device).expect("no process uses it");
    let error =
        session.make_files(&device, &wanted("ext4", "", ""), &mut claim).expect_err("no mkfs");
    assert!(
        matches!(&error, Error::ToolMissing { package, .. } if package == "e2fsprogs"),
        "{error}"
    );
}

#[test]
fn what_mkfs_or_mount_refuses_is_told_in_their_words_and_leaves_a_blank_device() {
    let Some(bench) = Bench::set_up(&["mkfs.ext4"]) else { return };
    let blank = bench.blank_loop(16);
    for (files, needle) in [
        (wanted("ext4", "-b 77", ""), "invalid block size"),
        (wanted("ext4", "", "no-such-option"), "mount"),
    ] {
        let error = make(&bench, &blank, &files).map(drop).expect_err(needle);
        assert!(
            matches!(error, Error::ToolFailed { .. }) && error.to_string().contains(needle),
            "{error}"
        );
        assert_eq!((holds(&blank.path), mounted(&blank)), (String::new(), String::new()));
        assert_no_trace(&bench);
    }
}

#[test]
fn a_device_in_use_is_left_alone() {
    let Some(bench) = Bench::set_up(&["mkfs.ext4"]) else { return };
    let blank = bench.blank_loop(16);
    run("mkfs.ext4", &["-q", &blank.path]);
    let at = bench.dir.path().join("theirs");
    fs::create_dir(&at).expect("own directory");
    run("mount", &[&blank.path, &at.display().to_string()]);
    fs::write(at.join("theirs"), "data").expect("writable");
    let error = make(&bench, &blank, &wanted("ext4", "", "")).map(drop);
    let kept = fs::read_to_string(at.join("theirs"));
    let _ = try_run("umount", &[&at.display().to_string()]);
    assert!(matches!(error, Err(Error::InUse { .. })), "{error:?}");
    assert_eq!(
        (kept.expect("still there").as_str(), holds(&blank.path).as_str()),
        ("data", "ext4")
    );
    assert_no_trace(&bench);
}
