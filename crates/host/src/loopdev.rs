//! A temporary loop device over a temporary file: a disk for everyone, with a real queue and real schedulers.
//!
//! The file is written in full with incompressible data, not just allocated: an allocated but unwritten extent reads as zeros without a
//! disk access, and a comparison of schedulers would compare nothing. The loop device uses direct I/O on its file, otherwise the
//! page cache of the file below answers. Both are journaled before they exist, and undone after a crash.
//! The tool `losetup` is called, rather than the ioctls made here: it handles the race for a free device and needs no unsafe code.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::device::{self, Device, node_path, offered_schedulers};
use crate::error::Error;
use crate::journal::{self, Abandoned, Entry, Kind, Lock, Stage, Undone};
use crate::modules;
use crate::root::Root;

/// Bytes written at a time while filling the file.
const CHUNK: usize = 4 << 20;

/// The largest block size of common disks: a size that is a multiple of it suits all.
const BLOCK: u64 = 4096;

/// Room left on the file system, so that the record and everybody else can go on writing.
const RESERVE: u64 = 64 << 20;

/// How long a detached device may take to let go of its file.
const DETACH_PATIENCE: Duration = Duration::from_secs(5);

/// What keys begin with; each is made by one process and used once.
const KEYS: &str = "schedlab-loop-";

/// How entries of temporary loop devices are undone.
pub const KIND: Kind = Kind {
    name: "loop-file",
    stage: Stage::Devices,
    single_use: Some(KEYS),
    subject: |entry| entry.payload("loop-file").map(|Made { file }| file.display().to_string()),
    undo: |root, Abandoned { key, entry, lock }| {
        let Made { file } = entry.expect("loop-file", journal::path(root, key))?;
        undo(root, key, &file, &entry.boot_id, lock)?;
        Ok(Box::new(Removed { file }))
    },
};

/// A temporary file, and the loop device over it if there is one: the payload of an entry.
#[derive(Debug, Serialize, Deserialize)]
struct Made {
    /// Not another program's, since it is only ever created where no file was.
    file: PathBuf,
}

/// A temporary loop device was detached and its file deleted.
#[derive(Debug)]
pub struct Removed {
    pub file: PathBuf,
}

impl Undone for Removed {}

impl fmt::Display for Removed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the temporary file {} is removed", self.file.display())
    }
}

/// A loop device that is ours; dropping it detaches it and deletes its file.
#[derive(Debug)]
pub struct LoopDevice {
    root: Root,
    key: String,
    file: PathBuf,
    name: String,
    warnings: Vec<String>,
    removed: bool,
    lock: Lock,
}

