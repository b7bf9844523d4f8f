//! Watches a device's settings during a trial.
//!
//! A check at the end misses reverted changes: a switch away and back to `none`, which leaves no
//! trace, or a temporary value. Polling every 20 ms detects longer ones. Udev and inotify do not
//! help, because the kernel does not announce these changes.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::Problem;
use super::applied::Applied;
use super::apply::activation;
use super::attribute::Directory;
use crate::device::{current_scheduler, queue_dir};
use crate::root::Root;

/// Polling 16 to 23 attributes takes 30 to 80 µs (Linux 6.18), less than 0.5 % of one CPU.
const PERIOD: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct Watch {
    stop: Sender<()>,
    thread: Option<JoinHandle<Vec<Problem>>>,
    looks: Arc<AtomicU64>,
}

impl Watch {
    /// Watches for deviations from `applied`, if set.
    pub(super) fn start(root: Root, device: String, applied: Option<Applied>) -> Watch {
        let (stop, stopped) = mpsc::channel();
        let looks = Arc::new(AtomicU64::new(0));
        let count = looks.clone();
        let thread = applied.map(|applied| {
            thread::spawn(move || {
                let mut view = View::of(root, device, applied);
                let mut seen = BTreeSet::new();
                let mut problems = Vec::new();
                loop {
                    problems.extend(
                        view.look().into_iter().filter(|problem| seen.insert(problem.to_string())),
                    );
                    count.fetch_add(1, Ordering::Release);
                    match stopped.recv_timeout(PERIOD) {
                        Err(RecvTimeoutError::Timeout) => {}
                        _ => return problems,
                    }
                }
            })
        });
        Watch { stop, thread, looks }
    }

    /// Number of completed polls. A change is detected before this has grown by two: the poll in
    /// progress may miss it, the next does not.
    pub fn looks(&self) -> u64 {
        self.looks.load(Ordering::Acquire)
    }

    /// Returns once it has polled the current values.
    #[cfg(test)]
    pub(super) fn wait_for_look(&self) {
        let before = self.looks();
        testbed::eventually("the watch has looked", || self.looks() >= before + 2);
    }

    /// Returns each distinct problem once.
    pub fn stop(mut self) -> Vec<Problem> {
        self.end()
    }

    fn end(&mut self) -> Vec<Problem> {
        let _ = self.stop.send(());
        let end = |thread: JoinHandle<Vec<Problem>>| {
            thread.join().expect("a look at a file does not panic")
        };
        self.thread.take().map(end).unwrap_or_default()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Files stay open, because opening costs more than reading; the kernel regenerates an attribute
/// read from its beginning.
struct View {
    root: Root,
    device: String,
    applied: Applied,
    attributes: Vec<Watched>,
    /// The maximum size in sysfs.
    buffer: [u8; 4096],
}

struct Watched {
    place: Directory,
    name: String,
    /// `None` if it could not be opened.
    file: Option<File>,
    value: String,
}

impl View {
    fn of(root: Root, device: String, applied: Applied) -> View {
        let watched = applied.snapshot.writes().map(|write| Watched {
            // The line of a device is searched for at each poll.
            file: Some(write.place)
                .filter(|place| *place != Directory::Device)
                .and_then(|place| File::open(place.path(&root, &device, &write.name)).ok()),
            place: write.place,
            name: write.name,
            value: write.value,
        });
        View { attributes: watched.collect(), root, device, applied, buffer: [0; 4096] }
    }

    /// A change of scheduler is reported alone, because it replaces the tunables, and checked last,
    /// so that attributes missing because of a switch are not reported.
    fn look(&mut self) -> Vec<Problem> {
        if !queue_dir(&self.root, &self.device).exists() {
            return vec![Problem::DeviceGone { device: self.device.clone() }];
        }
        let mut changed = Vec::new();
        for watched in &self.attributes {
            let found = match watched.place {
                Directory::Device => watched.place.read(&self.root, &self.device, &watched.name),
                _ => watched.file.as_ref().and_then(|file| read(file, &mut self.buffer)),
            };
            if !found
                .as_deref()
                .is_some_and(|found| watched.place.same(&watched.name, &watched.value, found))
            {
                changed.push(Problem::ChangedMeanwhile {
                    attribute: watched.name.clone(),
                    wanted: watched.value.clone(),
                    found: found.unwrap_or_else(unreadable),
                });
            }
        }
        self.scheduler_changed().map_or(changed, |problem| vec![problem])
    }

    fn scheduler_changed(&self) -> Option<Problem> {
        let wanted = &self.applied.snapshot.scheduler;
        let changed = |found: String| Problem::ChangedMeanwhile {
            attribute: "scheduler".to_string(),
            wanted: wanted.clone().unwrap_or_default(),
            found,
        };
        let found = current_scheduler(&self.root, &self.device);
        if found != *wanted {
            return Some(changed(found.unwrap_or_else(unreadable)));
        }
        let again = activation(&self.root, &self.device) != self.applied.activation;
        again.then(|| changed("switched away and back".to_string()))
    }
}

fn unreadable() -> String {
    "unreadable".to_string()
}

/// Uses a single read, as sysfs expects.
fn read(file: &File, buffer: &mut [u8]) -> Option<String> {
    let len = file.read_at(buffer, 0).ok()?;
    Some(String::from_utf8_lossy(&buffer[..len]).trim().to_string())
}
