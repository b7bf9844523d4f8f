//! From errors of the workspace to exceptions, and from panics of a trial to exceptions.
//!
//! A panic of the simulator names scheduler, seed and state, and is a mistake in a scheduler: in
//! Python most likely one of the user's. It becomes an exception that carries the text; the hook
//! that would print it is replaced for this module alone, which has a standard library of its own.

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

/// Exceptions that methods of schedulers have raised, each with the text that the panic carries.
static RAISED: Mutex<Vec<(String, PyErr)>> = Mutex::new(Vec::new());

/// Exceptions that are kept until somebody asks for them.
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

/// Wrong usage is a [`PlanError`], anything else an [`ExperimentError`].
pub(crate) fn of(error: anyhow::Error) -> PyErr {
    let text = format!("{error:#}");
    if lab::failure::is_usage(&error) {
        PlanError::new_err(text)
    } else {
        ExperimentError::new_err(text)
    }
}

/// Wrong usage.
pub(crate) fn usage(error: impl std::fmt::Display) -> PyErr {
    PlanError::new_err(error.to_string())
}

/// Ends a trial because a method of a scheduler has raised: a scheduler has no errors to return.
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

/// The exception for a panic: the one that a method raised, or an [`ElevatorError`].
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
