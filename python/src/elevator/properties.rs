//! Tests Python schedulers for the properties of every scheduler.

use properties::{FLOW_PROPERTIES, PROPERTIES, inputs, scenarios, search_again};
use pyo3::prelude::*;

use crate::error::usage;
use crate::run::attended;
use lab::arena::sim::own;
use lab::signals::Stop;

/// Attempts to shrink an input; each takes milliseconds in Python.
const SHRINKS: u32 = 256;

/// The properties that a scheduler violates: name, description and the smallest input found. The
/// inputs are the same on every call.
#[pyfunction]
pub(crate) fn broken_properties(
    py: Python<'_>,
    name: &str,
    cases: u32,
) -> PyResult<Vec<(&'static str, String, String)>> {
    let Some(kind) = elevator::find(name).or_else(|| own::find(name)) else {
        return Err(usage(format!("scheduler {name:?}: not known; see schedlab.schedulers()")));
    };
    let mut broken = Vec::new();
    // One property at a time, so that a signal can end the search between them.
    for property in PROPERTIES {
        let found = attended(py, &Stop::manual(), &mut || Ok(()), move || {
            search_again(property, kind, &inputs(), cases, SHRINKS)
        })?;
        broken.extend(found.err().map(|(why, input)| (property.name, why, format!("{input:?}"))));
    }
    for property in FLOW_PROPERTIES {
        let found = attended(py, &Stop::manual(), &mut || Ok(()), move || {
            search_again(property, kind, &scenarios(), cases, SHRINKS)
        })?;
        broken
            .extend(found.err().map(|(why, scenario)| (property.name, why, scenario.to_string())));
    }
    Ok(broken)
}
