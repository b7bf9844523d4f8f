//! `run`: one experiment in the simulator, from a plan to its results file.
//!
//! The work runs in its own thread while this one, without the GIL, polls for signals and reports
//! progress. Ctrl-C ends an experiment, and other Python threads continue.

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use lab::arena::open::OpenOptions;
use lab::console::Console;
use lab::failure::usage;
use lab::output::Output;
use lab::progress::{Progress, Step};
use lab::resolve::Resolved;
use lab::run::{Destination, Experiment, Kept, Pilot, Place};
use lab::session::ResultsOptions;
use lab::signals::Stop;
use lab::{feasibility, store};
use machine::Root;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::elevator::calls;
use crate::error::{of, of_panic};
use crate::plan::{plan as parsed, resolve};
use crate::results::Results;

/// Polling interval for signals and progress.
const TICK: Duration = Duration::from_millis(50);
/// How long a scheduler's method may run after a signal.
const GRACE: Duration = Duration::from_secs(1);

/// Runs a plan of the sim arena. `watch` receives the progress several times a second and at the
/// end.
#[pyfunction]
#[pyo3(signature = (plan, *, workers=None, out=None, command=None, watch=None))]
pub(crate) fn run(
    py: Python<'_>,
    plan: &str,
    workers: Option<usize>,
    out: Option<PathBuf>,
    command: Option<String>,
    watch: Option<Py<PyAny>>,
) -> PyResult<Results> {
    let plan = parsed(plan)?;
    if !plan.arena.is_in_process() {
        let text = format!(
            "plan: its arena is {}, which the program measures (expected sim)",
            plan.arena.name
        );
        return Err(of(usage(text)));
    }
    let asked = Asked {
        trial: plan.trial.clone(),
        workers,
        out,
        command: command.unwrap_or_else(|| COMMAND.to_owned()),
    };
    let (resolved, notes) = resolve(plan)?;
    let (stop, seen) =
        (Stop::manual(), Arc::new(Watched { messages: Mutex::new(notes), ..Watched::default() }));
    let (asked_to_end, reports) = (stop.clone(), Arc::clone(&seen));
    let work = move || {
        let began = Instant::now();
        measured(resolved, &asked, &asked_to_end, &reports)
            .map(|results| (results, began.elapsed()))
    };
    let (results, took) =
        attended(py, &stop, &mut || seen.show(py, watch.as_ref()), work)?.map_err(of)?;
    let messages =
        std::mem::take(&mut *seen.messages.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(results.measured(messages, took))
}

/// The command that repeats an experiment whose plan was saved.
const COMMAND: &str = "schedlab run plan.toml";

struct Asked {
    trial: experiment::plan::TrialLength,
    workers: Option<usize>,
    out: Option<PathBuf>,
    command: String,
}

/// Runs `work` in another thread without the GIL and calls `look` every [`TICK`]. An exception from
/// `look` or a signal handler stops the work and is raised when it ends. After [`GRACE`] the
/// methods of schedulers are interrupted. If that has no effect for another [`GRACE`], the thread
/// is abandoned and ends with its method.
pub(crate) fn attended<T: Send + 'static>(
    py: Python<'_>,
    stop: &Stop,
    look: &mut (dyn FnMut() -> PyResult<()> + '_),
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = mpsc::channel();
    let receiver = Mutex::new(receiver);
    let working = thread::spawn(move || {
        let found = catch_unwind(AssertUnwindSafe(work));
        // The receiver is gone if this thread was abandoned.
        let _ = sender.send(found);
    });
    let mut raised: Option<(PyErr, Instant)> = None;
    let found = loop {
        let wait = || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(TICK);
        if let Ok(found) = py.detach(wait) {
            break found;
        }
        match raised.take() {
            Some((error, since)) => {
                let is_late = since.elapsed() >= GRACE && calls::interrupt(py)?;
                if is_late && since.elapsed() >= 2 * GRACE {
                    return Err(error);
                }
                raised = Some((error, since));
            }
            None => {
                raised = py
                    .check_signals()
                    .and_then(|()| look())
                    .err()
                    .map(|error| (error, Instant::now()));
                if raised.is_some() {
                    stop.ask();
                }
            }
        }
    };
    py.detach(|| working.join()).expect("the work may panic, the thread does not");
    match (raised, found) {
        (Some((raised, _)), _) => Err(raised),
        (None, Err(panic)) => Err(of_panic(panic.as_ref())),
        // Final reports, even if the work took less than a tick.
        (None, Ok(found)) => look().map(|()| found),
    }
}

fn measured(
    resolved: Resolved,
    asked: &Asked,
    stop: &Stop,
    seen: &Watched,
) -> anyhow::Result<Results> {
    feasibility::check(&resolved.plan)?;
    store::check_free(asked.out.as_deref())?;
    let opening = OpenOptions {
        threads: asked.workers.and_then(NonZeroUsize::new),
        ..OpenOptions::default()
    };
    let results = match &asked.out {
        None => Destination::Memory { command: &asked.command },
        Some(out) => Destination::Directory(ResultsOptions {
            output: Output::Named(out.clone()),
            resume: false,
            command: asked.command.clone(),
        }),
    };
    let place = Place::New { resolved, root: &Root::real(), opening: &opening };
    let pilot = Pilot::Run { asked: &asked.trial };
    let outcome =
        lab::run::run(Experiment { place, pilot, results, hooks: &() }, Console::new(stop, seen))?;
    match outcome.kept {
        Kept::Memory(bytes) => Results::of_bytes(bytes),
        Kept::Directory(out) => {
            let results = Results::read(&out)?;
            results.compared(None).write(&out)?;
            Ok(results)
        }
        Kept::Log => unreachable!("the results go into memory or a directory"),
    }
}

#[derive(Debug, Default)]
pub(crate) struct Watched {
    latest: Mutex<Option<Shown>>,
    pub(crate) messages: Mutex<Vec<String>>,
}

/// A [`Step`], or a phase before the first one.
#[derive(Debug, Clone)]
struct Shown {
    share: f64,
    elapsed: Duration,
    simulated: bool,
    left: Option<Duration>,
    workload: String,
    variant: String,
    round: u32,
    standing: String,
}

impl Watched {
    /// Calls `watch` with the latest step if it is new.
    pub(crate) fn show(&self, py: Python<'_>, watch: Option<&Py<PyAny>>) -> PyResult<()> {
        let Some(watch) = watch else { return Ok(()) };
        let Some(shown) = self.latest.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return Ok(());
        };
        let step = PyDict::new(py);
        step.set_item("share", shown.share)?;
        step.set_item("elapsed_s", shown.elapsed.as_secs_f64())?;
        step.set_item("simulated", shown.simulated)?;
        step.set_item("left_s", shown.left.map(|left| left.as_secs_f64()))?;
        step.set_item("workload", shown.workload)?;
        step.set_item("variant", shown.variant)?;
        step.set_item("round", shown.round)?;
        step.set_item("standing", shown.standing)?;
        watch.call1(py, (step,)).map(drop)
    }

    fn add(&self, text: &str) {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
    }
}

impl Progress for Watched {
    fn trial(&self, step: &Step<'_>) {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(Shown {
            share: step.share,
            elapsed: step.elapsed,
            simulated: step.simulated,
            left: step.left,
            workload: step.workload.to_owned(),
            variant: step.variant.to_owned(),
            round: step.round,
            standing: step.standing.to_owned(),
        });
    }

    fn prepare(&self, _what: &str, _done: u64, _total: u64) {}

    fn phase(&self, _what: &str) {}

    fn say(&self, text: &str) {
        self.add(text);
    }

    fn remark(&self, text: &str) {
        self.add(text);
    }

    fn clear(&self) {}
}
