//! A device's users: mounts, swap, stacked devices, loop devices over the same file, processes that
//! write to it.
//!
//! Users of a loop device's file use the device: other loop devices over it (whose mounts are
//! invisible here), and programs with the image open. `AT_STATX_DONT_SYNC` avoids file systems that
//! hang. Threads' separate descriptor tables and registered io_uring files are not in /proc/PID/fd;
//! see SECURITY.md.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, FileType, OFlags, StatxFlags, makedev, statx};

use crate::capability;
use crate::device::{self, Device, Mount, disk_of_number, mounts_in};
use crate::error::Error;
use crate::error::Use;
use crate::loopdev::Inode;
use crate::processes;
use crate::root::Root;
use crate::sys::block::{self, Backing};

/// Shorter uses are ignored: losetup briefly opens devices that another losetup has just attached.
pub(super) const SAMPLE_INTERVAL: Duration = Duration::from_millis(500);

/// Everything that a write to the device changes.
#[derive(Debug, Default)]
struct Target {
    /// Disks, each with its relevant partitions.
    disks: Vec<(String, Vec<String>)>,
    numbers: BTreeSet<u64>,
    file: Option<Inode>,
}

#[derive(Debug, Default)]
pub(super) struct Users {
    pub(super) found: Vec<Use>,
    /// Even root may not examine them: NAME (PID).
    pub(super) hidden: Vec<String>,
}

/// [`Error::Session`] without the capability to examine other users' processes.
pub(super) fn find(root: &Root, device: &Device) -> Result<Users, Error> {
    capability::require(
        root,
        &format!("checking what uses {}", device.path.display()),
        &[capability::SYS_PTRACE],
    )?;
    let first = look(root, device);
    if !first.found.iter().any(Use::is_of_process) {
        return Ok(first);
    }
    thread::sleep(SAMPLE_INTERVAL);
    let mut second = look(root, device);
    second.found.retain(|user| !user.is_of_process() || first.found.contains(user));
    Ok(second)
}

fn look(root: &Root, device: &Device) -> Users {
    let target = Target::of(root, &device.name);
    let mut users = Users::default();
    for (disk, partitions) in &target.disks {
        let usage = device::usage_of(root, disk, partitions.clone());
        let mounted = |mount: Mount| Use::Mounted { device: mount.device, at: mount.at, pid: None };
        users.found.extend(usage.mounts.into_iter().map(mounted));
        users.found.extend(usage.swap.into_iter().map(|device| Use::Swap { device }));
        users.found.extend(usage.holders.into_iter().map(|by| Use::Held { by }));
    }
    users.found.extend(target.other_loops(root));
    target.add_processes(root, &mut users);
    users
}

impl Target {
    fn of(root: &Root, name: &str) -> Target {
        let mut target = Target::default();
        let mut next = Some((name.to_owned(), device::usage_now(root, name).partitions));
        while let Some((disk, partitions)) = next.take() {
            if target.disks.iter().any(|(known, _)| *known == disk) {
                break;
            }
            target.numbers.extend(device::numbers(root, &disk, &partitions));
            match backing(root, &disk) {
                Some(backing) if backing.number == 0 => target.file = Some(backing.into()),
                Some(backing) => next = disk_of_number(root, backing.number),
                None => {}
            }
            target.disks.push((disk, partitions));
        }
        target
    }

    fn is_backed_by(&self, backing: &Backing) -> bool {
        self.numbers.contains(&backing.number)
            || (backing.number == 0 && self.file == Some((*backing).into()))
    }

    fn other_loops(&self, root: &Root) -> Vec<Use> {
        let is_below = |name: &String| self.disks.iter().any(|(disk, _)| disk == name);
        let names = root
            .names(root.sys("block"))
            .into_iter()
            .filter(|name| name.starts_with("loop") && !is_below(name));
        let over = names
            .filter(|name| backing(root, name).is_some_and(|backing| self.is_backed_by(&backing)));
        over.map(|device| Use::SharedByLoop { device }).collect()
    }

    /// Mounts in other namespaces, and writing processes, without descendants of this one.
    fn add_processes(&self, root: &Root, users: &mut Users) {
        let all = processes::all(root);
        let mut own = BTreeSet::from([i32::try_from(std::process::id()).unwrap_or_default()]);
        processes::add_descendants(&all, &mut own);
        let mut namespaces: BTreeSet<PathBuf> =
            fs::read_link(root.proc("self/ns/mnt")).into_iter().collect();
        for (pid, stat) in
            all.iter().filter(|(pid, stat)| !own.contains(pid) && !stat.is_kernel_thread())
        {
            let dir = root.proc(pid.to_string());
            if fs::read_link(dir.join("ns/mnt")).is_ok_and(|namespace| namespaces.insert(namespace))
            {
                users.found.extend(self.mounts_of(root, *pid));
            }
            let by = format!("{} ({pid})", stat.name);
            match self.open_by(&dir) {
                Ok(Some(Opened::Device)) => users.found.push(Use::OpenForWriting { by }),
                Ok(Some(Opened::File)) => users.found.push(Use::FileOpen { by }),
                Ok(None) => {}
                Err(_) => users.hidden.push(by),
            }
        }
    }

