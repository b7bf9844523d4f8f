//! Plans: read from TOML, built from Python values, completed.
//!
//! Every form is converted to TOML first, so that there is a single parser and set of errors.

use std::path::PathBuf;

use experiment::plan::{Plan, parse_variants, parse_workloads};
use lab::resolve::Resolved;
use pyo3::prelude::*;
use serde_json::{Map, Value};
use text::limits::PLAN_BYTES;

use crate::error::{of, usage};

/// Reads a plan and returns its canonical TOML.
#[pyfunction]
#[pyo3(signature = (text, beside=None))]
pub(crate) fn read_plan(text: &str, beside: Option<PathBuf>) -> PyResult<String> {
    let mut plan = plan(text)?;
    lab::resolve::locate_patches(&mut plan, beside.as_deref()).map_err(of)?;
    lab::resolve::locate_files(&mut plan, beside.as_deref());
    Ok(plan.to_toml())
}

/// Converts a plan from JSON to TOML; its `variants` and `workloads` may use command-line syntax.
#[pyfunction]
pub(crate) fn plan_of_json(text: &str) -> PyResult<String> {
    PLAN_BYTES.check(text.len()).map_err(usage)?;
    let value: Value =
        serde_json::from_str(text).map_err(|e| usage(format!("plan: not JSON: {e}")))?;
    let Value::Object(mut all) = value else {
        return Err(usage("plan: not an object; name device, variants and workloads"));
    };
    let variants =
        words(&mut all, "variants", |words| Ok(serde_json::to_value(parse_variants(words)?)))?;
    let workloads =
        words(&mut all, "workloads", |words| Ok(serde_json::to_value(parse_workloads(words)?)))?;
    all.insert("variant".to_owned(), variants);
    all.insert("workload".to_owned(), workloads);
    let table = toml::Value::try_from(without_nulls(Value::Object(all)))
        .map_err(|e| usage(format!("plan: {e}")))?;
    let text = toml::to_string(&table).map_err(|e| usage(format!("plan: {e}")))?;
    Ok(plan(&text)?.to_toml())
}

/// A plan as JSON, with the keys of plan.toml.
#[pyfunction]
pub(crate) fn plan_as_json(text: &str) -> PyResult<String> {
    serde_json::to_string(&plan(text)?).map_err(usage)
}

/// The checked and completed plan, and notes on its interpretation.
#[pyfunction]
pub(crate) fn complete_plan(text: &str) -> PyResult<(String, Vec<String>)> {
    let (resolved, notes) = resolve(plan(text)?)?;
    Ok((resolved.plan.to_toml(), notes))
}

pub(crate) fn plan(text: &str) -> PyResult<Plan> {
    Plan::from_toml(text).map_err(usage)
}

/// Checks and completes a plan; returns notes as well.
pub(crate) fn resolve(plan: Plan) -> PyResult<(Resolved, Vec<String>)> {
    let mut notes = Vec::new();
    let mut note = |text: &str| notes.push(text.to_owned());
    let resolved = lab::resolve::resolve(plan, &mut note).map_err(of)?;
    Ok((resolved, notes))
}

/// The unit of a tunable; empty if it has none.
pub(crate) fn unit_of(scheduler: &str, tunable: &str) -> &'static str {
    let row = elevator::find(scheduler).or_else(|| lab::arena::sim::own::find(scheduler));
    let unit = row.and_then(|kind| kind.tunable(tunable)).map(|row| row.unit);
    unit.filter(|unit| *unit != "switch").unwrap_or_default()
}

/// Removes a list of strings and tables from `all`, with the strings parsed.
fn words(
    all: &mut Map<String, Value>,
    key: &str,
    parse: impl Fn(&[String]) -> Result<Result<Value, serde_json::Error>, experiment::plan::PlanError>,
) -> PyResult<Value> {
    let Some(Value::Array(given)) = all.remove(key) else {
        return Err(usage(format!("plan: no list of {key}; name them")));
    };
    let mut found = Vec::with_capacity(given.len());
    for item in given {
        match item {
            Value::String(word) => match parse(&[word]).map_err(usage)?.map_err(usage)? {
                Value::Array(parsed) => found.extend(parsed),
                other => found.push(other),
            },
            table => found.push(table),
        }
    }
    Ok(Value::Array(found))
}

/// Removes null values, which TOML does not have.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(all) => Value::Object(
            all.into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| (key, without_nulls(value)))
                .collect(),
        ),
        Value::Array(all) => Value::Array(all.into_iter().map(without_nulls).collect()),
        other => other,
    }
}
