//! A file system on the device under test, for the time of an experiment.

use std::fs;
use std::path::{Path, PathBuf};

use crate::device::Device;
use crate::error::Error;
use crate::root::Root;

/// Which file system, and how it is made and mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystem {
    /// `ext4`, `xfs` or `btrfs`.
    pub kind: String,
    /// Further options of mkfs, separated by white space.
    pub mkfs: String,
    /// Options of mount, separated by commas.
    pub mount: String,
}

#[derive(Debug)]
pub(super) struct Mounted {
    device: PathBuf,
    at: PathBuf,
    wanted: FileSystem,
}

impl Mounted {
    pub(super) fn at(&self) -> &Path {
        &self.at
    }

    pub(super) fn remount(&self, root: &Root) -> Result<(), Error> {
        unmount(root, &self.at)?;
        mount(root, self)
    }

    pub(super) fn remove(&self, root: &Root) -> Result<(), Error> {
        unmount(root, &self.at)?;
        let _ = fs::remove_dir(&self.at);
        let device = self.device.display().to_string();
        run(root, "wipefs", &["--all", "--quiet", &device], "util-linux", "to take a file system off a device")
    }
}

pub(super) fn make(root: &Root, device: &Device, wanted: &FileSystem, at: &Path) -> Result<Mounted, Error> {
    let (tool, package, quiet): (_, _, &[&str]) = match wanted.kind.as_str() {
        "xfs" => ("mkfs.xfs", "xfsprogs", &["-q", "-f"]),
        "btrfs" => ("mkfs.btrfs", "btrfs-progs", &["-q", "-f"]),
        _ => ("mkfs.ext4", "e2fsprogs", &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"]),
    };
    let path = device.path.display().to_string();
    let mut args: Vec<&str> = quiet.to_vec();
    args.extend(wanted.mkfs.split_whitespace());
    args.push(&path);
    run(root, tool, &args, package, "to make a file system")?;
    fs::create_dir_all(at).map_err(Error::io("create", at))?;
    let mounted = Mounted { device: device.path.clone(), at: at.to_path_buf(), wanted: wanted.clone() };
    mount(root, &mounted)?;
    Ok(mounted)
}

fn mount(root: &Root, files: &Mounted) -> Result<(), Error> {
    let (device, at) = (files.device.display().to_string(), files.at.display().to_string());
    let mut args = vec!["-t", files.wanted.kind.as_str()];
    if !files.wanted.mount.is_empty() {
        args.extend(["-o", files.wanted.mount.as_str()]);
    }
    args.extend([device.as_str(), at.as_str()]);
    run(root, "mount", &args, "mount", "to mount a file system")
}

fn unmount(root: &Root, at: &Path) -> Result<(), Error> {
    run(root, "umount", &[&at.display().to_string()], "mount", "to unmount a file system")
}

fn run(root: &Root, tool: &str, args: &[&str], package: &str, purpose: &str) -> Result<(), Error> {
    let output = root.run(tool, args, package, purpose)?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::ToolFailed {
        command: format!("{tool} {}", args.join(" ")),
        status: output.status.to_string(),
        stderr: String::from_utf8_lossy(&output.stderr).trim().to_string(),
    })
}
