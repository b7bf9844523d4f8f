//! From a plan's words to work that can be done: a workload's row, its parameters, and the trace that it replays; or a program with its
//! options; and the load in the background.
//!
//! Crate `workload` reads no files, so the one that `replay` names is read here, once for an experiment and before anything on
//! the machine is touched. Every arena gets its workloads from here.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use anyhow::Result;
use experiment::plan::{Background, Plan, Share, WorkloadSpec};
use runner::{Needs, Options, RunnerKind};
use workload::{Params, WorkloadKind};

use crate::failure::usage;

/// A workload that is ready to be placed on a target.
#[derive(Debug, Clone)]
pub struct Work {
    pub kind: &'static WorkloadKind,
    pub params: Params,
}

/// A program that is ready to be prepared.
#[derive(Debug, Clone)]
pub struct Program {
    pub kind: &'static RunnerKind,
    pub options: Options,
}

impl Program {
    /// Reads the options of a runner's row.
    ///
    /// # Errors
    /// Wrong usage: an unknown option, a value that cannot be.
    pub fn of(kind: &'static RunnerKind, spec: &WorkloadSpec) -> Result<Program> {
        let pairs = spec.params.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let options = kind.read(pairs).map_err(|e| usage(format!("workload {}: {e}", spec.name)))?;
        Ok(Program { kind, options })
    }

    /// Whether it cannot do without a file system.
    pub fn needs_files(&self) -> bool {
        self.kind.needs_with(&self.options) == Needs::Files
    }
}

/// A load in the background.
#[derive(Debug, Clone)]
pub struct Load {
    pub work: Work,
    pub share: Share,
}

/// Every workload of a plan by its label.
#[derive(Debug)]
pub struct Works {
    by_label: BTreeMap<String, Work>,
    programs: BTreeMap<String, Program>,
    loads: BTreeMap<String, Vec<Load>>,
    program_shares: Vec<Share>,
    /// What the user should know of the traces that were read.
    pub words: Vec<String>,
}

impl Works {
    /// # Errors
    /// Wrong usage: an unknown workload or parameter, a trace that cannot be read.
    pub fn of(plan: &Plan) -> Result<Works> {
        let mut works = Works {
            by_label: BTreeMap::new(),
            programs: BTreeMap::new(),
            loads: BTreeMap::new(),
            program_shares: Vec::new(),
            words: Vec::new(),
        };
        for spec in &plan.workloads {
            if !spec.background.is_empty() && !plan.arena.is_cpu() {
                let loads = spec.background.iter().map(|load| load_of(spec, load)).collect::<Result<_>>()?;
                works.loads.insert(spec.name.clone(), loads);
            }
            if let Some(kind) = runner::find(&spec.kind) {
                works.programs.insert(spec.name.clone(), Program::of(kind, spec)?);
                works.program_shares.push(spec.share.clone());
                continue;
            }
            let work = work_of(spec)?;
            works.words.extend(remark(&work.params));
            works.by_label.insert(spec.name.clone(), work);
        }
        Ok(works)
    }

    /// The program of this label, if it is one.
    pub fn program(&self, label: &str) -> Option<&Program> {
        self.programs.get(label)
    }

    /// Programs by their labels.
    pub fn programs(&self) -> impl Iterator<Item = (&str, &Program)> {
        self.programs.iter().map(|(label, program)| (label.as_str(), program))
    }

    /// What goes on beside the work of this label.
    pub fn loads(&self, label: &str) -> &[Load] {
        self.loads.get(label).map(Vec::as_slice).unwrap_or_default()
    }

    /// Clients that work on files need to know how large these are: before a file system is made.
    ///
    /// # Errors
    /// Wrong usage, with the parameter that is missing.
    pub fn check_files(&self) -> Result<()> {
        let loads = self.loads.values().flatten().map(|load| &load.work);
        self.by_label.values().chain(loads).try_for_each(|work| {
            let sizes = work.kind.file_sizes(&work.params, 512);
            sizes.map(drop).map_err(|e| usage(format!("{}: {e}", work.kind.name)))
        })
    }

    /// What shares of the device do not do under some of the arms, or for some of the work.
    pub fn without_effect(&self, arms: &[String]) -> Vec<String> {
        let others: Vec<&str> = arms.iter().map(String::as_str).filter(|name| *name != "bfq").collect();
        let mut words = Vec::new();
        if self.shares().any(|share| share.io_weight.is_some()) && !others.is_empty() {
            words.push(format!(
                "io_weight is bfq's: under {} it does nothing (unless the kernel's iocost is set up), so the arms do not meet the same load",
                others.join(", ")
            ));
        }
        words
    }

