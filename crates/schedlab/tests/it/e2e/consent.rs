//! The rule for writing: a device that schedlab did not create is written to only if
//! `--destroy-data` names it and nothing uses it.
//!
//! Rows prepare devices with real tools, except for md and ZFS labels, whose tools require kernel
//! support. `--nocapture` prints schedlab's answers.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use testbed::{Loop, LoopOptions, eventually, require};

use crate::common::{Lab, Ran, trials};

/// In scripts `$N` is the device, `$F` its backing file, `$D` a directory.
struct State {
    name: &'static str,
    mib: u64,
    prepare: &'static str,
    /// Prints a line when the device is in use, until killed.
    hold: &'static str,
    undo: &'static str,
    says: &'static str,
}

/// Consent overrides these.
const HELD: &[State] = &[
    state("ext2", 16, "mkfs.ext2 -qF $N", "ext2"),
    state("ext4", 16, "mkfs.ext4 -qF $N", "ext4"),
    state("XFS", 320, "mkfs.xfs -qf $N", "xfs"),
    state("Btrfs", 128, "mkfs.btrfs -qf $N", "btrfs"),
    state("FAT", 16, "mkfs.vfat $N", "vfat"),
    state("exFAT", 16, "mkfs.exfat $N", "exfat"),
    state("NTFS", 16, "mkfs.ntfs -qF $N", "ntfs"),
    state("F2FS", 64, "mkfs.f2fs -qf $N", "f2fs"),
    state("JFS", 32, "mkfs.jfs -q $N", "jfs"),
    state("ReiserFS", 64, "mkfs.reiserfs -qff $N", "reiserfs"),
    state("NILFS2", 160, "mkfs.nilfs2 -q $N", "nilfs2"),
    state("UDF", 16, "mkudffs $N", "udf"),
    state(
        "ISO 9660",
        16,
        "genisoimage -quiet -o $D/iso /etc/hostname && dd if=$D/iso of=$N conv=notrunc status=none",
        "iso9660",
    ),
    state(
        "SquashFS",
        16,
        "mksquashfs /etc/hostname $D/sq -quiet -no-progress && dd if=$D/sq of=$N status=none",
        "squashfs",
    ),
    state(
        "cramfs",
        16,
        "mkdir $D/c && cp /etc/hostname $D/c && mkfs.cramfs $D/c $D/cr && dd if=$D/cr of=$N status=none",
        "cramfs",
    ),
    state("Minix", 16, "mkfs.minix $N", "minix"),
    state("BFS", 16, "mkfs.bfs $N", "bfs"),
    state("swap", 16, "mkswap $N", "swap"),
    state(
        "DOS partition table",
        16,
        "echo ',,L' | sfdisk -q --label dos --no-reread $N",
        "dos partition table",
    ),
    state("GPT", 16, "echo ',,L' | sfdisk -q --label gpt --no-reread $N", "gpt partition table"),
    state("GPT of sgdisk", 16, "sgdisk -n 1 $N", "gpt"),
    state(
        "SGI disk label",
        16,
        "echo ',,L' | sfdisk -q --label sgi --no-reread $N",
        "sgi partition table",
    ),
    state(
        "Sun disk label",
        16,
        "echo ',,L' | sfdisk -q --label sun --no-reread $N",
        "sun partition table",
    ),
    state("LVM label", 16, "pvcreate -qff -y $N", "LVM2_member"),
    state("LUKS 1", 16, LUKS_1, "crypto_LUKS"),
    state("LUKS 2", 64, LUKS_2, "crypto_LUKS"),
    state("bcache", 16, "make-bcache -B $N", "bcache"),
    state("md 1.2", 16, "python3 - $N <<<\"$MD\"", "linux_raid_member"),
    state("ZFS labels", 64, "python3 - $N <<<\"$ZFS\"", "zfs_member"),
    State {
        undo: "partx -d $N",
        ..state("partitions without a table", 16, "addpart $N 1 2048 8192", "partitions loop")
    },
    // No signature that blkid knows.
    state(
        "pages of PostgreSQL",
        16,
        "cat $PAGES | head -c 16M > $N",
        "data without a known signature, first at offset",
    ),
    state(
        "SQLite",
        16,
        "sqlite3 $D/q 'create table t(x)' && dd if=$D/q of=$N status=none",
        "first at offset 0",
    ),
    state("tar", 16, "tar cf $N -C /etc hostname passwd", "first at offset 0"),
    state("gzip", 16, "gzip -c /etc/passwd > $N", "first at offset 0"),
    state(
        "zip",
        16,
        "zip -q $D/z /etc/passwd && dd if=$D/z.zip of=$N status=none",
        "first at offset 0",
    ),
    state("qcow2", 16, "printf 'QFI\\373\\0\\0\\0\\3' > $N", "first at offset 0"),
    state("plain dm-crypt", 16, "head -c 16M /dev/urandom > $N", "first at offset"),
    state(
        "LUKS with a detached header",
        16,
        "truncate -s 16M $D/h && N=$N && N2=$N N=$D/h && eval \"$LUKS\" && head -c 8M /dev/urandom > $N2",
        "first at offset",
    ),
    state(
        "GPT, headers damaged",
        16,
        "echo ',,L' | sfdisk -q --label gpt --no-reread $N && wipefs -qaf $N && printf x | dd of=$N bs=1 seek=1024 conv=notrunc status=none",
        "first at offset",
    ),
    state(
        "ext4, superblock damaged",
        16,
        "mkfs.ext4 -qF $N && dd if=/dev/zero of=$N bs=4k count=1 conv=notrunc status=none",
        "first at offset",
    ),
    state(
        "XFS, superblock damaged",
        320,
        "mkfs.xfs -qf $N && dd if=/dev/zero of=$N bs=512 count=1 conv=notrunc status=none",
        "first at offset",
    ),
    state(
        "Btrfs, superblock damaged",
        128,
        "mkfs.btrfs -qf $N && dd if=/dev/zero of=$N bs=64k seek=1 count=1 conv=notrunc status=none",
        "first at offset",
    ),
    state(
        "LVM, label damaged",
        16,
        "pvcreate -qff -y $N && dd if=/dev/zero of=$N bs=512 seek=1 count=1 conv=notrunc status=none",
        "first at offset",
    ),
    state(
        "one byte in the middle",
        16,
        "printf x | dd of=$N bs=1 seek=9000000 conv=notrunc status=none",
        "first at offset 9000000",
    ),
    state(
        "one byte at the end",
        16,
        "printf x | dd of=$N bs=1 seek=16777215 conv=notrunc status=none",
        "first at offset 16777215",
    ),
    state("zeros", 16, "true", "no data found in its 16 MiB"),
    // How much can be read in time depends on the machine.
    state("zeros, large and sparse", 4 << 20, "true", "no data found in a sample of "),
    state("sectors of 4096 bytes", 16, "losetup -b 4096 $N && mkfs.ext4 -qF $N", "ext4"),
    state("reads that fail", 16, "truncate -s 8M $F", "cannot be read, first at offset 8388608"),
    state(
        "reads that fail at the start",
        16,
        "truncate -s 0 $F",
        "cannot be read, first at offset 0",
    ),
];

