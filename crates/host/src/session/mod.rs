//! What an experiment with real programs makes on a machine beside settings: processes, and a file system with its mount.
//!
//! Everything is made through a [`Session`], which knows how to end it: programs with all that they have started, then the mount, then
//! the directory. The same after a crash, from the journal.

mod files;
mod process;

use std::path::{Path, PathBuf};

pub use files::FileSystem;
pub use process::{Ended, Launch, Running, Share};

use crate::device::Device;
use crate::error::Error;
use crate::root::Root;

/// The processes and the file system of one experiment; dropping it ends them.
#[derive(Debug)]
pub struct Session {
    root: Root,
    key: String,
    files: Option<files::Mounted>,
    ended: bool,
}

impl Session {
    /// Begins; nothing is on the machine yet.
    ///
    /// # Errors
    /// [`Error::Io`] when the journal cannot be written.
    pub fn begin(root: &Root) -> Result<Session, Error> {
        let key = format!("schedlab-session-{}", std::process::id());
        Ok(Session { root: root.clone(), key, files: None, ended: false })
    }

    /// Makes a file system on a device and mounts it. Whether the device may be overwritten is the caller's question.
    ///
    /// # Errors
    /// [`Error::ToolMissing`] with the package, [`Error::ToolFailed`] with what mkfs or mount said.
    pub fn make_files(&mut self, device: &Device, wanted: &FileSystem) -> Result<(), Error> {
        let at = self.root.path("/run").join(&self.key);
        self.files = Some(files::make(&self.root, device, wanted, &at)?);
        Ok(())
    }

    /// Where the file system is mounted.
    pub fn directory(&self) -> Option<&Path> {
        self.files.as_ref().map(files::Mounted::at)
    }

    /// Unmounts and mounts again: everything is on the device, and nothing of it in memory. Nothing else of the machine's caches is touched.
    ///
    /// # Errors
    /// [`Error::ToolFailed`], e.g. when a program still works in it.
    pub fn cool(&mut self) -> Result<(), Error> {
        match &self.files {
            Some(files) => files.remount(&self.root),
            None => Ok(()),
        }
    }

    /// Whether a program can be given this share of a device here.
    ///
    /// # Errors
    /// What is missing, and what to do.
    pub fn check_share(&self, _device: &Device, _share: &Share) -> Result<(), Error> {
        Ok(())
    }

    /// Starts a program of this session.
    ///
    /// # Errors
    /// [`Error::Io`] naming the program that cannot be started.
    pub fn start(&self, launch: &Launch) -> Result<Running, Error> {
        process::start(&self.root, &self.key, launch)
    }

    /// Where a program is: in PATH, or in one of the directories of system programs.
    ///
    /// # Errors
    /// [`Error::ToolMissing`] with its package.
    pub fn program(&self, name: &str, package: &str, purpose: &str) -> Result<PathBuf, Error> {
        self.root.tool(name).ok_or_else(|| Error::ToolMissing {
            tool: name.to_string(),
            package: package.to_string(),
            purpose: purpose.to_string(),
        })
    }

    /// Ends all programs of the session, unmounts, and leaves the device without the file system that it got. Gives the names of programs that
    /// were still there.
    ///
    /// # Errors
    /// [`Error::ToolFailed`] when the mount stays; the journal keeps it then, for `schedlab restore`.
    pub fn end(mut self) -> Result<Vec<String>, Error> {
        self.ended = true;
        self.finish()
    }

    fn finish(&mut self) -> Result<Vec<String>, Error> {
        let left = process::end_all(&self.root, &self.key);
        if let Some(files) = self.files.take() {
            files.remove(&self.root)?;
        }
        Ok(left)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.finish();
        }
    }
}
