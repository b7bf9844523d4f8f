//! Claims on real loop devices: duration, and names in a consent. See
//! `schedlab/tests/it/e2e/consent.rs` for contents and users.

mod common;

use std::fs::{self, File, OpenOptions};
use std::ops::ControlFlow;
use std::os::unix::fs::symlink;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::{Bench, run, try_run};
use machine::session::FileSystem;
use machine::{Authority, Claim, Content, Device, Error, Root, Session, Use};
use testbed::{Loop, skip};

/// A program started by a test inherits another test's exclusively opened device until exec.
static ALONE: Mutex<()> = Mutex::new(());

fn bench() -> Option<(Bench, MutexGuard<'static, ()>)> {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let bench = Bench::set_up(&["mkfs.ext4", "addpart", "flock"])?;
    Some((bench, alone))
}

fn check_writable(root: &Root, device: &Device, consent: Option<&str>) -> Result<Claim, Error> {
    machine::check_writable(root, device, Authority::Named(consent), &mut |_, _| {
        ControlFlow::Continue(())
    })
}

#[test]
fn claim_holds_the_device_and_says_what_will_be_lost() {
    let Some((bench, _alone)) = bench() else { return };
    let blank = bench.blank_loop(16);
    let device = bench.device(&blank);
    let claim = check_writable(&bench.root, &device, Some(blank.path.as_str())).expect("named");
    assert_eq!(claim.content(), [Content::NoDataFound { read_bytes: 16 << 20, is_whole: true }]);
    let second = check_writable(&bench.root, &device, Some(blank.path.as_str())).unwrap_err();
    assert!(
        matches!(&second, Error::InUse { found, .. } if *found == [Use::OpenedExclusively]),
        "{second}"
    );
    OpenOptions::new()
        .write(true)
        .open(&blank.path)
        .expect("clients open the claimed device without O_EXCL");
    drop(claim);
    drop(check_writable(&bench.root, &device, Some(blank.path.as_str())).expect("free again"));
    let made = machine::check_writable(&bench.root, &device, Authority::Made, &mut |_, _| {
        ControlFlow::Break(())
    });
    assert_eq!(made.expect("needs no consent and no search").content(), []);
}

#[test]
fn search_for_data_can_be_interrupted() {
    let Some((bench, _alone)) = bench() else { return };
    let blank = bench.blank_loop(16);
    let named = Authority::Named(Some(blank.path.as_str()));
    let broken_off =
        machine::check_writable(&bench.root, &bench.device(&blank), named, &mut |_, _| {
            ControlFlow::Break(())
        });
    assert!(matches!(broken_off, Err(Error::Interrupted { .. })), "{broken_off:?}");
}

#[test]
fn loop_device_that_appears_after_the_claim_is_found() {
    let Some((bench, _alone)) = bench() else { return };
    let blank = bench.blank_loop(16);
    let device = bench.device(&blank);
    let claim = check_writable(&bench.root, &device, Some(blank.path.as_str())).expect("named");
    claim.check_unused(&bench.root, &device, None).expect("nothing else uses it");
    let second = run("losetup", &["--find", "--show", &blank.file.display().to_string()]);
    let found = claim.check_unused(&bench.root, &device, None);
    run("losetup", &["--detach", second.trim()]);
    let name = second.trim().trim_start_matches("/dev/").to_owned();
    let expected = [Use::SharedByLoop { device: name }];
    assert!(matches!(&found, Err(Error::InUse { found, .. }) if *found == expected), "{found:?}");
}

#[test]
fn only_the_mount_of_schedlab_is_left_out_of_a_check() {
    let Some((bench, _alone)) = bench() else { return };
    let blank = bench.blank_loop(16);
    let device = bench.device(&blank);
    let mut claim = check_writable(&bench.root, &device, Some(blank.path.as_str())).expect("named");
    claim.release_device();
    run("mkfs.ext4", &["-q", &blank.path]);
    let at = bench.dir.path().join("own");
    fs::create_dir(&at).expect("own directory");
    run("mount", &[&blank.path, &at.display().to_string()]);
    let [own, other] =
        [Some(at.as_path()), None].map(|at| claim.check_unused(&bench.root, &device, at));
    run("umount", &[&at.display().to_string()]);
    own.expect("it is schedlab's");
    let message = other.expect_err("it is mounted").to_string();
    assert!(message.contains(&format!("mounted at {}", at.display())), "{message}");
}

#[test]
fn file_that_is_locked_is_in_use() {
    let Some((bench, _alone)) = bench() else { return };
    let blank = bench.blank_loop(16);
    let mut holder = locked(&blank);
    let found = check_writable(&bench.root, &bench.device(&blank), Some(blank.path.as_str()));
    holder.kill().and_then(|()| holder.wait()).expect("own child");
    // A descendant of this process counts as this process, but its lock does not.
    assert!(
        matches!(&found, Err(Error::InUse { found, .. }) if *found == [Use::FileLocked]),
        "{found:?}"
    );
}

/// Starts a program that locks the file behind a loop device.
fn locked(blank: &Loop) -> Child {
    let mut flock = Command::new("flock");
    flock
        .arg("--no-fork")
        .arg(&blank.file)
        .args(["sh", "-c", "echo; exec sleep 1000"])
        .stdout(Stdio::piped());
    let mut holder = flock.spawn().expect("flock");
    let mut line = [0];
    std::io::Read::read_exact(holder.stdout.as_mut().expect("piped"), &mut line)
        .expect("it has the lock");
    holder
}

