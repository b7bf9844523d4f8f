//! The part of an init that prepares a guest for its task and ends it.
//!
//! The guest's root is the machine's file tree, read-only. Directories in memory that also show the
//! machine's files cover those to which programs write ([`Inside::begin_for_programs`]).
//! [`Inside::begin`] fails outside of a User-mode Linux's first process.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::mount::{MountFlags, mount};
use rustix::system::{RebootCommand, reboot};
use rustix::time::ClockId;

use crate::sys;

/// Virtual time between beats. A virtual second of programs that mostly switch takes tens of seconds
/// of a CPU under Linux 6.1.
const BEAT_EVERY: Duration = Duration::from_millis(100);
/// Programs commonly write to these.
const WRITABLE: [&str; 3] = ["/tmp", "/var/tmp", "/run"];
/// v2; the root delegates I/O and memory.
pub const CONTROL_GROUPS: &str = "/sys/fs/cgroup";
/// The machine's directory, under one that covers it.
const MACHINE: &str = ".machine";

/// A guest with its file systems mounted.
#[derive(Debug)]
pub struct Inside {
    workdir: PathBuf,
}

impl Inside {
    /// Mounts the file systems, and starts a thread that writes the clock's beats.
    ///
    /// # Errors
    /// If this is not a guest of schedlab, or a mount fails.
    pub fn begin(workdir: &Path) -> io::Result<Inside> {
        base()?;
        Inside::with(workdir)
    }

    /// Like [`Inside::begin`], without the thread, for an init that forks and calls
    /// [`Inside::beat`] itself.
    pub fn begin_alone(workdir: &Path) -> io::Result<Inside> {
        base()?;
        Inside::without_beats(workdir)
    }

    /// Like [`Inside::begin`], for programs whose files in `/tmp` and the like stay in memory.
    pub fn begin_for_programs(workdir: &Path) -> io::Result<Inside> {
        base()?;
        let mut covered = BTreeSet::new();
        for dir in WRITABLE {
            let Ok(dir) = fs::canonicalize(dir) else { continue };
            if covered.insert(dir.clone()) {
                cover(&dir)?;
            }
        }
        fs::create_dir_all("/dev/shm")?;
        mount_on("tmpfs", Path::new("/dev/shm"), MountFlags::empty(), "mode=1777")?;
        Inside::with(workdir)
    }

    fn with(workdir: &Path) -> io::Result<Inside> {
        let inside = Inside::without_beats(workdir)?;
        let workdir = workdir.to_owned();
        thread::spawn(move || {
            loop {
                crate::boot::beat(&workdir, now_ns());
                thread::sleep(BEAT_EVERY);
            }
        });
        Ok(inside)
    }

    fn without_beats(workdir: &Path) -> io::Result<Inside> {
        mount_on("hostfs", workdir, MountFlags::empty(), workdir)?;
        Ok(Inside { workdir: workdir.to_owned() })
    }

    pub fn beat(&self) {
        crate::boot::beat(&self.workdir, now_ns());
    }

    #[must_use]
    pub fn workdir(&self) -> &Path {
        &self.workdir
    }

    pub fn mount(&self, device: &Path, at: &Path, kind: &str, options: &str) -> io::Result<()> {
        let failed = |e| {
            io::Error::other(format!("cannot mount {} on {}: {e}", device.display(), at.display()))
        };
        let options = CString::new(options).map_err(io::Error::other)?;
        mount(device, at, kind, MountFlags::empty(), options.as_c_str()).map_err(failed)
    }

    pub fn end_all(&self) -> io::Result<()> {
        // `self` exists only in a guest's first process.
        match sys::kill_all_others() {
            Err(errno) if errno.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            other => other,
        }
    }

    /// `parameters`: `name=value`, separated by blanks.
    pub fn load(&self, module: &Path, parameters: &str) -> io::Result<()> {
        let named = |e: io::Error| {
            io::Error::other(format!("cannot load the module {}: {e}", module.display()))
        };
        let file = File::open(module).map_err(named)?;
        let parameters = CString::new(parameters).map_err(io::Error::other)?;
        rustix::system::finit_module(&file, &parameters, 0).map_err(|e| named(e.into()))
    }
}

fn base() -> io::Result<()> {
    let machine = rustix::system::uname();
    if std::process::id() != 1 || !machine.release().to_string_lossy().contains("schedlab") {
        return Err(io::Error::other(
            "this is the init of a guest of schedlab, and of nothing else",
        ));
    }
    for (kind, target) in [
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("devtmpfs", "/dev"),
        ("configfs", "/sys/kernel/config"),
        ("debugfs", "/sys/kernel/debug"),
        ("cgroup2", CONTROL_GROUPS),
    ] {
        mount_on(kind, Path::new(target), MountFlags::empty(), "")?;
    }
    // Buffered writes are attributed by a group's pages.
    let switch = Path::new(CONTROL_GROUPS).join("cgroup.subtree_control");
    fs::write(&switch, "+io +memory")
        .map_err(|e| io::Error::other(format!("{}: cannot write: {e}", switch.display())))
}

/// Sets and verifies `priority`, the kernel's encoding of class and level.
pub fn set_ioprio(process: u32, priority: u16) -> io::Result<()> {
    sys::set_ioprio(process, priority)?;
    match sys::ioprio(process)? {
        found if found == i32::from(priority) => Ok(()),
        found => Err(io::Error::other(format!("found {found}, expected {priority}"))),
    }
}

/// Covers `dir` with one in memory that links to the machine's files.
fn cover(dir: &Path) -> io::Result<()> {
    mount_on("tmpfs", dir, MountFlags::empty(), "mode=1777")?;
    let below = dir.join(MACHINE);
    fs::create_dir(&below)?;
    mount_on("hostfs", &below, MountFlags::RDONLY, dir)?;
    for entry in fs::read_dir(&below).into_iter().flatten().flatten() {
        std::os::unix::fs::symlink(
            Path::new(MACHINE).join(entry.file_name()),
            dir.join(entry.file_name()),
        )?;
    }
    Ok(())
}

fn mount_on(
    kind: &str,
    target: &Path,
    flags: MountFlags,
    data: impl AsRef<std::ffi::OsStr>,
) -> io::Result<()> {
    let data = CString::new(data.as_ref().as_encoded_bytes()).map_err(io::Error::other)?;
    mount("none", target, kind, flags, data.as_c_str())
        .map_err(|e| io::Error::other(format!("cannot mount {kind} on {}: {e}", target.display())))
}

/// Nanoseconds since the guest was booted.
#[must_use]
pub fn now_ns() -> u64 {
    machine::now_ns(ClockId::Monotonic)
}

/// Returns only if this is not a guest.
pub fn power_off() -> io::Error {
    match reboot(RebootCommand::PowerOff) {
        Ok(()) => io::Error::other("the kernel did not switch itself off"),
        Err(error) => error.into(),
    }
}
