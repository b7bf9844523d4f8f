//! An instance of tracefs for one recording: its own buffers, events and filters, beside those of other users.
//!
//! It is removed at the end. After a crash the next recording removes it: its name says which process it belongs to.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, bail};
use host::Root;
use rustix::fs::{Mode, OFlags, open};

use super::page::Layout;

const NAME: &str = "schedlab-record-";
/// Recordings of this process so far.
static NUMBER: AtomicU32 = AtomicU32::new(0);
/// Bytes of all buffers together, and of one CPU's at most.
const ALL_BUFFERS: u64 = 256 << 20;
const BUFFER: u64 = 16 << 20;
/// A page of a buffer is read at a time; on machines with larger pages it is as large as one of those.
const PAGE: usize = 64 << 10;
/// Pages that are read from a CPU at once.
const MOST_PAGES: usize = 4096;

pub(super) struct Instance {
    dir: PathBuf,
    pub(super) instances: PathBuf,
    pipes: Vec<File>,
    on: File,
    page: Vec<u8>,
}

impl Instance {
    /// Makes an instance, and removes those whose processes have died.
    pub(super) fn new(root: &Root) -> Result<Instance> {
        let places = [root.sys("kernel/tracing"), root.sys("kernel/debug/tracing")];
        let Some(tracing) = places.iter().find(|place| place.join("instances").is_dir()) else {
            bail!(
                "tracefs: is not mounted at /sys/kernel/tracing, or this user may not enter it; as root: mount -t tracefs none /sys/kernel/tracing"
            );
        };
        let instances = tracing.join("instances");
        remove_abandoned(root, &instances);
        let pid = std::process::id();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let dir = instances.join(format!("{NAME}{pid}-{}-{number}", began(root, pid).unwrap_or(0)));
        fs::create_dir(&dir).with_context(|| format!("tracefs: {} cannot be made; this takes root", dir.display()))?;
        let made = Instance::within(dir.clone(), instances);
        if made.is_err() {
            let _ = fs::remove_dir(&dir);
        }
        made
    }

    fn within(dir: PathBuf, instances: PathBuf) -> Result<Instance> {
        put(&dir.join("tracing_on"), "0")?;
        put(&dir.join("trace_clock"), "mono")?;
        let mut cpus: Vec<PathBuf> = fs::read_dir(dir.join("per_cpu"))
            .context("tracefs: has no buffers")?
            .flatten()
            .map(|entry| entry.path().join("trace_pipe_raw"))
            .collect();
        cpus.sort();
        let each = (ALL_BUFFERS / cpus.len().max(1) as u64).min(BUFFER) / 1024;
        put(&dir.join("buffer_size_kb"), &each.to_string())?;
        // The oldest events stay when a buffer is full, and those that do not fit are counted.
        put(&dir.join("options/overwrite"), "0")?;
        let open_pipe = |path: &PathBuf| -> Result<File> {
            let fd = open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty());
            Ok(File::from(fd.with_context(|| path.display().to_string())?))
        };
        let pipes = cpus.iter().map(open_pipe).collect::<Result<_>>()?;
        let on = File::options().write(true).open(dir.join("tracing_on")).context("tracefs: cannot be switched")?;
        Ok(Instance { dir, instances, pipes, on, page: vec![0; PAGE] })
    }

    /// Enables an event for which a filter holds. Returns its layout; none if the kernel has no such event.
    pub(super) fn enable(&self, event: &str, filter: &str) -> Result<Option<Layout>> {
        let dir = self.dir.join("events").join(event);
        if !dir.is_dir() {
            return Ok(None);
        }
        let text = fs::read_to_string(dir.join("format")).with_context(|| format!("tracefs: {event}"))?;
        if !filter.is_empty() {
            put(&dir.join("filter"), filter)?;
        }
        put(&dir.join("enable"), "1")?;
        Ok(Some(Layout::parse(&text)?))
    }

    pub(super) fn switch(&mut self, on: bool) -> Result<()> {
        self.on.write_all(if on { b"1" } else { b"0" }).context("tracefs: cannot be switched")
    }

    /// Calls `each` with the pages of all CPUs that there are now.
    pub(super) fn pages(&mut self, each: &mut dyn FnMut(&[u8])) -> Result<()> {
        for pipe in &mut self.pipes {
            for _ in 0..MOST_PAGES {
                match pipe.read(&mut self.page) {
                    Ok(0) => break,
                    Ok(bytes) => each(&self.page[..bytes]),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(error).context("tracefs: events cannot be read"),
                }
            }
        }
        Ok(())
    }

    /// Events that did not fit into the buffers.
    pub(super) fn dropped(&self) -> u64 {
        let of = |cpu: fs::DirEntry| {
            let text = fs::read_to_string(cpu.path().join("stats")).unwrap_or_default();
            let count = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok());
            count("overrun:").unwrap_or(0) + count("dropped events:").unwrap_or(0)
        };
        fs::read_dir(self.dir.join("per_cpu")).into_iter().flatten().flatten().map(of).sum()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.switch(false);
        // An instance cannot be removed while a buffer is open.
        self.pipes.clear();
        if let Ok(null) = File::open("/dev/null") {
            self.on = null;
        }
        let _ = fs::remove_dir(&self.dir);
    }
}

fn put(path: &Path, value: &str) -> Result<()> {
    fs::write(path, value).with_context(|| format!("tracefs: {} cannot be set to {value}", path.display()))
}

/// When a process began, in ticks after boot.
fn began(root: &Root, pid: u32) -> Option<u64> {
    ticks(&root.read_optional(root.proc(format!("{pid}/stat")))?)
}

/// The 22nd field of /proc/PID/stat; the second is a name in brackets that may have brackets itself.
pub(super) fn ticks(stat: &str) -> Option<u64> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

fn remove_abandoned(root: &Root, instances: &Path) {
    for entry in fs::read_dir(instances).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some((pid, ticks)) = name.strip_prefix(NAME).and_then(|rest| rest.split_once('-')) else { continue };
        let ticks = ticks.split('-').next().unwrap_or(ticks);
        let (Ok(pid), Ok(ticks)) = (pid.parse::<u32>(), ticks.parse::<u64>()) else { continue };
        if began(root, pid) != Some(ticks) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_move_the_fields() {
        let fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        assert_eq!(ticks(&format!("7 (a) R (b)) {}", fields.join(" "))), Some(22));
    }
}
