//! The matrix of consent on real loop devices: what is on the device or who uses it, with and without `--destroy-data`.

mod common;

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::{Bench, BlankLoop, run, skip};
use host::session::FileSystem;
use host::{Error, Obstacle, Root, Session, check_writable, obstacles};

const O_EXCL: i32 = rustix::fs::OFlags::EXCL.bits().cast_signed();

/// Something that a device can hold: a label, the format by blkid's name, how it gets there, and the device's size in MiB.
type Content = (&'static str, &'static str, fn(&str), u64);

const CONTENTS: [Content; 7] = [
    ("ext4", "ext4", |node| drop(run("mkfs.ext4", &["-q", "-F", node])), 16),
    ("xfs", "xfs", |node| drop(run("mkfs.xfs", &["-q", "-f", node])), 400),
    ("swap header", "swap", |node| drop(run("mkswap", &[node])), 16),
    ("DOS partition table", "dos partition table", |node| partition(node, "dos"), 16),
    ("GPT", "gpt partition table", |node| partition(node, "gpt"), 16),
    ("LVM label", "LVM2_member", |node| drop(run("pvcreate", &["-ff", "-y", node])), 16),
    ("LUKS header", "crypto_LUKS", luks, 64),
];

fn partition(node: &str, label: &str) {
    let script = format!("echo ',,L' | sfdisk --quiet --label {label} --no-reread {node}");
    run("sh", &["-c", &script]);
}

fn luks(node: &str) {
    let quick = "--pbkdf pbkdf2 --pbkdf-force-iterations 1000";
    let script = format!("echo secret | cryptsetup luksFormat --batch-mode --disable-locks {quick} {node} -");
    run("sh", &["-c", &script]);
}

/// One test at a time: a device that one test has open exclusively stays so in a program that another one starts, from fork to exec.
static ALONE: Mutex<()> = Mutex::new(());

fn bench() -> Option<(Bench, MutexGuard<'static, ()>)> {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let bench = Bench::set_up(&["mkfs.ext4", "mkfs.xfs", "mkswap", "sfdisk", "pvcreate", "cryptsetup", "addpart"])?;
    Some((bench, alone))
}

fn first_mib(blank: &BlankLoop) -> Vec<u8> {
    let mut bytes = fs::read(&blank.file).expect("the file behind the loop device");
    bytes.truncate(1 << 20);
    bytes
}

#[test]
fn a_blank_device_is_given_without_consent_and_held_as_long_as_the_claim_lives() {
    let Some((bench, _alone)) = bench() else { return };
    let blank = bench.blank_loop(16);
    let device = bench.device(&blank);
    assert_eq!(obstacles(&bench.root, &device).expect("it can be opened"), []);
    let claim = check_writable(&bench.root, &device, None).expect("nothing speaks against it");
    let second = check_writable(&bench.root, &device, None).unwrap_err();
    assert!(matches!(&second, Error::InUse { found, .. } if *found == [Obstacle::OpenedExclusively]), "{second}");
    OpenOptions::new().write(true).open(&blank.node).expect("clients open the claimed device without O_EXCL");
    drop(claim);
    check_writable(&bench.root, &device, Some(blank.word())).expect("consent that is not needed does no harm");
}

/// The file behind a loop device is exchanged after the device was looked at, as a stick is exchanged for another.
fn exchange(bench: &Bench, blank: &BlankLoop, mib: u64) {
    let file = bench.dir.path().join(format!("exchanged-{mib}"));
    File::create(&file).and_then(|made| made.set_len(mib << 20)).expect("a sparse file");
    run("losetup", &["--detach", blank.word()]);
    run("losetup", &[blank.word(), &file.display().to_string()]);
}

#[test]
fn a_device_that_was_exchanged_since_it_was_looked_at_is_refused_and_both_are_named() {
    let Some((bench, _alone)) = bench() else { return };
    for mib in [16, 17] {
        let blank = bench.blank_loop(16);
        let device = bench.device(&blank);
        exchange(&bench, &blank, mib);
        for consent in [None, Some(blank.word())] {
            let error = check_writable(&bench.root, &device, consent).expect_err("it is another device");
            assert!(matches!(&error, Error::Replaced { .. }), "{error}");
            let (seq, text) = (device.diskseq.expect("the kernel counts"), error.to_string());
            let both = [format!("medium {seq}"), format!("{} bytes", mib << 20), "16777216 bytes".into()];
            assert!(both.iter().all(|words| text.contains(words)), "{text}");
        }
    }
}

