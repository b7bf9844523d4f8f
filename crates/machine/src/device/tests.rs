//! Listing and finding devices, on fake trees and on the machine itself.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

/// Creates disks from `path text` lines below /sys/block.
fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let root = Root::at(dir.path()).with_tool_dirs(vec![]);
    fs::create_dir_all(root.sys("block")).expect("fake sysfs");
    fs::create_dir_all(root.dev("disk/by-id")).expect("fake dev");
    for (path, text) in files {
        put(&root.sys("block").join(path), text);
    }
    (dir, root)
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a file has a directory")).expect("fake directory");
    fs::write(path, text).expect("fake file");
}

#[test]
fn a_disk_is_found_by_name_by_node_and_by_link() {
    let (_dir, root) = machine(&[("sda/dev", "8:0"), ("cciss!c0d0/dev", "104:0")]);
    put(&root.dev("sda"), "");
    put(&root.dev("cciss/c0d0"), "");
    symlink("../../sda", root.dev("disk/by-id/wwn-1")).expect("a link");
    for word in ["sda", "/dev/sda", "/dev/disk/by-id/wwn-1"] {
        assert_eq!(find(&root, word).expect(word).name, "sda");
    }
    let odd = find(&root, "/dev/cciss/c0d0").expect("a name with a slash");
    assert_eq!(
        (odd.name.as_str(), odd.path.as_path()),
        ("cciss!c0d0", Path::new("/dev/cciss/c0d0"))
    );
}

#[test]
fn a_partition_is_refused_naming_its_disk() {
    let (_dir, root) = machine(&[("sda/dev", "8:0"), ("sda/sda1/partition", "1")]);
    put(&root.dev("sda1"), "");
    for word in ["sda1", "/dev/sda1"] {
        let error = find(&root, word).unwrap_err();
        assert!(matches!(&error, Error::Partition { disk, .. } if disk == "/dev/sda"), "{error}");
    }
}

#[test]
fn an_unknown_device_lists_the_nearest_and_all() {
    let (_dir, root) = machine(&[("nvme0n1/dev", "259:0"), ("sda/dev", "8:0")]);
    let error = find(&root, "/dev/nvme0n2").unwrap_err();
    assert!(
        matches!(&error, Error::UnknownDevice { known, .. } if known.len() == 2)
            && error.to_string().contains("did you mean \"nvme0n1\""),
        "{error}"
    );
    assert!(matches!(find(&root, "/etc/passwd").unwrap_err(), Error::UnknownDevice { .. }));
}

#[test]
fn bio_based_devices_of_old_and_new_kernels_have_no_scheduler_and_a_blk_mq_device_with_none_has() {
    let (_dir, root) = machine(&[
        ("zram0/queue/read_ahead_kb", "128"),
        ("md0/queue/scheduler", "none"),
        ("sda/queue/scheduler", "[none] mq-deadline"),
        ("odd/dev", "1:1"),
    ]);
    let scheduler = |name| find(&root, name).expect(name);
    assert_eq!(scheduler("zram0").no_scheduler, Some(NoScheduler::BioBased));
    assert_eq!(scheduler("md0").no_scheduler, Some(NoScheduler::BioBased));
    assert!(scheduler("md0").available_schedulers.is_empty());
    assert_eq!(scheduler("odd").no_scheduler, Some(NoScheduler::NoQueue));
    let sda = scheduler("sda");
    assert_eq!((sda.no_scheduler, sda.scheduler.as_deref()), (None, Some("none")));
    assert_eq!(sda.available_schedulers, ["none", "mq-deadline"]);
}

#[test]
fn schedulers_of_disks_are_listed_with_modules_that_none_loaded() {
    let (_dir, root) = machine(&[
        ("sda/queue/scheduler", "[none] bfq"),
        ("sdb/queue/scheduler", "none [mq-deadline]"),
        ("md0/queue/scheduler", "none"),
    ]);
    let alias = "alias kyber-iosched kyber\nalias bfq-iosched bfq\n";
    put(&root.modules().join("modules.alias"), alias);
    let (loaded, unloaded) = offered(&root);
    let of = |name: &str| loaded[name].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!((of("sda"), of("sdb")), (vec!["none", "bfq"], vec!["none", "mq-deadline"]));
    assert_eq!((loaded["md0"].len(), unloaded), (0, vec!["kyber".to_owned()]));
}

