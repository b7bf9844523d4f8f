//! Disks, parts of disks, and processes to record.

use std::fs;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use machine::{Root, device};

use super::cgroups;
use super::options::{MAX_DEVICES, MAX_FILTERS, Options};

/// A disk, or a part of it.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) device: trace::Device,
    /// Relative to the whole disk.
    pub(crate) sectors: Range<u64>,
    pub(crate) partition: Option<String>,
    /// Has no requests.
    pub(crate) bio_based: bool,
    diskseq: Option<u64>,
}

impl Target {
    pub(crate) fn all(root: &Root, words: &[String]) -> Result<Vec<Target>> {
        if words.is_empty() || words.len() > MAX_DEVICES {
            bail!(
                "devices: wrong number (found {}, expected 1 to {MAX_DEVICES}); name those to record",
                words.len()
            );
        }
        words.iter().map(|word| Target::new(root, word)).collect()
    }

    fn new(root: &Root, word: &str) -> Result<Target> {
        let extent = device::find_extent(root, word)?;
        let disk = &extent.disk;
        if disk.size_bytes == 0 {
            bail!("{}: has no medium (found 0 bytes); insert or attach one", disk.name);
        }
        let number = disk
            .number
            .split_once(':')
            .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        let (major, minor) = number
            .with_context(|| format!("{}: has no device number; is it still there?", disk.name))?;
        let block =
            |size: Option<u64>| size.and_then(|bytes| u32::try_from(bytes).ok()).unwrap_or(0);
        let rotational = disk.queue.get("rotational").map(|attribute| attribute.value == "1");
        Ok(Target {
            device: trace::Device {
                name: disk.name.clone(),
                major,
                minor,
                sectors: disk.size_bytes / 512,
                logical_block: block(disk.logical_block_size),
                physical_block: block(disk.physical_block_size),
                rotational,
                below: disk.slaves.clone(),
            },
            bio_based: !device::has_requests(root, &disk.name),
            diskseq: disk.diskseq,
            partition: extent.partition,
            sectors: extent.sectors,
        })
    }

    /// Numbers of the disk and its partitions, which events of bios name.
    pub(crate) fn numbers(&self, root: &Root) -> Vec<u64> {
        let dir = root.sys("block").join(&self.device.name);
        let number = |text: String| {
            let (major, minor) = text.trim().split_once(':')?;
            Some(major.parse::<u64>().ok()? << 20 | minor.parse::<u64>().ok()?)
        };
        let parts =
            root.names(&dir).into_iter().filter(|name| dir.join(name).join("partition").exists());
        let files = parts.map(|name| dir.join(name).join("dev")).chain([dir.join("dev")]);
        files.filter_map(|file| root.read_optional(file)).filter_map(number).collect()
    }

    pub(crate) fn scheduler_now(&self, root: &Root) -> Option<String> {
        let text =
            root.read_optional(root.sys("block").join(&self.device.name).join("queue/scheduler"))?;
        let (_, rest) = text.split_once('[')?;
        Some(rest.split_once(']')?.0.to_owned())
    }

    /// Whether the name still refers to the same disk.
    pub(crate) fn is_there(&self, root: &Root) -> bool {
        let dir = root.sys("block").join(&self.device.name);
        let read = |name: &str| root.read_optional(dir.join(name));
        let number = format!("{}:{}", self.device.major, self.device.minor);
        read("dev").as_deref() == Some(&number)
            && read("size").is_some_and(|size| size != "0")
            && read("diskseq").and_then(|text| text.parse().ok()) == self.diskseq
    }
}

/// If empty, everybody's requests are recorded.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    pub(crate) pids: Vec<u32>,
    /// Ids, with paths in the hierarchy.
    pub(crate) cgroups: Vec<(u64, String)>,
}

impl Filter {
    pub(crate) fn new(root: &Root, options: &Options) -> Result<Filter> {
        if options.pids.len() > MAX_FILTERS || options.cgroups.len() > MAX_FILTERS {
            bail!(
                "processes and control groups: too many (expected at most {MAX_FILTERS} of each); name a control group that \
                 contains them all"
            );
        }
        if !options.pids.is_empty() && !options.cgroups.is_empty() {
            bail!("processes and control groups: cannot be combined; name one kind");
        }
        if let Some(pid) = options.pids.iter().find(|pid| !root.proc(pid.to_string()).is_dir()) {
            bail!("process {pid}: not found; see `ps`");
        }
        let cgroups =
            options.cgroups.iter().map(|word| cgroup(root, word)).collect::<Result<_>>()?;
        Ok(Filter { pids: options.pids.clone(), cgroups })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pids.is_empty() && self.cgroups.is_empty()
    }

    pub(crate) fn words(&self) -> Vec<String> {
        let pids = self.pids.iter().map(|pid| format!("pid {pid}"));
        pids.chain(self.cgroups.iter().map(|(_, path)| format!("cgroup {path}"))).collect()
    }
}

/// Finds a group that the user names.
fn cgroup(root: &Root, word: &str) -> Result<(u64, String)> {
    let hierarchy = cgroups::hierarchy(root)?;
    let whole = fs::canonicalize(&hierarchy).unwrap_or(hierarchy);
    let path = Path::new(word);
    let named = if path.starts_with(&whole) {
        path.to_path_buf()
    } else {
        whole.join(word.trim_start_matches('/'))
    };
    let found = fs::canonicalize(&named)
        .with_context(|| format!("control group {word}: cannot be found at {}", named.display()))?;
    let Ok(below) = found.strip_prefix(&whole) else {
        bail!(
            "control group {word}: is not below {}; give its path in that hierarchy",
            whole.display()
        );
    };
    let meta = fs::metadata(&found)
        .with_context(|| format!("control group {word}: cannot be examined"))?;
    if !meta.is_dir() {
        bail!("control group {word}: is not a directory; give the directory of the group");
    }
    Ok((meta.ino(), format!("/{}", below.display())))
}
