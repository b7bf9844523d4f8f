//! A tracefs instance for one trace.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use machine::{Error, Root, TracingInstance};
use rustix::fs::{Mode, OFlags, open};

use super::page::Layout;

/// In bytes, and of one CPU.
const ALL_BUFFERS: u64 = 256 << 20;
const BUFFER: u64 = 16 << 20;
/// Of a read; fits larger pages too.
const PAGE: usize = 64 << 10;
/// Pages read from a CPU at once.
const MAX_PAGES: usize = 4096;

pub(super) struct Instance {
    made: TracingInstance,
    dir: PathBuf,
    pipes: Vec<File>,
    on: File,
    page: Vec<u8>,
}

impl Instance {
    pub(super) fn new(root: &Root) -> Result<Instance> {
        let made = TracingInstance::create(root).map_err(|error| match error {
            Error::NoTracefs => anyhow::Error::new(error),
            error => {
                anyhow::Error::new(error).context("tracefs: cannot create an instance; run as root")
            }
        })?;
        let dir = made.path();
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
        // A full buffer keeps the oldest events, and lost ones are counted.
        put(&dir.join("options/overwrite"), "0")?;
        let open_pipe = |path: &PathBuf| -> Result<File> {
            let fd = open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty());
            Ok(File::from(fd.with_context(|| path.display().to_string())?))
        };
        let pipes = cpus.iter().map(open_pipe).collect::<Result<_>>()?;
        let on = File::options()
            .write(true)
            .open(dir.join("tracing_on"))
            .context("tracefs: cannot be switched")?;
        Ok(Instance { made, dir, pipes, on, page: vec![0; PAGE] })
    }

    pub(super) fn removes_in(&self) -> Vec<PathBuf> {
        self.made.removes_in()
    }

    /// Returns the event's layout; `None` if the kernel has no such event.
    pub(super) fn enable(&self, event: &str, filter: &str) -> Result<Option<Layout>> {
        let dir = self.dir.join("events").join(event);
        if !dir.is_dir() {
            return Ok(None);
        }
        let text =
            fs::read_to_string(dir.join("format")).with_context(|| format!("tracefs: {event}"))?;
        if !filter.is_empty() {
            put(&dir.join("filter"), filter)?;
        }
        put(&dir.join("enable"), "1")?;
        Ok(Some(Layout::parse(&text)?))
    }

    pub(super) fn switch(&mut self, on: bool) -> Result<()> {
        self.on.write_all(if on { b"1" } else { b"0" }).context("tracefs: cannot be switched")
    }

    /// Passes on all pages available now.
    pub(super) fn pages(&mut self, each: &mut dyn FnMut(&[u8])) -> Result<()> {
        for pipe in &mut self.pipes {
            for _ in 0..MAX_PAGES {
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
            let count = |key: &str| {
                text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok())
            };
            count("overrun:").unwrap_or(0) + count("dropped events:").unwrap_or(0)
        };
        fs::read_dir(self.dir.join("per_cpu")).into_iter().flatten().flatten().map(of).sum()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.switch(false);
        // Open buffers prevent the removal of an instance.
        self.pipes.clear();
        if let Ok(null) = File::open("/dev/null") {
            self.on = null;
        }
    }
}

fn put(path: &Path, value: &str) -> Result<()> {
    fs::write(path, value)
        .with_context(|| format!("tracefs: {} cannot be set to {value}", path.display()))
}
