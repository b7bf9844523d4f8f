//! Temporary loop devices: fully written, with direct I/O, and removed without a trace, even after
//! a failure.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use crate::common::{Bench, run, try_run};
use machine::{Error, Guard, LoopDevice, Setting, restore_all};

const MIB: u64 = 1 << 20;

fn make(bench: &Bench, dir: &Path) -> Result<LoopDevice, Error> {
    LoopDevice::create(&bench.root, 8 * MIB, dir, &mut |_| ControlFlow::Continue(()))
}

/// Checks attached devices, the directory, the journal and the locks.
fn assert_no_trace(bench: &Bench, dir: &Path) {
    let attached = String::from_utf8_lossy(&try_run("losetup", &["--list"]).stdout).into_owned();
    assert!(!attached.contains(&dir.display().to_string()), "{attached}");
    let left: Vec<_> =
        fs::read_dir(dir).expect("own").flatten().filter(|e| e.path().is_file()).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(restore_all(&bench.root, &[]).expect("readable").is_empty());
    let locks = fs::read_dir(bench.root.state("lock")).into_iter().flatten().flatten();
    let locks: Vec<_> = locks
        .map(|e| e.file_name())
        .filter(|name| name.display().to_string().contains("loop-"))
        .collect();
    assert!(locks.is_empty(), "{locks:?}");
}

#[test]
fn a_loop_device_is_full_of_incompressible_data_uses_direct_io_and_is_gone_afterwards() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let mut heard = Vec::new();
    let made = LoopDevice::create(&bench.root, 8 * MIB, bench.dir.path(), &mut |done| {
        heard.push(done);
        ControlFlow::Continue(())
    });
    let device = made.expect("there is room for 8 MiB");
    assert_eq!(heard.last(), Some(&(8 * MIB)));
    let meta = fs::metadata(device.file()).expect("the file");
    assert!(meta.len() == 8 * MIB && meta.blocks() * 512 >= 8 * MIB, "{} blocks", meta.blocks());
    let bytes = fs::read(device.path()).expect("the device");
    let zeros = bytes.iter().filter(|byte| **byte == 0).count();
    assert!(
        zeros * 100 < bytes.len(),
        "noise has one zero in 256, and this has {zeros} in {}",
        bytes.len()
    );
    let described = device.describe().expect("it is there");
    let mut offers = described.available_schedulers.clone();
    offers.extend(described.unloaded_schedulers.clone());
    assert_eq!(
        machine::loopdev::offered_for_new_loop(&bench.root),
        offers,
        "known before it was made"
    );
    assert_eq!(
        (described.size_bytes, described.backing_file.as_deref()),
        (8 * MIB, Some(device.file()))
    );
    assert_eq!(
        fs::read_to_string(format!("/sys/block/{}/loop/dio", device.name())).expect("sysfs").trim(),
        "1"
    );
    assert!(device.warnings().is_empty(), "{:?}", device.warnings());
    device.remove().expect("no process uses it");
    assert_no_trace(&bench, bench.dir.path());
}

#[test]
fn a_loop_device_whose_owner_is_alive_is_left_alone_and_one_that_is_dropped_is_removed() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let device = make(&bench, bench.dir.path()).expect("there is room for 8 MiB");
    let outcomes = restore_all(&bench.root, &[]).expect("readable");
    assert!(matches!(&outcomes[..], [machine::Outcome::Busy { .. }]), "{outcomes:?}");
    assert!(!outcomes[0].owner_is_dead());
    assert!(device.file().exists());
    drop(device);
    assert_no_trace(&bench, bench.dir.path());
}

#[test]
fn too_little_room_is_said_with_both_numbers_before_anything_is_written() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let at = bench.dir.path().join("small");
    fs::create_dir(&at).expect("own directory");
    let text = at.display().to_string();
    run("mount", &["-t", "tmpfs", "-o", "size=1m", "schedlab-test", &text]);
    let error = make(&bench, &at).err();
    run("umount", &[&text]);
    let error = error.expect("8 MiB do not fit into 1 MiB");
    assert!(
        matches!(&error, Error::NoSpace { free_bytes, needed_bytes, .. }
        if *free_bytes <= MIB && *needed_bytes >= 8 * MIB),
        "{error}"
    );
    assert!(error.to_string().contains(&text), "{error}");
    assert_no_trace(&bench, &at);
}

