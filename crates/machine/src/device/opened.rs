//! Checks whether an open device is the one that was described.
//!
//! After a replug or reattachment, /dev/sdb can be another disk or file, and the user's consent is
//! minutes older than the first write. The *open descriptor* is therefore compared with the
//! description: number, size, media counter and identity.
//!
//! While it is open, the kernel does not reuse the device number, and a loop device keeps its file.
//! A program that opens the node by path (mkfs, mount, fio) gets this device.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use super::{Device, disk_names, identity};
use crate::error::Error;
use crate::root::Root;
use crate::sys::block;

impl Device {
    /// Opens the device and checks it; see the module's documentation for the effect of holding it.
    ///
    /// # Errors
    /// [`Error::Replaced`] naming both, [`Error::Io`].
    pub fn hold(&self, root: &Root) -> Result<File, Error> {
        let path = root.path(&self.path);
        let file = OpenOptions::new().read(true).open(&path).map_err(Error::io("open", &path))?;
        self.check_is(root, &file)?;
        Ok(file)
    }

    /// [`Error::Replaced`] if an open file is not this device.
    pub fn check_is(&self, root: &Root, file: &File) -> Result<(), Error> {
        let meta = file.metadata().map_err(Error::io("look at", &self.path))?;
        let replaced = |found: String| Error::Replaced {
            device: self.path.display().to_string(),
            found,
            expected: shown(&self.number, self.size_bytes, self.diskseq, &self.identity),
        };
        if !meta.file_type().is_block_device() {
            return Err(replaced("not a block device".to_string()));
        }
        let number =
            format!("{}:{}", rustix::fs::major(meta.rdev()), rustix::fs::minor(meta.rdev()));
        // While it is open, its number is not reused.
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
