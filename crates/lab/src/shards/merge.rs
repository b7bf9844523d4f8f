//! Runs the experiment of a plan over segments measured elsewhere.

use std::ops::Range;

use anyhow::{Result, anyhow, bail};
use experiment::results::{Ending, Results, ResultsError, ResultsReader};

use super::pool::{Collected, Pool};
use super::transcript::Transcript;
use super::{Prepared, Unit};
use crate::console::Console;
use crate::progress::Silent;
use crate::run::{Destination, Experiment, Outcome, Pilot, Place, run};
use crate::signals::Stop;

#[derive(Debug)]
pub enum Merged {
    Whole {
        text: Vec<u8>,
        results: Box<Results>,
        /// Trials that the experiment did not need.
        unused: u64,
    },
    /// No segment has trials that the experiment needs.
    Missing(Box<Missing>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Missing {
    pub prepared: Prepared,
    /// Number of distinct trials found.
    pub found: u64,
    /// In the order of use; a verdict may make some unnecessary.
    pub units: Vec<Unit>,
}

impl Missing {
    pub fn rounds(&self) -> Vec<Range<u32>> {
        let mut all: Vec<Range<u32>> = self.units.iter().map(|unit| unit.rounds.clone()).collect();
        all.sort_unstable_by_key(|range| range.start);
        let mut joined: Vec<Range<u32>> = Vec::new();
        for range in all {
            match joined.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => joined.push(range),
            }
        }
        joined
    }
}

/// Runs the experiment over the trials of named segments. Neither their order nor duplicates affect
/// the result.
pub fn merge(segments: Vec<(String, Vec<u8>)>, stop: &Stop) -> Result<Merged> {
    let pool = Pool::of(segments)?;
    let prepared = &pool.prepared;
    let (mut arena, mut log) = (Collected::of(&pool), Transcript::of(&pool)?);
    let mut results = Results::new(prepared.header().clone());
    results.notes = prepared.notes().to_vec();
    let found = pool.len() as u64;
    let experiment = Experiment {
        place: Place::Open { plan: prepared.plan().clone(), arena: &mut arena },
        pilot: Pilot::Done(Vec::new()),
        results: Destination::Begun { results: Box::new(results), log: &mut log },
        hooks: &(),
    };
    match run(experiment, Console::new(stop, &Silent)) {
        Ok(Outcome { end, .. }) if end.reason.ending() == Ending::Interrupted => {
            bail!("merge: interrupted: {}; nothing was written", end.reason)
        }
        Ok(_) => {
            let (text, origins) = log.finish();
            let names = pool.into_names();
            let results = read(&text, |line| Some(&names[(*origins.get(line - 1)?)?]))?;
            let unused = found - results.trials.len() as u64;
            Ok(Merged::Whole { text, results: Box::new(results), unused })
        }
        Err(error) => match units(prepared, &arena.lacks()) {
            units if units.is_empty() => Err(error),
            units => {
                Ok(Merged::Missing(Box::new(Missing { prepared: prepared.clone(), found, units })))
            }
        },
    }
}

/// Reads the merged results file; an invalid trial is reported with its segment, the `origin` of a
/// line counted from 1.
fn read<'n>(text: &[u8], origin: impl Fn(usize) -> Option<&'n String>) -> Result<Results> {
    let mut reader = ResultsReader::default();
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let mut read = || lines.clone().try_for_each(|line| reader.line(line));
    match read() {
        Ok(()) => Ok(reader.finish()?),
        Err(ResultsError::Garbage { line, problem }) => match origin(line) {
            Some(segment) => {
                Err(anyhow!("{segment}: segment: invalid trial: {problem}; measure it again"))
            }
            None => Err(ResultsError::Garbage { line, problem }.into()),
        },
        Err(error) => Err(error.into()),
    }
}

/// Joins consecutive rounds in which the same variants are missing.
fn units(prepared: &Prepared, lacks: &[(usize, u32, Vec<usize>)]) -> Vec<Unit> {
    let plan = prepared.plan();
    let mut units: Vec<Unit> = Vec::new();
    for (workload, round, variants) in lacks {
        let workload = plan.workloads[*workload].name.clone();
        let variants =
            variants.iter().map(|variant| plan.variants[*variant].clone()).collect::<Vec<_>>();
        match units.last_mut() {
            Some(last)
                if last.workload == workload
                    && last.rounds.end == *round
                    && last.variants == variants =>
            {
                last.rounds.end += 1
            }
            _ => units.push(Unit { workload, rounds: *round..round + 1, variants }),
        }
    }
    units
}
