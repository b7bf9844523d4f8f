//! A temporary loop device over a temporary file: a test disk with a real queue and schedulers.
//!
//! The file is filled with incompressible data, because unwritten extents read as zeros without
//! disk access, and used with direct I/O, because the page cache would serve the requests. File and
//! device are journaled before they exist, and removed after a crash.
//!
//! The file is for root only, in a directory where no other user can replace it
//! ([`crate::files::Dir`]). Its journaled device and inode identify our device, and the loop device
//! is attached by descriptor. `losetup` opens a path, so a user who can rename files could
//! substitute another.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::files::Dir;
use rustix::fs::{Mode, OFlags, openat};
use serde::{Deserialize, Serialize};

use crate::device::{self, Device, node_path, offered_schedulers};
use crate::error::Error;
use crate::journal::payload::{Payload, expect};
use crate::journal::{self, Abandoned, Entry, Kind, Lock, Stage, Undone};
use crate::modules;
use crate::root::Root;
use crate::sys::block::{self, Backing, LoopOptions};

/// Bytes per write.
const CHUNK: usize = 4 << 20;

/// The largest common logical block size.
const BLOCK: u64 = 4096;

/// Left free for the results file and other programs.
const RESERVE: u64 = 64 << 20;

/// Other processes may take the free loop device first.
const ATTACH_TIMEOUT: Duration = Duration::from_secs(2);

/// For a detached device to release its file.
const DETACH_TIMEOUT: Duration = Duration::from_secs(5);

/// Each is used once, by one process.
const KEYS: &str = "schedlab-loop-";

pub const KIND: Kind = Kind {
    name: "loop-file",
    stage: Stage::Devices,
    single_use: Some(KEYS),
    subject: |entry| entry.payload("loop-file").map(|Made { file, .. }| file.display().to_string()),
    undo: |root, Abandoned { key, entry, lock }| {
        let made: Made = entry.expect(root, "loop-file", key)?;
        undo(root, key, &made, &entry.boot_id, lock)?;
        Ok(Box::new(Removed { file: made.file }))
    },
};

/// The payload of an entry.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Made {
    file: PathBuf,
    /// Set once the file exists; the loop device follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    is: Option<Inode>,
}

/// Identifies a file during one boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Inode {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

impl Inode {
    pub(crate) fn of(file: &File) -> io::Result<Inode> {
        file.metadata().map(|meta| Inode { device: meta.dev(), inode: meta.ino() })
    }
}

impl From<Backing> for Inode {
    fn from(backing: Backing) -> Inode {
        Inode { device: backing.device, inode: backing.inode }
    }
}

impl Payload for Made {
    /// The entry's name, which no other program uses.
    fn check(&self, _: &Root, key: &str) -> Result<(), String> {
        let Made { file, .. } = self;
        expect(key.starts_with(KEYS), "key", key, "schedlab-loop-...")?;
        let name = file.file_name().and_then(|name| name.to_str());
        let is_ours = file.is_absolute() && name == Some(&format!("{key}.img"));
        let is_direct = !file.components().any(|part| part == std::path::Component::ParentDir);
        expect(is_ours && is_direct, "file", file, &format!("DIRECTORY/{key}.img"))
    }
}

/// The device was detached and its file deleted.
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

/// Dropping it detaches the device and deletes the file.
#[derive(Debug)]
pub struct LoopDevice {
    root: Root,
    key: String,
    made: Made,
    name: String,
    warnings: Vec<String>,
    removed: bool,
    lock: Lock,
}

