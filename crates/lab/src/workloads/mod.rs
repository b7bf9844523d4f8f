//! Resolves a plan's workloads: a table row with its parameters and trace, or a program with its
//! options, and background loads.
//!
//! Crate `workload` reads no files. Traces are read here, once per experiment, before the machine
//! is changed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use experiment::plan::{ArenaFacts, Background, Flow, Plan, Share, WorkloadSpec};
use load::programs::{Needs, Options, RunnerKind};
use recorder::file::ReadOptions;
use sim::workload::{FlowWork, Params, WorkloadKind};
use trace::formats::TraceError;
use trace::replay::{Part, Replay, Summary};

mod flows;

use crate::failure::usage;
use crate::traces;

#[derive(Debug, Clone)]
pub struct Work {
    pub kind: &'static WorkloadKind,
    pub params: Params,
}

#[derive(Debug, Clone)]
pub struct Program {
    pub kind: &'static RunnerKind,
    pub options: Options,
}

impl Program {
    fn read(kind: &'static RunnerKind, spec: &mut WorkloadSpec) -> Result<Program> {
        let pairs = spec.params.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let options =
            kind.read(pairs).map_err(|e| usage(format!("workload {}: {e}", spec.name)))?;
        spec.params = owned(options.pairs());
        Ok(Program { kind, options })
    }

    pub fn needs_files(&self) -> bool {
        self.kind.needs_with(&self.options) == Needs::Files
    }
}

#[derive(Debug, Clone)]
pub struct Load {
    pub work: Work,
    pub share: Share,
}

#[derive(Debug, Clone)]
pub struct Workload {
    pub name: String,
    pub runs: Runs,
    pub share: Share,
    pub loads: Vec<Load>,
}

#[derive(Debug, Clone)]
pub enum Runs {
    Engine(Box<Work>),
    Program(Program),
}

impl Workload {
    fn read(spec: &mut WorkloadSpec, arena: &ArenaFacts) -> Result<Workload> {
        let runs = match load::programs::find(&spec.kind) {
            Some(kind) => Runs::Program(Program::read(kind, spec)?),
            None => Runs::Engine(Box::new(read_work(spec)?)),
        };
        // The CPU arena has its own competing load.
        let loads = if arena.is_cpu() { &mut [][..] } else { &mut spec.background };
        let loads =
            loads.iter_mut().map(|load| read_load(&spec.name, load)).collect::<Result<_>>()?;
        Ok(Workload { name: spec.name.clone(), runs, share: spec.share.clone(), loads })
    }

    pub fn work(&self) -> Option<&Work> {
        match &self.runs {
            Runs::Engine(work) => Some(work),
            Runs::Program(_) => None,
        }
    }

    pub fn program(&self) -> Option<&Program> {
        match &self.runs {
            Runs::Engine(_) => None,
            Runs::Program(program) => Some(program),
        }
    }
}

#[derive(Debug, Clone)]
pub struct Workloads(Vec<Workload>);

impl Workloads {
    /// Reads the workloads and completes their parameters in the plan.
    pub fn read(plan: &mut Plan) -> Result<Workloads> {
        let arena = plan.arena;
        let all = plan.workloads.iter_mut().map(|spec| Workload::read(spec, arena));
        all.collect::<Result<_>>().map(Workloads)
    }

    pub fn get(&self, number: usize) -> &Workload {
        &self.0[number]
    }

    pub fn work(&self, number: usize) -> &Work {
        self.0[number].work().expect("in virtual time every workload is the load engine's")
    }

    pub fn iter(&self) -> impl Iterator<Item = &Workload> {
        self.0.iter()
    }

    /// The workloads of the load engine, with their labels.
    pub fn engine(&self) -> impl Iterator<Item = (&str, &Work)> {
        self.0.iter().filter_map(|workload| Some((workload.name.as_str(), workload.work()?)))
    }

    fn programs(&self) -> impl Iterator<Item = &Program> {
        self.0.iter().filter_map(Workload::program)
    }

    pub fn has_programs(&self) -> bool {
        self.programs().next().is_some()
    }

    pub fn loads(&self) -> impl Iterator<Item = &Load> {
        self.0.iter().flat_map(|workload| &workload.loads)
    }

    pub fn flows(&self) -> impl Iterator<Item = &FlowWork> {
        self.engine().flat_map(|(_, work)| &work.params.flows)
    }

    fn all_work(&self) -> impl Iterator<Item = &Work> {
        self.engine().map(|(_, work)| work).chain(self.loads().map(|load| &load.work))
    }

    /// Checks, before a file system is made, that clients of files have file sizes.
    pub fn check_files(&self) -> Result<()> {
        let mut all = self.all_work();
        all.try_for_each(|work| {
            let sizes = work.kind.file_sizes(&work.params, 512);
            sizes.map(drop).map_err(|e| usage(format!("{}: {e}", work.kind.name)))
        })
    }