    /// What shares of the device are asked for, by programs and by loads.
    pub fn shares(&self) -> impl Iterator<Item = &Share> {
        self.loads.values().flatten().map(|load| &load.share).chain(self.program_shares.iter())
    }

    /// The labels of all workloads.
    pub fn labels(&self) -> impl Iterator<Item = &str> + Clone {
        self.by_label.keys().chain(self.programs.keys()).map(String::as_str)
    }

    /// Whether something is written to the bare device.
    pub fn write(&self) -> bool {
        let loads = self.loads.values().flatten().map(|load| &load.work);
        self.by_label.values().chain(loads).any(|work| work.kind.writes_with(&work.params))
            || self.programs.values().any(|program| (program.kind.writes)(&program.options))
    }

    /// Workloads of the load engine by their labels.
    pub fn engine(&self) -> impl Iterator<Item = (&str, &Work)> {
        self.by_label.iter().map(|(label, work)| (label.as_str(), work))
    }

    /// The workload of this spec.
    pub fn get(&self, spec: &WorkloadSpec) -> &Work {
        self.named(&spec.name)
    }

    /// The workload with this label.
    pub fn named(&self, label: &str) -> &Work {
        self.by_label.get(label).expect("trials are made of the plan's own workloads")
    }

    /// What the traces that are replayed hold, so that a record does not go on with another one; None without a trace.
    pub fn replayed(&self) -> Option<String> {
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

    pub fn iter(&self) -> impl Iterator<Item = &Work> {
        self.by_label.values()
    }
}

/// The row of a load in the background.
///
/// # Errors
/// Wrong usage: it is a program, or ends by itself.
pub fn find_load(label: &str, kind: &str) -> Result<&'static WorkloadKind> {
    if runner::find(kind).is_some() {
        return Err(usage(format!(
            "workload {label}: {kind} is a program; the background is made of schedlab's own workloads, e.g. seqwrite:clients=2"
        )));
    }
    let row = find(kind)?;
    if row.needs_trace() || row.pass_based {
        return Err(usage(format!(
            "workload {label}: {kind} ends by itself, and a background goes on until it is ended; take e.g. seqwrite or randread"
        )));
    }
    Ok(row)
}

fn load_of(spec: &WorkloadSpec, load: &Background) -> Result<Load> {
    find_load(&spec.name, &load.kind)?;
    let name = format!("{}, background {}", spec.name, load.kind);
    let (kind, params) = (load.kind.clone(), load.params.clone());
    let alone = WorkloadSpec { name, kind, primary: None, params, share: Share::default(), background: Vec::new() };
    let work = work_of(&alone)?;
    Ok(Load { work, share: load.share.clone() })
}

pub fn work_of(spec: &WorkloadSpec) -> Result<Work> {
    let kind = find(&spec.kind)?;
    let pairs = spec.params.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let params = kind.params(pairs).map_err(|e| usage(format!("workload {}: {e}", spec.name)))?;
    let params = if kind.needs_trace() { with_trace(spec, params)? } else { params };
    Ok(Work { kind, params })
}

/// The row of a workload of the load engine.
///
/// # Errors
/// Wrong usage, with the nearest name of a workload or a program.
pub fn find(name: &str) -> Result<&'static WorkloadKind> {
    workload::find(name).map_err(|e| match runner::RUNNERS.iter().map(|row| row.name).find(|row| near(row, name)) {
        Some(row) if e.nearest.is_none() => usage(format!("workload {name:?}: unknown; did you mean {row:?}?")),
        _ => {
            let programs: Vec<&str> = runner::RUNNERS.iter().map(|row| row.name).collect();
            usage(format!(
                "workload {name:?}: unknown name (expected one of {}, or of the programs {}); see schedlab list workloads{}",
                e.known.join(", "),
                programs.join(", "),
                e.nearest.map_or_else(String::new, |near| format!("; did you mean {near:?}?"))
            ))
        }
    })
}

fn near(row: &str, name: &str) -> bool {
    strsim::jaro_winkler(row, name) > 0.8
}

fn with_trace(spec: &WorkloadSpec, params: Params) -> Result<Params> {
    let label = &spec.name;
    let Some(file) = params.replay.file.clone() else {
        return Err(usage(format!(
            "workload {label}: no trace to replay; give its file, e.g. {}:file=disk.iolog",
            spec.kind
        )));
    };
    if fs::metadata(&file).is_ok_and(|found| !found.is_file()) {
        return Err(usage(format!(
            "workload {label}: {file} is not a file; a trace is read whole, so name a regular file"
        )));
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