/// Consent does not override these.
const USED: &[State] = &[
    used(
        "mounted",
        "mkfs.ext4 -qF $N && mkdir $D/m && mount -o ro $N $D/m",
        "",
        "umount $D/m",
        "is mounted at",
    ),
    used(
        "partition mounted",
        PARTITION_MOUNTED,
        "",
        "umount $D/m; partx -d $N",
        "p1 is mounted at",
    ),
    used(
        "mounted in another namespace",
        "mkfs.ext4 -qF $N && mkdir $D/m",
        "unshare -m sh -c 'mount -o ro $N $D/m && echo && exec sleep 1000'",
        "",
        "in the mount namespace of process",
    ),
    used(
        "mounted through a second loop device",
        "mkfs.ext4 -qF $N && sync && mkdir $D/m && mount -o ro $(losetup -f --show $F) $D/m",
        "",
        "umount $D/m; losetup -j $F | cut -d: -f1 | grep -vx $N | xargs -r losetup -d",
        "is a loop device over the same blocks",
    ),
    used(
        "a second loop device over its file",
        "losetup -f --show $F",
        "",
        "losetup -j $F | cut -d: -f1 | grep -vx $N | xargs -r losetup -d",
        "is a loop device over the same blocks",
    ),
    used(
        "a second loop device, by a hard link",
        "ln $F $D/link && losetup -f --show $D/link > $D/l",
        "",
        "losetup -d $(cat $D/l)",
        "is a loop device over the same blocks",
    ),
    used(
        "a loop device over it",
        "losetup -f --show $N > $D/l",
        "",
        "losetup -d $(cat $D/l)",
        "is a loop device over the same blocks",
    ),
    used(
        "a loop device over its partition",
        "addpart $N 1 2048 8192 && losetup -f --show ${N}p1 > $D/l",
        "",
        "losetup -d $(cat $D/l); partx -d $N",
        "is a loop device over the same blocks",
    ),
    used("swap in use", "mkswap $N && swapon $N", "", "swapoff $N", "in use as swap"),
    used("open for writing", "true", "exec 3<>$N; echo; exec sleep 1000", "", "sleep ("),
    used(
        "open for writing by another node",
        OTHER_NODE,
        "exec 3<>$D/node; echo; exec sleep 1000",
        "",
        "has it open for writing",
    ),
    used(
        "partition open for writing",
        "addpart $N 1 2048 8192",
        "exec 3<>${N}p1; echo; exec sleep 1000",
        "partx -d $N",
        "has it open for writing",
    ),
    used("mapped for writing", "true", "exec python3 -c \"$MAP\" $N", "", "python3 ("),
    used("open exclusively", "true", "exec python3 -c \"$EXCLUSIVE\" $N", "", "exclusively"),
    used(
        "its file open for writing",
        "true",
        "exec 3<>$F; echo; exec sleep 1000",
        "",
        "has the file behind it open",
    ),
    used(
        "its file open for reading",
        "true",
        "exec 3<$F; echo; exec sleep 1000",
        "",
        "has the file behind it open",
    ),
    used(
        "its file mapped for writing",
        "true",
        "exec python3 -c \"$MAP\" $F",
        "",
        "has the file behind it open",
    ),
    used("read-only", "blockdev --setro $N", "", "blockdev --setrw $N", "read-only; choose"),
];

