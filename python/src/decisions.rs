//! Scheduling as a learning problem: a simulated trial that stops at each decision of the
//! scheduler.
//!
//! A learner steps the environment, but the simulator runs a trial to its end and calls the
//! scheduler. The trial therefore runs in its own thread, whose scheduler sends its requests
//! through a channel and waits for the answer. Equal plans and answers give equal observations.
//!
//! A *candidate* is one of the oldest held requests; a decision is the number of a candidate, or to
//! wait until the next request or for a fixed time at most.

use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use experiment::results::Observation;
use lab::arena::sim::{SimArena, own};
use lab::arena::under_test::UnderTest;
use lab::arena::{TrialSpec, VariantIndex};
use lab::resolve::Resolved;
use lab::signals::Stop;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sim::Unobserved;

use crate::agent::{Asked, FEATURES, Question, ROW, ask_next};
use crate::error::{ExperimentError, of, of_panic, usage};
use crate::plan::{plan as parsed, resolve};
use crate::run::attended;

const MOST_CANDIDATES: usize = 256;

/// A trial whose scheduler requests decisions.
#[pyclass(frozen, module = "schedlab._schedlab")]
pub(crate) struct Decisions {
    spec: TrialSpec,
    candidates: usize,
    wait_ns: u64,
    sectors: u64,
    episode: Mutex<Episode>,
}

enum Episode {
    Idle(Box<SimArena>),
    Running(Running),
    /// A thread panicked with it.
    Lost,
}

struct Running {
    stop: Stop,
    questions: Receiver<Question>,
    answers: Sender<Option<usize>>,
    thread: JoinHandle<(Box<SimArena>, anyhow::Result<Observation>)>,
}

/// A decision to make: time in nanoseconds, observation, number of candidates, completed bytes, and
/// the integral of open requests in request-seconds.
type State<'py> = (u64, Bound<'py, PyBytes>, usize, u64, f64);

#[pymethods]
impl Decisions {
    /// Opens a plan of the sim arena, one of whose variants has the scheduler `agent`.
    #[new]
    fn new(
        py: Python<'_>,
        plan: &str,
        workload: usize,
        candidates: usize,
        wait_us: u64,
    ) -> PyResult<Decisions> {
        if candidates == 0 || candidates > MOST_CANDIDATES {
            return Err(usage(format!(
                "candidates: out of range (found {candidates}, expected 1 to {MOST_CANDIDATES}); choose e.g. 16"
            )));
        }
        if wait_us == 0 {
            return Err(usage(
                "wait_us: out of range (found 0, expected at least 1); choose e.g. 2000",
            ));
        }
        own::add(&ROW).map_err(of)?;
        let (resolved, _) = resolve(parsed(plan)?)?;
        let plan = &resolved.plan;
        if !plan.arena.is_in_process() || workload >= plan.workloads.len() {
            return Err(usage(
                "plan: not a sim plan, or no such workload; give the index of one of its workloads",
            ));
        }
        let (duration, warmup) = lab::length::trial_length(plan);
        let spec = TrialSpec { workload, seed: plan.seed, duration, warmup };
        let open = || -> anyhow::Result<(SimArena, u64)> {
            let Resolved { plan, workloads, under_test } = resolved;
            let UnderTest::Sim { model, variants } = under_test else {
                unreachable!("a plan of the sim arena is resolved for it");
            };
            let sectors = model.look(|device| device.sectors());
            Ok((SimArena::open(&plan, model, variants, workloads, &Stop::manual())?, sectors))
        };
        let (arena, sectors) = py.detach(open).map_err(of)?;
        let episode = Mutex::new(Episode::Idle(Box::new(arena)));
        Ok(Decisions { spec, candidates, wait_ns: wait_us.saturating_mul(1000), sectors, episode })
    }

