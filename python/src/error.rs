//! Converts errors of the workspace and panics of a trial to exceptions.
//!
//! A panic of the simulator reports scheduler, seed and state, and indicates a bug in a scheduler,
//! most likely the user's. The panic hook is replaced so that only the exception reports it; the
//! module has its own copy of the standard library, so other code is not affected.

use std::any::Any;
use std::panic;
use std::sync::{Mutex, Once, PoisonError};

use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    schedlab,
    PlanError,
    PyValueError,
    "The plan, or an argument, asks for something that cannot be done."
);
create_exception!(schedlab, ExperimentError, PyRuntimeError, "An experiment failed.");
create_exception!(
    schedlab,
    ElevatorError,
    PyRuntimeError,
    "A scheduler does what no scheduler may; the message names it and the state."
);

/// Exceptions raised by schedulers' methods, by the text of the panic.
static RAISED: Mutex<Vec<(String, PyErr)>> = Mutex::new(Vec::new());

/// Maximum number of stored exceptions.
const MOST_RAISED: usize = 64;

/// Adds the exceptions to the module, and replaces the panic hook.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| panic::set_hook(Box::new(|_| {})));
    let py = module.py();
    module.add("PlanError", py.get_type::<PlanError>())?;
    module.add("ExperimentError", py.get_type::<ExperimentError>())?;
    module.add("ElevatorError", py.get_type::<ElevatorError>())
}

/// Wrong usage becomes a [`PlanError`], anything else an [`ExperimentError`].
pub(crate) fn of(error: anyhow::Error) -> PyErr {
    let text = format!("{error:#}");
    if lab::failure::is_usage(&error) {
        PlanError::new_err(text)
    } else {
        ExperimentError::new_err(text)
    }
}

pub(crate) fn usage(error: impl std::fmt::Display) -> PyErr {
    PlanError::new_err(error.to_string())
}

/// Ends a trial after a scheduler's method raised, because schedulers cannot return errors.
pub(crate) fn end_trial(what: &str, raised: PyErr) -> ! {
    let text = format!("{what}: {raised}");
    let mut all = RAISED.lock().unwrap_or_else(PoisonError::into_inner);
    if all.len() == MOST_RAISED {
        all.remove(0);
    }
    all.push((text.clone(), raised));
    drop(all);
    panic::resume_unwind(Box::new(text))
}

/// The exception for a panic: the one raised by a method, or an [`ElevatorError`].
pub(crate) fn of_panic(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    let text = text.unwrap_or("a panic without a text");
    let mut all = RAISED.lock().unwrap_or_else(PoisonError::into_inner);
    let raised = all.iter().position(|(known, _)| known == text).map(|at| all.remove(at).1);
    raised.unwrap_or_else(|| ElevatorError::new_err(text.to_owned()))
}
