//! An experiment's file system on the device under test.
//!
//! Only a file system with its random UUID is ever wiped after a crash. ext4 has no lazy
//! initialisation, which would continue during trials. mkfs discards blocks only on real devices:
//! in a loop device's file it would make holes, which are read without disk access and allocated by
//! the first write. `-E discard` in the options of mkfs.ext4 overrides this.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::files::programs;
use rustix::mount::UnmountFlags;
use serde::{Deserialize, Serialize};

use super::scan::MARK;
use super::{Fault, cold, scan};
use crate::consent::Claim;
use crate::device::{self, Device, Kind, Mount, node_path};
use crate::error::Error;
use crate::journal::payload::{expect, is_name, name_in};
use crate::root::Root;

/// For programs that use the mount (virus scanner, indexer, exiting process).
const UNMOUNT_TIMEOUT: Duration = Duration::from_secs(5);

/// For programs that only check whether the device is free.
const BUSY_TIMEOUT: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystem {
    /// `ext4`, `xfs` or `btrfs`.
    pub kind: String,
    /// Separated by white space; no files or devices.
    pub mkfs: String,
    /// Separated by commas.
    pub mount: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MadeFiles {
    identity: String,
    /// The name when the entry was written.
    device: String,
    uuid: String,
    at: PathBuf,
}

struct Maker {
    kind: &'static str,
    tool: &'static str,
    package: &'static str,
    needs_bytes: u64,
    /// Quiet and forced, with the user's consent; a mounted device is still refused.
    always: &'static [&'static str],
    /// Disables discarding.
    keep_blocks: &'static [&'static str],
    /// The options before a UUID.
    uuid: (&'static str, &'static str),
}

const MAKERS: [Maker; 3] = [
    Maker {
        kind: "ext4",
        tool: "mkfs.ext4",
        package: "e2fsprogs",
        needs_bytes: 2 << 20,
        always: &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
        keep_blocks: &["-E", "nodiscard"],
        uuid: ("-U", ""),
    },
    Maker {
        kind: "xfs",
        tool: "mkfs.xfs",
        package: "xfsprogs",
        needs_bytes: 300 << 20,
        always: &["-q", "-f"],
        keep_blocks: &["-K"],
        uuid: ("-m", "uuid="),
    },
    Maker {
        kind: "btrfs",
        tool: "mkfs.btrfs",
        package: "btrfs-progs",
        needs_bytes: 110 << 20,
        always: &["-q", "-f"],
        keep_blocks: &["-K"],
        uuid: ("-U", ""),
    },
];

impl MadeFiles {
    /// The mount point has the session's key, and the device a name.
    pub(super) fn check(&self, root: &Root, key: &str) -> Result<(), String> {
        let is_uuid = self.uuid.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
        expect(
            name_in(&self.at, &root.path("/run")) == Some(key),
            "mount point",
            &self.at,
            "/run and the session's key",
        )?;
        expect(is_name(&self.device), "device", &self.device, "the name of a disk")?;
        expect(is_uuid, "UUID", &self.uuid, "hexadecimal digits")
    }

    pub(super) fn plan(root: &Root, device: &Device, at: PathBuf) -> Result<MadeFiles, Error> {
        let uuid = root.read(root.proc("sys/kernel/random/uuid"))?;
        Ok(MadeFiles { identity: device.identity.clone(), device: device.name.clone(), uuid, at })
    }

    pub(super) fn mount_point(&self) -> &Path {
        &self.at
    }

    pub(super) fn device(&self) -> String {
        node_path(&self.device).display().to_string()
    }

    /// Unmounts it and removes the directory.
    pub(super) fn unmount(&self, root: &Root) -> Result<(), Error> {
        unmount(root, &self.at)?;
        match fs::remove_dir(&self.at) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::io("remove", &self.at)(error))
            }
            _ => Ok(()),
        }
    }

    /// Returns the device's current name. Other contents are left alone.
    pub(super) fn wipe(&self, root: &Root) -> Result<Option<String>, Error> {
        let Some(name) = device::name_by_identity(root, &self.identity, &self.device)? else {
            return Ok(None);
        };
        let node = node_path(&name).display().to_string();
        // Held, so that no other device can get its name.
        let path = root.path(node_path(&name));
        let _held = fs::File::open(&path).map_err(Error::io("open", &path))?;
        if uuid_of(root, &node)?.is_none_or(|found| !found.eq_ignore_ascii_case(&self.uuid)) {
            return Ok(None);
        }
        let not_wiped = |why: String| Error::from(Fault::NotWiped { device: node.clone(), why });
        if let Some(mount) = device::usage_now(root, &name).mounts.first() {
            return Err(not_wiped(format!("it is mounted at {}: `umount {}`", mount.at, mount.at)));
        }
        let args = ["--all", "--quiet", &node];
        let said = match run(root, "wipe", Path::new("/"), "wipefs", &args) {
            Ok(_) => String::new(),
            Err(Error::ToolFailed { stderr, .. }) => stderr,
            Err(other) => return Err(other),
        };
        match uuid_of(root, &node)? {
            None => Ok(Some(node)),
            Some(_) => Err(not_wiped(format!(
                "wipefs printed {said:?}; see who uses it with `fuser -v {node}`, stop that program"
            ))),
        }
    }
}