#[test]
fn the_identity_prefers_the_world_wide_name_then_the_serial_then_the_name() {
    let (_dir, root) = machine(&[
        ("nvme0n1/wwid", "eui.0025385a91b0c123"),
        ("sda/device/wwid", "naa.5000c500"),
        ("sdb/device/vpd_pg80", "\0\u{80}\0\u{8}WD-12345"),
        ("sdb/device/model", "WDC  WD10      "),
        ("vda/serial", "disk-1"),
        ("loop0/dev", "7:0"),
    ]);
    let identity = |name| find(&root, name).expect(name).identity;
    assert_eq!(identity("nvme0n1"), "wwid eui.0025385a91b0c123");
    assert_eq!(identity("sda"), "wwid naa.5000c500");
    assert!(identity("sdb").ends_with("WD-12345 model WDC WD10"), "{}", identity("sdb"));
    assert_eq!(identity("vda"), "serial disk-1");
    assert_eq!(identity("loop0"), "name loop0 number 7:0");
}

#[test]
fn duplicates_of_one_serial_have_different_identities_and_are_found_again() {
    let (_dir, root) = machine(&[("vda/serial", "same"), ("vda/dev", "254:0")]);
    let alone = find(&root, "vda").expect("there").identity;
    put(&root.sys("block/vdb/serial"), "same");
    put(&root.sys("block/vdb/dev"), "254:16");
    let (a, b) =
        (find(&root, "vda").expect("there").identity, find(&root, "vdb").expect("there").identity);
    assert_ne!(a, b);
    let found =
        |identity: &str, last: &str| name_by_identity(&root, identity, last).expect("readable");
    assert_eq!(found(&a, "vda").as_deref(), Some("vda"));
    assert_eq!(found(&b, "vdb").as_deref(), Some("vdb"));
    assert_eq!(
        found(&alone, "vda").as_deref(),
        Some("vda"),
        "the name of then decides between duplicates"
    );
    fs::remove_dir_all(root.sys("block/vdb")).expect("a fake disk");
    assert_eq!(found(&a, "vda").as_deref(), Some("vda"), "the duplicate is gone");
    assert_eq!(found(&b, "vdb"), None);
}

#[test]
fn mounts_swap_and_holders_of_partitions_count_for_the_disk() {
    let (_dir, root) = machine(&[
        ("sda/dev", "8:0"),
        ("sda/sda1/partition", "1"),
        ("sda/sda1/dev", "8:1"),
        ("sda/sda2/partition", "2"),
        ("sda/sda2/dev", "8:2"),
        ("sda/sda2/holders/dm-0", ""),
        ("sda/sda3/partition", "3"),
        ("sda/sda3/dev", "8:3"),
    ]);
    for node in ["sda1", "sda2", "sda3"] {
        put(&root.dev(node), "");
    }
    // btrfs shows an anonymous device number; only the source identifies the device.
    let table = "25 1 8:1 / /mnt/my\\040disk rw - ext4 /dev/root rw\n26 1 0:44 / /data rw - btrfs /dev/sda3 rw,ssd\n";
    put(&root.proc("self/mountinfo"), table);
    put(&root.proc("swaps"), "Filename Type Size Used Priority\n/dev/sda2 partition 1 0 -2\n");
    let disk = find(&root, "sda").expect("there");
    let at: Vec<&str> = disk.mounts.iter().map(|mount| mount.at.as_str()).collect();
    assert_eq!(at, ["/mnt/my disk", "/data"]);
    assert_eq!((disk.swap, disk.holders), (vec!["sda2".to_string()], vec!["dm-0".to_string()]));
}

#[test]
fn kinds_are_told_by_driver_and_by_what_the_drive_says() {
    let (_dir, root) = machine(&[
        ("sda/queue/rotational", "1"),
        ("sdb/queue/rotational", "0"),
        ("sdc/device/vendor", "QEMU"),
        ("nvme0n1/queue/rotational", "0"),
        ("dm-0/dev", "253:0"),
        ("vda/queue/rotational", "1"),
    ]);
    let kind = |name| find(&root, name).expect(name).kind;
    assert_eq!(
        ["sda", "sdb", "sdc", "nvme0n1", "dm-0", "vda"].map(kind),
        [Kind::Rotational, Kind::Ssd, Kind::Virtual, Kind::Nvme, Kind::DeviceMapper, Kind::Virtual]
    );
}

#[test]
fn every_disk_of_this_machine_is_listed_with_an_identity_of_its_own() {
    let all = list(&Root::real()).expect("/sys is there");
    let mut identities: Vec<&str> = all.iter().map(|device| device.identity.as_str()).collect();
    identities.sort_unstable();
    identities.dedup();
    assert_eq!(identities.len(), all.len());
    for device in &all {
        assert_eq!(device.scheduler.is_none(), device.no_scheduler.is_some(), "{}", device.name);
        assert!(
            device.scheduler.iter().all(|now| device.available_schedulers.contains(now)),
            "{}",
            device.name
        );
    }
}