#[test]
fn a_device_that_was_exchanged_after_the_consent_gets_no_file_system() {
    let Some((bench, _alone)) = bench() else { return };
    let blank = bench.blank_loop(16);
    let device = bench.device(&blank);
    drop(check_writable(&bench.root, &device, None).expect("nothing speaks against it"));
    exchange(&bench, &blank, 16);
    let wanted = FileSystem { kind: "ext4".into(), mkfs: String::new(), mount: String::new() };
    let mut session = Session::begin(&bench.root).expect("a session");
    let error = session.make_files(&device, &wanted).expect_err("it is another device");
    assert!(matches!(&error, Error::Replaced { .. }), "{error}");
    session.end().expect("nothing was made");
    let bytes = fs::read(bench.dir.path().join("exchanged-16")).expect("own");
    assert!(bytes.iter().all(|byte| *byte == 0), "nothing was written");
}

#[test]
fn a_held_device_keeps_its_file() {
    let Some((bench, _alone)) = bench() else { return };
    let blank = bench.blank_loop(16);
    let device = bench.device(&blank);
    let held = device.hold(&bench.root).expect("it is there");
    run("losetup", &["--detach", blank.word()]);
    device.check_is(&bench.root, &held).expect("it keeps its file as long as it is open");
    drop(held);
}

