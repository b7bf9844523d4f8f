//! Derives a parametric workload from a trace, runs it on a modelled disk, and compares its profile
//! with the trace's. Its figures depend on the model and the scheduler, too.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use experiment::plan::{
    self, Budget, Criteria, FLOWS, Flow, Limits, Plan, SCHEMA, Share, TrialLength, WorkloadSpec,
};
use experiment::plan::{is_flow_name, parse_variants};
use recorder::file::ReadOptions;
use serde::Serialize;
use text::{format_bytes, format_duration, format_size};
use trace::profile::{DeviceProfile, profile_trace};
use trace::synthesize::{self, Figure, Group, Synthesis, compare};

use crate::arena::model::Model;
use crate::arena::sim::{Setting, SimArena, TURNAROUND_NS};
use crate::arena::{TrialSpec, VariantIndex, Variants};
use crate::failure::usage;
use crate::signals::Stop;
use crate::traces;
use crate::workloads::Workloads;

/// Default devices: rotational and flash.
const ROTATING: &str = "wd4tb7200";
const FLASH: &str = "970pro-like";
/// The trial is as long as the trace, within these bounds in milliseconds. It is longer if this
/// many requests take more time.
const SHORTEST_MS: u64 = 1_000;
const LONGEST_MS: u64 = 30_000;
const ENOUGH: u64 = 1_000;
/// The table row of a group, and the label of the workload.
const KIND: &str = "virtual-machines";
const LABEL: &str = "synthetic";
/// The schedulers that its plan compares.
const VARIANTS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];
/// Alignment of the parts of a disk.
const MIB: u64 = 1 << 20;

#[derive(Debug, Clone)]
pub struct Request {
    pub trace: PathBuf,
    pub options: ReadOptions,
    /// A modelled disk; None: by the kind of the recorded one.
    pub device: Option<String>,
    /// None: the one in effect longest, if the simulator has it.
    pub scheduler: Option<String>,
    pub groups: usize,
    pub seed: u64,
}

#[derive(Debug, Clone, Serialize)]
pub struct Synthesized {
    pub device: String,
    pub scheduler: String,
    pub groups: Vec<Group>,
    pub workload: WorkloadSpec,
    pub figures: Vec<Figure>,
    /// Features of the trace that the workload cannot express.
    pub unsaid: Vec<String>,
    /// Virtual length of the compared trial.
    pub trial_ms: u64,
    #[serde(skip)]
    pub plan: Plan,
}

#[derive(Serialize)]
struct Table<'a> {
    workload: [&'a WorkloadSpec; 1],
}

impl Synthesized {
    /// The workload as a TOML table of a plan.
    pub fn block(&self) -> String {
        let table = Table { workload: [&self.workload] };
        toml::to_string_pretty(&table).expect("a workload has only tables, text and numbers")
    }
}

pub fn synthesize(request: &Request, stop: &Stop) -> Result<Synthesized> {
    let mut trace = traces::read(&request.trace, &request.options)?;
    let profile = profile_trace(&trace);
    let several = synthesize::by_pattern(&mut trace);
    let patterns = if several.is_empty() { None } else { Some(profile_trace(&trace)) };
    drop(trace);
    let shown = request.trace.display();
    let disk = profile.devices.iter().find(|disk| disk.total.reads + disk.total.writes > 0);
    let disk = disk.ok_or_else(|| {
        usage(format!(
            "{shown}: no reads or writes (found 0); record a busy disk with schedlab trace record"
        ))
    })?;
    let limits = synthesize::Limits { groups: request.groups.max(1), turnaround_ns: TURNAROUND_NS };
    let same = |of: &&DeviceProfile| of.device == disk.device;
    let of_patterns = patterns.as_ref().and_then(|profile| profile.devices.iter().find(same));
    let Synthesis { groups, mut unsaid } = synthesize::groups(of_patterns.unwrap_or(disk), &limits);
    if !several.is_empty() {
        let names = several.join(", ");
        unsaid.push(format!(
            "{names}: each has several access patterns, modelled as separate groups; dependencies between them"
        ));
    }
    let others: Vec<&str> = profile
        .devices
        .iter()
        .filter(|of| of.device != disk.device)
        .map(|of| of.name.as_str())
        .collect();
    if !others.is_empty() {
        unsaid.push(format!("disks other than {}: {}", disk.name, others.join(", ")));
    }
    let device = request.device.clone().unwrap_or_else(|| suitable(disk).to_owned());
    let scheduler = request.scheduler.clone().unwrap_or_else(|| in_effect(disk));
    let model = Model::read(&device)?;
    let bytes = model.look(|model| model.sectors()) * elevator::SECTOR_BYTES;
    let workload = workload_of(&groups, bytes, &mut unsaid)?;
    let trial_ms = length_ms(disk);
    let plan = planned(&device, &scheduler, workload, trial_ms, request.seed)?;
    let synthetic = tried(plan.clone(), model, stop)?;
    Ok(Synthesized {
        figures: compare(disk, &synthetic),
        workload: plan.workloads[0].clone(),
        device,
        scheduler,
        groups,
        unsaid,
        trial_ms,
        plan,
    })
}