impl LoopDevice {
    /// `size_bytes` is rounded up to 4 KiB blocks. `progress` receives the bytes written and may
    /// cancel. After an error, nothing is left behind.
    ///
    /// # Errors
    /// [`Error::Files`] if another user controls the directory, [`Error::NoSpace`],
    /// [`Error::NoLoopDevice`], [`Error::Interrupted`].
    pub fn create(
        root: &Root,
        size_bytes: u64,
        dir: &Path,
        progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<LoopDevice, Error> {
        let dir = fs::canonicalize(dir).map_err(Error::io("find", dir))?;
        let size_bytes = size_bytes.max(1).next_multiple_of(BLOCK);
        let stem = unique_stem();
        let path = dir.join(format!("{stem}.img"));
        let (dir, name) = Dir::of_file(&path)?;
        check_space(&dir, size_bytes)?;
        let lock = Lock::take(root, &stem, &path.display().to_string())?;
        let made = Made { file: path, is: None };
        write(root, &stem, &made).inspect_err(|_| lock.retire())?;
        // From here on, its `Drop` cleans up.
        let mut device = LoopDevice {
            root: root.clone(),
            key: stem,
            made,
            name: String::new(),
            warnings: Vec::new(),
            removed: false,
            lock,
        };
        let file = device.make_file(&dir, &name)?;
        fill(&file, device.file(), size_bytes, &dir, progress)?;
        device.attach(&file)?;
        Ok(device)
    }

    /// E.g. `loop3`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// E.g. `/dev/loop3`.
    pub fn path(&self) -> PathBuf {
        node_path(&self.name)
    }

    pub fn file(&self) -> &Path {
        &self.made.file
    }

    /// Limitations to report with the results, for example a file system without direct I/O.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub fn describe(&self) -> Result<Device, Error> {
        device::find(&self.root, &self.name)
    }

    /// Waits until the device is detached.
    ///
    /// # Errors
    /// [`Error::ToolFailed`], [`Error::Io`]; the journal entry then stays for `schedlab restore`.
    pub fn remove(mut self) -> Result<(), Error> {
        self.removed = true;
        self.undo()
    }

    fn undo(&self) -> Result<(), Error> {
        if let Some(file) = self.made.is.filter(|_| !self.name.is_empty()) {
            detach(&self.root, &self.name, file)?;
        }
        undo(&self.root, &self.key, &self.made, &self.root.boot_id()?, &self.lock)
    }

    /// The file must be new; its inode is journaled.
    fn make_file(&mut self, dir: &Dir, name: &str) -> Result<File, Error> {
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let made = openat(dir, name, flags, Mode::RUSR | Mode::WUSR);
        let file =
            File::from(made.map_err(|errno| Error::io("create", self.file())(errno.into()))?);
        self.made.is = Some(Inode::of(&file).map_err(Error::io("look at", self.file()))?);
        write(&self.root, &self.key, &self.made)?;
        Ok(file)
    }

    fn attach(&mut self, backing: &File) -> Result<(), Error> {
        // Under a file system with 4 KiB sectors, direct I/O needs that sector size; some file
        // systems have none.
        let attempts = [(true, None), (true, Some(4096)), (false, None)];
        let mut cause = None;
        for (direct_io, block_size) in attempts {
            let name =
                match attach_to_free(&self.root, backing, LoopOptions { direct_io, block_size }) {
                    Ok(name) => name,
                    Err(error) => {
                        cause = Some(error);
                        continue;
                    }
                };
            self.name = name;
            self.check_backing()?;
            let direct =
                self.root.read_optional(self.root.sys("block").join(&self.name).join("loop/dio"));
            if direct.as_deref() == Some("1") {
                return Ok(());
            }
            if !direct_io {
                self.warnings.push(format!(
                    "the file system of {} refuses direct I/O: /dev/{} is served by the page cache of its file, and differences between schedulers shrink",
                    self.file().display(), self.name
                ));
                return Ok(());
            }
            self.made.is.map_or(Ok(()), |file| detach(&self.root, &self.name, file))?;
        }
        let cause = cause.unwrap_or_else(|| io::ErrorKind::NotFound.into());
        Err(Error::NoLoopDevice { file: self.file().to_path_buf(), cause })
    }

    /// The backing file must be the journaled one.
    fn check_backing(&self) -> Result<(), Error> {
        let found = backing_of(&self.root, &self.name);
        if found.is_some() && found == self.made.is {
            return Ok(());
        }
        let text = |inode: Option<Inode>| {
            inode.map_or("no file".to_string(), |is| {
                format!("inode {} of device {}", is.inode, is.device)
            })
        };
        Err(Error::Replaced {
            device: format!("/dev/{}", self.name),
            found: text(found),
            expected: text(self.made.is),
        })
    }
}

impl Drop for LoopDevice {
    /// Failures stay in the journal.
    fn drop(&mut self) {
        if !self.removed {
            let _ = self.undo();
        }
    }
}