#[test]
fn consent_names_the_disk_by_name_node_or_link() {
    let Some((bench, _alone)) = bench() else { return };
    let blank = bench.blank_loop(16);
    run("addpart", &[&blank.path, "1", "2048", "8192"]);
    let device = bench.device(&blank);
    let link = bench.dir.path().join("by-link");
    symlink(&blank.path, &link).expect("a link");
    let words = [&blank.path, &blank.name, link.to_str().expect("plain")];
    let claims = words.map(|word| check_writable(&bench.root, &device, Some(word)).map(drop));
    let other = bench.blank_loop(1);
    let refused =
        |word: &str| check_writable(&bench.root, &device, Some(word)).expect_err("not this disk");
    let refusals = [&other.path, &format!("{}p1", blank.path), "/dev/sdzz"].map(refused);
    // Partitions of a loop device outlive it, for the next user of its number.
    run("delpart", &[&blank.path, "1"]);
    assert!(claims.iter().all(Result::is_ok), "{claims:?}");
    let [Error::ConsentForOther { .. }, Error::Partition { .. }, Error::UnknownDevice { .. }] =
        &refusals
    else {
        panic!("{refusals:?}")
    };
}

/// The file was replaced after it was described, like one USB stick by another.
struct Exchanged {
    device: Device,
    node: String,
}

impl Exchanged {
    fn new(bench: &Bench, mib: u64) -> Exchanged {
        let file = bench.dir.join(format!("exchanged-{mib}"));
        File::create(&file).and_then(|made| made.set_len(mib << 20)).expect("a sparse file");
        loop {
            let blank = bench.blank_loop(16);
            let (device, node) = (bench.device(&blank), blank.path.clone());
            blank.detach();
            if try_run("losetup", &[&node, &file.display().to_string()]).status.success() {
                return Exchanged { device, node };
            }
            // Another process has taken the number.
        }
    }
}

impl Drop for Exchanged {
    fn drop(&mut self) {
        try_run("losetup", &["--detach", &self.node]);
    }
}

#[test]
fn a_device_that_was_exchanged_since_it_was_looked_at_is_refused_and_both_are_named() {
    let Some((bench, _alone)) = bench() else { return };
    for mib in [16, 17] {
        let exchanged = Exchanged::new(&bench, mib);
        let device = &exchanged.device;
        for consent in [None, Some(exchanged.node.as_str())] {
            let error =
                check_writable(&bench.root, device, consent).expect_err("it is another device");
            assert!(matches!(&error, Error::Replaced { .. }), "{error}");
            let (seq, text) = (device.diskseq.expect("the kernel counts"), error.to_string());
            let both =
                [format!("medium {seq}"), format!("{} bytes", mib << 20), "16777216 bytes".into()];
            assert!(both.iter().all(|words| text.contains(words)), "{text}");
        }
    }
}

#[test]
fn claim_of_another_device_makes_no_file_system() {
    let Some((bench, _alone)) = bench() else { return };
    let (blank, other) = (bench.blank_loop(16), bench.blank_loop(16));
    let mut claim =
        check_writable(&bench.root, &bench.device(&other), Some(&other.path)).expect("named");
    let wanted = FileSystem { kind: "ext4".into(), mkfs: String::new(), mount: String::new() };
    let mut session = Session::begin(&bench.root).expect("a session");
    let error = session
        .make_files(&bench.device(&blank), &wanted, &mut claim)
        .expect_err("it is another device");
    assert!(matches!(&error, Error::Replaced { .. }), "{error}");
    session.end().expect("nothing was made");
    let bytes = fs::read(&blank.file).expect("own");
    assert!(bytes.iter().all(|byte| *byte == 0), "nothing was written");
}

#[test]
fn a_held_device_keeps_its_file() {
    let Some((bench, _alone)) = bench() else { return };
    let blank = bench.blank_loop(16);
    let device = bench.device(&blank);
    let held = device.hold(&bench.root).expect("it is there");
    run("losetup", &["--detach", &blank.path]);
    device.check_is(&bench.root, &held).expect("it keeps its file as long as it is open");
    drop(held);
}

#[test]
fn without_blkid_nothing_is_written_and_the_package_is_named() {
    let Some((bench, _alone)) = bench() else { return };
    let blank = bench.blank_loop(16);
    let device = bench.device(&blank);
    let root = Root::real().with_tool_dirs(vec![]);
    for consent in [None, Some(blank.path.as_str())] {
        let refused = check_writable(&root, &device, consent).unwrap_err().to_string();
        assert!(
            refused.contains("cannot determine its contents") && refused.contains("util-linux"),
            "{refused}"
        );
    }
}

#[test]
fn root_disk_is_never_given() {
    let Some((bench, _alone)) = bench() else { return };
    let all = machine::device::list(&bench.root).expect("/sys is there");
    let Some(disk) = all.iter().find(|disk| disk.mounts.iter().any(|mount| mount.at == "/")) else {
        skip("the root file system is not on a disk of this machine");
        return;
    };
    let node = disk.path.display().to_string();
    let error = check_writable(&bench.root, disk, Some(&node)).unwrap_err();
    assert!(matches!(error, Error::InUse { .. }), "{error}");
}
