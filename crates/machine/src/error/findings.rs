//! Reasons against writing to a device: contents, which consent covers, and uses, which it does
//! not.

use std::fmt;

use serde::Serialize;

/// Contents of a device, or the result that none were found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "content", rename_all = "kebab-case")]
pub enum Content {
    Partitions {
        names: Vec<String>,
    },
    /// File system, swap, RAID, LVM or LUKS header, or partition table.
    Signatures {
        formats: Vec<String>,
    },
    /// Nonzero bytes without a known signature.
    Data {
        /// The offset of the first such byte in the sample.
        offset: u64,
    },
    /// The sample contains only zeros.
    NoDataFound {
        read_bytes: u64,
        is_whole: bool,
    },
    /// A block of the sample that cannot be read.
    Unreadable {
        offset: u64,
        why: String,
    },
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Content::Partitions { names } => write!(f, "partitions {}", names.join(", ")),
            Content::Signatures { formats } => write!(f, "signatures of {}", formats.join(", ")),
            Content::Data { offset } => {
                write!(f, "data without a known signature, first at offset {offset}")
            }
            Content::NoDataFound { read_bytes, is_whole: true } => {
                write!(f, "no data found in its {} MiB", read_bytes.div_ceil(1 << 20))
            }
            Content::NoDataFound { read_bytes, is_whole: false } => {
                write!(f, "no data found in a sample of {} MiB", read_bytes.div_ceil(1 << 20))
            }
            Content::Unreadable { offset, why } => {
                write!(f, "blocks that cannot be read, first at offset {offset} ({why})")
            }
        }
    }
}

/// A use of a device, which consent to overwrite does not cover.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "use", rename_all = "kebab-case")]
pub enum Use {
    Mounted {
        device: String,
        at: String,
        /// In the mount namespace, if that is not this process's.
        pid: Option<i32>,
    },
    Swap {
        device: String,
    },
    /// A device is stacked on it.
    Held {
        /// E.g. `dm-0`.
        by: String,
    },
    /// Another loop device writes to the same blocks.
    SharedByLoop {
        device: String,
    },
    /// Exclusively, perhaps in another container.
    OpenedExclusively,
    OpenForWriting {
        /// NAME (PID).
        by: String,
    },
    /// The file behind the loop device is open.
    FileOpen {
        /// NAME (PID).
        by: String,
    },
    /// The file behind the loop device, perhaps in another container.
    FileLocked,
}

impl Use {
    /// Whether closing a file ends it.
    pub(crate) fn is_of_process(&self) -> bool {
        matches!(self, Use::OpenForWriting { .. } | Use::FileOpen { .. })
    }
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Use::Mounted { device, at, pid } => {
                let inside = pid.map_or(String::new(), |pid| format!(" in the mount namespace of process {pid}"));
                write!(f, "{device} is mounted at {at}{inside} (unmount it first)")
            }
            Use::Swap { device } => write!(f, "{device} is in use as swap (`swapoff /dev/{device}` first)"),
            Use::Held { by } => write!(f, "{by} is stacked on it (remove {by} first)"),
            Use::SharedByLoop { device } => {
                write!(f, "{device} is a loop device over the same blocks (`losetup -d /dev/{device}` first)")
            }
            Use::OpenedExclusively => f.write_str(
                "a program has it open exclusively (see `fuser -v`, also in other containers; stop it first)",
            ),
            Use::OpenForWriting { by } => write!(f, "{by} has it open for writing (stop it first)"),
            Use::FileOpen { by } => write!(f, "{by} has the file behind it open (stop it first)"),
            Use::FileLocked => f.write_str("a program holds a lock on the file behind it (stop it first)"),
        }
    }
}