/// Schedulers of a future loop device, for checking a plan. All queues with a scheduler have the
/// same list, so any loop device will do, or any other disk if the loop module is not loaded.
/// Unloaded modules come last; `none` is always included.
pub fn offered_for_new_loop(root: &Root) -> Vec<String> {
    let mut disks = root.names(root.sys("block"));
    disks.sort_by_key(|name| !is_loop(name));
    let offered =
        disks.iter().map(|name| offered_schedulers(root, name)).find(|offered| !offered.is_empty());
    let mut all = offered.unwrap_or_else(|| vec!["none".to_string()]);
    let unloaded = modules::unloaded(root, &all);
    all.extend(unloaded);
    all
}

fn is_loop(name: &str) -> bool {
    name.strip_prefix("loop").is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Detaches the device, deletes the file if it is still the original, and removes entry and `lock`.
/// A crash can come between any two steps, so each may already have been done.
fn undo(root: &Root, key: &str, made: &Made, boot_id: &str, lock: &Lock) -> Result<(), Error> {
    if boot_id == root.boot_id()? {
        while let Some((name, file)) = find_attached(root, made) {
            detach(root, &name, file)?;
        }
    }
    delete(made, boot_id == root.boot_id()?)?;
    journal::remove(root, key)?;
    lock.retire();
    Ok(())
}

/// Deletes the file, unless its name refers to another by now. Device and inode numbers are valid
/// for one boot.
fn delete(made: &Made, same_boot: bool) -> Result<(), Error> {
    let (dir, name) = match Dir::of_file(&made.file) {
        Ok(found) => found,
        Err(error) if error.is_not_found() => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    // A link or socket with its name cannot be opened this way, and stays.
    let Ok(file) = openat(&dir, &name, flags, Mode::empty()).map(File::from) else { return Ok(()) };
    let found = Inode::of(&file).map_err(Error::io("look at", &made.file))?;
    let ours = made
        .is
        .is_none_or(|is| is.inode == found.inode && (is.device == found.device || !same_boot));
    let owner = file.metadata().map_err(Error::io("look at", &made.file))?.uid();
    if ours && owner == rustix::process::geteuid().as_raw() && dir.is_same_file(&name, &file) {
        dir.remove(&name)?;
    }
    Ok(())
}

fn write(root: &Root, key: &str, made: &Made) -> Result<(), Error> {
    journal::write(root, key, &Entry::new(root, KIND.name, made)?)
}

/// Returns the loop device's name.
fn attach_to_free(root: &Root, backing: &File, options: LoopOptions) -> io::Result<String> {
    let control = OpenOptions::new().read(true).write(true).open(root.dev("loop-control"))?;
    let since = Instant::now();
    loop {
        let name = format!("loop{}", block::free_loop_device(&control)?);
        // The node of a new device can take a moment to appear.
        let attached = open_node(root, &name, true)
            .and_then(|device| block::attach_loop(&device, backing, options));
        match attached {
            Ok(()) => return Ok(name),
            Err(error) if since.elapsed() > ATTACH_TIMEOUT => return Err(error),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::ResourceBusy | io::ErrorKind::NotFound
                ) =>
            {
                thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error),
        }
    }
}

fn open_node(root: &Root, name: &str, write: bool) -> io::Result<File> {
    OpenOptions::new().read(true).write(write).open(root.path(node_path(name)))
}

/// Detaches this file only, not one attached since.
fn detach(root: &Root, name: &str, file: Inode) -> Result<(), Error> {
    let node = node_path(name);
    // While open, it cannot get another file.
    let device = open_node(root, name, false).map_err(Error::io("open", &node))?;
    if block::loop_backing(&device).ok().flatten().map(Inode::from) != Some(file) {
        return Ok(());
    }
    let answer = block::detach_loop(&device);
    drop(device);
    let since = Instant::now();
    // The kernel releases the file when the last opener, possibly udev, closes the device.
    while backing_of(root, name) == Some(file) {
        if since.elapsed() > DETACH_TIMEOUT {
            return Err(match answer {
                Err(cause) => Error::io("detach", &node)(cause),
                Ok(()) => Error::StillAttached { node },
            });
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Number and path must match, because file systems reuse a deleted file's number.
fn find_attached(root: &Root, made: &Made) -> Option<(String, Inode)> {
    let dir = root.sys("block");
    let has_path = |name: &String| {
        let behind = root.read_optional(dir.join(name).join("loop/backing_file"));
        behind.is_some_and(|behind| Path::new(behind.trim_end_matches(" (deleted)")) == made.file)
    };
    let with_inode = |name: String| backing_of(root, &name).map(|found| (name, found));
    let mut all = root.names(&dir).into_iter().filter(has_path).filter_map(with_inode);
    // Entries of schedlab 0.1 contain only the path.
    all.find(|(_, found)| made.is.is_none_or(|is| is == *found))
}

fn backing_of(root: &Root, name: &str) -> Option<Inode> {
    block::loop_backing(&open_node(root, name, false).ok()?).ok().flatten().map(Inode::from)
}

fn check_space(dir: &Dir, size_bytes: u64) -> Result<(), Error> {
    let space = rustix::fs::fstatvfs(dir)
        .map_err(|errno| Error::io("look at", dir.path())(errno.into()))?;
    let free_bytes = space.f_bavail.saturating_mul(space.f_frsize);
    let needed_bytes = size_bytes.saturating_add(RESERVE);
    if free_bytes < needed_bytes {
        return Err(Error::NoSpace { dir: dir.path().to_path_buf(), needed_bytes, free_bytes });
    }
    Ok(())
}

/// Allocates first, so that missing space shows at once, then fills and syncs.
fn fill(
    mut file: &File,
    path: &Path,
    size_bytes: u64,
    dir: &Dir,
    progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<(), Error> {
    let no_room = |error: io::Error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            let free_bytes = rustix::fs::fstatvfs(dir)
                .map_or(0, |space| space.f_bavail.saturating_mul(space.f_frsize));
            Error::NoSpace { dir: dir.path().to_path_buf(), needed_bytes: size_bytes, free_bytes }
        }
        _ => Error::io("fill", path)(error),
    };
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, size_bytes) {
        // Not all file systems can preallocate (NFS); writing allocates as well.
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
    forget_cache(file);
    Ok(())
}

/// A loop device with direct I/O does not use the file's pages.
fn forget_cache(file: &File) {
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
}

fn unique_stem() -> String {
    let ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("{KEYS}{}-{ns:x}", std::process::id())
}

/// Incompressible bytes at memory speed (xorshift64*). Not for secrets.
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

    /// The contents of disks' `scheduler` files; bfq is a module.
    fn machine(disks: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = Root::at(dir.path());
        fs::create_dir_all(root.proc("sys/kernel")).expect("fake proc");
        fs::write(root.proc("sys/kernel/osrelease"), "6.1.0-test\n").expect("fake release");
        fs::create_dir_all(root.modules()).expect("fake modules");
        fs::write(root.modules().join("modules.alias"), "alias bfq-iosched bfq\n")
            .expect("fake alias");
        for (name, schedulers) in disks {
            let queue = root.sys("block").join(name).join("queue");
            fs::create_dir_all(&queue).expect("fake disk");
            fs::write(queue.join("scheduler"), schedulers).expect("fake disk");
        }
        (dir, root)
    }

    #[test]
    fn what_a_new_loop_device_would_offer_is_what_any_loop_device_offers_and_the_unloaded_modules()
    {
        let disks = [
            ("dm-0", "none"),
            ("loop0", "none"),
            ("loop7", "[none] kyber"),
            ("nvme0n1", "[none] mq-deadline"),
        ];
        let (_dir, root) = machine(&disks);
        assert_eq!(offered_for_new_loop(&root), ["none", "kyber", "bfq"]);
    }

    #[test]
    fn without_a_loop_device_any_disk_with_a_scheduler_tells_and_without_a_disk_there_is_none_at_least()
     {
        let (_dir, root) = machine(&[("dm-0", "none"), ("sda", "none [bfq]")]);
        assert_eq!(offered_for_new_loop(&root), ["none", "bfq"]);
        assert_eq!(offered_for_new_loop(&machine(&[]).1), ["none", "bfq"]);
    }
}