    /// Begins a trial of a variant with this seed. Returns the first decision, or None at the end
    /// of the trial.
    fn begin<'py>(
        &self,
        py: Python<'py>,
        variant: usize,
        seed: u64,
    ) -> PyResult<Option<State<'py>>> {
        let spec = TrialSpec { seed, ..self.spec };
        let question = py.detach(|| {
            let mut episode = self.lock();
            let arena = ended(&mut episode, true)?.0;
            let (questions, theirs) = mpsc::channel();
            let (answers, ours) = mpsc::channel();
            let asked = Asked {
                questions,
                answers: ours,
                candidates: self.candidates,
                wait_ns: self.wait_ns,
                sectors: self.sectors,
            };
            let stop = Stop::manual();
            let arena = Box::new(arena.stopped_by(&stop));
            let thread = thread::spawn(move || {
                ask_next(asked);
                let found = arena.observed(VariantIndex(variant), &spec, &mut Unobserved);
                (arena, found)
            });
            let running = Running { stop, questions: theirs, answers, thread };
            let question = running.questions.recv().ok();
            *episode = Episode::Running(running);
            Ok::<_, PyErr>(question)
        })?;
        Ok(question.map(|question| state(py, question)))
    }

    /// Answers a decision with the number of a candidate, or None to wait. Returns the next
    /// decision, or None at the end of the trial.
    #[pyo3(signature = (candidate))]
    fn answer<'py>(
        &self,
        py: Python<'py>,
        candidate: Option<usize>,
    ) -> PyResult<Option<State<'py>>> {
        let question = py.detach(|| match &*self.lock() {
            Episode::Running(running) => Ok(running
                .answers
                .send(candidate)
                .ok()
                .and_then(|()| running.questions.recv().ok())),
            _ => Err(usage("step: no trial is running; call reset first")),
        })?;
        Ok(question.map(|question| state(py, question)))
    }

    /// Ends a running trial. Returns the observation as JSON, or None if no trial is running or it
    /// was cut short.
    fn end(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let found = py.detach(|| {
            let mut episode = self.lock();
            let over = match &*episode {
                Episode::Running(running) => running
                    .questions
                    .try_recv()
                    .is_err_and(|error| error == TryRecvError::Disconnected),
                _ => false,
            };
            let (arena, found) = ended(&mut episode, !over)?;
            *episode = Episode::Idle(arena);
            Ok::<_, PyErr>(found.filter(|_| over))
        })?;
        found.map(|found| serde_json::to_string(&found.map_err(of)?).map_err(usage)).transpose()
    }

    /// The observation of a variant without an agent in the same trial, as JSON.
    fn observe(&self, py: Python<'_>, variant: usize, seed: u64) -> PyResult<String> {
        let spec = TrialSpec { seed, ..self.spec };
        let stop = Stop::manual();
        let arena = py.detach(|| ended(&mut self.lock(), true))?.0;
        let arena = Box::new(arena.stopped_by(&stop));
        let done = attended(py, &stop, &mut || Ok(()), move || {
            let found = arena.observed(VariantIndex(variant), &spec, &mut Unobserved);
            (arena, found)
        });
        let (arena, found) = done?;
        py.detach(|| *self.lock() = Episode::Idle(arena));
        serde_json::to_string(&found.map_err(of)?).map_err(usage)
    }

    /// Warm-up and window of a trial in milliseconds.
    #[getter]
    fn length_ms(&self) -> (f64, f64) {
        let ms = |of: Duration| of.as_secs_f64() * 1e3;
        (ms(self.spec.warmup), ms(self.spec.duration))
    }

    /// Number of features per row of an observation.
    #[classattr]
    const FEATURES: usize = FEATURES;
}

impl Decisions {
    fn lock(&self) -> std::sync::MutexGuard<'_, Episode> {
        self.episode.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Decisions {
    fn drop(&mut self) {
        let _ = ended(&mut self.lock(), true);
    }
}

/// Returns the arena and the trial's observation; stops a running trial if `cut`.
fn ended(
    episode: &mut Episode,
    cut: bool,
) -> PyResult<(Box<SimArena>, Option<anyhow::Result<Observation>>)> {
    match std::mem::replace(episode, Episode::Lost) {
        Episode::Idle(arena) => Ok((arena, None)),
        Episode::Lost => Err(ExperimentError::new_err(
            "environment: a trial failed before; create another environment",
        )),
        Episode::Running(Running { stop, questions, answers, thread }) => {
            if cut {
                stop.ask();
            }
            drop((questions, answers));
            let (arena, found) = thread.join().map_err(|panic| of_panic(panic.as_ref()))?;
            Ok((arena, Some(found)))
        }
    }
}

fn state(py: Python<'_>, question: Question) -> State<'_> {
    let Question { now_ns, observation, candidates, done_bytes, open_ns } = question;
    let bytes: Vec<u8> = observation.iter().flat_map(|number| number.to_ne_bytes()).collect();
    (now_ns, PyBytes::new(py, &bytes), candidates, done_bytes, open_ns as f64 / 1e9)
}
