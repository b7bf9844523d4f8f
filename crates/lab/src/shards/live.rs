//! An experiment or a search that compares trials as they arrive.

use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Result;

use super::remote::{Desk, RemoteArena};
use super::{Prepared, Unit};
use crate::arena::Arena;
use crate::console::Console;
use crate::progress::{Progress, Step};
use crate::run::{Destination, Experiment, Pilot, Place, run};
use crate::session::ResultsOptions;
use crate::signals::Stop;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveStatus {
    /// Compared share of the plan, 0 to 1; verdicts may end it earlier.
    pub share: f64,
    pub workload: String,
    pub variant: String,
    pub round: u32,
    /// Findings so far: verdicts and the leading effect; may be empty.
    pub standing: String,
    /// New messages since the last call.
    pub messages: Vec<String>,
}

#[derive(Debug, Default)]
struct Reported(Mutex<LiveStatus>);

impl Progress for Reported {
    fn trial(&self, step: &Step<'_>) {
        let mut status = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        status.share = step.share;
        step.workload.clone_into(&mut status.workload);
        step.variant.clone_into(&mut status.variant);
        status.round = step.round;
        step.standing.clone_into(&mut status.standing);
    }

    fn prepare(&self, _: &str, _: u64, _: u64) {}

    fn phase(&self, _: &str) {}

    fn say(&self, text: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).messages.push(text.to_owned());
    }

    fn remark(&self, text: &str) {
        self.say(text);
    }

    fn clear(&self) {}
}

/// Work over an arena in its own thread, with trials measured elsewhere: [`Live::take`] units,
/// measure them in any order, and [`Live::put`] the segments. The result equals that of one
/// machine.
#[derive(Debug)]
pub struct Live<T> {
    desk: Arc<Desk>,
    reported: Arc<Reported>,
    thread: Option<JoinHandle<Result<T>>>,
}

impl Live<PathBuf> {
    /// The result is the directory of `options`.
    pub fn experiment(prepared: Prepared, options: ResultsOptions, stop: Stop) -> Result<Self> {
        let begun = prepared.clone();
        Live::spawn(prepared, stop, move |arena, console| {
            let experiment = Experiment {
                place: Place::Open { plan: begun.plan().clone(), arena },
                pilot: Pilot::Done(begun.notes().to_vec()),
                results: Destination::Directory(options),
                hooks: &(),
            };
            Ok(run(experiment, console)?.kept.directory())
        })
    }
}

impl<T: Send + 'static> Live<T> {
    pub fn spawn(
        prepared: Prepared,
        stop: Stop,
        work: impl FnOnce(&mut dyn Arena, Console<'_>) -> Result<T> + Send + 'static,
    ) -> Result<Live<T>> {
        let (desk, reported) = (Arc::new(Desk::of(prepared)), Arc::new(Reported::default()));
        let (theirs, shown) = (Arc::clone(&desk), Arc::clone(&reported));
        let run = move || {
            let ends = Ended(Arc::clone(&theirs));
            let mut arena = RemoteArena::of(theirs, stop.clone());
            let done = work(&mut arena, Console::new(&stop, &*shown));
            drop(ends);
            done
        };
        let thread = std::thread::Builder::new().name("experiment".to_owned()).spawn(run)?;
        Ok(Live { desk, reported, thread: Some(thread) })
    }

    /// Up to `most` trials that are needed and not yet taken: those needed next, then those needed
    /// unless a verdict is reached before. May be empty for now.
    pub fn take(&self, most: usize) -> Vec<Unit> {
        self.desk.take(most)
    }

    /// Accepts a segment, including trials that were not taken. `name` identifies it in errors.
    ///
    /// # Errors
    /// It is damaged, belongs to another plan, or contradicts earlier segments.
    pub fn put(&self, name: &str, segment: Vec<u8>) -> Result<()> {
        self.desk.put(name, segment)
    }

    /// Returns units whose worker was lost. Trials already put remain valid.
    pub fn give_back(&self, units: &[Unit]) {
        self.desk.give_back(units);
    }

    /// Waits at most this long until a trial is needed or the work is done; returns whether one is
    /// the case.
    pub fn wait(&self, most: Duration) -> bool {
        self.desk.wait(most)
    }

    /// Whether the work is done and outstanding units are no longer needed.
    pub fn is_done(&self) -> bool {
        self.desk.has_ended()
    }

    pub fn status(&self) -> LiveStatus {
        let mut status = self.reported.0.lock().unwrap_or_else(PoisonError::into_inner);
        let messages = std::mem::take(&mut status.messages);
        LiveStatus { messages, ..status.clone() }
    }

    /// The result of the finished work. Fails if trials are still needed.
    pub fn finish(mut self) -> Result<T> {
        self.desk.abandon();
        match self.thread.take().expect("it is taken here only").join() {
            Ok(done) => done,
            Err(panic) => resume_unwind(panic),
        }
    }
}

impl<T> Drop for Live<T> {
    fn drop(&mut self) {
        self.desk.abandon();
        if let Some(thread) = self.thread.take() {
            // The only error is that it was abandoned.
            let _ = thread.join();
        }
    }
}

/// Marks the thread as ended on drop, also after a panic.
struct Ended(Arc<Desk>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.end();
    }
}
