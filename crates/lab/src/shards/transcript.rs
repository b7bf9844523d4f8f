//! The results file of merged segments, with observations copied verbatim.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use experiment::results::{End, Line, Note, Trial};
use serde::Serialize;
use text::limits::{RESULTS_BYTES, RESULTS_LINE};

use super::pool::Pool;
use crate::driver::{ResultsLog, TrialLog};

/// The beginning of a trial's line, which its observation ends.
#[derive(Serialize)]
struct TrialLine<'a> {
    kind: &'static str,
    sequence: u64,
    workload: &'a str,
    round: u32,
    position: u32,
    variant: &'a str,
    started_ms: u64,
}

pub(super) struct Transcript<'p> {
    pool: &'p Pool,
    text: Vec<u8>,
    /// The segment of each line, from line 0; None for lines that are not trials.
    origins: Vec<Option<usize>>,
    /// Indices by name.
    workloads: BTreeMap<String, usize>,
    variants: BTreeMap<String, usize>,
    pub(super) end: Option<End>,
}

impl<'p> Transcript<'p> {
    /// Starts with the first lines of the results file.
    pub(super) fn of(pool: &'p Pool) -> Result<Transcript<'p>> {
        let plan = pool.prepared.plan();
        let workloads = plan.workloads.iter().map(|spec| spec.name.clone()).zip(0..).collect();
        let variants = plan.variants.iter().map(|variant| variant.name.clone()).zip(0..).collect();
        let mut all = Transcript {
            pool,
            text: Vec::new(),
            origins: Vec::new(),
            workloads,
            variants,
            end: None,
        };
        all.line(&Line::Header(Box::new(pool.prepared.header().clone())))?;
        pool.prepared.notes().iter().try_for_each(|note| all.line(&Line::Note(note.clone())))?;
        Ok(all)
    }

    /// The text, and the segment of each line.
    pub(super) fn finish(self) -> (Vec<u8>, Vec<Option<usize>>) {
        (self.text, self.origins)
    }

    fn line(&mut self, line: &Line) -> Result<()> {
        self.push(&line.to_json_line(), None)
    }

    fn push(&mut self, line: &str, origin: Option<usize>) -> Result<()> {
        let length = line.len() + 1;
        RESULTS_LINE.check(length).and_then(|()| RESULTS_BYTES.check(self.text.len() + length))?;
        self.text.extend_from_slice(line.as_bytes());
        self.text.push(b'\n');
        self.origins.push(origin);
        Ok(())
    }
}

impl TrialLog for Transcript<'_> {
    fn append_trial(&mut self, trial: &Trial) -> Result<()> {
        let Trial { sequence, workload, round, position, variant, started_ms, observation: _ } =
            trial;
        let unknown = || anyhow!("segments: a trial of no workload or variant of the plan");
        let key = (
            *self.workloads.get(workload).ok_or_else(unknown)?,
            *round,
            *self.variants.get(variant).ok_or_else(unknown)?,
        );
        let (text, segment) = self.pool.text(&key).ok_or_else(unknown)?;
        let line = TrialLine {
            kind: "trial",
            sequence: *sequence,
            workload,
            round: *round,
            position: *position,
            variant,
            started_ms: *started_ms,
        };
        let line = serde_json::to_string(&line).expect("it has only text and numbers");
        let begin = line.strip_suffix('}').expect("it is an object");
        let line = format!("{begin},\"observation\":{}}}", std::str::from_utf8(text)?);
        self.push(&text::escaped(&line), Some(segment))
    }

    fn append_note(&mut self, note: Note) -> Result<()> {
        self.line(&Line::Note(note))
    }
}

impl ResultsLog for Transcript<'_> {
    fn append_end(&mut self, end: End) -> Result<()> {
        self.end = Some(end.clone());
        self.line(&Line::End(end))
    }
}