fn uuid_of(root: &Root, node: &str) -> Result<Option<String>, Error> {
    let args = ["-p", "-s", "UUID", "-o", "value", node];
    let output =
        root.run("blkid", &args, "util-linux", "to check that a file system was made by schedlab")?;
    let uuid = String::from_utf8_lossy(&output.stdout).trim().to_string();
    Ok((output.status.success() && !uuid.is_empty()).then_some(uuid))
}

#[derive(Debug)]
pub(super) struct Mounted {
    at: PathBuf,
    device: Device,
    wanted: FileSystem,
}

impl Mounted {
    pub(super) fn mount_point(&self) -> &Path {
        &self.at
    }

    pub(super) fn remount(&self, root: &Root, key: &str) -> Result<(), Error> {
        unmount(root, &self.at)?;
        let is_released = cold::is_released(&root.path(node_path(&self.device.name)));
        mount(root, key, self)?;
        let cold = if is_released { Ok(()) } else { cold::drop_pages(&self.at) };
        cold.map_err(Error::io("empty the page cache of", &self.at))
    }
}

/// Another device, a file or program, or another kind of mount.
fn mounts_elsewhere(option: &str) -> bool {
    let (name, value) = option.split_once('=').unwrap_or((option, ""));
    let name = name.trim().to_ascii_lowercase();
    let others = [
        "bind",
        "rbind",
        "move",
        "remount",
        "loop",
        "device",
        "journal_dev",
        "journal_path",
        "logdev",
        "rtdev",
        "helper",
        "uhelper",
    ];
    others.contains(&name.as_str()) || name.starts_with("x-") || value.contains('/')
}

/// Writes nothing.
pub(super) fn check(root: &Root, device: &Device, wanted: &FileSystem) -> Result<(), Error> {
    let maker = maker(wanted)?;
    for word in wanted.mkfs.split_whitespace() {
        // For some mkfs, an additional word is another device; for others, a journal device, a
        // prototype or a directory.
        let leads_away = word.contains('/')
            || ["device=", "dev=", "UUID=", "LABEL="].iter().any(|name| word.contains(name));
        if leads_away {
            let why = "it names a file or a device, and only the device under test may be written"
                .to_string();
            return Err(
                Fault::Option { program: maker.tool.into(), option: word.into(), why }.into()
            );
        }
    }
    if let Some(option) = wanted.mount.split(',').find(|option| mounts_elsewhere(option)) {
        let why =
            "it mounts something other than the file system on the device under test".to_string();
        return Err(Fault::Option { program: "mount".into(), option: option.into(), why }.into());
    }
    if device.size_bytes < maker.needs_bytes {
        let device_path = device.path.display().to_string();
        let (has_bytes, needs_bytes) = (device.size_bytes, maker.needs_bytes);
        return Err(Fault::TooSmall {
            device: device_path,
            kind: maker.kind.into(),
            has_bytes,
            needs_bytes,
        }
        .into());
    }
    if !is_in_kernel(root, maker.kind) {
        return Err(
            Fault::NotInKernel { kind: maker.kind.into(), release: root.kernel_release() }.into()
        );
    }
    for tool in [maker.tool, "mount", "wipefs"] {
        root.tool(tool).ok_or_else(|| missing(tool))?;
    }
    Ok(())
}

fn missing(tool: &str) -> Error {
    let (package, purpose) = match tool {
        "mount" => ("mount", "to mount the file system"),
        "wipefs" => ("util-linux", "to remove the file system from the device"),
        _ => {
            let maker = MAKERS.iter().find(|maker| maker.tool == tool);
            (maker.map_or(tool, |maker| maker.package), "to make the file system")
        }
    };
    Error::ToolMissing { tool: tool.into(), package: package.into(), purpose: purpose.into() }
}