    /// Describes shares of the device that some of the schedulers ignore.
    pub fn without_effect<'s>(&self, schedulers: impl Iterator<Item = &'s str>) -> Option<String> {
        let others: Vec<&str> = schedulers.filter(|name| *name != "bfq").collect();
        (self.shares().any(|share| share.io_weight.is_some()) && !others.is_empty()).then(|| {
            format!(
                "io_weight has no effect under {} (unless the kernel's iocost is configured), so the background load differs between variants",
                others.join(", ")
            )
        })
    }

    /// The device shares of programs and loads.
    pub fn shares(&self) -> impl Iterator<Item = &Share> {
        let programs = self.0.iter().filter(|workload| workload.program().is_some());
        self.loads().map(|load| &load.share).chain(programs.map(|workload| &workload.share))
    }

    /// Whether any workload writes to the bare device.
    pub fn write(&self) -> bool {
        self.all_work().any(|work| work.kind.writes_with(&work.params))
            || self.programs().any(|program| (program.kind.writes)(&program.options))
    }

    /// Omissions in the replayed traces.
    pub fn remarks(&self) -> Vec<String> {
        self.engine().filter_map(|(_, work)| remark(&work.params)).collect()
    }

    /// A digest of the replayed traces, so that results are not resumed with different ones.
    pub fn replayed(&self) -> Option<String> {
        let digests = self.engine().filter_map(|(label, work)| {
            let Summary { requests, bytes, bad, checksum, .. } = &work.params.replay.trace.as_ref()?.summary;
            Some(format!("{label}: {requests} requests, {bytes} bytes, {bad} broken lines, checksum {checksum:016x}"))
        });
        let mut digests: Vec<String> = digests.collect();
        digests.sort();
        (!digests.is_empty()).then(|| digests.join("; "))
    }
}

/// The row of a background load. Programs and workloads that end on their own are refused.
pub fn find_load(label: &str, kind: &str) -> Result<&'static WorkloadKind> {
    if load::programs::find(kind).is_some() {
        return Err(usage(format!(
            "workload {label}: {kind} is a program; background loads are schedlab's own workloads, e.g. seqwrite:clients=2"
        )));
    }
    let row = find(kind)?;
    if row.needs_trace() || row.pass_based {
        return Err(usage(format!(
            "workload {label}: {kind} ends on its own, but a background load must not end; use e.g. seqwrite or randread"
        )));
    }
    Ok(row)
}

/// A part of a workload as a separate workload.
pub fn alone(name: String, kind: &str, params: &BTreeMap<String, String>) -> WorkloadSpec {
    WorkloadSpec {
        name,
        kind: kind.to_owned(),
        primary: None,
        params: params.clone(),
        share: Share::default(),
        background: Vec::new(),
        flows: Vec::new(),
    }
}

fn read_load(label: &str, load: &mut Background) -> Result<Load> {
    let kind = find_load(label, &load.kind)?;
    let params = params_of(kind, &load.params, &format!("{label}, background {}", load.kind))?;
    load.params = owned(kind.show(&params));
    Ok(Load { work: Work { kind, params }, share: load.share.clone() })
}

/// Like [`work_of`], but completes the parameters in `spec`.
fn read_work(spec: &mut WorkloadSpec) -> Result<Work> {
    let kind = find(&spec.kind)?;
    let params = params_of(kind, &spec.params, &spec.name)?;
    spec.params = owned(kind.show(&params));
    complete(spec, kind, params)
}

pub fn work_of(spec: &WorkloadSpec) -> Result<Work> {
    let kind = find(&spec.kind)?;
    complete(spec, kind, params_of(kind, &spec.params, &spec.name)?)
}

fn params_of(
    kind: &'static WorkloadKind,
    given: &BTreeMap<String, String>,
    label: &str,
) -> Result<Params> {
    let pairs = given.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    kind.params(pairs).map_err(|e| usage(format!("workload {label}: {e}")))
}

fn owned<'a>(
    pairs: impl IntoIterator<Item = (&'a str, impl Into<String>)>,
) -> BTreeMap<String, String> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect()
}

fn complete(spec: &WorkloadSpec, kind: &'static WorkloadKind, params: Params) -> Result<Work> {
    let params = if kind.needs_trace() { with_trace(spec, params)? } else { params };
    let params = match spec.flows[..] {
        [] => params,
        _ => flows::with_flows(spec, kind, params, |flow| flow_of(spec, flow))?,
    };
    Ok(Work { kind, params })
}