    fn mounts_of(&self, root: &Root, pid: i32) -> Vec<Use> {
        let table = root.proc(format!("{pid}/mountinfo"));
        let mounts = self
            .disks
            .iter()
            .flat_map(|(disk, partitions)| mounts_in(root, &table, disk, partitions));
        mounts
            .map(|mount| Use::Mounted { device: mount.device, at: mount.at, pid: Some(pid) })
            .collect()
    }

    /// A process that exits during the check has nothing open.
    fn open_by(&self, dir: &Path) -> io::Result<Option<Opened>> {
        let entries = match fs::read_dir(dir.join("fd")) {
            Ok(entries) => entries,
            Err(error) => return unless_gone(error),
        };
        for entry in entries {
            let path = match entry {
                Ok(entry) => entry.path(),
                Err(error) => return unless_gone(error),
            };
            match self.target_of_path(&path) {
                Some(Opened::Device) if is_open_for_writing(dir, &path) => {
                    return Ok(Some(Opened::Device));
                }
                // A reader of the image would get a mixture of old and new data.
                Some(Opened::File) => return Ok(Some(Opened::File)),
                _ => {}
            }
        }
        match File::open(dir.join("maps")) {
            // Streamed: a process can have 65,530 mappings with paths of 4 KiB. Only its exit ends
            // them early.
            Ok(maps) => {
                let mut lines = BufReader::new(maps).split(b'\n').map_while(Result::ok);
                Ok(lines.find_map(|line| self.mapped(dir, &String::from_utf8_lossy(&line))))
            }
            Err(error) => unless_gone(error),
        }
    }

    fn target_of_path(&self, path: &Path) -> Option<Opened> {
        let is_file = fs::read_link(path).map_or(true, |link| link.is_absolute());
        let flags = AtFlags::STATX_DONT_SYNC;
        let found = is_file
            .then(|| statx(CWD, path, flags, StatxFlags::INO | StatxFlags::TYPE).ok())
            .flatten()?;
        let file = Inode {
            device: makedev(found.stx_dev_major, found.stx_dev_minor),
            inode: found.stx_ino,
        };
        match FileType::from_raw_mode(found.stx_mode.into()) {
            FileType::BlockDevice => {
                let number = makedev(found.stx_rdev_major, found.stx_rdev_minor);
                self.numbers.contains(&number).then_some(Opened::Device)
            }
            _ => (self.file == Some(file)).then_some(Opened::File),
        }
    }

    /// A line of /proc/PID/maps: a shared, writable mapping of the target.
    fn mapped(&self, dir: &Path, line: &str) -> Option<Opened> {
        // START-END rw-s OFFSET MAJOR:MINOR INODE PATH
        let mut words = line.split_ascii_whitespace().skip(1);
        let is_shared =
            words.next().is_some_and(|rights| rights.starts_with("rw") && rights.ends_with('s'));
        let path = line.find('/').filter(|_| is_shared).map(|start| &line[start..])?;
        let (number, inode) = (words.nth(1)?, words.next()?.parse().ok()?);
        let (major, minor) = number.split_once(':')?;
        let hex = |text| u32::from_str_radix(text, 16).ok();
        if self.file == Some(Inode { device: makedev(hex(major)?, hex(minor)?), inode }) {
            return Some(Opened::File);
        }
        self.target_of_path(&dir.join("root").join(path.trim_start_matches('/')))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opened {
    Device,
    File,
}

fn unless_gone(error: io::Error) -> io::Result<Option<Opened>> {
    let is_gone = error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error());
    if is_gone { Ok(None) } else { Err(error) }
}

/// Reads the octal `flags` in fdinfo.
fn is_open_for_writing(dir: &Path, fd: &Path) -> bool {
    let Some(name) = fd.file_name() else { return true };
    let Ok(text) = fs::read_to_string(dir.join("fdinfo").join(name)) else {
        return fd.symlink_metadata().is_ok();
    };
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    flags.is_none_or(|flags| OFlags::from_bits_retain(flags).intersects(WRITING))
}

const WRITING: OFlags = OFlags::WRONLY.union(OFlags::RDWR);

fn backing(root: &Root, name: &str) -> Option<Backing> {
    let behind = root.sys("block").join(name).join("loop/backing_file");
    let node = behind.exists().then(|| root.path(device::node_path(name)))?;
    block::loop_backing(&File::open(node).ok()?).ok().flatten()
}

/// Opens the file by its path, if that still leads to it.
pub(super) fn open_backing(root: &Root, device: &Device, opened: &File) -> Option<File> {
    let behind =
        block::loop_backing(opened).ok().flatten().filter(|backing| backing.number == 0)?;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
        .open(root.path(device.backing_file.as_ref()?))
        .ok()?;
    (Inode::of(&file).ok()? == behind.into()).then_some(file)
}