const LUKS_1: &str = "echo secret | cryptsetup luksFormat --type luks1 -q --disable-locks --pbkdf-force-iterations 1000 $N -";
const LUKS_2: &str = "echo secret | cryptsetup luksFormat -q --disable-locks --pbkdf pbkdf2 --pbkdf-force-iterations 1000 $N -";
const OTHER_NODE: &str = "mknod $D/node b $((0x$(stat -c %t $N))) $((0x$(stat -c %T $N)))";
const PARTITION_MOUNTED: &str =
    "addpart $N 1 2048 20480 && mkfs.ext4 -qF ${N}p1 && mkdir $D/m && mount -o ro ${N}p1 $D/m";
/// struct mdp_superblock_1 at 4 KiB, with its checksum.
const MD: &str = "
import struct, sys
sb = bytearray(256)
struct.pack_into('<IIII', sb, 0, 0xa92b4efc, 1, 0, 0)
sb[16:32] = bytes(range(16))
struct.pack_into('<QIIQII', sb, 64, 1, 1, 0, 8192, 0, 1)
struct.pack_into('<QQQ', sb, 128, 2048, 8192, 8)
total = sum(struct.unpack('<64I', sb))
struct.pack_into('<I', sb, 216, (total & 0xffffffff) + (total >> 32))
device = open(sys.argv[1], 'r+b')
device.seek(4096)
device.write(sb)";
/// Uberblocks of a label: 1 KiB each, from 128 KiB.
const ZFS: &str = "
import struct, sys
device = open(sys.argv[1], 'r+b')
for label in (0, 256 << 10):
    for i in range(16):
        device.seek(label + (128 << 10) + (i << 10))
        device.write(struct.pack('<QQQ', 0x00bab10c, 5000, i + 1))";
/// ctypes, because Python's mmap keeps a descriptor.
const MAP: &str = "
import ctypes, mmap, os, sys, time
file = os.open(sys.argv[1], os.O_RDWR)
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
assert libc.mmap(None, 4096, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, file, 0) != ctypes.c_void_p(-1).value
os.close(file)
print(flush=True)
time.sleep(1000)";
const EXCLUSIVE: &str = "
import os, sys, time
file = os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL)
print(flush=True)
time.sleep(1000)";

const TOOLS: &[&str] = &[
    "root",
    "losetup",
    "mkfs.ext4",
    "mkfs.xfs",
    "mkfs.btrfs",
    "mkfs.vfat",
    "mkfs.exfat",
    "mkfs.ntfs",
    "mkfs.f2fs",
    "mkfs.jfs",
    "mkfs.reiserfs",
    "mkfs.nilfs2",
    "mkudffs",
    "genisoimage",
    "mksquashfs",
    "mkfs.cramfs",
    "mkswap",
    "sfdisk",
    "sgdisk",
    "pvcreate",
    "cryptsetup",
    "make-bcache",
    "sqlite3",
    "zip",
    "addpart",
    "unshare",
    "python3",
];