impl LoopDevice {
    /// Makes a loop device of `size_bytes`, rounded up to whole blocks of 4 KiB, over a new file in `dir`. `progress` is called with
    /// the bytes written so far and may break off.
    ///
    /// # Errors
    /// [`Error::NoSpace`], [`Error::ToolMissing`], [`Error::ToolFailed`] (no free loop device), [`Error::Interrupted`]; nothing is
    /// left behind then.
    pub fn create(
        root: &Root,
        size_bytes: u64,
        dir: &Path,
        progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<LoopDevice, Error> {
        let dir = fs::canonicalize(dir).map_err(Error::io("find", dir))?;
        let size_bytes = size_bytes.max(1).next_multiple_of(BLOCK);
        check_space(&dir, size_bytes)?;
        let stem = unique_stem();
        let file = dir.join(format!("{stem}.img"));
        let lock = Lock::take(root, &stem, &file.display().to_string())?;
        let entry = Entry::new(root, KIND.name, &Made { file: file.clone() });
        entry.and_then(|entry| journal::write(root, &stem, &entry)).inspect_err(|_| lock.retire())?;
        // From here on its Drop cleans up, whatever happens.
        let mut device = LoopDevice {
            root: root.clone(),
            key: stem,
            file,
            name: String::new(),
            warnings: Vec::new(),
            removed: false,
            lock,
        };
        fill(&device.file, size_bytes, &dir, progress)?;
        device.attach()?;
        Ok(device)
    }

    /// The kernel's name, e.g. `loop3`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The device node, e.g. `/dev/loop3`.
    pub fn path(&self) -> PathBuf {
        node_path(&self.name)
    }

    pub fn file(&self) -> &Path {
        &self.file
    }

    /// What a reader of the results has to know, such as that the file system below refuses direct I/O.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The device as [`device::find`] describes it.
    pub fn describe(&self) -> Result<Device, Error> {
        device::find(&self.root, &self.name)
    }

    /// Detaches the device, waits until it is gone, deletes the file, and drops the journal entry.
    ///
    /// # Errors
    /// [`Error::ToolFailed`], [`Error::Io`]; the journal entry stays then, for `schedlab restore`.
    pub fn remove(mut self) -> Result<(), Error> {
        self.removed = true;
        self.undo()
    }

    fn undo(&self) -> Result<(), Error> {
        undo(&self.root, &self.key, &self.file, &self.root.boot_id()?, &self.lock)
    }

    fn attach(&mut self) -> Result<(), Error> {
        let file = self.file.display().to_string();
        // Direct I/O wants the disk's own sector size below a 4 KiB-sector file system, and some file systems have no direct I/O.
        let attempts: [&[&str]; 3] = [&["--direct-io=on"], &["--direct-io=on", "--sector-size=4096"], &[]];
        let mut said = String::new();
        for options in attempts {
            // Looking for partitions finds none in noise, and forgets those that the last user of this loop device left behind.
            let args: Vec<&str> =
                ["--find", "--show", "--partscan"].iter().chain(options).copied().chain([file.as_str()]).collect();
            let output = self.root.run("losetup", &args, "mount", "to make a loop device")?;
            let Some(name) = attached(&self.root, &self.file) else {
                said = String::from_utf8_lossy(&output.stderr).trim().to_string();
                continue;
            };
            let direct = self.root.read_optional(self.root.sys("block").join(&name).join("loop/dio"));
            if direct.as_deref() == Some("1") {
                self.name = name;
                return Ok(());
            }
            if options.is_empty() {
                self.warnings.push(format!(
                    "the file system of {file} refuses direct I/O: /dev/{name} is served by the page cache of its file, and differences between schedulers shrink"
                ));
                self.name = name;
                return Ok(());
            }
            detach(&self.root, &name, &self.file)?;
        }
        let advice = "is the loop module loaded (`modprobe loop`), are loop devices permitted in this container, and are you root?";
        Err(Error::ToolFailed {
            command: format!("losetup --find --show {file}"),
            status: "no loop device".to_string(),
            stderr: format!("{said}; {advice}"),
        })
    }
}

impl Drop for LoopDevice {
    /// Cleans up as far as possible; what fails stays in the journal.
    fn drop(&mut self) {
        if !self.removed {
            let _ = self.undo();
        }
    }
}

/// The schedulers that a loop device would offer, were it made now: known before it is made, so that a plan can be checked first.
/// What the kernel offers one queue it offers every queue with a scheduler, so any loop device tells, attached or not, and where
/// the loop module is not loaded any other disk; modules that are not loaded come after. `none` is always among them.
pub fn offered_for_new_loop(root: &Root) -> Vec<String> {
    let mut disks = root.names(root.sys("block"));
    disks.sort_by_key(|name| !is_loop(name));
    let offered = disks.iter().map(|name| offered_schedulers(root, name)).find(|offered| !offered.is_empty());
    let mut all = offered.unwrap_or_else(|| vec!["none".to_string()]);
    let unloaded = modules::unloaded(root, &all);
    all.extend(unloaded);
    all
}

fn is_loop(name: &str) -> bool {
    name.strip_prefix("loop").is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Detaches the loop device over `file` if there is one, deletes the file if there is one, and drops the journal entry and
/// its `lock`. Every step may already have been done: a crash can come between any two.
fn undo(root: &Root, key: &str, file: &Path, boot_id: &str, lock: &Lock) -> Result<(), Error> {
    let same_boot = boot_id == root.boot_id()?;
    if same_boot && let Some(name) = attached(root, file) {
        detach(root, &name, file)?;
    }
    match fs::remove_file(file) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(Error::io("delete", file)(error)),
    }
    // A losetup that outlived its killed parent may have attached the file in the meantime; now it finds none.
    if same_boot && let Some(name) = attached(root, file) {
        detach(root, &name, file)?;
    }
    journal::remove(root, key)?;
    lock.retire();
    Ok(())
}

fn detach(root: &Root, name: &str, file: &Path) -> Result<(), Error> {
    let node = node_path(name).display().to_string();
    let output = root.run("losetup", &["--detach", &node], "mount", "to detach a loop device")?;
    let since = Instant::now();
    // The kernel lets go of the file when the last opener closes the device, which may be udev looking at it.
    while attached(root, file).is_some() {
        if since.elapsed() > DETACH_PATIENCE {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_string();
            return Err(Error::ToolFailed {
                command: format!("losetup --detach {node}"),
                status: output.status.to_string(),
                stderr: format!(
                    "{said} {node} is still in use: see `fuser -v {node}`, stop that, then `schedlab restore`"
                ),
            });
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// The loop device over this file, if there is one.
fn attached(root: &Root, file: &Path) -> Option<String> {
    let dir = root.sys("block");
    let backs = |name: &String| {
        let behind = root.read_optional(dir.join(name).join("loop/backing_file"));
        behind.is_some_and(|behind| Path::new(behind.trim_end_matches(" (deleted)")) == file)
    };
    root.names(&dir).into_iter().find(backs)
}

fn check_space(dir: &Path, size_bytes: u64) -> Result<(), Error> {
    let space = rustix::fs::statvfs(dir).map_err(|errno| Error::io("look at", dir)(errno.into()))?;
    let free_bytes = space.f_bavail.saturating_mul(space.f_frsize);
    let needed_bytes = size_bytes.saturating_add(RESERVE);
    if free_bytes < needed_bytes {
        return Err(Error::NoSpace { dir: dir.to_path_buf(), needed_bytes, free_bytes });
    }
    Ok(())
}

/// Writes the file in full: allocated at once, so that a lack of room shows before the work, then filled and made durable.
fn fill(
    path: &Path,
    size_bytes: u64,
    dir: &Path,
    progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<(), Error> {
    let new = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = new.map_err(Error::io("create", path))?;
    let no_room = |error: io::Error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            let free_bytes = rustix::fs::statvfs(dir).map_or(0, |space| space.f_bavail.saturating_mul(space.f_frsize));
            Error::NoSpace { dir: dir.to_path_buf(), needed_bytes: size_bytes, free_bytes }
        }
        _ => Error::io("fill", path)(error),
    };
    match rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, size_bytes) {
        // Not every file system can allocate ahead (NFS); writing in full allocates as well.
        Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => {}
        Err(errno) => return Err(no_room(errno.into())),
    }
    let mut noise = Noise(size_bytes | 1);
    let mut chunk = vec![0u8; CHUNK];
    let mut done = 0;
    while done < size_bytes {
        noise.fill(&mut chunk);
        let len = usize::try_from(size_bytes - done).map_or(CHUNK, |left| left.min(CHUNK));
        file.write_all(&chunk[..len]).map_err(no_room)?;
        done += len as u64;
        if progress(done).is_break() {
            return Err(Error::Interrupted { doing: format!("writing {}", path.display()) });
        }
    }
    file.sync_all().map_err(no_room)?;
    forget_cache(&file);
    Ok(())
}

/// Gives the page cache back: the file's pages are of no use to a loop device with direct I/O.
fn forget_cache(file: &File) {
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
}

fn unique_stem() -> String {
    let ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("{KEYS}{}-{ns:x}", std::process::id())
}

/// Incompressible bytes at memory speed (xorshift64*): not for secrets; they only keep layers below from shrinking the data.
struct Noise(u64);

impl Noise {
    fn fill(&mut self, bytes: &mut [u8]) {
        for word in bytes.chunks_exact_mut(8) {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            word.copy_from_slice(&self.0.wrapping_mul(0x2545_F491_4F6C_DD1D).to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine whose disks say this of their schedulers, with the module of bfq.
    fn machine(disks: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = Root::at(dir.path());
        fs::create_dir_all(root.proc("sys/kernel")).expect("fake proc");
        fs::write(root.proc("sys/kernel/osrelease"), "6.1.0-test\n").expect("fake release");
        fs::create_dir_all(root.modules()).expect("fake modules");
        fs::write(root.modules().join("modules.alias"), "alias bfq-iosched bfq\n").expect("fake alias");
        for (name, schedulers) in disks {
            let queue = root.sys("block").join(name).join("queue");
            fs::create_dir_all(&queue).expect("fake disk");
            fs::write(queue.join("scheduler"), schedulers).expect("fake disk");
        }
        (dir, root)
    }

    #[test]
    fn what_a_new_loop_device_would_offer_is_what_any_loop_device_offers_and_the_unloaded_modules() {
        let disks = [("dm-0", "none"), ("loop0", "none"), ("loop7", "[none] kyber"), ("nvme0n1", "[none] mq-deadline")];
        let (_dir, root) = machine(&disks);
        assert_eq!(offered_for_new_loop(&root), ["none", "kyber", "bfq"]);
    }

    #[test]
    fn without_a_loop_device_any_disk_with_a_scheduler_tells_and_without_a_disk_there_is_none_at_least() {
        let (_dir, root) = machine(&[("dm-0", "none"), ("sda", "none [bfq]")]);
        assert_eq!(offered_for_new_loop(&root), ["none", "bfq"]);
        assert_eq!(offered_for_new_loop(&machine(&[]).1), ["none", "bfq"]);
    }
}
