//! A fleet in a directory, possibly shared over a network.
//!
//! A file is written under a name unique to the process and machine, flushed and renamed;
//! concurrent writers of one result write the same bytes. As root, a directory that another user
//! controls is rejected. A writer may replace a result by a link or pipe at any time, so links are
//! not followed and pipes do not block.

use std::fs::File;
use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use machine::files::{Bounded, Dir, RealFiles, replace};
use rustix::fs::{Mode, OFlags};
use text::limits::FLEET_BYTES;

use crate::entry::{Entry, Listing, Pushed, RESULTS, file_of, is_whole};

#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    dir: Option<Dir>,
}

fn open(path: &Path) -> io::Result<File> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok(file)
}

impl Directory {
    pub(crate) fn open(path: &Path) -> Result<Directory> {
        let results = path.join(RESULTS);
        if !results.is_dir() {
            bail!(
                "{}: not a fleet (expected a directory `{RESULTS}` in it); push a results file first: schedlab fleet push RESULTS \
                 --fleet {0}",
                path.display()
            );
        }
        Ok(Directory { path: results, dir: None })
    }

    pub(crate) fn make(path: &Path) -> Result<Directory> {
        let dir = Dir::make(path)?.subdir(RESULTS)?;
        Ok(Directory { path: path.join(RESULTS), dir: Some(dir) })
    }

    pub(crate) fn list(&self) -> Result<Listing> {
        let unreadable = || format!("{}: cannot be listed", self.path.display());
        let mut listing = Listing::default();
        for entry in std::fs::read_dir(&self.path).with_context(unreadable)? {
            let entry = entry.with_context(unreadable)?;
            let name = entry.file_name();
            // Files being written begin with a dot.
            let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
            let size =
                entry.metadata().ok().filter(std::fs::Metadata::is_file).map(|found| found.len());
            match size.and_then(|size| Entry::of(name, size)) {
                Some(entry) => listing.entries.push(entry),
                None => listing.foreign_files += 1,
            }
        }
        Ok(listing)
    }

    pub(crate) fn read<T: Send>(
        &self,
        entries: &[Entry],
        each: impl Fn(&Entry, Result<Bytes>) -> T + Sync,
    ) -> Vec<T> {
        let threads =
            thread::available_parallelism().map_or(1, NonZero::get).min(entries.len()).max(1);
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::with_capacity(entries.len()));
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let mut mine = Vec::new();
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(entry) = entries.get(at) else { break };
                        mine.push((at, each(entry, self.bytes_of(entry))));
                    }
                    done.lock()
                        .expect("no thread panics while it holds the lock")
                        .append(&mut mine);
                });
            }
        });
        let mut done = done.into_inner().expect("all threads have ended");
        done.sort_by_key(|(at, _)| *at);
        done.into_iter().map(|(_, made)| made).collect()
    }

    fn bytes_of(&self, entry: &Entry) -> Result<Bytes> {
        let path = self.path.join(file_of(&entry.name));
        let read = || FLEET_BYTES.read(open(&path)?);
        Ok(Bytes::from(read().with_context(|| format!("{}: cannot be read", path.display()))?))
    }

    pub(crate) fn put(&self, name: &str, bytes: &Bytes) -> Result<Pushed> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let dir = self.dir.as_ref().context("fleet: was opened for reading")?;
        let file = file_of(name);
        let there = if dir.has(&file) {
            Some(self.bytes_of(&Entry { name: name.to_owned(), bytes: 0 }))
        } else {
            None
        };
        let pushed = match there {
            None => Pushed::New,
            Some(Ok(found)) if found == bytes || is_whole(name, found.clone()) => {
                return Ok(Pushed::There);
            }
            Some(_) => Pushed::Repaired,
        };
        // Process IDs of several machines may be equal.
        let host = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let unfinished = format!(
            ".{}-{}-{}-{number}",
            &name[..12.min(name.len())],
            host.trim(),
            std::process::id()
        );
        replace(&RealFiles, dir, &file, &unfinished, bytes, None).with_context(|| {
            format!(
                "{}: cannot be written (free some space, or check the permissions)",
                self.path.join(&file).display()
            )
        })?;
        Ok(pushed)
    }
}
