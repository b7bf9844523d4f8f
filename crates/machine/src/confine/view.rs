//! A read-only view of the machine's files for an untrusted program.
//!
//! In a mount namespace, every mount becomes read-only, without setuid programs and devices. Fresh
//! file systems hide /dev except five harmless devices, outside processes in /proc, and the
//! contents of /dev/shm. Only the working directory is writable.
//!
//! The program runs as another user. If a path that it needs is below a closed directory, an empty
//! directory with only this path covers that one. Files that only root may read stay closed, unless
//! the program gets a copy.

use std::ffi::CString;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_bind,
    mount_change, move_mount, open_tree,
};

use crate::confine::{Confinement, Error, Result, sys};

pub(crate) const MEMORY: &str = "/dev/shm";
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
const COPIES: &str = "/dev/.copies";
/// Bytes of the tmpfs in addition to the memory file.
const SPARE: u64 = 16 << 20;
const CLOSED: u64 = libc::MOUNT_ATTR_RDONLY | HARMLESS;
const HARMLESS: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;

struct VisiblePath {
    path: PathBuf,
    directory: bool,
    /// The mount of the original; `None` if a copy replaces it.
    tree: Option<OwnedFd>,
    attributes: u64,
}

/// `others`: the program runs with the permissions of others.
pub(crate) fn enter(confinement: &Confinement, others: bool) -> Result<()> {
    // Otherwise ours may close to the program what is made for it.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    let root = |cause| Error::new("/", "take its mounts for ourselves", cause);
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).map_err(root)?;
    let devices = DEVICES.iter().map(|name| open_device(name)).collect::<Result<Vec<_>>>()?;
    let mut copies = Vec::new();
    let mut held = vec![hold(&confinement.workdir, HARMLESS)?];
    for path in &confinement.reachable {
        held.push(hold(path, CLOSED)?);
    }
    for path in &confinement.readable {
        if others && !readable_by_others(path) {
            copies
                .push((path.clone(), contents(path).map_err(|cause| failed(path, "read", cause))?));
            held.push(VisiblePath {
                path: path.clone(),
                directory: path.is_dir(),
                tree: None,
                attributes: CLOSED,
            });
        } else {
            held.push(hold(path, CLOSED)?);
        }
    }
    set(Path::new("/"), CLOSED)?;
    make_dev(&devices, confinement.memory_bytes)?;
    write_copies(&copies)?;
    // A shorter path may contain a longer one.
    held.sort_by_key(|held| held.path.components().count());
    let mut covers = vec![PathBuf::from("/dev")];
    for held in &held {
        covers.extend(uncover(held, others)?);
        show(held, &copies)?;
    }
    covers.iter().try_for_each(|cover| set_one(cover, CLOSED))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    mount("proc", "/proc", "proc", flags, None)
        .map_err(|cause| failed(Path::new("/proc"), "mount", cause))
}

fn failed(path: &Path, action: &'static str, cause: impl Into<io::Error>) -> Error {
    Error::new(path.display().to_string(), action, cause)
}

fn hold(path: &Path, attributes: u64) -> Result<VisiblePath> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let tree = open_tree(CWD, path, flags).map_err(|cause| failed(path, "hold", cause))?;
    Ok(VisiblePath {
        path: path.to_owned(),
        directory: path.is_dir(),
        tree: Some(tree),
        attributes,
    })
}

fn open_device(name: &str) -> Result<OwnedFd> {
    let path = Path::new("/dev").join(name);
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    open_tree(CWD, &path, flags).map_err(|cause| failed(&path, "hold", cause))
}

fn set(path: &Path, attributes: u64) -> Result<()> {
    sys::set_mount_attributes(&name(path)?, attributes)
        .map_err(|cause| failed(path, "close", cause))
}

fn set_one(path: &Path, attributes: u64) -> Result<()> {
    sys::set_attributes_of_one_mount(&name(path)?, attributes)
        .map_err(|cause| failed(path, "close", cause))
}

fn name(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|cause| failed(path, "name", io::Error::other(cause)))
}

