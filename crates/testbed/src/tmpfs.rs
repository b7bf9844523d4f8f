//! A test's tmpfs.

use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

/// A mounted tmpfs, unmounted on drop. Needs root.
#[derive(Debug)]
pub struct Tmpfs(PathBuf);

impl Tmpfs {
    /// Mounts a tmpfs of `mib` MiB on a directory.
    #[must_use]
    pub fn mount(over: &Path, mib: u32) -> Tmpfs {
        Tmpfs::with(over, &format!("size={mib}m"))
    }

    /// Mounts a tmpfs with options such as `size=64k,mode=0700`.
    #[must_use]
    pub fn with(over: &Path, options: &str) -> Tmpfs {
        let options = std::ffi::CString::new(options).expect("no NUL");
        mount("tmpfs", over, "tmpfs", MountFlags::empty(), options.as_c_str())
            .expect("root may mount a tmpfs");
        Tmpfs(over.to_path_buf())
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        // Detached: a process with an open file must not keep the mount visible.
        let _ = unmount(&self.0, UnmountFlags::DETACH);
    }
}
