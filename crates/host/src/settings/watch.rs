//! Watching a device's settings during a trial.
//!
//! A check at the end does not see a switch away and back to `none`, which has no tunables and so leaves no mark; a look every
//! 20 ms sees any visit that lasts longer, and a visit costs the intruder two freezes of the queue. Udev or inotify would miss
//! it: the kernel announces no change of scheduler.

use std::collections::BTreeSet;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::Problem;
use super::apply::activation;
use super::guard::Applied;
use crate::device::{current_scheduler, queue_dir};
use crate::root::Root;

/// The time between two looks: two orders of magnitude below a trial, and a look takes some 20 µs.
const PERIOD: Duration = Duration::from_millis(20);

/// A thread that looks at the scheduler every 20 ms.
#[derive(Debug)]
pub struct Watch {
    stop: Sender<()>,
    thread: Option<JoinHandle<Vec<Problem>>>,
}

impl Watch {
    /// Starts watching for anything else than what was applied; without it there is nothing to compare with.
    pub(super) fn start(root: Root, device: String, applied: Option<Applied>) -> Watch {
        let (stop, stopped) = mpsc::channel();
        let thread = applied.map(|applied| {
            thread::spawn(move || {
                let mut seen = BTreeSet::new();
                let mut problems = Vec::new();
                loop {
                    if let Some(problem) = look(&root, &device, &applied).filter(|p| seen.insert(p.to_string())) {
                        problems.push(problem);
                    }
                    match stopped.recv_timeout(PERIOD) {
                        Err(RecvTimeoutError::Timeout) => {}
                        _ => return problems,
                    }
                }
            })
        });
        Watch { stop, thread }
    }

    /// Ends watching; gives each different thing that was seen once.
    pub fn stop(mut self) -> Vec<Problem> {
        self.end()
    }

    fn end(&mut self) -> Vec<Problem> {
        let _ = self.stop.send(());
        let end = |thread: JoinHandle<Vec<Problem>>| thread.join().expect("a look at a file does not panic");
        self.thread.take().map(end).unwrap_or_default()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

fn look(root: &Root, device: &str, applied: &Applied) -> Option<Problem> {
    if !queue_dir(root, device).exists() {
        return Some(Problem::DeviceGone { device: device.to_string() });
    }
    let found = current_scheduler(root, device);
    let changed = |found: String| Problem::ChangedMeanwhile {
        attribute: "scheduler".to_string(),
        wanted: applied.snapshot.scheduler.clone().unwrap_or_default(),
        found,
    };
    if found != applied.snapshot.scheduler {
        return Some(changed(found.unwrap_or_else(|| "unreadable".to_string())));
    }
    (activation(root, device) != applied.activation).then(|| changed("switched away and back".to_string()))
}
