//! `schedlab iocost`: measures a device's io.cost model and matching QoS parameters.
//!
//! Direct I/O without scheduler, merges or cost model: sequential 1 MiB requests (`bps`),
//! sequential and random 4 KiB ones (`seqiops`, `randiops`). Each coefficient is a median of
//! trials; the kernel's tools/cgroup/iocost_coef_gen.py runs fio for 120 s each. The QoS rules are
//! ours (resctl-bench searches under memory pressure): `rlat` and `wlat` are 99th percentiles under
//! the random loads; `min` and `max` are speeds relative to the model under other loads.

mod model;
mod published;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, bail};
use experiment::plan::{ArenaFacts, Budget, Criteria, Limits, Plan, SCHEMA, TrialLength, Variant};
use experiment::results::{Environment, InvalidReason};
use experiment::stats::describe::median;
use machine::Root;
use machine::settings::device_attributes;
use serde::Serialize;

pub use model::{Model, Qos, Rates, hwdb_lines, model_line, qos_line};
pub use published::{Published, Publisher};

use crate::arena::model::Model as Device;
use crate::arena::open::{OpenOptions, within};
use crate::arena::{Arena, TrialSpec, VariantIndex};
use crate::console::Console;
use crate::progress::Step;
use crate::resolve::{Resolved, bare};

/// For `rlat` and `wlat`.
const PERCENTILE: f64 = 99.0;

/// As in the kernel's tool.
const DEPTH: u64 = 64;

#[derive(Debug, Clone)]
pub struct Request {
    pub arena: &'static ArenaFacts,
    pub device: String,
    pub reads_only: bool,
    pub repetitions: u32,
    /// None: 10 s, or the modelled device's default.
    pub trial: Option<Duration>,
    /// For devices that one client cannot saturate.
    pub clients: u32,
    pub seed: u64,
}

struct Load {
    /// A coefficient or a load for QoS.
    name: &'static str,
    kind: &'static str,
    params: &'static [(&'static str, &'static str)],
    metric: &'static str,
    /// From the metric's to the coefficient's unit.
    scale: f64,
    writes: bool,
}

impl Load {
    fn metrics(&self) -> impl Iterator<Item = &'static str> {
        let p99 = match self.name {
            "rrandiops" => Some(READ_P99),
            "wrandiops" => Some(WRITE_P99),
            _ => None,
        };
        std::iter::once(self.metric).chain(p99)
    }
}

const READ_P99: &str = "read_latency_p99_us";
const WRITE_P99: &str = "write_latency_p99_us";
const SMALL: &[(&str, &str)] = &[("block_size", "4k")];
const LARGE: &[(&str, &str)] = &[("block_size", "1M")];
const MB: f64 = 1e6;

/// Writes last, because they may cause garbage collection.
const LOADS: [Load; 8] = [
    Load {
        name: "rbps",
        kind: "seqread",
        params: LARGE,
        metric: "read_mb_per_s",
        scale: MB,
        writes: false,
    },
    Load {
        name: "rseqiops",
        kind: "seqread",
        params: SMALL,
        metric: "read_iops",
        scale: 1.0,
        writes: false,
    },
    Load {
        name: "rrandiops",
        kind: "randread",
        params: SMALL,
        metric: "read_iops",
        scale: 1.0,
        writes: false,
    },
    Load {
        name: LARGE_READS,
        kind: "randread",
        params: &[("block_size", "64k")],
        metric: "read_iops",
        scale: 1.0,
        writes: false,
    },
    Load {
        name: "wbps",
        kind: "seqwrite",
        params: LARGE,
        metric: "write_mb_per_s",
        scale: MB,
        writes: true,
    },
    Load {
        name: "wseqiops",
        kind: "seqwrite",
        params: SMALL,
        metric: "write_iops",
        scale: 1.0,
        writes: true,
    },
    Load {
        name: "wrandiops",
        kind: "randwrite",
        params: SMALL,
        metric: "write_iops",
        scale: 1.0,
        writes: true,
    },
    Load {
        name: MIXED,
        kind: "oltp",
        params: &[("block_size", "4k"), ("read_share", "70")],
        metric: "iops",
        scale: 1.0,
        writes: true,
    },
];

const LARGE_READS: &str = "random reads of 64 KiB";
const MIXED: &str = "random reads and writes 70 : 30";

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    pub name: &'static str,
    /// The median.
    pub value: Option<f64>,
    /// Range ÷ median.
    pub spread: Option<f64>,
    pub values: Vec<f64>,
    pub invalid: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    pub device: String,
    pub arena: &'static str,
    /// 0:0 for a modelled device.
    pub number: String,
    /// As reported by the drive.
    pub drive: Option<String>,
    pub reads_only: bool,
    pub repetitions: u32,
    pub trial_ms: u64,
    pub figures: Vec<Figure>,
    pub model: Option<Model>,
    pub qos: Option<Qos>,
    /// The kernel's initial coefficients for this kind of device.
    pub preset: Option<&'static Published>,
    pub published: Option<&'static Published>,
}

