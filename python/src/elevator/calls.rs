//! Tracks the running methods of schedulers and interrupts them.
//!
//! Python interrupts only its main thread, but schedulers run in others. An asynchronous exception
//! ends a loop or a short sleep there, but not a system call such as an hour's sleep: its caller
//! must abandon the thread.

use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

/// Threads that are running a method, by Python's thread ids.
static RUNNING: Mutex<Vec<u64>> = Mutex::new(Vec::new());

thread_local! {
    static NUMBER: Cell<Option<u64>> = const { Cell::new(None) };
}

fn running() -> MutexGuard<'static, Vec<u64>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Call(u64);

impl Call {
    fn begin(py: Python<'_>) -> PyResult<Call> {
        let number = match NUMBER.get() {
            Some(number) => number,
            None => py.import("threading")?.call_method0("get_ident")?.extract()?,
        };
        NUMBER.set(Some(number));
        running().push(number);
        Ok(Call(number))
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut all = running();
        let at = all.iter().position(|number| *number == self.0);
        all.swap_remove(at.expect("a call is in the list until its end"));
    }
}

/// Calls into Python from a thread of the simulator.
pub(super) fn call<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> PyResult<T> {
    Python::attach(|py| {
        let _call = Call::begin(py)?;
        work(py)
    })
}

/// Interrupts the running methods of all experiments in this process; returns whether there were
/// any.
pub(crate) fn interrupt(py: Python<'_>) -> PyResult<bool> {
    let threads = running().clone();
    let ctypes = py.import("ctypes")?;
    let set = ctypes.getattr("pythonapi")?.getattr("PyThreadState_SetAsyncExc")?;
    let exception = ctypes.getattr("py_object")?.call1((py.get_type::<PyKeyboardInterrupt>(),))?;
    for thread in &threads {
        set.call1((ctypes.getattr("c_ulong")?.call1((thread,))?, &exception))?;
    }
    Ok(!threads.is_empty())
}
