//! Watches written values during a trial: a check at its end would miss a change reverted before.

use std::collections::BTreeSet;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::check::check;
use super::item::Write;
use crate::Root;
use crate::settings::Problem;

/// Time between checks. A check opens and reads each file, about 10 µs each: far below 0.1 % of one
/// CPU for the few files of a variant.
const PERIOD: Duration = Duration::from_millis(100);

/// A thread that checks the written values ten times a second.
#[derive(Debug)]
pub(crate) struct Watch {
    stop: Sender<()>,
    thread: Option<JoinHandle<()>>,
    seen: Arc<Mutex<Vec<Problem>>>,
}

impl Watch {
    /// `None` if there is nothing to watch.
    pub(crate) fn start(root: &Root, targets: &[Write]) -> Option<Watch> {
        if targets.is_empty() {
            return None;
        }
        let (stop, stopped) = mpsc::channel();
        let seen: Arc<Mutex<Vec<Problem>>> = Arc::default();
        let (root, targets, found) = (root.clone(), targets.to_vec(), seen.clone());
        let look = move || {
            let mut reported = BTreeSet::new();
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(PERIOD) {
                let problems = check(&root, &targets)
                    .into_iter()
                    .filter(|problem| reported.insert(problem.to_string()));
                found.lock().unwrap_or_else(PoisonError::into_inner).extend(problems);
            }
        };
        Some(Watch { stop, thread: Some(thread::spawn(look)), seen })
    }

    /// Each distinct problem seen so far.
    pub(crate) fn seen(&self) -> Vec<Problem> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.stop.send(());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