/// Claims a device that a claim has just been given back of. Another test of this process may be starting a program: between its
/// fork and its exec the child holds a copy of the claim's descriptor, for as long as the machine lets it wait.
fn claimed(bench: &Bench, device: &host::Device, consent: Option<&str>) -> Result<host::Claim, Error> {
    let give_up = std::time::Instant::now() + std::time::Duration::from_secs(5);
    loop {
        match check_writable(&bench.root, device, consent) {
            Err(Error::InUse { found, .. })
                if found == [Obstacle::OpenedExclusively] && std::time::Instant::now() < give_up =>
            {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            answer => return answer,
        }
    }
}

#[test]
fn whatever_a_device_holds_is_refused_without_consent_and_given_with_it() {
    let Some((bench, _alone)) = bench() else { return };
    for (label, format, put, mib) in CONTENTS {
        let blank = bench.blank_loop(mib);
        put(blank.word());
        let before = first_mib(&blank);
        let device = bench.device(&blank);
        let refused = check_writable(&bench.root, &device, None).expect_err(label);
        let Error::Refused { found, .. } = &refused else { panic!("{label}: {refused}") };
        let held = |obstacle: &Obstacle| matches!(obstacle, Obstacle::Holds { formats } if formats.iter().any(|f| f == format));
        assert!(found.iter().any(held), "{label}: {found:?}");
        let message = refused.to_string();
        assert!(message.contains(format) && message.contains(&format!("--destroy-data {}", blank.word())), "{message}");
        let other = bench.blank_loop(1);
        let error = check_writable(&bench.root, &device, Some(other.word())).expect_err(label);
        assert!(matches!(error, Error::ConsentForOther { .. }), "{label}: {error}");
        assert!(first_mib(&blank) == before, "{label}: refusing must not write");
        claimed(&bench, &device, Some(blank.word())).expect(label);
        claimed(&bench, &device, Some(blank.name())).expect("the bare name is the same device");
        let link = bench.dir.path().join("by-link");
        symlink(&blank.node, &link).expect("a link");
        claimed(&bench, &device, link.to_str()).expect("a link leads to the same device");
        fs::remove_file(&link).expect("own link");
    }
}

#[test]
fn partitions_that_the_kernel_knows_are_refused_without_consent_even_where_no_table_is_on_the_device() {
    let Some((bench, _alone)) = bench() else { return };
    let blank = bench.blank_loop(16);
    run("addpart", &[blank.word(), "1", "2048", "8192"]);
    let device = bench.device(&blank);
    let refused = check_writable(&bench.root, &device, None).unwrap_err();
    let partition = format!("{}p1", blank.name());
    assert!(
        matches!(&refused, Error::Refused { found, .. }
        if *found == [Obstacle::Partitions { names: vec![partition.clone()] }]),
        "{refused}"
    );
    let named = check_writable(&bench.root, &device, Some(&format!("/dev/{partition}"))).unwrap_err();
    assert!(matches!(named, Error::Partition { .. }), "consent for a partition is not consent for the disk: {named}");
    check_writable(&bench.root, &device, Some(blank.word())).expect("named");
}

#[test]
fn a_mounted_device_is_refused_even_with_consent_and_says_where_it_is_mounted() {
    let Some((bench, _alone)) = bench() else { return };
    let blank = bench.blank_loop(16);
    run("mkfs.ext4", &["-q", "-F", blank.word()]);
    let _mounted = Mounted::at(&bench, blank.word());
    refused_in_use(&bench, &blank, "unmount it first");
}

#[test]
fn a_device_with_a_mounted_partition_is_refused_even_with_consent() {
    let Some((bench, _alone)) = bench() else { return };
    let blank = bench.blank_loop(32);
    run("addpart", &[blank.word(), "1", "2048", "40960"]);
    let partition = format!("{}p1", blank.word());
    run("mkfs.ext4", &["-q", "-F", &partition]);
    let _mounted = Mounted::at(&bench, &partition);
    refused_in_use(&bench, &blank, &format!("{}p1 is mounted", blank.name()));
}

#[test]
fn a_device_that_is_opened_exclusively_is_refused_even_with_consent() {
    let Some((bench, _alone)) = bench() else { return };
    let blank = bench.blank_loop(16);
    let _holder: File = OpenOptions::new().read(true).custom_flags(O_EXCL).open(&blank.node).expect("free");
    let found = obstacles(&bench.root, &bench.device(&blank)).expect("it can be opened");
    assert_eq!(found, [Obstacle::OpenedExclusively]);
    refused_in_use(&bench, &blank, "open exclusively");
}

#[test]
fn a_device_below_another_loop_device_is_refused_even_with_consent() {
    let Some((bench, _alone)) = bench() else { return };
    let blank = bench.blank_loop(16);
    let node = run("losetup", &["--find", "--show", blank.word()]);
    let above = BlankLoop { node: node.trim().into(), file: blank.node.clone() };
    refused_in_use(&bench, &blank, &format!("losetup -d {}", above.word()));
}

#[test]
fn a_read_only_device_is_refused_even_with_consent() {
    let Some((bench, _alone)) = bench() else { return };
    let blank = bench.blank_loop(16);
    run("blockdev", &["--setro", blank.word()]);
    for consent in [None, Some(blank.word())] {
        let refused = check_writable(&bench.root, &bench.device(&blank), consent).unwrap_err();
        let message = refused.to_string();
        assert!(matches!(refused, Error::ReadOnly { .. }), "{message}");
        assert!(message.contains("is read-only") && !message.contains("in use"), "{message}");
    }
    run("blockdev", &["--setrw", blank.word()]);
}

#[test]
fn without_blkid_nothing_is_given_and_the_package_is_named() {
    let Some((bench, _alone)) = bench() else { return };
    let blank = bench.blank_loop(16);
    let device = bench.device(&blank);
    let root = Root::real().with_tool_dirs(vec![]);
    for consent in [None, Some(blank.word())] {
        let refused = check_writable(&root, &device, consent).unwrap_err().to_string();
        assert!(refused.contains("unknown what it holds") && refused.contains("util-linux"), "{refused}");
    }
}

#[test]
fn consent_that_names_no_device_is_an_error() {
    let Some((bench, _alone)) = bench() else { return };
    let blank = bench.blank_loop(16);
    let error = check_writable(&bench.root, &bench.device(&blank), Some("/dev/sdzz")).unwrap_err();
    assert!(matches!(error, Error::UnknownDevice { .. }), "{error}");
}

#[test]
fn the_disk_that_this_system_runs_from_is_never_given() {
    let Some((bench, _alone)) = bench() else { return };
    let all = host::device::list(&bench.root).expect("/sys is there");
    let Some(disk) = all.iter().find(|disk| disk.mounts.iter().any(|mount| mount.at == "/")) else {
        let _ = skip::<()>("the root file system is not on a disk of this machine");
        return;
    };
    let node = disk.path.display().to_string();
    let error = check_writable(&bench.root, disk, Some(&node)).unwrap_err();
    assert!(matches!(error, Error::InUse { .. }), "{error}");
}

fn refused_in_use(bench: &Bench, blank: &BlankLoop, words: &str) {
    for consent in [None, Some(blank.word())] {
        let refused = check_writable(&bench.root, &bench.device(blank), consent).unwrap_err();
        assert!(matches!(refused, Error::InUse { .. }), "{refused}");
        assert!(refused.to_string().contains(words), "{words} is missing in: {refused}");
    }
}

struct Mounted {
    at: String,
}

impl Mounted {
    fn at(bench: &Bench, node: &str) -> Mounted {
        let at = bench.dir.path().join("mounted here").display().to_string();
        fs::create_dir_all(&at).expect("own directory");
        run("mount", &[node, &at]);
        Mounted { at }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        run("umount", &[&self.at]);
    }
}