pub fn plan(root: &Root, request: &Request) -> Result<Plan> {
    // Requests that wait for the device could merge, which the simulator cannot disable.
    let depth = if request.arena.is_in_process() {
        Device::read(&request.device)?.look(|device| u64::from(device.queue_depth())).min(DEPTH)
    } else {
        DEPTH
    };
    let mut plan = Plan {
        schema: SCHEMA,
        name: "io.cost".to_owned(),
        arena: request.arena,
        device: request.device.clone(),
        kernel: None,
        seed: request.seed,
        baseline: None,
        budget: Budget::default(),
        trial: TrialLength::default(),
        criteria: Criteria::default(),
        limits: Limits::default(),
        variants: vec![Variant { tunables: tunables(root, request.arena), ..bare("none") }],
        workloads: Vec::new(),
        files: None,
        metrics: Vec::new(),
        published: Vec::new(),
    };
    for load in loads(request) {
        let mut spec = experiment::plan::parse_workload(load.kind)?;
        load.name.clone_into(&mut spec.name);
        let given =
            load.params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let open = if load.params == LARGE { depth.min(32) } else { depth };
        let sizes = [("clients", u64::from(request.clients)), ("iodepth", open)];
        spec.params =
            given.chain(sizes.map(|(name, value)| (name.to_owned(), value.to_string()))).collect();
        plan.workloads.push(spec);
    }
    Ok(plan)
}

fn loads(request: &Request) -> impl Iterator<Item = &'static Load> {
    let reads_only = request.reads_only;
    LOADS.iter().filter(move |load| !(reads_only && load.writes))
}

/// Disables merges, think time, simulated CPU time and any cost model.
fn tunables(root: &Root, arena: &ArenaFacts) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    if arena.is_in_process() {
        all.extend(["turnaround_us", "cpu_percent"].map(|name| (name.to_owned(), "0".to_owned())));
        return all;
    }
    all.insert("nomerges".to_owned(), "2".to_owned());
    if device_attributes::has_cost_model(root) {
        all.insert("io.cost.qos".to_owned(), "enable=0".to_owned());
    }
    all
}

pub fn run(
    root: &Root,
    request: &Request,
    opening: &OpenOptions,
    console: Console<'_>,
) -> Result<Report> {
    let resolved = Resolved::read(plan(root, request)?)?;
    within(root, resolved, opening, console, |plan, arena| measure(request, plan, arena, console))
}

fn measure(
    request: &Request,
    plan: &Plan,
    arena: &mut dyn Arena,
    console: Console<'_>,
) -> Result<Report> {
    let Console { stop, progress } = console;
    let facts = arena.capture()?;
    let duration = if request.arena.is_virtual() {
        Duration::from_millis(Device::read(&plan.device)?.look(|device| device.trial_ms()))
    } else {
        Duration::from_secs(10)
    };
    let duration = request.trial.unwrap_or(duration);
    let warmup = duration / 5;
    let loads: Vec<&Load> = loads(request).collect();
    let mut trials: Vec<Vec<Trial>> = vec![Vec::new(); loads.len()];
    let total = loads.len() as u32 * request.repetitions;
    let mut done = 0;
    for repetition in 0..request.repetitions {
        arena.begin_round()?;
        for (workload, load) in loads.iter().enumerate() {
            let left = (duration + warmup) * (total - done);
            progress.trial(&Step {
                share: f64::from(done) / f64::from(total),
                elapsed: (duration + warmup) * done,
                simulated: request.arena.is_virtual(),
                left: Some(left),
                workload: load.name,
                variant: "none",
                round: repetition,
                standing: "",
            });
            let seed = plan.seed.wrapping_add(u64::from(repetition));
            let spec = TrialSpec { workload, seed, duration, warmup };
            trials[workload].push(trial(arena, load, &spec)?);
            done += 1;
            if let Some(signal) = stop.signal() {
                bail!("iocost: interrupted by {signal}; no result; settings restored");
            }
        }
    }
    progress.clear();
    Ok(report(request, plan, &facts, duration, &loads.into_iter().zip(trials).collect::<Vec<_>>()))
}

#[derive(Debug, Clone, Default)]
struct Trial {
    value: Option<f64>,
    read_p99_us: Option<f64>,
    write_p99_us: Option<f64>,
    invalid: Vec<String>,
}

