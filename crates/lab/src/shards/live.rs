//! An experiment, or a search, whose trials arrive while it compares them.

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

/// How far an experiment is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveStatus {
    /// The share that is compared, 0 to 1: of the whole plan, which may end earlier.
    pub share: f64,
    /// What is asked for now.
    pub workload: String,
    pub variant: String,
    pub round: u32,
    /// What is known so far: verdicts, and the leading effect; may be empty.
    pub standing: String,
    /// Messages for the user since the last call.
    pub messages: Vec<String>,
}

/// Takes down what the experiment reports.
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

/// Work over an arena, in a thread of its own, whose trials are measured elsewhere: [`Live::take`]
/// what it wants, measure it anywhere, and [`Live::put`] what came of it. Units are wanted in any
/// number and any order may be put; what they lead to is what one machine finds.
#[derive(Debug)]
pub struct Live<T> {
    desk: Arc<Desk>,
    reported: Arc<Reported>,
    thread: Option<JoinHandle<Result<T>>>,
}

impl Live<PathBuf> {
    /// An experiment, whose results file grows in the directory that `options` name; the result is
    /// that directory.
    ///
    /// # Errors
    /// The thread cannot be started.
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
    /// Begins `work` over the arena of a prepared plan.
    ///
    /// # Errors
    /// The thread cannot be started.
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

    /// Up to this number of trials that are wanted and not out: first those that will be asked for
    /// next, then, cycle by cycle, those that will be unless a verdict is reached before. Empty
    /// where nothing is wanted now.
    pub fn take(&self, most: usize) -> Vec<Unit> {
        self.desk.take(most)
    }

    /// Takes in a segment, whatever of it was asked for; `name` is what errors call it.
    ///
    /// # Errors
    /// It is damaged, of another plan, or disagrees with what was put before.
    pub fn put(&self, name: &str, segment: Vec<u8>) -> Result<()> {
        self.desk.put(name, segment)
    }

    /// Wants units again that nobody will put: their worker was lost. What was put of them stays.
    pub fn give_back(&self, units: &[Unit]) {
        self.desk.give_back(units);
    }

    /// Waits until something is wanted or the work is done, at most for this time; whether it is
    /// so.
    pub fn wait(&self, most: Duration) -> bool {
        self.desk.wait(most)
    }

    /// Whether the work is done: what is out now is not needed.
    pub fn is_done(&self) -> bool {
        self.desk.has_ended()
    }

    /// How far it is.
    pub fn status(&self) -> LiveStatus {
        let mut status = self.reported.0.lock().unwrap_or_else(PoisonError::into_inner);
        let messages = std::mem::take(&mut status.messages);
        LiveStatus { messages, ..status.clone() }
    }

    /// The result, when the work is done; what is wanted and never put ends it with an error.
    ///
    /// # Errors
    /// Those of the work.
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
            // Its error is that it was abandoned.
            let _ = thread.join();
        }
    }
}

/// Says that the thread has ended, also by a panic.
struct Ended(Arc<Desk>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.end();
    }
}