fn length_ms(disk: &DeviceProfile) -> u64 {
    let span_ms = disk.span_ns() / 1_000_000;
    let for_enough = span_ms / disk.total.requests().max(1) * ENOUGH;
    span_ms.clamp(SHORTEST_MS, LONGEST_MS.max(for_enough))
}

fn suitable(disk: &DeviceProfile) -> &'static str {
    if disk.rotational == Some(false) { FLASH } else { ROTATING }
}

fn in_effect(disk: &DeviceProfile) -> String {
    let most = disk.schedulers.iter().max_by_key(|(_, requests)| *requests);
    most.map(|(name, _)| name.as_str())
        .filter(|name| elevator::find(name).is_some())
        .unwrap_or("none")
        .to_owned()
}

/// The trial's scheduler first, then those that a plan compares.
fn variants(first: &str) -> Result<Vec<experiment::plan::Variant>> {
    let others = VARIANTS.into_iter().filter(|name| *name != first);
    let names: Vec<String> = std::iter::once(first).chain(others).map(str::to_owned).collect();
    parse_variants(&names).map_err(|e| usage(format!("--scheduler: {e}")))
}

/// One group becomes a workload, several become its flows.
fn workload_of(groups: &[Group], bytes: u64, unsaid: &mut Vec<String>) -> Result<WorkloadSpec> {
    let part = bytes / groups.len().max(1) as u64 / MIB * MIB;
    let mut flows: Vec<Flow> = Vec::new();
    for group in groups {
        if group.region > part {
            let (used, has) = (format_bytes(group.region), format_bytes(part));
            unsaid.push(format!(
                "{}: uses {used}, of which the model has room for {has}",
                group.name
            ));
        }
        let params = params_of(group, part);
        flows.push(Flow {
            name: plain_name(&group.name, &flows),
            kind: KIND.to_owned(),
            params,
            ..Flow::default()
        });
    }
    let [one] = &flows[..] else { return Ok(spec(FLOWS, BTreeMap::new(), flows)) };
    Ok(spec(KIND, one.params.clone(), Vec::new()))
}

fn spec(kind: &str, params: BTreeMap<String, String>, flows: Vec<Flow>) -> WorkloadSpec {
    let (name, kind) = (LABEL.to_owned(), kind.to_owned());
    WorkloadSpec {
        name,
        kind,
        primary: None,
        params,
        share: Share::default(),
        background: Vec::new(),
        flows,
    }
}

