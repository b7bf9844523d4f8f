//! From a plan's words to a workload that can be run: its row, its parameters, and the trace that it replays.
//!
//! Crate `workload` reads no files, so the one that `replay` names is read here, once for an experiment and before anything on
//! the machine is touched. Every arena gets its workloads from here.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use anyhow::Result;
use experiment::plan::{Plan, Share, WorkloadSpec};
use workload::{Params, WorkloadKind};

use crate::failure::usage;

/// A workload that is ready to be placed on a target.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    pub(crate) kind: &'static WorkloadKind,
    pub(crate) params: Params,
}

/// Every workload of a plan by its label.
#[derive(Debug)]
pub(crate) struct Works {
    by_label: BTreeMap<String, Work>,
    /// What the user should know of the traces that were read.
    pub(crate) words: Vec<String>,
}

impl Works {
    /// # Errors
    /// Wrong usage: an unknown workload or parameter, a trace that cannot be read.
    pub(crate) fn of(plan: &Plan) -> Result<Works> {
        let mut works = Works { by_label: BTreeMap::new(), words: Vec::new() };
        for spec in &plan.workloads {
            let work = work_of(spec)?;
            works.words.extend(remark(&work.params));
            works.by_label.insert(spec.name.clone(), work);
        }
        Ok(works)
    }

    /// The workload of this spec.
    pub(crate) fn get(&self, spec: &WorkloadSpec) -> &Work {
        self.named(&spec.name)
    }

    /// The workload with this label.
    pub(crate) fn named(&self, label: &str) -> &Work {
        self.by_label.get(label).expect("trials are made of the plan's own workloads")
    }

    /// What the traces that are replayed hold, so that a record does not go on with another one; None without a trace.
    pub(crate) fn replayed(&self) -> Option<String> {
        let told = self.by_label.iter().filter_map(|(label, work)| {
            let trace = work.params.replay.trace.as_ref()?;
            let (records, bad) = (&trace.records, trace.bad_lines);
            let bytes: u64 = records.iter().map(|record| u64::from(record.len)).sum();
            let places =
                records.iter().fold(0u64, |sum, record| sum.rotate_left(5).wrapping_add(record.offset ^ record.at_ns));
            Some(format!(
                "{label}: {} requests, {bytes} bytes, {bad} broken lines, checksum {places:016x}",
                records.len()
            ))
        });
        let told: Vec<String> = told.collect();
        (!told.is_empty()).then(|| told.join("; "))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Work> {
        self.by_label.values()
    }
}

pub(crate) fn work_of(spec: &WorkloadSpec) -> Result<Work> {
    let kind = workload::find(&spec.kind).map_err(|e| usage(e.to_string()))?;
    let pairs = spec.params.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let params = kind.params(pairs).map_err(|e| usage(format!("workload {}: {e}", spec.name)))?;
    let params = if kind.needs_trace() { with_trace(spec, params)? } else { params };
    Ok(Work { kind, params })
}

fn with_trace(spec: &WorkloadSpec, params: Params) -> Result<Params> {
    let label = &spec.name;
    let Some(file) = params.replay.file.clone() else {
        return Err(usage(format!(
            "workload {label} replays a trace: give its file, e.g. {}:file=disk.iolog",
            spec.kind
        )));
    };
    if fs::metadata(&file).is_ok_and(|found| !found.is_file()) {
        return Err(usage(format!("workload {label}: {file} is no file: a trace is read whole")));
    }
    let contents =
        fs::read(&file).map_err(|e| usage(format!("workload {label}: cannot read the trace {file}: {e}")))?;
    let trace = params.replay.parse(&contents).map_err(|e| {
        let skip = if params.replay.skip_bad { "" } else { "; skip_bad=true passes over broken lines" };
        usage(format!("workload {label}: {file}, {e}{skip}"))
    })?;
    Ok(params.with_trace(Arc::new(trace)))
}

/// What was not replayed of a trace.
fn remark(params: &Params) -> Option<String> {
    let (trace, file) = (params.replay.trace.as_ref()?, params.replay.file.as_deref()?);
    let (bad, left_out) = (trace.bad_lines, trace.left_out);
    (bad + left_out > 0).then(|| {
        let replayed = trace.records.len();
        format!("{file}: {replayed} requests; {bad} broken lines and {left_out} flushes, discards and the like are not replayed")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(params: &[(&str, &str)]) -> WorkloadSpec {
        let params = params.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        WorkloadSpec {
            name: "mine".to_owned(),
            kind: "replay".to_owned(),
            primary: None,
            params,
            share: Share::default(),
            background: Vec::new(),
        }
    }

    #[test]
    fn a_trace_is_read_and_its_faults_are_named_with_file_and_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.iolog");
        let file = path.to_str().unwrap();
        let missing = work_of(&spec(&[("file", file)])).unwrap_err().to_string();
        assert!(missing.contains("cannot read the trace") && missing.contains(file), "{missing}");
        fs::write(&path, "fio version 2 iolog\n/f read 0 4096\n/f sync 0 0\nrubbish\n").unwrap();
        let broken = work_of(&spec(&[("file", file)])).unwrap_err().to_string();
        assert!(broken.contains(&format!("{file}, line 4: expected")) && broken.contains("skip_bad=true"), "{broken}");
        let work = work_of(&spec(&[("file", file), ("skip_bad", "true")])).unwrap();
        assert!(!work.kind.writes_with(&work.params), "a trace that only reads needs no consent to overwrite");
        assert!(remark(&work.params).unwrap().contains("1 requests; 1 broken lines and 1 flushes"));
    }

    #[test]
    fn a_replay_without_a_file_is_told_how_to_name_one() {
        let error = work_of(&spec(&[])).unwrap_err().to_string();
        assert!(error.contains("replay:file="), "{error}");
    }
}
