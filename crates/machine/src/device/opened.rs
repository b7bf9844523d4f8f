//! Whether an open device is the one that was described.
//!
//! # The rule of identity
//! A name such as /dev/sdb means whatever the kernel gives it at the moment: another disk after a
//! replug, another file after a loop device was detached and attached. What the user consented to
//! was described minutes before the first write. So whatever is about to be written to is opened
//! first, and the *open descriptor* is compared with the description: number, size, the kernel's
//! count of media, and what the device calls itself. A device that differs is left alone, and both
//! are named.
//!
//! A descriptor that stays open keeps the kernel from giving the number to another device: a
//! removed disk keeps it, and a loop device its file. So while one is held, a program that opens
//! the node by its path (mkfs, mount, fio) opens this device.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use super::{Device, disk_names, identity};
use crate::error::Error;
use crate::root::Root;
use crate::sys::block;

impl Device {
    /// Opens it for reading and checks that it is still this device; see the head of this file for
    /// what holding it prevents.
    ///
    /// # Errors
    /// [`Error::Replaced`] naming both, [`Error::Io`].
    pub fn hold(&self, root: &Root) -> Result<File, Error> {
        let path = root.path(&self.path);
        let file = OpenOptions::new().read(true).open(&path).map_err(Error::io("open", &path))?;
        self.check_is(root, &file)?;
        Ok(file)
    }

    /// Checks that an open file is this device.
    ///
    /// # Errors
    /// [`Error::Replaced`] naming both, [`Error::Io`].
    pub fn check_is(&self, root: &Root, file: &File) -> Result<(), Error> {
        let meta = file.metadata().map_err(Error::io("look at", &self.path))?;
        let replaced = |found: String| Error::Replaced {
            device: self.path.display().to_string(),
            found,
            expected: shown(&self.number, self.size_bytes, self.diskseq, &self.identity),
        };
        if !meta.file_type().is_block_device() {
            return Err(replaced("no block device".to_string()));
        }
        let number =
            format!("{}:{}", rustix::fs::major(meta.rdev()), rustix::fs::minor(meta.rdev()));
        // The open device keeps its number, so what sysfs has of the number is of this device.
        let own = identity::all(root, &disk_names(root)?).remove(&self.name).unwrap_or_default();
        let size_bytes = block::size_bytes(file).map_err(Error::io("look at", &self.path))?;
        let diskseq = block::diskseq(file);
        let same_medium = diskseq.is_none() || self.diskseq.is_none() || diskseq == self.diskseq;
        if number == self.number
            && size_bytes == self.size_bytes
            && same_medium
            && own == self.identity
        {
            return Ok(());
        }
        Err(replaced(shown(&number, size_bytes, diskseq, &own)))
    }
}

fn shown(number: &str, size_bytes: u64, diskseq: Option<u64>, identity: &str) -> String {
    let medium = diskseq.map_or(String::new(), |count| format!(", medium {count}"));
    format!("{identity:?}, device {number} of {size_bytes} bytes{medium}")
}
