//! Device and file faults: each results in data or a clear error, never in a hang.

use std::fs::OpenOptions;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use load::{ClientFile, EngineError, Measured, place_in_directory, prepare_files, run};
use sim::workload::find;
use testbed::{Directory, Tmpfs, eventually, require};

use crate::fixture::{Disk, command, drive, measure};

/// A drive of ten minutes must end early.
fn measure_with_fault(
    device: &Disk,
    params: &[(&str, &str)],
    fault: impl FnOnce() + Send,
) -> Measured {
    let mut drive = device.drive("randread", params);
    drive.duration = Duration::from_secs(600);
    let before = device.counters().reads;
    std::thread::scope(|scope| {
        let running = scope.spawn(|| measure(&drive));
        device.wait_for_reads(before + 16);
        fault();
        running.join().unwrap()
    })
}

fn truncate(device: &Disk, len: u64) {
    OpenOptions::new().write(true).open(&device.file).unwrap().set_len(len).unwrap();
}

#[test]
fn errors_of_the_medium_are_counted_and_the_first_one_is_named() {
    if !require(&["root"]) {
        return;
    }
    for iodepth in ["1", "8"] {
        let device = Disk::new(8 << 20);
        // The loop driver fails reads beyond the end of its file.
        let measured =
            measure_with_fault(&device, &[("clients", "2"), ("iodepth", iodepth)], || {
                truncate(&device, 0)
            });
        let first = measured.first_error.as_deref().expect("there was an error");
        assert!(
            first.contains("Input/output error") && first.contains(device.path.to_str().unwrap()),
            "{first}"
        );
        assert!(
            (200..600).contains(&measured.errors),
            "each client gives up after a hundred: {measured:?}"
        );
        assert_eq!(measured.reads.errors, measured.errors);
        assert!(measured.reads.count > 0 && measured.vanished.is_none(), "{measured:?}");
        assert!(!measured.interrupted && measured.window_ns < 600_000_000_000);
    }
}

#[test]
fn a_few_errors_do_not_end_a_drive() {
    if !require(&["root"]) {
        return;
    }
    let device = Disk::new(8 << 20);
    truncate(&device, 7 << 20);
    // One stream, one pass: the last 1 MiB of 8 fails.
    let drive = device.drive("seqread", &[("amount", "8M"), ("block_size", "64k")]);
    let measured = measure(&drive);
    assert_eq!((measured.reads.count, measured.reads.errors), (7 * 16, 16), "{measured:?}");
    assert!(measured.clients[0].finished);
}

#[test]
fn a_device_that_shrinks_is_reported_as_such() {
    if !require(&["root"]) {
        return;
    }
    for (direct, iodepth) in [("true", "1"), ("true", "8"), ("false", "1"), ("false", "8")] {
        let params = [("direct", direct), ("iodepth", iodepth), ("clients", "2")];
        let shrink = || {
            let device = Disk::new(8 << 20);
            measure_with_fault(&device, &params, || {
                truncate(&device, 1 << 20);
                command("losetup", &["-c", device.path.to_str().unwrap()]);
            })
        };
        // Between the two commands, every request fails, and may end the drive: not the tested
        // fault.
        let meant = |measured: &Measured| measured.vanished.is_some() || measured.errors == 0;
        let measured = (0..20)
            .map(|_| shrink())
            .find(meant)
            .expect("twenty times too slow to shrink a device");
        let seen = measured
            .vanished
            .as_deref()
            .unwrap_or_else(|| panic!("direct={direct} iodepth={iodepth}: {measured:?}"));
        assert!(seen.contains("shrank or was removed"), "{seen}");
        assert!(measured.reads.count > 0 && measured.window_ns < 600_000_000_000);
    }
}

#[test]
fn a_write_beyond_a_shrunken_device_is_no_full_disk() {
    if !require(&["root"]) {
        return;
    }
    for iodepth in ["1", "8"] {
        let device = Disk::new(8 << 20);
        let drive = device.drive("randwrite", &[("iodepth", iodepth)]);
        truncate(&device, 1 << 20);
        command("losetup", &["-c", device.path.to_str().unwrap()]);
        let measured = measure(&drive);
        assert!(measured.vanished.is_some() && measured.no_space.is_none(), "{measured:?}");
    }
}