const fn state(name: &'static str, mib: u64, prepare: &'static str, says: &'static str) -> State {
    State { name, mib, prepare, hold: "", undo: "", says }
}

const fn used(
    name: &'static str,
    prepare: &'static str,
    hold: &'static str,
    undo: &'static str,
    says: &'static str,
) -> State {
    State { name, mib: 16, prepare, hold, undo, says }
}

struct Made {
    device: Loop,
    lab: Lab,
    undo: &'static str,
    holder: Option<Child>,
}

impl Made {
    fn new(state: &State, pages: &Path) -> Made {
        let lab = Lab::new();
        let file = lab.path("disk.img");
        fs::File::create(&file)
            .and_then(|made| made.set_len(state.mib << 20))
            .expect("a sparse file");
        // A mount survives in namespaces created during it, and so does its partition, which the
        // kernel drops on release only with partition scanning enabled.
        let device = Loop::with(&file, LoopOptions { partitions: true, ..LoopOptions::default() });
        let mut made = Made { device, lab, undo: state.undo, holder: None };
        // In a subshell: `set -e` ignores a command that fails before `&&`.
        let mut script =
            made.script(&format!("({})\nwait; sync $N 2>/dev/null; true", state.prepare));
        let ran = Ran::from(script.env("PAGES", pages).output().expect("a shell"));
        assert_eq!(ran.status, Some(0), "{}: {}{}", state.name, ran.stdout, ran.stderr);
        if !state.hold.is_empty() {
            let mut holder =
                made.script(state.hold).stdout(Stdio::piped()).spawn().expect("a shell");
            let mut line = String::new();
            BufReader::new(holder.stdout.take().expect("piped"))
                .read_line(&mut line)
                .expect("it begins");
            made.holder = Some(holder);
        }
        made
    }