fn attach(tree: &OwnedFd, at: &Path) -> Result<()> {
    move_mount(tree, "", CWD, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
        .map_err(|cause| failed(at, "show", cause))
}

fn tmpfs(at: &Path, options: &str) -> Result<()> {
    let options = CString::new(options).expect("no option has a NUL");
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", at, "tmpfs", flags, options.as_c_str())
        .map_err(|cause| failed(at, "mount memory on", cause))
}

fn make_dev(devices: &[OwnedFd], memory_bytes: u64) -> Result<()> {
    let dev = Path::new("/dev");
    tmpfs(dev, "mode=755")?;
    for (name, tree) in DEVICES.iter().zip(devices) {
        let at = dev.join(name);
        File::create(&at).map_err(|cause| failed(&at, "create", cause))?;
        attach(tree, &at)?;
    }
    let memory = Path::new(MEMORY);
    make_dir(memory)?;
    tmpfs(memory, &format!("mode=1777,size={}", memory_bytes + SPARE))
}

fn make_dir(path: &Path) -> Result<()> {
    let made = DirBuilder::new().recursive(true).mode(0o755).create(path);
    made.map_err(|cause| failed(path, "create", cause))
}

/// Name (empty for a single file), contents, executable.
type Contents = Vec<(PathBuf, Vec<u8>, bool)>;

fn contents(path: &Path) -> io::Result<Contents> {
    let read = |path: &Path, name: PathBuf| {
        Ok((name, fs::read(path)?, fs::metadata(path)?.mode() & 0o100 != 0))
    };
    if !path.is_dir() {
        return Ok(vec![read(path, PathBuf::new())?]);
    }
    let entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
    let files = entries.iter().filter(|entry| entry.path().is_file());
    files.map(|entry| read(&entry.path(), entry.file_name().into())).collect()
}

fn copy_of(path: &Path, copies: &[(PathBuf, Contents)]) -> Option<PathBuf> {
    let number = copies.iter().position(|(original, _)| original == path)?;
    Some(Path::new(COPIES).join(number.to_string()))
}

fn write_copies(copies: &[(PathBuf, Contents)]) -> Result<()> {
    make_dir(Path::new(COPIES))?;
    for (original, contents) in copies {
        let top = copy_of(original, copies).expect("it is in the list");
        for (name, bytes, runs) in contents {
            let at = if name.as_os_str().is_empty() { top.clone() } else { top.join(name) };
            make_dir(at.parent().expect("it lies below /dev"))?;
            let mode = fs::Permissions::from_mode(if *runs { 0o555 } else { 0o444 });
            let written = fs::write(&at, bytes).and_then(|()| fs::set_permissions(&at, mode));
            written.map_err(|cause| failed(&at, "write", cause))?;
        }
        make_dir_if_empty(&top, contents)?;
    }
    Ok(())
}

fn make_dir_if_empty(top: &Path, contents: &Contents) -> Result<()> {
    if contents.is_empty() { make_dir(top) } else { Ok(()) }
}

/// Creates a mount point below a closed directory; returns that directory's cover.
fn uncover(held: &VisiblePath, others: bool) -> Result<Option<PathBuf>> {
    let path = &held.path;
    let cover = if others { closed_to_others(path) } else { None };
    if let Some(cover) = &cover {
        tmpfs(cover, "mode=755,size=1m")?;
    }
    if !path.exists() {
        make_dir(if held.directory {
            path
        } else {
            path.parent().expect("a file lies in a directory")
        })?;
    }
    if !held.directory && !path.exists() {
        File::create(path).map_err(|cause| failed(path, "create", cause))?;
    }
    Ok(cover)
}

/// Mounts a path at its original place.
fn show(held: &VisiblePath, copies: &[(PathBuf, Contents)]) -> Result<()> {
    let VisiblePath { path, tree, attributes, .. } = held;
    match (tree, copy_of(path, copies)) {
        (Some(tree), _) => attach(tree, path)?,
        (None, Some(copy)) => {
            mount_bind(&copy, path).map_err(|cause| failed(path, "show", cause))?
        }
        (None, None) => unreachable!("what has no mount has a copy"),
    }
    set(path, *attributes)
}

/// The first directory above `path` closed to others.
fn closed_to_others(path: &Path) -> Option<PathBuf> {
    let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
    above.reverse();
    let closed = |dir: &&Path| fs::metadata(dir).is_ok_and(|found| found.mode() & 0o001 == 0);
    above.into_iter().find(closed).map(Path::to_owned)
}

/// Whether others may read a file, or a directory with its files.
fn readable_by_others(path: &Path) -> bool {
    let allows =
        |path: &Path, mode: u32| fs::metadata(path).is_ok_and(|found| found.mode() & mode == mode);
    if !path.is_dir() {
        return allows(path, 0o004);
    }
    let mut entries = fs::read_dir(path).into_iter().flatten().flatten();
    allows(path, 0o005) && entries.all(|entry| allows(&entry.path(), 0o004))
}
