//! A queue's scheduler according to sysfs, and why a device may have none.

use std::fmt;

use serde::Serialize;

use super::queue_dir;
use crate::root::Root;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoScheduler {
    /// The driver takes bios (zram, md, most of device-mapper); a device below may have a
    /// scheduler.
    BioBased,
    NoQueue,
}

impl fmt::Display for NoScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoScheduler::BioBased => {
                "its driver is bio-based and does not queue requests; choose the disk below it, if any"
            }
            NoScheduler::NoQueue => "the kernel shows no queue for it",
        })
    }
}

/// Since Linux 6.11 or so, a bio-based device has no `queue/scheduler`. Before, the file contains
/// `none`, while a device without an active scheduler shows `[none] mq-deadline …`.
pub(super) fn no_scheduler(root: &Root, name: &str) -> Option<NoScheduler> {
    if !queue_dir(root, name).exists() {
        return Some(NoScheduler::NoQueue);
    }
    current_scheduler(root, name).is_none().then_some(NoScheduler::BioBased)
}

/// The bracketed word.
pub(crate) fn current_scheduler(root: &Root, name: &str) -> Option<String> {
    let text = root.read_optional(queue_dir(root, name).join("scheduler"))?;
    bracketed(&text).map(str::to_string)
}

/// Empty if the device can have no scheduler.
pub(crate) fn offered_schedulers(root: &Root, name: &str) -> Vec<String> {
    let Some(text) = root.read_optional(queue_dir(root, name).join("scheduler")) else {
        return Vec::new();
    };
    if bracketed(&text).is_none() {
        return Vec::new();
    }
    text.split_whitespace().map(|word| word.trim_matches(['[', ']']).to_string()).collect()
}

fn bracketed(text: &str) -> Option<&str> {
    text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))
}
