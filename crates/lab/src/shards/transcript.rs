//! The record of merged segments: the lines that one machine writes, with each observation copied from its segment.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use experiment::record::{End, Line, Note, Trial};
use text::limits::{RECORD_BYTES, RECORD_LINE};

use super::pool::Pool;
use crate::driver::{RecordLog, TrialLog};

/// A record in memory.
pub(super) struct Transcript<'p> {
    pool: &'p Pool,
    pub(super) text: Vec<u8>,
    /// The segment of each line, counted from 0; none for lines that are no trial.
    origins: Vec<Option<usize>>,
    /// Numbers of workloads and arms, with their names in JSON.
    workloads: BTreeMap<String, (usize, String)>,
    arms: BTreeMap<String, (usize, String)>,
    pub(super) end: Option<End>,
}

impl<'p> Transcript<'p> {
    /// With the lines that the record begins with.
    ///
    /// # Errors
    /// They are longer than a record may be.
    pub(super) fn of(pool: &'p Pool) -> Result<Transcript<'p>> {
        let numbered = |names: Vec<&str>| {
            let one =
                |(number, name): (usize, &str)| (name.to_owned(), (number, serde_json::Value::from(name).to_string()));
            names.into_iter().enumerate().map(one).collect()
        };
        let plan = pool.prepared.plan();
        let workloads = numbered(plan.workloads.iter().map(|spec| spec.name.as_str()).collect());
        let arms = numbered(plan.arms.iter().map(|arm| arm.name.as_str()).collect());
        let mut all = Transcript { pool, text: Vec::new(), origins: Vec::new(), workloads, arms, end: None };
        all.line(&Line::Header(Box::new(pool.prepared.header().clone())))?;
        pool.prepared.notes().iter().try_for_each(|note| all.line(&Line::Note(note.clone())))?;
        Ok(all)
    }

    /// The name of the segment that a line of the record is from; the first line is 1.
    pub(super) fn origin(&self, line: usize) -> Option<&str> {
        let segment = self.origins.get(line.checked_sub(1)?)?.as_ref()?;
        Some(self.pool.name(*segment))
    }

    fn line(&mut self, line: &Line) -> Result<()> {
        self.push(&[line.to_json_line().as_bytes()], None)
    }

    fn push(&mut self, parts: &[&[u8]], origin: Option<usize>) -> Result<()> {
        let length = parts.iter().map(|part| part.len()).sum::<usize>() + 1;
        RECORD_LINE.check(length).and_then(|()| RECORD_BYTES.check(self.text.len() + length))?;
        parts.iter().for_each(|part| self.text.extend_from_slice(part));
        self.text.push(b'\n');
        self.origins.push(origin);
        Ok(())
    }
}

impl TrialLog for Transcript<'_> {
    fn append_trial(&mut self, trial: &Trial) -> Result<()> {
        let Trial { sequence, workload, block, position, arm, started_ms, observation: _ } = trial;
        let unknown = || anyhow!("segments: a trial of no workload or arm of the plan");
        let (workload_number, workload) = self.workloads.get(workload).ok_or_else(unknown)?;
        let (arm_number, arm) = self.arms.get(arm).ok_or_else(unknown)?;
        let (text, segment) = self.pool.text(&(*workload_number, *block, *arm_number)).ok_or_else(unknown)?;
        let start = format!(
            "{{\"kind\":\"trial\",\"sequence\":{sequence},\"workload\":{workload},\"block\":{block},\"position\":{position},\"arm\":{arm},\
             \"started_ms\":{started_ms},\"observation\":"
        );
        self.push(&[start.as_bytes(), text, b"}"], Some(segment))
    }

    fn append_note(&mut self, note: Note) -> Result<()> {
        self.line(&Line::Note(note))
    }
}

impl RecordLog for Transcript<'_> {
    fn append_end(&mut self, end: End) -> Result<()> {
        self.end = Some(end.clone());
        self.line(&Line::End(end))
    }
}
