//! Plans in segments, for distribution by `schedlab.ray` and similar programs.
//!
//! Prepared plans and units cross the interface as JSON, segments as bytes. `lab::shards` does the
//! rest.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lab::arena::open::OpenOptions;
use lab::console::Console;
use lab::output::Output;
use lab::session::ResultsOptions;
use lab::shards::{self, Live, Unit};
use lab::signals::Stop;
use lab::tune::commission::Commission;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::{ExperimentError, of, usage};
use crate::plan::{plan as parsed, resolve};
use crate::results::Results;
use crate::run::{Watched, attended};

/// Opens a plan's arena, runs the pilots and records the environment. Returns what workers need, as
/// JSON.
#[pyfunction]
#[pyo3(signature = (plan, *, command, workers=None, cache_dir=None, program=None))]
pub(crate) fn prepare(
    py: Python<'_>,
    plan: &str,
    command: String,
    workers: Option<NonZeroUsize>,
    cache_dir: Option<PathBuf>,
    program: Option<PathBuf>,
) -> PyResult<String> {
    let plan = parsed(plan)?;
    let asked = plan.trial.clone();
    let (resolved, _) = resolve(plan)?;
    let (stop, opening) = (Stop::manual(), opening(workers, cache_dir, program));
    let asked_to_end = stop.clone();
    let work = move || {
        shards::Prepared::of(
            resolved,
            &asked,
            command,
            &opening,
            Console::new(&asked_to_end, &Watched::default()),
        )
    };
    let prepared = attended(py, &stop, &mut || Ok(()), work)?.map_err(of)?;
    Ok(prepared.to_json())
}

/// Measures units, in JSON, of a prepared plan. Returns a segment.
#[pyfunction]
#[pyo3(signature = (prepared, units, *, workers=None, cache_dir=None, program=None))]
pub(crate) fn measure<'py>(
    py: Python<'py>,
    prepared: &str,
    units: &str,
    workers: Option<NonZeroUsize>,
    cache_dir: Option<PathBuf>,
    program: Option<PathBuf>,
) -> PyResult<Bound<'py, PyBytes>> {
    let prepared = shards::Prepared::from_json(prepared).map_err(of)?;
    let units = units_of(units)?;
    let (stop, opening) = (Stop::manual(), opening(workers, cache_dir, program));
    let asked_to_end = stop.clone();
    let work = move || {
        shards::measure(
            &prepared,
            &units,
            &opening,
            Console::new(&asked_to_end, &Watched::default()),
        )
    };
    let segment = attended(py, &stop, &mut || Ok(()), work)?.map_err(of)?;
    Ok(PyBytes::new(py, &segment))
}

/// The same for a search described by `schedlab tune --dry-run --json`.
#[pyfunction]
#[pyo3(signature = (commission, *, command, cache_dir=None, program=None))]
pub(crate) fn prepare_search(
    py: Python<'_>,
    commission: &str,
    command: String,
    cache_dir: Option<PathBuf>,
    program: Option<PathBuf>,
) -> PyResult<String> {
    let commission = Commission::from_json(commission).map_err(of)?;
    let (stop, opening) = (Stop::manual(), opening(None, cache_dir, program));
    let asked_to_end = stop.clone();
    let work = move || {
        commission.prepared(command, &opening, Console::new(&asked_to_end, &Watched::default()))
    };
    let prepared = attended(py, &stop, &mut || Ok(()), work)?.map_err(of)?;
    Ok(prepared.to_json())
}

fn opening(
    threads: Option<NonZeroUsize>,
    cache_dir: Option<PathBuf>,
    program: Option<PathBuf>,
) -> OpenOptions {
    OpenOptions { threads, cache_dir, program, ..OpenOptions::default() }
}

fn units_of(text: &str) -> PyResult<Vec<Unit>> {
    serde_json::from_str(text).map_err(|e| usage(format!("units: cannot be read: {e}")))
}

/// An experiment whose trials are measured elsewhere.
#[pyclass(frozen, module = "schedlab._schedlab")]
pub(crate) struct Distributed {
    live: Mutex<Option<Live<PathBuf>>>,
    stop: Stop,
}