/// Called after journaling. mkfs opens the device exclusively directly after its release.
pub(super) fn make(
    root: &Root,
    key: &str,
    device: &Device,
    wanted: &FileSystem,
    files: &MadeFiles,
    claim: &mut Claim,
) -> Result<Mounted, Error> {
    let maker = maker(wanted)?;
    fs::create_dir(&files.at).map_err(Error::io("create", &files.at))?;
    let path = device.path.display().to_string();
    let options = options_of_mkfs(maker, wanted, device.kind == Kind::Loop, &files.uuid);
    let args: Vec<&str> = options.iter().map(String::as_str).chain([path.as_str()]).collect();
    // Held, so that no other device can get its name.
    let held = device.hold(root)?;
    claim.release_device();
    // In an empty directory, no word can be a file.
    run(root, key, &files.at, maker.tool, &args)?;
    device.check_is(root, &held)?;
    let mounted = Mounted { at: files.at.clone(), device: device.clone(), wanted: wanted.clone() };
    mount(root, key, &mounted)?;
    Ok(mounted)
}

fn maker(wanted: &FileSystem) -> Result<&'static Maker, Error> {
    let unknown = || Fault::UnknownFileSystem {
        kind: wanted.kind.clone(),
        known: MAKERS.iter().map(|maker| maker.kind.to_string()).collect(),
    };
    Ok(MAKERS.iter().find(|maker| maker.kind == wanted.kind).ok_or_else(unknown)?)
}

/// mke2fs uses only its last list of extended options.
fn options_of_mkfs(
    maker: &Maker,
    wanted: &FileSystem,
    keep_blocks: bool,
    uuid: &str,
) -> Vec<String> {
    let blocks: &[&str] = if keep_blocks { maker.keep_blocks } else { &[] };
    let words = maker.always.iter().chain(blocks).copied().chain(wanted.mkfs.split_whitespace());
    let (mut options, mut extended) = (Vec::new(), Vec::new());
    let mut is_extended = false;
    for word in words {
        match word.strip_prefix("-E").filter(|_| maker.kind == "ext4") {
            _ if is_extended => {
                extended.push(word);
                is_extended = false;
            }
            Some("") => is_extended = true,
            Some(list) => extended.push(list),
            None => options.push(word.to_string()),
        }
    }
    if !extended.is_empty() {
        options.extend(["-E".to_string(), extended.join(",")]);
    }
    let (flag, name) = maker.uuid;
    options.extend([flag.to_string(), format!("{name}{uuid}")]);
    options
}

fn is_in_kernel(root: &Root, kind: &str) -> bool {
    let known = root.read_optional(root.proc("filesystems")).unwrap_or_default();
    let is_module = || {
        let modules = root.read_optional(root.modules().join("modules.dep")).unwrap_or_default();
        modules.lines().any(|line| {
            line.split(':').next().is_some_and(|file| file.contains(&format!("/{kind}.ko")))
        })
    };
    known.lines().any(|line| line.split_whitespace().last() == Some(kind)) || is_module()
}

fn mount(root: &Root, key: &str, files: &Mounted) -> Result<(), Error> {
    let (device, at) = (files.device.path.display().to_string(), files.at.display().to_string());
    let mut args = vec!["-t", files.wanted.kind.as_str()];
    if !files.wanted.mount.is_empty() {
        args.extend(["-o", files.wanted.mount.as_str()]);
    }
    args.extend([device.as_str(), at.as_str()]);
    run(root, key, Path::new("/"), "mount", &args)?;
    let is_ours = |mount: &Mount| Path::new(&mount.at) == files.at && mount.fs == files.wanted.kind;
    if device::usage_now(root, &files.device.name).mounts.iter().any(is_ours) {
        return Ok(());
    }
    let found = format!("`findmnt {at}` shows what is there");
    Err(Fault::NotMounted { at: files.at.clone(), kind: files.wanted.kind.clone(), device, found }
        .into())
}

/// Unmounts everything at or below a directory, innermost first.
fn unmount(root: &Root, at: &Path) -> Result<(), Error> {
    let since = Instant::now();
    while let Some(innermost) = mounted_at(root, at).pop() {
        match rustix::mount::unmount(&innermost, UnmountFlags::NOFOLLOW) {
            Ok(()) => {}
            Err(rustix::io::Errno::BUSY) if since.elapsed() < UNMOUNT_TIMEOUT => {
                thread::sleep(Duration::from_millis(10))
            }
            Err(rustix::io::Errno::BUSY) => {
                return Err(Fault::StillUsed {
                    at: innermost.clone(),
                    users: scan::users(root, &innermost),
                }
                .into());
            }
            Err(errno) => return Err(Error::io("unmount", &innermost)(errno.into())),
        }
    }
    Ok(())
}

