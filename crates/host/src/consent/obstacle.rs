//! What speaks against writing to a device.

use std::fmt;

use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "obstacle", rename_all = "kebab-case")]
pub enum Obstacle {
    Mounted {
        device: String,
        at: String,
    },
    Swap {
        device: String,
    },
    /// A device is stacked on it.
    Held {
        /// The device on top, e.g. `dm-0`.
        by: String,
    },
    BacksLoop {
        device: String,
    },
    /// Someone has it open exclusively, perhaps in another container.
    OpenedExclusively,
    ReadOnly,
    Partitions {
        names: Vec<String>,
    },
    /// It holds a file system, swap, RAID, LVM or LUKS header, or a partition table.
    Holds {
        formats: Vec<String>,
    },
    /// It could not be found out what it holds.
    ContentUnknown {
        why: String,
    },
}

impl Obstacle {
    /// Whether naming the device in `--destroy-data` removes the obstacle.
    pub fn yields_to_consent(&self) -> bool {
        matches!(self, Obstacle::Partitions { .. } | Obstacle::Holds { .. })
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::Mounted { device, at } => write!(
                f,
                "{device} is mounted at {at} (unmount it first: writing under a mounted file system corrupts it)"
            ),
            Obstacle::Swap { device } => write!(f, "{device} is in use as swap (`swapoff /dev/{device}` first)"),
            Obstacle::Held { by } => write!(f, "{by} is stacked on it (take {by} apart first)"),
            Obstacle::BacksLoop { device } => {
                write!(f, "{device} is a loop device over it (`losetup -d /dev/{device}` first)")
            }
            Obstacle::OpenedExclusively => f.write_str(
                "a program has it open exclusively (see `fuser -v`, also in other containers; stop it first)",
            ),
            Obstacle::ReadOnly => f.write_str("it is read-only"),
            Obstacle::Partitions { names } => write!(f, "it has partitions: {}", names.join(", ")),
            Obstacle::Holds { formats } => write!(f, "it holds data: {}", formats.join(", ")),
            Obstacle::ContentUnknown { why } => write!(f, "it is unknown what it holds: {why}"),
        }
    }
}