#[pymethods]
impl Distributed {
    /// Begins the experiment of a prepared plan; its results file grows in `out`.
    #[new]
    #[pyo3(signature = (prepared, out, *, resume=false))]
    fn new(prepared: &str, out: PathBuf, resume: bool) -> PyResult<Distributed> {
        let prepared = shards::Prepared::from_json(prepared).map_err(of)?;
        let command = prepared.header().command.clone();
        if !resume {
            lab::store::check_free(Some(&out)).map_err(of)?;
        }
        let (stop, options) =
            (Stop::manual(), ResultsOptions { output: Output::Named(out), resume, command });
        let live = Live::experiment(prepared, options, stop.clone()).map_err(of)?;
        Ok(Distributed { live: Mutex::new(Some(live)), stop })
    }

    /// Begins a search described by `schedlab tune --dry-run --json`; its log grows in `out`.
    #[staticmethod]
    fn search(prepared: &str, commission: &str, out: PathBuf) -> PyResult<Distributed> {
        let prepared = shards::Prepared::from_json(prepared).map_err(of)?;
        let commission = Commission::from_json(commission).map_err(of)?;
        let stop = Stop::manual();
        let live = commission.begin(prepared, out, stop.clone()).map_err(of)?;
        Ok(Distributed { live: Mutex::new(Some(live)), stop })
    }

    /// Up to this number of trials that are needed and not yet taken, as units in JSON, and their
    /// number.
    fn take(&self, most: usize) -> PyResult<(String, u64)> {
        self.with(|live| {
            let units = live.take(most);
            let trials = units.iter().map(Unit::trials).sum();
            Ok((serde_json::to_string(&units).map_err(usage)?, trials))
        })
    }

    /// Accepts a segment; `name` identifies it in errors.
    fn put(&self, py: Python<'_>, name: &str, segment: Vec<u8>) -> PyResult<()> {
        py.detach(|| self.with(|live| live.put(name, segment).map_err(of)))
    }

    /// Returns units whose worker was lost.
    fn give_back(&self, units: &str) -> PyResult<()> {
        let units = units_of(units)?;
        self.with(|live| {
            live.give_back(&units);
            Ok(())
        })
    }

    /// Waits at most this many seconds until a trial is needed or the experiment has ended; returns
    /// whether one is the case.
    fn wait(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        let most = Duration::try_from_secs_f64(seconds).map_err(usage)?;
        py.detach(|| self.with(|live| Ok(live.wait(most))))
    }

    /// Whether the experiment has ended and outstanding units are no longer needed.
    fn is_done(&self) -> PyResult<bool> {
        self.with(|live| Ok(live.is_done()))
    }

    /// Progress: share, workload, variant, round, standing, and messages since the last call.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = self.with(|live| Ok(live.status()))?;
        let step = PyDict::new(py);
        step.set_item("share", found.share)?;
        step.set_item("workload", found.workload)?;
        step.set_item("variant", found.variant)?;
        step.set_item("round", found.round)?;
        step.set_item("standing", found.standing)?;
        step.set_item("messages", found.messages)?;
        Ok(step)
    }

    /// The results of the finished experiment, after writing its report. Fails if it has not
    /// finished.
    fn finish(&self, py: Python<'_>) -> PyResult<Results> {
        let live = self.lock().take().ok_or_else(closed)?;
        let finished = py.detach(|| {
            let dir = live.finish()?;
            let results = Results::read(&dir)?;
            results.compared(None).write(&dir)?;
            Ok(results)
        });
        finished.map_err(of)
    }

    /// The directory of the finished search. Fails if it has not finished.
    fn finish_search(&self, py: Python<'_>) -> PyResult<PathBuf> {
        let live = self.lock().take().ok_or_else(closed)?;
        py.detach(|| live.finish()).map_err(of)
    }

    /// Stops the experiment; its results file can be resumed.
    fn abandon(&self, py: Python<'_>) {
        self.stop.ask();
        let live = self.lock().take();
        py.detach(|| drop(live));
    }
}

impl Distributed {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Live<PathBuf>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, work: impl FnOnce(&Live<PathBuf>) -> PyResult<T>) -> PyResult<T> {
        work(self.lock().as_ref().ok_or_else(closed)?)
    }
}

fn closed() -> PyErr {
    ExperimentError::new_err("experiment: already finished or abandoned; start another")
}