#[test]
fn breaking_off_while_the_file_is_written_leaves_nothing() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let error =
        LoopDevice::create(&bench.root, 8 * MIB, bench.dir.path(), &mut |_| ControlFlow::Break(()));
    assert!(matches!(error, Err(Error::Interrupted { .. })));
    assert_no_trace(&bench, bench.dir.path());
}

#[test]
fn without_room_for_the_journal_nothing_is_made_and_nothing_is_left() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    fs::create_dir_all(bench.root.state("")).expect("own directory");
    fs::write(bench.root.state("journal"), "no directory").expect("own directory");
    let error =
        make(&bench, bench.dir.path()).expect_err("the journal cannot be written").to_string();
    assert_eq!(error.matches("expected a directory").count(), 1, "{error}");
    fs::remove_file(bench.root.state("journal")).expect("own file");
    assert_no_trace(&bench, bench.dir.path());
}

#[test]
fn no_program_is_needed_to_attach_and_detach() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let root = bench.root.clone().with_tool_dirs(vec![]);
    let made = LoopDevice::create(&root, MIB, bench.dir.path(), &mut |_| ControlFlow::Continue(()));
    made.expect("there is room for 1 MiB").remove().expect("no process uses it");
    assert_no_trace(&bench, bench.dir.path());
}

#[test]
fn a_directory_in_which_another_user_decides_is_refused_before_anything_is_made() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let dir = bench.dir.path().join("shared");
    fs::create_dir(&dir).expect("own directory");
    let foreign = |bench: &Bench| {
        let error = make(bench, &dir).expect_err("another user decides").to_string();
        assert!(error.contains(&dir.display().to_string()) && error.contains("name"), "{error}");
        assert_no_trace(bench, &dir);
    };
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o777)).expect("own");
    foreign(&bench);
    std::os::unix::fs::chown(&dir, Some(64_321), Some(64_321)).expect("root may give away");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).expect("own");
    foreign(&bench);
    std::os::unix::fs::chown(&dir, Some(0), Some(0)).expect("root may");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o1777)).expect("own");
    make(&bench, &dir)
        .expect("others cannot replace in a sticky directory what root has")
        .remove()
        .expect("unused");
}

/// The file is renamed and another gets its name: only the original is deleted.
#[test]
fn a_file_that_has_taken_the_name_is_not_deleted_and_the_device_is_detached() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let device = make(&bench, bench.dir.path()).expect("there is room for 8 MiB");
    let (file, other) = (device.file().to_path_buf(), bench.dir.path().join("moved"));
    fs::rename(&file, &other).expect("own");
    fs::write(&file, "another file").expect("own");
    let name = device.name().to_string();
    device.remove().expect("its name is that of another file");
    assert_eq!(fs::read_to_string(&file).expect("it stays"), "another file");
    // Another test may have taken the number by now.
    let behind = Path::new("/sys/block").join(name).join("loop/backing_file");
    let behind = fs::read_to_string(behind).unwrap_or_default();
    assert!(!Path::new(behind.trim()).starts_with(bench.dir.path()), "it is attached to {behind}");
    for path in [file, other] {
        fs::remove_file(path).expect("own");
    }
    assert_no_trace(&bench, bench.dir.path());
}

#[test]
fn settings_of_our_own_loop_device_are_applied_and_taken_back_before_it_goes() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let device = make(&bench, bench.dir.path()).expect("there is room for 8 MiB");
    let mut guard = Guard::begin(&bench.root, &device.describe().expect("there")).expect("free");
    let other =
        if guard.original().scheduler.as_deref() == Some("none") { "mq-deadline" } else { "none" };
    assert_eq!(guard.apply(&Setting::of(other)).expect("offered"), []);
    guard.restore().expect("everything can be put back");
    device.remove().expect("no process uses it");
    assert_no_trace(&bench, bench.dir.path());
}
