//! Inside a guest: what its init needs of the kernel before and after its real work.
//!
//! The guest's root is the machine's file tree, read-only. Nothing in here must run anywhere else: [`Inside::begin`] refuses unless
//! it is the first process of a User-mode Linux.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::mount::{MountFlags, mount};
use rustix::system::{RebootCommand, reboot};
use rustix::time::{ClockId, clock_gettime};

/// Virtual time between two beats of the clock.
const BEAT_EVERY: Duration = Duration::from_secs(1);

/// The inside of a guest, with its file systems mounted.
#[derive(Debug)]
pub struct Inside {
    workdir: PathBuf,
}

impl Inside {
    /// Mounts what a Linux has, and the directory that can be written to; from then on the clock's beats are heard outside.
    ///
    /// # Errors
    /// When this is no guest of ours, or the kernel refuses.
    pub fn begin(workdir: &Path) -> io::Result<Inside> {
        let inside = Inside::begin_alone(workdir)?;
        let workdir = workdir.to_owned();
        thread::spawn(move || {
            loop {
                crate::boot::beat(&workdir, now_ns());
                thread::sleep(BEAT_EVERY);
            }
        });
        Ok(inside)
    }

    /// The same without a thread for the beats, for an init that makes processes; it has to [`Inside::beat`] itself.
    ///
    /// # Errors
    /// As [`Inside::begin`].
    pub fn begin_alone(workdir: &Path) -> io::Result<Inside> {
        let machine = rustix::system::uname();
        if std::process::id() != 1 || !machine.release().to_string_lossy().contains("schedlab") {
            return Err(io::Error::other("this is the init of a guest of schedlab, and of nothing else"));
        }
        let none = CString::default();
        for (kind, target) in [
            ("proc", "/proc"),
            ("sysfs", "/sys"),
            ("devtmpfs", "/dev"),
            ("configfs", "/sys/kernel/config"),
            ("debugfs", "/sys/kernel/debug"),
        ] {
            mount("none", target, kind, MountFlags::empty(), none.as_c_str())
                .map_err(|e| io::Error::other(format!("cannot mount {kind} on {target}: {e}")))?;
        }
        let data = CString::new(workdir.as_os_str().as_encoded_bytes()).map_err(io::Error::other)?;
        mount("none", workdir, "hostfs", MountFlags::empty(), data.as_c_str())
            .map_err(|e| io::Error::other(format!("cannot mount {}: {e}", workdir.display())))?;
        Ok(Inside { workdir: workdir.to_owned() })
    }

    /// Tells the machine outside that this guest lives.
    pub fn beat(&self) {
        crate::boot::beat(&self.workdir, now_ns());
    }

    /// The directory that can be written to.
    #[must_use]
    pub fn workdir(&self) -> &Path {
        &self.workdir
    }

    /// An empty file system in memory over a directory of the machine, for programs that write to it: `/tmp`, `/run`.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn cover(&self, target: &str) -> io::Result<()> {
        mount("none", target, "tmpfs", MountFlags::empty(), CString::default().as_c_str())
            .map_err(|e| io::Error::other(format!("cannot mount tmpfs on {target}: {e}")))
    }

    /// Loads a module with its parameters (`name=value` with blanks between).
    ///
    /// # Errors
    /// When the kernel refuses it; the message names the file.
    pub fn load(&self, module: &Path, parameters: &str) -> io::Result<()> {
        let named = |e: io::Error| io::Error::other(format!("cannot load the module {}: {e}", module.display()));
        let file = File::open(module).map_err(named)?;
        let parameters = CString::new(parameters).map_err(io::Error::other)?;
        rustix::system::finit_module(&file, &parameters, 0).map_err(|e| named(e.into()))
    }
}

/// The guest's clock in nanoseconds since it was booted.
#[must_use]
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Switches the guest off. Comes back only if this is none.
pub fn power_off() -> io::Error {
    match reboot(RebootCommand::PowerOff) {
        Ok(()) => io::Error::other("the kernel did not switch itself off"),
        Err(error) => error.into(),
    }
}
