//! A scheduler of Python under the properties of every scheduler.

use properties::{FLOW_PROPERTIES, PROPERTIES, inputs, scenarios, search_again};
use pyo3::prelude::*;

use crate::error::usage;
use crate::run::attended;
use lab::arena::sim::own;
use lab::signals::Stop;

/// Attempts at a smaller input; each takes milliseconds in Python.
const SHRINKS: u32 = 256;

/// The properties that a scheduler breaks: name, how, and the smallest input found. The inputs are
/// the same at every call.
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
    // Property by property, so that a signal ends the search between two of them.
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