fn trial(arena: &mut dyn Arena, load: &Load, spec: &TrialSpec) -> Result<Trial> {
    let mut invalid: Vec<InvalidReason> = arena.apply(VariantIndex(0))?;
    if !invalid.is_empty() {
        return Ok(Trial {
            invalid: invalid.iter().map(ToString::to_string).collect(),
            ..Trial::default()
        });
    }
    let seen = arena.measure(spec)?;
    invalid.extend(seen.invalid);
    // Too few requests affect only one percentile.
    let of_other = |invalid: &InvalidReason, name: &str| matches!(invalid, InvalidReason::TooFewIos { metric, .. } if metric != name);
    let metric = |name: &str| {
        let is_evidence = invalid.iter().all(|invalid| of_other(invalid, name));
        seen.metrics.get(name).copied().filter(|_| is_evidence)
    };
    let shown =
        invalid.iter().filter(|invalid| load.metrics().any(|name| !of_other(invalid, name)));
    Ok(Trial {
        value: metric(load.metric).map(|value| value * load.scale),
        read_p99_us: metric(READ_P99),
        write_p99_us: metric(WRITE_P99),
        invalid: shown.map(ToString::to_string).collect(),
    })
}

fn report(
    request: &Request,
    plan: &Plan,
    facts: &Environment,
    duration: Duration,
    trials: &[(&Load, Vec<Trial>)],
) -> Report {
    let figures: Vec<Figure> =
        trials.iter().map(|(load, trials)| Figure::of(load.name, trials)).collect();
    let value = |name: &str| {
        figures.iter().find(|figure| figure.name == name).and_then(|figure| figure.value)
    };
    let rates = |letter: char| {
        let of = |name: &str| {
            value(&format!("{letter}{name}")).map(|value| (value.round() as u64).max(1))
        };
        Some(Rates { bps: of("bps")?, seqiops: of("seqiops")?, randiops: of("randiops")? })
    };
    let (read, write) = (rates('r'), rates('w'));
    let model =
        read.filter(|_| request.reads_only || write.is_some()).map(|read| Model { read, write });
    let p99 = |name: &str, of: fn(&Trial) -> Option<f64>| {
        let (_, trials) = trials.iter().find(|(load, _)| load.name == name)?;
        median(&trials.iter().filter_map(of).collect::<Vec<_>>()).map(|us| us.ceil() as u64)
    };
    let qos = model.and_then(|model| {
        let reached = [
            reached(&model, LARGE_READS, value(LARGE_READS)),
            reached(&model, MIXED, value(MIXED)),
        ];
        let reached = || reached.iter().flatten().copied();
        let percent = |share: f64| (share * 100.0).round();
        Some(Qos {
            rpct: PERCENTILE,
            rlat: p99("rrandiops", |trial| trial.read_p99_us)?,
            wpct: PERCENTILE,
            wlat: p99("wrandiops", |trial| trial.write_p99_us),
            min: percent(reached().fold(1.0, f64::min)).clamp(1.0, 100.0),
            max: percent(reached().fold(1.0, f64::max)).clamp(100.0, 10_000.0),
        })
    });
    let fact = |section: &str, name: &str| facts.get(section).and_then(|of| of.get(name));
    // hwdb matches the name reported by a real drive.
    let drive = fact("device", "model")
        .filter(|name| *name != "not exposed" && request.arena.has_disk())
        .cloned();
    let depth = fact("device", "hardware_tags").and_then(|text| text.parse().ok());
    let preset = fact("queue", "rotational").map(|text| published::chosen(text == "1", depth));
    Report {
        device: plan.device.clone(),
        arena: request.arena.name,
        number: fact("device", "number").cloned().unwrap_or_else(|| "0:0".to_owned()),
        published: drive.as_deref().and_then(published::of_drive),
        drive,
        reads_only: request.reads_only,
        repetitions: request.repetitions,
        trial_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        figures,
        model,
        qos,
        preset: preset.and_then(published::of_preset),
    }
}

/// Rate × cost: the share of device time according to the model.
fn reached(model: &Model, load: &str, per_s: Option<f64>) -> Option<f64> {
    let cost_s = match load {
        LARGE_READS => model.read.random_cost_s(65_536.0),
        _ => 0.7 * model.read.random_cost_s(4096.0) + 0.3 * model.write?.random_cost_s(4096.0),
    };
    Some(per_s? * cost_s)
}

impl Figure {
    fn of(name: &'static str, trials: &[Trial]) -> Figure {
        let values: Vec<f64> = trials.iter().filter_map(|trial| trial.value).collect();
        let value = median(&values).filter(|value| *value > 0.0);
        let (least, most) = values
            .iter()
            .fold((f64::MAX, 0.0f64), |(least, most), v| (least.min(*v), most.max(*v)));
        let mut invalid: Vec<String> =
            trials.iter().flat_map(|trial| trial.invalid.clone()).collect();
        invalid.sort();
        invalid.dedup();
        Figure { name, spread: value.map(|median| (most - least) / median), value, values, invalid }
    }
}

#[cfg(test)]
mod tests;