fn flow_of(spec: &WorkloadSpec, flow: &Flow) -> Result<(&'static WorkloadKind, Params)> {
    let Work { kind, params } =
        work_of(&alone(format!("{}, flow {}", spec.name, flow.name), &flow.kind, &flow.params))?;
    Ok((kind, params))
}

/// The row of a workload of the load engine. The error suggests the nearest workload or program.
pub fn find(name: &str) -> Result<&'static WorkloadKind> {
    sim::workload::find(name).map_err(|e| match load::programs::RUNNERS.iter().map(|row| row.name).find(|row| near(row, name)) {
        Some(row) if e.nearest.is_none() => usage(format!("workload {name:?}: unknown; did you mean {row:?}?")),
        _ => {
            let programs: Vec<&str> = load::programs::RUNNERS.iter().map(|row| row.name).collect();
            usage(format!(
                "workload {name:?}: unknown name{} (expected one of {}, or of the programs {}); see schedlab list workloads",
                text::suggestion(e.nearest),
                e.known.join(", "),
                programs.join(", ")
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
    let own = &params.replay;
    let options = ReadOptions { format: own.format, skip_bad: own.skip_bad };
    let trace = traces::read(Path::new(&file), &options).map_err(|e| {
        let is_line = e.downcast_ref::<TraceError>().is_some();
        let skip = if is_line && !own.skip_bad { "; skip_bad=true skips broken lines" } else { "" };
        usage(format!("workload {label}: {e:#}{skip}"))
    })?;
    let replay = Replay::from_trace(&trace, &own.options())
        .map_err(|e| usage(format!("workload {label}: {file}: {e}")))?;
    Ok(params.with_trace(Arc::new(replay)))
}

/// Omissions in a replayed trace, and which part represents the whole.
fn remark(params: &Params) -> Option<String> {
    let (replay, file) = (params.replay.trace.as_ref()?, params.replay.file.as_deref()?);
    let Summary { requests, left_out, bad, others, part, .. } = &replay.summary;
    let mut said = Vec::new();
    if bad + left_out > 0 {
        said.push(format!(
            "{bad} broken lines and {left_out} flushes, discards and the like are not replayed"
        ));
    }
    if !others.is_empty() {
        said.push(format!("{} not replayed (device=NAME chooses)", others.join(", ")));
    }
    if let Some(part) = part {
        said.push(of_part(part));
    }
    (!said.is_empty()).then(|| format!("{file}: {requests} requests; {}", said.join("; ")))
}

fn of_part(part: &Part) -> String {
    let features: Vec<String> = part
        .features
        .iter()
        .map(|(name, part, whole)| format!("{name} {part:.4} ({whole:.4})"))
        .collect();
    format!(
        "replaying {} from {}: the most representative of {} windows ({:.2} SD from the whole), with {} (the whole)",
        text::format_duration(part.length_ns),
        text::format_duration(part.from_ns),
        part.windows,
        part.distance,
        features.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(params: &[(&str, &str)]) -> WorkloadSpec {
        let params =
            params.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        WorkloadSpec {
            name: "mine".to_owned(),
            kind: "replay".to_owned(),
            primary: None,
            params,
            share: Share::default(),
            background: Vec::new(),
            flows: Vec::new(),
        }
    }

    #[test]
    fn a_trace_is_read_and_its_faults_are_named_with_file_and_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.iolog");
        let file = path.to_str().unwrap();
        let missing = work_of(&spec(&[("file", file)])).unwrap_err().to_string();
        assert!(missing.contains("cannot read the trace") && missing.contains(file), "{missing}");
        std::fs::write(&path, "fio version 2 iolog\n/f read 0 4096\n/f sync 0 0\nrubbish\n")
            .unwrap();
        let broken = work_of(&spec(&[("file", file)])).unwrap_err().to_string();
        assert!(
            broken.contains(file)
                && broken.contains("line 4: expected")
                && broken.contains("skip_bad=true"),
            "{broken}"
        );
        let work = work_of(&spec(&[("file", file), ("skip_bad", "true")])).unwrap();
        assert!(
            !work.kind.writes_with(&work.params),
            "a trace that only reads needs no consent to overwrite"
        );
        assert!(remark(&work.params).unwrap().contains("1 requests; 1 broken lines and 1 flushes"));
    }

    #[test]
    fn a_replay_without_a_file_is_told_how_to_name_one() {
        let error = work_of(&spec(&[])).unwrap_err().to_string();
        assert!(error.contains("replay:file="), "{error}");
    }

    #[test]
    fn unknown_workload_suggestion_comes_before_the_list() {
        let Err(error) = find("randrea") else { panic!("no such workload") };
        let error = error.to_string();
        let start =
            "workload \"randrea\": unknown name; did you mean \"randread\"? (expected one of ";
        assert!(error.starts_with(start), "{error}");
    }
}