/// Mounts at and below a directory, in the order of mounting.
fn mounted_at(root: &Root, at: &Path) -> Vec<PathBuf> {
    let table = root.read_optional(root.proc("self/mountinfo")).unwrap_or_default();
    let points = table.lines().filter_map(|line| line.split(' ').nth(4)).map(device::unescape);
    points.map(PathBuf::from).filter(|point| point.starts_with(at)).collect()
}

/// Retries while losetup, for which the number was free, briefly claims the device.
fn run(root: &Root, key: &str, dir: &Path, tool: &str, args: &[&str]) -> Result<Output, Error> {
    let since = Instant::now();
    loop {
        match run_once(root, key, dir, tool, args) {
            Err(Error::ToolFailed { stderr, .. })
                if is_in_use(&stderr) && since.elapsed() < BUSY_TIMEOUT =>
            {
                thread::sleep(Duration::from_millis(20));
            }
            other => return other,
        }
    }
}

fn is_in_use(stderr: &str) -> bool {
    let lower = stderr.to_lowercase();
    ["busy", "in use"].iter().any(|words| lower.contains(words))
}

/// Marked, to be found and ended if we are killed.
fn run_once(
    root: &Root,
    key: &str,
    dir: &Path,
    tool: &str,
    args: &[&str],
) -> Result<Output, Error> {
    let program = root.tool(tool).ok_or_else(|| missing(tool))?;
    let output = programs::helper_at(&program)
        .args(args)
        .current_dir(dir)
        .env(MARK, format!("{key}/0"))
        .stdin(Stdio::null())
        .output()
        .map_err(Error::io("run", &program))?;
    if output.status.success() { Ok(output) } else { Err(Error::failed(tool, args, &output)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(kind: &str, mkfs: &str) -> FileSystem {
        FileSystem { kind: kind.into(), mkfs: mkfs.into(), mount: String::new() }
    }

    fn options(kind: &str, mkfs: &str, keep_blocks: bool) -> String {
        let wanted = wanted(kind, mkfs);
        options_of_mkfs(maker(&wanted).expect("in the table"), &wanted, keep_blocks, "u-u")
            .join(" ")
    }

    #[test]
    fn options_of_mount_name_no_other_device() {
        for option in [
            "journal_path=/dev/sda",
            "logdev=/dev/sda",
            "device=/dev/sda",
            "journal_dev=2049",
            "loop",
            "X-mount.mkdir",
            "BIND",
        ] {
            assert!(mounts_elsewhere(option), "{option}");
        }
        for option in
            ["noatime", "data=journal", "commit=5", "compress=zstd:3", "logbufs=8", "discard"]
        {
            assert!(!mounts_elsewhere(option), "{option}");
        }
    }

    #[test]
    fn the_users_extended_options_of_ext4_do_not_take_ours_away() {
        let full = "lazy_itable_init=0,lazy_journal_init=0";
        assert_eq!(
            options("ext4", "-b 1024 -E stride=4", true),
            format!("-q -F -b 1024 -E {full},nodiscard,stride=4 -U u-u")
        );
        assert_eq!(
            options("ext4", "-Estride=4", false),
            format!("-q -F -E {full},stride=4 -U u-u")
        );
        assert_eq!(options("xfs", "-m reflink=0", false), "-q -f -m reflink=0 -m uuid=u-u");
        assert_eq!(options("btrfs", "-m single", true), "-q -f -K -m single -U u-u");
    }

    #[test]
    fn a_file_system_that_is_not_in_the_table_is_answered_with_those_that_are() {
        let error = maker(&wanted("zfs", "")).map(drop).unwrap_err().to_string();
        assert!(error.contains("zfs") && error.contains("ext4, xfs, btrfs"), "{error}");
    }

    #[test]
    fn the_kernel_has_a_file_system_built_in_or_as_a_module_or_not_at_all() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = Root::at(dir.path());
        fs::create_dir_all(root.proc("sys/kernel")).expect("fake proc");
        fs::write(root.proc("sys/kernel/osrelease"), "6.1.0\n").expect("fake proc");
        fs::write(root.proc("filesystems"), "nodev\tproc\n\text4\n").expect("fake proc");
        fs::create_dir_all(root.modules()).expect("fake modules");
        fs::write(
            root.modules().join("modules.dep"),
            "kernel/fs/xfs/xfs.ko.zst: kernel/lib/libcrc32c.ko.zst\n",
        )
        .expect("fake");
        assert_eq!(
            ["ext4", "xfs", "btrfs"].map(|kind| is_in_kernel(&root, kind)),
            [true, true, false]
        );
    }
}
