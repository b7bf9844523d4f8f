//! Rows of the scheduler table for Python classes.
//!
//! A row's `build` is a plain function without state. Therefore a fixed number of such functions
//! exists, one per slot, and the slot holds the class. A class replaces an earlier one of the same
//! name, for example when a notebook cell is run again.

use std::sync::{Mutex, PoisonError};

use elevator::{Build, Elevator, ElevatorKind, Evidence, Guarantee, Origin, Role, Tunable};
use lab::arena::sim::own;
use pyo3::prelude::*;
use serde::Deserialize;

use super::scripted::{Scripted, Slot};
use crate::error::{of, usage};

static SLOTS: Mutex<Vec<(String, Slot)>> = Mutex::new(Vec::new());

macro_rules! builders {
    ($($slot:literal)*) => {
        /// By slot.
        static BUILDERS: &[fn(&Build) -> Box<dyn Elevator>] = &[$(|_| build($slot)),*];
    };
}

builders! {
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
    32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
}

fn build(slot: usize) -> Box<dyn Elevator> {
    let slot =
        Python::attach(|py| SLOTS.lock().unwrap_or_else(PoisonError::into_inner)[slot].1.copy(py));
    Box::new(Scripted::new(slot))
}

#[derive(Deserialize)]
struct Description {
    name: String,
    help: String,
    source: String,
    guarantees: Vec<String>,
    tunables: Vec<Row>,
    overrides: Vec<String>,
    uses_disk: bool,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    unit: String,
    min: u64,
    max: u64,
    help: String,
}

/// Registers a Python class as a scheduler of this process; `description` is JSON.
#[pyfunction]
pub(crate) fn register(py: Python<'_>, class: Py<PyAny>, description: &str) -> PyResult<()> {
    let own: Description = serde_json::from_str(description).map_err(usage)?;
    if own.name.is_empty()
        || own.name.contains([':', '=', ',', '@'])
        || own.name.chars().any(char::is_whitespace)
    {
        return Err(usage(format!(
            "scheduler {:?}: invalid name in a plan; remove blanks and : = , @",
            own.name
        )));
    }
    let guarantees: &'static [Guarantee] = own
        .guarantees
        .iter()
        .map(|word| guarantee(&own.name, word))
        .collect::<PyResult<Vec<_>>>()?
        .leak();
    let name: &'static str = own.name.clone().leak();
    let slot = Slot { name, class, overrides: own.overrides, uses_disk: own.uses_disk };
    // Locked briefly and never while Python is called, to avoid deadlock with the GIL.
    let at = py.detach(|| place(own.name, slot))?;
    let row = ElevatorKind {
        name,
        origin: Origin::Literature,
        help: own.help.leak(),
        source: own.source.leak(),
        evidence: Evidence::Proposed,
        guarantees,
        tunables: own.tunables.into_iter().map(tunable).collect::<Vec<_>>().leak(),
        build: BUILDERS[at],
    };
    own::add(Box::leak(Box::new(row))).map_err(of)
}

fn place(name: String, slot: Slot) -> PyResult<usize> {
    let mut slots = SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = slots.iter().position(|(known, _)| *known == name);
    let at = known.unwrap_or(slots.len());
    if at == BUILDERS.len() {
        let text = format!(
            "scheduler {name:?}: one too many (found {at}, expected at most {at} names in a process); reuse a name"
        );
        return Err(usage(text));
    }
    if known.is_some() {
        slots[at] = (name, slot);
    } else {
        slots.push((name, slot));
    }
    Ok(at)
}

fn tunable(row: Row) -> Tunable {
    let Row { name, unit, min, max, help } = row;
    Tunable {
        name: name.leak(),
        unit: unit.leak(),
        min,
        max,
        evidence: Evidence::Proposed,
        help: help.leak(),
        role: Role::Knob,
    }
}

/// Parses a guarantee: `work-conserving`, `passed-at-most=16`.
fn guarantee(name: &str, word: &str) -> PyResult<Guarantee> {
    let (head, number) = word
        .split_once('=')
        .map_or((word, None), |(head, number)| (head, number.parse::<u32>().ok()));
    match (head, number) {
        ("work-conserving", None) => Ok(Guarantee::WorkConserving),
        ("idles-with-timer", None) => Ok(Guarantee::IdlesWithTimer),
        ("arrival-order", None) => Ok(Guarantee::ArrivalOrder),
        ("meets-feasible-deadlines", None) => Ok(Guarantee::MeetsFeasibleDeadlines),
        ("ascending", Some(descents)) => Ok(Guarantee::Ascending { descents }),
        ("sweeping", Some(turns)) => Ok(Guarantee::Sweeping { turns }),
        ("passed-at-most", Some(requests)) => {
            Ok(Guarantee::PassedAtMost { requests: requests.into() })
        }
        ("waits-at-most-ms", Some(ms)) => Ok(Guarantee::WaitsAtMostMs(ms.into())),
        _ => Err(usage(format!(
            "scheduler {name:?}: unknown guarantee {word:?} (expected work-conserving, idles-with-timer, arrival-order, \
             meets-feasible-deadlines, ascending=N, sweeping=N, passed-at-most=N or waits-at-most-ms=N); correct it"
        ))),
    }
}

/// The schedulers of the simulator as JSON: name, origin, summary, source, certainty, and the
/// tunables with unit, range and meaning.
#[pyfunction]
pub(crate) fn schedulers() -> String {
    let row = |kind: &ElevatorKind| {
        let tunables = kind.tunables.iter().map(|row| {
            serde_json::json!({ "name": row.name, "unit": row.unit, "min": row.min, "max": row.max, "help": row.help })
        });
        serde_json::json!({
            "name": kind.name, "origin": kind.origin.name(), "help": kind.help, "source": kind.source,
            "evidence": kind.evidence.words(), "guarantees": kind.guarantees.iter().map(Guarantee::words).collect::<Vec<_>>(),
            "tunables": tunables.collect::<Vec<_>>(),
        })
    };
    serde_json::Value::Array(elevator::ELEVATORS.iter().map(row).collect()).to_string()
}