    fn script(&self, text: &str) -> Command {
        let mut command = Command::new("bash");
        command
            .args(["-c", &format!("set -e\n{text}")])
            .stdin(Stdio::null())
            .env("PATH", std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin")
            .envs([
                ("N", self.device.path.as_str()),
                ("LUKS", LUKS_2),
                ("MD", MD),
                ("ZFS", ZFS),
                ("MAP", MAP),
            ])
            .env("EXCLUSIVE", EXCLUSIVE)
            .env("F", &self.device.file)
            .env("D", self.lab.dir.path());
        command
    }

    /// Of the backing file: checksum of the first 64 MiB, allocation, mtime. Of swap in use only
    /// the header, since the kernel may write to the rest.
    fn fingerprint(&self) -> String {
        let text = if self.undo.starts_with("swapoff") {
            "head -c 4096 $F | sha256sum"
        } else {
            "sync $N 2>/dev/null || true; head -c 64M $F | sha256sum; stat -c %b:%y $F"
        };
        Ran::from(self.script(text).output().expect("a shell")).stdout
    }

    fn write(&self, consent: &str) -> Ran {
        let words = "--schedulers none,mq-deadline --workload randwrite --rounds 1 --figures-only --trial-time 50ms --warmup 0";
        let out = self.lab.path("out").display().to_string();
        self.lab
            .run(&format!("compare --device {} {words} --out {out} {consent}", self.device.path))
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if let Some(mut holder) = self.holder.take() {
            let _ = holder.kill();
            let _ = holder.wait();
        }
        let _ = self.script(self.undo).output();
    }
}

fn pages_of_postgres(lab: &Lab) -> PathBuf {
    let pages = lab.path("pages");
    let script =
        "set -e; d=$(mktemp -d /var/tmp/schedlab-test-pg-XXXXXX); trap 'rm -rf $d' EXIT; chown postgres $d; cd /
        runuser -u postgres -- /usr/lib/postgresql/*/bin/initdb -k --no-sync -D $d/data > /dev/null
        cat $(find $d/data/base -type f -size +100k) > $1";
    let ran = Command::new("bash").args(["-c", script, "-"]).arg(&pages).output().expect("a shell");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    pages
}

#[test]
fn no_device_with_data_is_written_without_consent() {
    if !require(&["initdb"]) || !require(TOOLS) {
        return;
    }
    let lab = Lab::new();
    let pages = pages_of_postgres(&lab);
    for state in HELD {
        let made = Made::new(state, &pages);
        let before = made.fingerprint();
        let ran = made.write("").expect_status(2);
        let answer = ran.stderr.trim().to_owned();
        println!("{:28} {answer}", state.name);
        assert!(answer.contains(state.says), "{}: {answer}", state.name);
        assert!(
            answer.contains(&format!("--destroy-data {}", made.device.path)),
            "{}: {answer}",
            state.name
        );
        assert_eq!(made.fingerprint(), before, "{}: it was written to", state.name);
    }
}

#[test]
fn no_device_in_use_is_written_even_with_consent() {
    if !require(TOOLS) {
        return;
    }
    for state in USED {
        let made = Made::new(state, Path::new(""));
        let before = made.fingerprint();
        for consent in ["", &format!("--destroy-data {}", made.device.path)] {
            let ran = made.write(consent);
            let answer = ran.stderr.trim().to_owned();
            println!("{:36} {answer}", state.name);
            assert!(matches!(ran.status, Some(1 | 2)), "{}: {answer}", state.name);
            assert!(answer.contains(state.says), "{}: {answer}", state.name);
            assert!(
                !answer.contains("to overwrite it"),
                "{}: consent would not help: {answer}",
                state.name
            );
        }
        assert_eq!(made.fingerprint(), before, "{}: it was written to", state.name);
    }
}

#[test]
fn consent_prints_what_will_be_lost_and_allows_writing() {
    if !require(TOOLS) {
        return;
    }
    for name in ["ext4", "tar", "zeros"] {
        let state = HELD.iter().find(|state| state.name == name).expect("a row");
        let made = Made::new(state, Path::new(""));
        let before = made.fingerprint();
        let ran = made.write(&format!("--destroy-data {}", made.device.path)).expect_measured();
        ran.says(&["will be overwritten", state.says]);
        assert_ne!(made.fingerprint(), before, "{name}");
    }
}

/// Runs a command on a terminal and presses Ctrl-C at the notice.
const PRESS_CTRL_C: &str = "
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
seen, pressed = b'', False
while True:
    try:
        part = os.read(terminal, 4096)
    except OSError:
        break
    if not part:
        break
    if b'Ctrl-C' in seen + part and not pressed:
        os.write(terminal, bytes([3]))
        pressed = True
    seen += part
sys.stdout.buffer.write(seen)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))";

#[test]
fn ctrl_c_at_the_notice_keeps_the_data() {
    if !require(&["root", "mkfs.ext4", "python3"]) {
        return;
    }
    let state = HELD.iter().find(|state| state.name == "ext4").expect("a row");
    let made = Made::new(state, Path::new(""));
    let before = made.fingerprint();
    let words = format!(
        "compare --device {0} --destroy-data {0} --schedulers none,mq-deadline --workload randwrite --out {1}",
        made.device.path,
        made.lab.path("out").display()
    );
    let command = made.lab.command(&words);
    let mut python = Command::new("python3");
    python.args(["-c", PRESS_CTRL_C]).arg(command.get_program()).args(command.get_args());
    python.env("SCHEDLAB_STATE_DIR", made.lab.state()).env("COLUMNS", "200").stdin(Stdio::null());
    let ran = Ran::from(python.output().expect("python3"));
    assert_eq!(ran.status, Some(130), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("will be overwritten: signatures of ext4"), "{}", ran.stdout);
    assert!(ran.stdout.contains("nothing was written"), "{}", ran.stdout);
    assert_eq!(made.fingerprint(), before, "it was written to");
}

#[test]
fn device_opened_by_another_program_ends_the_experiment() {
    if !require(&["root"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 16);
    let before = device.snapshot();
    let out = lab.path("out");
    let child = lab.start(&format!(
        "compare --device {0} --destroy-data {0} --schedulers none,kyber --workload randwrite --trial-time 50ms --budget 60s --out {1}",
        device.path,
        out.display()
    ));
    eventually("a trial is kept", || !trials(&out).is_empty());
    let opened = fs::OpenOptions::new().write(true).open(&device.path).expect("a second user");
    let ran = Ran::from(child.wait_with_output().expect("own child")).expect_status(1);
    drop(opened);
    let own =
        fs::read_to_string(format!("/proc/{}/comm", std::process::id())).expect("this process");
    ran.says(&[&format!("in use: {}", own.trim()), "has it open for writing"]);
    assert_eq!(device.snapshot(), before, "the settings are restored");
}