fn params_of(group: &Group, part: u64) -> BTreeMap<String, String> {
    // Each client needs at least one block.
    let least = u64::from(group.clients) * u64::from(group.block_size);
    let region = group.region.max(least).div_ceil(MIB).saturating_mul(MIB).min(part);
    let params = [
        ("clients", group.clients.to_string()),
        ("read_share", group.read_share.to_string()),
        ("block_size", format_size(group.block_size.into())),
        ("jump_share", group.jump_share.to_string()),
        ("iodepth", group.iodepth.to_string()),
        ("think_time", format_duration(group.think_ns)),
        ("think_dist", group.think_dist.name().to_owned()),
        ("file_size", format_size(region)),
    ];
    params.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A unique, valid flow name. Process names may contain any character.
fn plain_name(name: &str, others: &[Flow]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let mut plain: String =
        name.chars().map(|c| if is_plain(c) { c } else { '_' }).take(32).collect();
    if !is_flow_name(&plain) || others.iter().any(|other| other.name == plain) {
        plain = format!("{plain}-{}", others.len() + 1).trim_start_matches('-').to_owned();
    }
    if plain.starts_with(|c: char| c.is_ascii_digit()) { format!("group-{plain}") } else { plain }
}

fn planned(
    device: &str,
    scheduler: &str,
    workload: WorkloadSpec,
    ms: u64,
    seed: u64,
) -> Result<Plan> {
    Ok(Plan {
        schema: SCHEMA,
        name: LABEL.to_owned(),
        arena: &plan::SIM,
        device: device.to_owned(),
        kernel: None,
        seed,
        baseline: None,
        budget: Budget {
            time_s: (4 * 12 * 4 * ms) as f64 / 1000.0,
            rounds: Some(12),
            ..Budget::default()
        },
        trial: TrialLength { duration_ms: Some(ms), warmup_ms: Some(0) },
        criteria: Criteria::default(),
        limits: Limits::default(),
        variants: variants(scheduler)?,
        workloads: vec![workload],
        files: None,
        metrics: Vec::new(),
        published: Vec::new(),
    })
}

fn tried(mut plan: Plan, model: Model, stop: &Stop) -> Result<DeviceProfile> {
    plan.check().map_err(|e| usage(format!("--device {}: {e}", plan.device)))?;
    let variants = Variants::read(&mut plan.variants, |variant| Setting::of(variant))?;
    let workloads = Workloads::read(&mut plan)?;
    let arena = SimArena::open(&plan, model, variants, workloads, stop)?;
    let duration = Duration::from_millis(plan.trial.duration_ms.unwrap_or(LONGEST_MS));
    let trial = TrialSpec { workload: 0, seed: plan.seed, duration, warmup: Duration::ZERO };
    let mut recorder = sim::Recorder::default();
    arena.observed(VariantIndex(0), &trial, &mut recorder)?;
    let profile = profile_trace(&recorder.finish());
    let disk = profile.devices.into_iter().next();
    disk.ok_or_else(|| {
        anyhow::anyhow!(
            "{}: the synthetic workload made no request (found 0); stopped too early?",
            plan.device
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str) -> Group {
        Group {
            name: name.to_owned(),
            requests: 10,
            clients: 2,
            read_share: 80,
            block_size: 8192,
            jump_share: 30,
            iodepth: 1,
            think_ns: 1_500_000,
            think_dist: trace::synthesize::Spread::Exponential,
            region: 1 << 40,
        }
    }

    #[test]
    fn a_workload_of_any_names_can_be_read_back_and_runs() {
        let names = ["pg", "pg", "", "../a\u{1b}[31m\"]", "42", "-", "ä", &"x".repeat(900)];
        for count in [1, 2, names.len()] {
            let groups: Vec<Group> = names[..count].iter().map(|name| group(name)).collect();
            let mut unsaid = Vec::new();
            let model = Model::read("hp97560").expect("a model");
            let bytes = model.look(|model| model.sectors()) * 512;
            let workload = workload_of(&groups, bytes, &mut unsaid).expect("a workload");
            assert_eq!(unsaid.len(), count, "{unsaid:?}");
            let plan = planned("hp97560", "none", workload, 200, 1).expect("a plan");
            assert_eq!(Plan::from_toml(&plan.to_toml()).expect("it is read back"), plan);
            let profile =
                tried(plan.clone(), model, &Stop::install().expect("handlers")).expect("a trial");
            assert!(profile.total.reads > 0 && profile.processes.len() == 2 * count);
        }
    }
}
