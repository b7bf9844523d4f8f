//! Watching a device's settings during a trial.
//!
//! A check at the end does not see a change that was taken back: a switch away and back to `none`,
//! which has no tunables and so leaves no mark, or a tunable that was another for a while. A look
//! every 20 ms at everything that can be set sees any visit that lasts longer. Udev or inotify
//! would miss it: the kernel announces neither a change of scheduler nor one of an attribute.

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

/// The time between two looks: two orders of magnitude below a trial. A look at 16 to 23 attributes
/// takes 30 to 80 µs (Linux 6.18), below half a percent of one CPU.
const PERIOD: Duration = Duration::from_millis(20);

/// A thread that looks at the scheduler, its tunables and the queue's attributes every 20 ms.
#[derive(Debug)]
pub struct Watch {
    stop: Sender<()>,
    thread: Option<JoinHandle<Vec<Problem>>>,
    looks: Arc<AtomicU64>,
}

impl Watch {
    /// Starts watching for anything else than what was applied; without it there is nothing to
    /// compare with.
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

    /// Number of finished looks. A change that stays until this has grown by two was seen: the look
    /// that was under way may have passed it, the next one began after it.
    pub fn looks(&self) -> u64 {
        self.looks.load(Ordering::Acquire)
    }

    /// Waits until it has looked at what the device has now.
    #[cfg(test)]
    pub(super) fn wait_for_look(&self) {
        let before = self.looks();
        testbed::eventually("the watch has looked", || self.looks() >= before + 2);
    }

    /// Ends watching; gives each different thing that was seen once.
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

/// What is compared at each look. The files are opened once: opening costs more than reading, and
/// the kernel computes an attribute's text anew whenever it is read from its beginning.
struct View {
    root: Root,
    device: String,
    applied: Applied,
    attributes: Vec<Watched>,
    /// Attributes of sysfs are at most a page of 4 KiB.
    buffer: [u8; 4096],
}

struct Watched {
    place: Directory,
    name: String,
    /// None where it could not be opened.
    file: Option<File>,
    value: String,
}

impl View {
    fn of(root: Root, device: String, applied: Applied) -> View {
        let watched = applied.snapshot.writes().map(|write| Watched {
            // Of a file with a line for each device the line is looked for at each look.
            file: Some(write.place)
                .filter(|place| *place != Directory::Device)
                .and_then(|place| File::open(place.path(&root, &device, &write.name)).ok()),
            place: write.place,
            name: write.name,
            value: write.value,
        });
        View { attributes: watched.collect(), root, device, applied, buffer: [0; 4096] }
    }

    /// What differs now. A change of scheduler is reported alone, since it brings other tunables
    /// with it; it is looked for last, so that attributes missing because of a switch are not taken
    /// for changes of their own.
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

/// An attribute's text with a single read, which is how the kernel gives it.
fn read(file: &File, buffer: &mut [u8]) -> Option<String> {
    let len = file.read_at(buffer, 0).ok()?;
    Some(String::from_utf8_lossy(&buffer[..len]).trim().to_string())
}
