//! A file system on a guest's modelled disk.
//!
//! Identical in every guest, independent of the host's mkfs configuration: features, UUID and hash
//! seed are fixed, and background writes at random times are disabled.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use guest::inside::Inside;
use machine::files::programs;
use serde::{Deserialize, Serialize};

use crate::failure::usage;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Files {
    /// ext4 with a 32 MiB journal.
    Ext4,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct FileSystem {
    mkfs: PathBuf,
}

/// Also the seed of the directory hash.
const UUID: &str = "5c4ed1ab-0000-4000-8000-000000000001";
const FEATURES: &str = "none,has_journal,ext_attr,resize_inode,dir_index,filetype,extent,64bit,flex_bg,sparse_super,large_file,\
                        huge_file,dir_nlink,extra_isize,metadata_csum";
pub(super) const JOURNAL_MIB: u64 = 32;

impl Files {
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
    /// Creates the file system and mounts it on `at`.
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
        // By default, zeroing of inode tables and prefetching of block bitmaps start at a random
        // time.
        inside.mount(device, at, "ext4", "noinit_itable,no_prefetch_block_bitmaps")?;
        Ok(())
    }
}

pub(super) fn cold() -> Result<()> {
    rustix::fs::sync();
    let caches = Path::new("/proc/sys/vm/drop_caches");
    if caches.exists() {
        fs::write(caches, "3").context("caches of the guest: cannot empty")?;
    }
    Ok(())
}
