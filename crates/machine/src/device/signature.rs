//! A device's format: file system, RAID member, encryption, LVM label, swap, partition table.
//!
//! `blkid -p` probes the device without a cache. It does not recognize database pages, archives and
//! images. Its exit status 2 means both "nothing found" and "read error", so the places of
//! signatures are read here first.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use serde::Serialize;

use crate::error::Error;
use crate::root::Root;

/// The farthest common signature is 64 KiB + a superblock from the start (btrfs).
const PROBED_BYTES: u64 = 256 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Signature {
    /// There may be data that blkid does not recognize.
    None,
    Found {
        /// `ext4`, `swap`, `LVM2_member`, `crypto_LUKS`, `gpt partition table` …
        formats: Vec<String>,
    },
    /// It could not be examined.
    Unknown { why: String },
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Signature::None => f.write_str("no known signature"),
            Signature::Found { formats } => f.write_str(&formats.join(", ")),
            Signature::Unknown { why } => write!(f, "unknown: {why}"),
        }
    }
}

pub(super) fn probe(root: &Root, node: &Path) -> Signature {
    let node = root.path(node);
    if let Err(error) = read_ends(&node) {
        return Signature::Unknown { why: format!("cannot read {}: {error}", node.display()) };
    }
    match blkid(root, &node) {
        Ok(signature) => signature,
        Err(error) => Signature::Unknown { why: error.to_string() },
    }
}

fn blkid(root: &Root, node: &Path) -> Result<Signature, Error> {
    let node = node.display().to_string();
    let args = ["-p", "-o", "export", &node];
    let output = root.run("blkid", &args, "util-linux", "to see whether a device holds data")?;
    let text = String::from_utf8_lossy(&output.stdout);
    match output.status.code() {
        Some(0) => Ok(Signature::Found { formats: formats(&text) }),
        Some(2) => Ok(Signature::None),
        Some(8) => Ok(Signature::Found {
            formats: vec!["several formats at once (blkid cannot decide)".into()],
        }),
        _ => Err(Error::failed("blkid", &args, &output)),
    }
}

/// Parses `KEY=VALUE` lines; a success without a known key still counts as a format.
fn formats(export: &str) -> Vec<String> {
    let value =
        |key: &str| export.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    let mut formats: Vec<String> = value("TYPE").map(str::to_string).into_iter().collect();
    formats.extend(value("PTTYPE").map(|table| format!("{table} partition table")));
    if formats.is_empty() {
        formats.push("a format that blkid does not name".to_string());
    }
    formats
}

fn read_ends(node: &Path) -> io::Result<()> {
    let mut file = File::open(node)?;
    let size = file.seek(SeekFrom::End(0))?;
    let span = size.min(PROBED_BYTES);
    for start in [0, size - span] {
        file.seek(SeekFrom::Start(start))?;
        file.by_ref().take(span).read_to_end(&mut Vec::new())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::crashpoints::install_script;

    #[test]
    fn file_systems_and_partition_tables_are_both_read_from_blkids_answer() {
        assert_eq!(formats("DEVNAME=/dev/x\nTYPE=ext4\nUSAGE=filesystem\n"), ["ext4"]);
        assert_eq!(formats("PTUUID=1\nPTTYPE=gpt\n"), ["gpt partition table"]);
    }

    #[test]
    fn a_success_without_a_name_still_counts_as_a_signature() {
        assert_eq!(formats("DEVNAME=/dev/x\n").len(), 1);
    }

    #[test]
    fn contradicting_signatures_count_as_one_and_a_failing_blkid_as_unknown() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = Root::at(dir.path()).with_tool_dirs(vec![dir.path().into()]);
        fs::create_dir_all(root.dev("")).expect("fake dev");
        fs::write(root.dev("sda"), "data").expect("fake disk");
        let answers = |status: i32| {
            install_script(&dir.path().join("blkid"), &format!("#!/bin/sh\nexit {status}\n"));
            probe(&root, Path::new("/dev/sda"))
        };
        assert!(matches!(answers(8), Signature::Found { .. }));
        assert_eq!(answers(2), Signature::None);
        assert!(matches!(answers(4), Signature::Unknown { .. }));
    }

    #[test]
    fn device_that_cannot_be_read_is_unknown() {
        let gone = probe(&Root::real(), Path::new("/dev/no-such-device"));
        assert!(matches!(gone, Signature::Unknown { .. }), "{gone}");
    }
}
