//! A test's loop device.
//!
//! It uses system calls rather than schedlab's code, so that a bug there does not break other
//! tests.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::directory::Directory;
use crate::sys::{self, LoopOptions};
use crate::wait::eventually;

/// A loop device over a file, detached on drop if it is still over that file.
#[derive(Debug)]
pub struct Loop {
    /// `/dev/loopN`.
    pub path: String,
    /// `loopN`.
    pub name: String,
    pub file: PathBuf,
    /// Device and inode of the file, which distinguish it from another file of the same name.
    inode: (u64, u64),
}

impl Loop {
    /// Over a new file of `mib` MiB with every block allocated, because reading a hole causes no
    /// I/O.
    #[must_use]
    pub fn new(directory: &Directory, name: &str, mib: usize) -> Loop {
        let file = directory.join(name);
        let part: Vec<u8> =
            (0..1usize << 20).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        fs::write(&file, part.repeat(mib)).expect("a new file");
        Loop::over(&file)
    }

    /// Over a new sparse file.
    #[must_use]
    pub fn blank(directory: &Directory, name: &str, mib: u64) -> Loop {
        let file = directory.join(name);
        File::create_new(&file).and_then(|made| made.set_len(mib << 20)).expect("a new file");
        Loop::over(&file)
    }

    #[must_use]
    pub fn over(file: &Path) -> Loop {
        Loop::with(file, LoopOptions::default())
    }

    #[must_use]
    pub fn with(file: &Path, options: LoopOptions) -> Loop {
        let backing = OpenOptions::new().read(true).write(!options.read_only).open(file);
        let backing = backing.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let about = backing.metadata().expect("an open file");
        let control = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/loop-control")
            .expect("loop devices");
        loop {
            let name =
                format!("loop{}", sys::free_loop_device(&control).expect("a free loop device"));
            let path = format!("/dev/{name}");
            // devtmpfs makes the node before the device is announced; udev may still change its
            // permissions.
            let device = OpenOptions::new().read(true).write(true).open(&path);
            match device.and_then(|device| sys::attach_loop(&device, &backing, options)) {
                Ok(()) => {
                    return Loop {
                        path,
                        name,
                        file: file.to_owned(),
                        inode: (about.dev(), about.ino()),
                    };
                }
                // Another process took the number first.
                Err(error)
                    if error.raw_os_error() == Some(rustix::io::Errno::BUSY.raw_os_error()) => {}
                Err(error) => panic!("{path} over {}: {error}", file.display()),
            }
        }
    }

    #[must_use]
    pub fn sys(&self) -> PathBuf {
        Path::new("/sys/block").join(&self.name)
    }

    #[must_use]
    pub fn queue(&self) -> PathBuf {
        self.sys().join("queue")
    }

    pub fn set(&self, attribute: &str, value: &str) {
        fs::write(self.queue().join(attribute), value)
            .unwrap_or_else(|error| panic!("{attribute}={value}: {error}"));
    }

    /// A queue attribute, trimmed.
    #[must_use]
    pub fn show(&self, attribute: &str) -> String {
        let text = fs::read_to_string(self.queue().join(attribute));
        text.unwrap_or_else(|error| panic!("{attribute}: {error}")).trim().to_owned()
    }

    #[must_use]
    pub fn scheduler(&self) -> String {
        let line = self.show("scheduler");
        line.split(['[', ']']).nth(1).unwrap_or(&line).to_owned()
    }

    /// Whether the kernel offers these schedulers; skips the test otherwise.
    #[must_use]
    #[track_caller]
    pub fn offers(&self, schedulers: &[&str]) -> bool {
        let offered = self.show("scheduler");
        let missing = schedulers
            .iter()
            .find(|name| !offered.split([' ', '[', ']']).any(|word| word == **name));
        if let Some(name) = missing {
            crate::skip(&format!("this kernel does not offer {name}"));
        }
        missing.is_none()
    }

    /// Completed reads.
    #[must_use]
    pub fn reads(&self) -> u64 {
        let stat = fs::read_to_string(self.sys().join("stat")).expect("the device's counters");
        stat.split_whitespace()
            .next()
            .and_then(|reads| reads.parse().ok())
            .expect("reads come first")
    }

    /// Every readable file of the queue and its scheduler, to check that nothing changed.
    #[must_use]
    pub fn snapshot(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for dir in ["", "iosched"] {
            for entry in fs::read_dir(self.queue().join(dir)).into_iter().flatten().flatten() {
                if let Ok(text) = fs::read_to_string(entry.path()) {
                    all.push((format!("{dir}/{}", entry.file_name().to_string_lossy()), text));
                }
            }
        }
        all.sort();
        all
    }

    /// Detaches the device, as if a disk were unplugged, and waits until the kernel has released
    /// the file.
    pub fn detach(&self) {
        self.release();
        let device = || File::open(&self.path).ok();
        let is_attached =
            || device().is_some_and(|device| sys::loop_backing(&device) == Some(self.inode));
        eventually(&format!("{} lets go of {}", self.path, self.file.display()), || !is_attached());
    }

    /// Detaches the device if it is still over the test's file. The kernel completes the detach on
    /// the last close.
    fn release(&self) {
        // While it is open, no other file can be attached.
        let Ok(device) = File::open(&self.path) else { return };
        if sys::loop_backing(&device) == Some(self.inode) {
            // The next user of this number would inherit the scheduler and the request size.
            let _ = fs::write(self.queue().join("scheduler"), "none");
            let largest = fs::read_to_string(self.queue().join("max_hw_sectors_kb"));
            let _ = fs::write(self.queue().join("max_sectors_kb"), largest.unwrap_or_default());
            let _ = sys::detach_loop(&device);
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_anothers_by_now_is_left_alone() {
        if !crate::require(&["root"]) {
            return;
        }
        let directory = Directory::new();
        let mut device = Loop::blank(&directory, "disk", 1);
        assert_eq!(fs::metadata(&device.path).map(|node| node.is_file()).ok(), Some(false));
        let inode = std::mem::take(&mut device.inode);
        device.detach();
        let is_attached = || {
            File::open(&device.path).map(|node| sys::loop_backing(&node)).ok().flatten()
                == Some(inode)
        };
        assert!(is_attached(), "it was over another file than its own");
        device.inode = inode;
        device.detach();
        assert!(!is_attached());
    }
}