#[test]
fn a_full_file_system_is_named_while_preparing_and_while_writing() {
    if !require(&["root"]) {
        return;
    }
    let directory = Directory::new();
    let tmpfs = Tmpfs::mount(directory.path(), 2);
    let error = prepare_files(tmpfs.path(), &[1 << 20, 4 << 20]).unwrap_err();
    assert!(matches!(error, EngineError::NoSpace { needed, .. } if needed == 5 << 20), "{error}");
    assert!(
        error.to_string().contains("5242880") && error.to_string().contains("2097152"),
        "{error}"
    );
    assert_eq!(std::fs::read_dir(tmpfs.path()).unwrap().count(), 0, "half-made files stay behind");

    for iodepth in ["1", "4"] {
        let path = tmpfs.path().join("growing");
        std::fs::write(&path, "").unwrap();
        let pairs = [("direct", "false"), ("block_size", "64k"), ("iodepth", iodepth)];
        let params = find("seqwrite").unwrap().params(pairs).unwrap();
        let measured =
            measure(&drive("seqwrite", params, vec![ClientFile { path, base: 0, len: 8 << 20 }]));
        let seen = measured.no_space.as_deref().expect("there is no space");
        assert!(seen.contains("growing") && measured.vanished.is_none(), "{seen}");
        assert!(measured.writes.count > 0);
    }
}

#[test]
fn what_cannot_be_opened_is_named_with_the_kernels_answer() {
    let path = Directory::new().path().join("nothing-here");
    let params = find("seqread").unwrap().params([]).unwrap();
    let drive = drive("seqread", params, vec![ClientFile { path, base: 0, len: 1 << 20 }]);
    let error = run(&drive, &AtomicBool::new(false)).unwrap_err().to_string();
    assert!(
        error.contains("cannot open")
            && error.contains("nothing-here")
            && error.contains("No such file"),
        "{error}"
    );
}

#[test]
fn files_in_a_directory_need_a_size() {
    let kind = find("randread").unwrap();
    let dir = Directory::new();
    let error = place_in_directory(kind, &(kind.defaults)(), dir.path(), 4096).unwrap_err();
    assert!(error.to_string().contains("give file_size"), "{error}");
}

#[test]
fn a_device_that_hangs_is_given_up_after_the_patience() {
    if !require(&["root", "mkfs.ext4", "mount", "umount", "fsfreeze"]) {
        return;
    }
    // The device holds writes until the file system below thaws.
    let below = Disk::new(64 << 20);
    command("mkfs.ext4", &["-q", below.path.to_str().unwrap()]);
    let mounted = Directory::new();
    let mount = mounted.path().to_str().unwrap();
    command("mount", &[below.path.to_str().unwrap(), mount]);
    let device = Disk::over(&mounted.path().join("disk"), 8 << 20);
    command("sync", &["-f", mount]);
    command("fsfreeze", &["-f", mount]);
    let results = ["1", "4"].map(|iodepth| {
        let mut drive = device.drive("randwrite", &[("clients", "2"), ("iodepth", iodepth)]);
        drive.patience = Duration::from_millis(500);
        run(&drive, &AtomicBool::new(false))
    });
    command("fsfreeze", &["-u", mount]);
    for result in results {
        let error = result.expect_err("a hanging device must not look measured");
        assert!(
            matches!(&error, EngineError::Hung { clients: 2, path, .. } if *path == device.path),
            "{error}"
        );
    }
    let again = measure(&device.drive("randwrite", &[]));
    assert!(again.writes.count > 0 && again.errors == 0, "the device works again: {again:?}");
    drop(device);
    // The abandoned clients have closed the device.
    eventually("clients that were left behind let go of the device", || {
        std::process::Command::new("umount")
            .arg(mount)
            .status()
            .is_ok_and(|status| status.success())
    });
}
