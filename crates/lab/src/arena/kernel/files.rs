//! Files in a guest: a file system on the modelled disk.
//!
//! It is the same in every guest, whatever the machine's configuration of mkfs says and whenever it
//! is made: its features, its identifier and the seed by which it spreads directories are given,
//! and what Linux would write behind the back of the work, at times drawn by lot, is left out.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use guest::inside::Inside;
use machine::files::programs;
use serde::{Deserialize, Serialize};

use crate::failure::usage;

/// Kinds of file systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Files {
    /// ext4 with a journal of 32 MiB.
    Ext4,
}

/// A file system that is to be made.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct FileSystem {
    /// The program that makes it.
    mkfs: PathBuf,
}

/// What makes two file systems the same: identifier, and seed of the hash of names.
const UUID: &str = "5c4ed1ab-0000-4000-8000-000000000001";
const FEATURES: &str = "none,has_journal,ext_attr,resize_inode,dir_index,filetype,extent,64bit,flex_bg,sparse_super,large_file,\
                        huge_file,dir_nlink,extra_isize,metadata_csum";
/// MiB of the journal.
pub(super) const JOURNAL_MIB: u64 = 32;

impl Files {
    /// Finds what is needed to make it.
    ///
    /// # Errors
    /// When it is not installed.
    pub(super) fn found(self) -> Result<FileSystem> {
        let Files::Ext4 = self;
        match programs::find("mkfs.ext4") {
            Some(mkfs) => Ok(FileSystem { mkfs }),
            None => Err(usage(
                "mkfs.ext4: not installed, and a file system in the guest needs it; on Debian: apt-get install e2fsprogs",
            )),
        }
    }
}

impl FileSystem {
    /// Makes it on a device of the guest, and mounts it on a directory that is there.
    pub(super) fn make(&self, inside: &Inside, device: &Path, at: &Path) -> Result<()> {
        let features = FEATURES.replace(' ', "");
        let extended = format!(
            "nodiscard,lazy_itable_init=1,lazy_journal_init=1,hash_seed={UUID},root_owner=0:0"
        );
        let made = programs::helper_at(&self.mkfs)
            .args([
                "-q", "-F", "-b", "4096", "-I", "256", "-i", "16384", "-m", "0", "-U", UUID, "-O",
                &features,
            ])
            .args(["-J", &format!("size={JOURNAL_MIB}"), "-E", &extended])
            .arg(device)
            .output()
            .with_context(|| format!("{}: cannot run in the guest", self.mkfs.display()))?;
        if !made.status.success() {
            let said = String::from_utf8_lossy(&made.stderr);
            bail!("{} in the guest: {}", self.mkfs.display(), said.trim());
        }
        // Tables of inodes would be zeroed, and bitmaps of blocks read ahead of their use, in the
        // background, beginning at a random time within five seconds.
        inside.mount(device, at, "ext4", "noinit_itable,no_prefetch_block_bitmaps")?;
        Ok(())
    }
}

/// Everything is on the disk, and nothing of it in memory.
pub(super) fn cold() -> Result<()> {
    rustix::fs::sync();
    let caches = Path::new("/proc/sys/vm/drop_caches");
    if caches.exists() {
        fs::write(caches, "3").context("caches of the guest: cannot empty")?;
    }
    Ok(())
}
