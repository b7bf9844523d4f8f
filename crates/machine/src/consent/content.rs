//! A device's contents: partitions, signatures, or a sample of its blocks.

use std::fs::File;
use std::ops::ControlFlow;
use std::time::Duration;

use super::sample::Sample;
use crate::device::{self, Device, Signature};
use crate::error::Content;
use crate::error::Error;
use crate::root::Root;
use rustix::fs::{Advice, fadvise};

/// About 512 random reads on a disk.
const ROTATIONAL_LIMIT: Duration = Duration::from_secs(5);
const FLASH_LIMIT: Duration = Duration::from_millis(500);

/// Never empty.
pub(super) fn find(
    root: &Root,
    device: &Device,
    opened: &File,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Vec<Content>, Error> {
    let mut found = Vec::new();
    let partitions = device::usage_now(root, &device.name).partitions;
    if !partitions.is_empty() {
        found.push(Content::Partitions { names: partitions });
    }
    let signature = device::signature_now(root, &device.name);
    if let Signature::Found { formats } = signature {
        found.push(Content::Signatures { formats });
        return Ok(found);
    }
    let is_rotational =
        device.queue.get("rotational").is_some_and(|rotational| rotational.value == "1");
    let limit = if is_rotational { ROTATIONAL_LIMIT } else { FLASH_LIMIT };
    let sample = Sample::read(opened, device.size_bytes, limit, progress);
    // Keeps the sample out of the page cache.
    let _ = fadvise(opened, 0, None, Advice::DontNeed);
    let path = || device.path.display().to_string();
    let sample = sample
        .ok_or_else(|| Error::Interrupted { doing: format!("looking for data on {}", path()) })?;
    match (signature, &sample.unreadable) {
        // blkid failed for a reason other than the device.
        (Signature::Unknown { why }, None) => {
            return Err(Error::ContentUnknown { device: path(), why });
        }
        (_, Some((offset, why))) => {
            found.push(Content::Unreadable { offset: *offset, why: why.clone() })
        }
        (_, None) => {}
    }
    match sample.first_data {
        Some(offset) => found.push(Content::Data { offset }),
        None if sample.read_bytes == 0 => {}
        None => found.push(Content::NoDataFound {
            read_bytes: sample.read_bytes,
            is_whole: sample.is_whole,
        }),
    }
    Ok(found)
}
