//! A result: the part of a results file that goes into a fleet.
//!
//! Texts that identify a question are made only here: two machines answer the same question if
//! workload, parameters, file system and metric have equal texts, regardless of their labels. A
//! variant is identified by scheduler and tunables, not by name.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use anyhow::{Result, bail};
use experiment::analysis::sha256_of;
use experiment::metric::{Direction, unit_of};
use experiment::plan::{Plan, Variant, WorkloadSpec};
use experiment::results::{Environment, Line, Results};
use experiment::samples::of_trials;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use text::hex;

pub(crate) const SCHEMA: u32 = 1;

const NOT_EXPOSED: &str = "not exposed";

pub(crate) const REASON: usize = 300;

const FACT: usize = 300;

/// The facts and series of a result. Its text is hashed for the result's name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Header {
    pub schema: u32,
    pub schedlab: String,
    /// SHA-256 of the results file's first line: plan, machine, start.
    pub experiment: String,
    /// Name in the fleet.
    pub machine: String,
    pub host: String,
    pub cpu: String,
    pub system: String,
    /// Hash of the drive's identity; empty without a unique one.
    pub drive: String,
    /// The drive's model, or its kind in brackets; in the cpu arena the CPU.
    pub model: String,
    pub firmware: String,
    pub kind: String,
    pub size_bytes: u64,
    pub kernel: String,
    pub arena: String,
    pub boot: String,
    /// SHA-256 of plan.toml.
    pub plan: String,
    /// Start by the machine's clock, in ms since 1970.
    pub started_unix_ms: u64,
    /// End by the same clock.
    pub ended_unix_ms: u64,
    pub trials: u64,
    /// Whether a variant stopped at its verdict, which biases its effect upwards.
    pub stops_early: bool,
    pub series: Vec<Series>,
    /// Two row groups: primary metrics, and all others.
    pub groups: Vec<Group>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Group {
    pub rows: u64,
    /// SHA-256 of the rows.
    pub sha256: String,
}

/// One metric of one variant on one workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// Hash of the workload with its background.
    pub question: String,
    /// The workload in compact form.
    pub workload: String,
    pub metric: String,
    pub unit: String,
    /// `higher`, `lower` or `descriptive`.
    pub better: String,
    /// The variant in compact form.
    pub variant: String,
    pub scheduler: String,
    pub is_baseline: bool,
    pub is_deciding: bool,
}

impl Series {
    /// The metric's direction; `None` if descriptive or unknown.
    pub fn direction(&self) -> Option<Direction> {
        match self.better.as_str() {
            "higher" => Some(Direction::HigherIsBetter),
            "lower" => Some(Direction::LowerIsBetter),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// Index of its series.
    pub series: u32,
    pub round: u32,
    /// `None` if the trial had none.
    pub value: Option<f64>,
    /// Why it is invalid; equal reasons share one text.
    pub invalid: Option<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct MachineResult {
    pub header: Header,
    pub groups: [Vec<Value>; 2],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    pub name: String,
}

/// A hash of /etc/machine-id, which must not leave the machine itself (machine-id(5)).
pub fn machine_name(machine_id: &str) -> String {
    format!("m-{}", &hex(&Sha256::digest(format!("schedlab fleet {}", machine_id.trim())))[..12])
}

impl MachineResult {
    /// Extracts a result from a results file.
    ///
    /// # Errors
    /// Measured in virtual time, or without trials.
    pub fn of(results: &Results, machine: &Machine) -> Result<MachineResult> {
        let plan = &results.header.plan;
        if plan.arena.is_virtual() {
            bail!(
                "results file: measured in virtual time (arena {}), which is the same on every machine; push results files of the disk or cpu arena",
                plan.arena.name
            );
        }
        if results.trials.is_empty() {
            bail!("results file: has no trial; push it when it has been measured");
        }
        let mut header = facts(results, machine);
        let groups = rows(results, &mut header.series);
        Ok(MachineResult { header, groups }.with_hashes())
    }

    #[must_use]
    pub fn with_hashes(mut self) -> MachineResult {
        let group = |rows: &Vec<Value>| Group { rows: rows.len() as u64, sha256: hash_of(rows) };
        self.header.groups = self.groups.iter().map(group).collect();
        self
    }
}

fn facts(results: &Results, machine: &Machine) -> Header {
    let head = &results.header;
    let environment = &head.environment;
    let fact = |section: &str, name: &str| fact_of(environment, section, name);
    let is_cpu = head.plan.arena.is_cpu();
    let known = |text: String, instead: String| if text.is_empty() { instead } else { text };
    let cpu = format!("{} x {}", fact("cpu", "count"), fact("cpu", "model"));
    let kind = if is_cpu { "cpu".to_owned() } else { fact("device", "kind") };
    let identity = fact("device", "identity");
    let line = Line::Header(Box::new(head.clone())).to_json_line();
    Header {
        schema: SCHEMA,
        schedlab: head.schedlab.clone(),
        experiment: hex(&Sha256::digest(line)),
        machine: machine.name.clone(),
        host: fact("machine", "hostname"),
        system: format!("{} {}", fact("machine", "vendor"), fact("machine", "product"))
            .trim()
            .to_owned(),
        // Without a WWID or serial number a device is known only by its name, which is not unique.
        drive: if identity.starts_with("wwid ") || identity.starts_with("serial ") {
            hex(&Sha256::digest(format!("schedlab drive {identity}")))[..16].to_owned()
        } else {
            String::new()
        },
        model: if is_cpu {
            fact("cpu", "model")
        } else {
            known(fact("device", "model"), format!("({kind})"))
        },
        firmware: fact("device", "firmware"),
        kind,
        size_bytes: fact("device", "size_bytes").parse().unwrap_or(0),
        kernel: fact("kernel", "release"),
        arena: head.plan.arena.name.to_owned(),
        boot: fact("kernel", "boot_id"),
        plan: sha256_of(&head.plan),
        started_unix_ms: head.started_unix_ms,
        ended_unix_ms: head.started_unix_ms.saturating_add(results.last_ms()),
        trials: results.trials.len() as u64,
        stops_early: !head.plan.budget.no_early_stop,
        cpu,
        series: Vec::new(),
        groups: Vec::new(),
    }
}

/// A fact; empty if not exposed. Whitespace is collapsed, because drives pad their strings.
fn fact_of(environment: &Environment, section: &str, name: &str) -> String {
    let text =
        environment.get(section).and_then(|section| section.get(name)).map_or("", String::as_str);
    let text = if text == NOT_EXPOSED { "" } else { text };
    shortened(&text.split_whitespace().collect::<Vec<_>>().join(" "), FACT)
}

fn shortened(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// Every sample in its group; adds the series.
fn rows(results: &Results, series: &mut Vec<Series>) -> [Vec<Value>; 2] {
    let plan = &results.header.plan;
    let primary = |spec: &WorkloadSpec| Some((spec.name.clone(), spec.primary.clone()?));
    let primary: BTreeMap<String, String> = plan.workloads.iter().filter_map(primary).collect();
    let baseline =
        plan.baseline.clone().or_else(|| plan.variants.first().map(|variant| variant.name.clone()));
    let mut known: BTreeMap<(String, String, String), u32> = BTreeMap::new();
    let mut groups = [Vec::new(), Vec::new()];
    for sample in of_trials(&results.trials, &primary) {
        let is_deciding = primary.get(&sample.workload) == Some(&sample.metric);
        // Bounds cannot be compared between machines.
        let starved = sample.is_starved().then(|| "no request that counts completed".to_owned());
        let key = (sample.workload, sample.metric, sample.variant);
        let number = match known.get(&key) {
            Some(number) => *number,
            None => {
                let Some(row) = series_of(plan, &key, is_deciding, baseline.as_ref()) else {
                    continue;
                };
                series.push(row);
                *known.entry(key).or_insert(series.len() as u32 - 1)
            }
        };
        let invalid: Vec<String> =
            sample.invalid.iter().map(ToString::to_string).chain(starved).collect();
        groups[usize::from(!is_deciding)].push(Value {
            series: number,
            round: sample.round.unwrap_or(0),
            value: Some(sample.value).filter(|value| value.is_finite()),
            invalid: (!invalid.is_empty()).then(|| shortened(&invalid.join("; "), REASON).into()),
        });
    }
    groups
}

fn series_of(
    plan: &Plan,
    (workload, metric, variant): &(String, String, String),
    is_deciding: bool,
    baseline: Option<&String>,
) -> Option<Series> {
    let spec = plan.workloads.iter().find(|spec| spec.name == *workload)?;
    let setting = plan.variants.iter().find(|found| found.name == *variant)?;
    Some(Series {
        question: question_of(plan, spec),
        workload: compact_workload(spec),
        metric: metric.clone(),
        unit: unit_of(metric),
        better: match plan.direction_of(metric) {
            Direction::HigherIsBetter => "higher",
            Direction::LowerIsBetter => "lower",
            Direction::Descriptive => "descriptive",
        }
        .to_owned(),
        variant: compact_variant(setting),
        scheduler: setting.scheduler.clone(),
        is_baseline: baseline == Some(variant),
        is_deciding,
    })
}

fn compact(kind: &str, params: &BTreeMap<String, String>) -> String {
    params.iter().fold(kind.to_owned(), |mut word, (key, value)| {
        let _ = write!(word, ":{key}={value}");
        word
    })
}

pub fn compact_variant(variant: &Variant) -> String {
    compact(&variant.scheduler, &variant.tunables)
}

pub fn compact_workload(spec: &WorkloadSpec) -> String {
    compact(&spec.kind, &spec.params)
}

/// Hashes the workload without label, its background, and the file system.
fn question_of(plan: &Plan, spec: &WorkloadSpec) -> String {
    let unnamed = WorkloadSpec { name: String::new(), primary: None, ..spec.clone() };
    let text = serde_json::to_string(&(plan.arena.name, &unnamed, &plan.files)).unwrap_or_default();
    hex(&Sha256::digest(text))[..12].to_owned()
}

/// Each reason is hashed once: otherwise a small file could repeat a long one in every row.
pub(crate) fn hash_of(rows: &[Value]) -> String {
    let mut hash = Sha256::new();
    let mut reasons: BTreeMap<&str, u32> = BTreeMap::new();
    for Value { series, round, value, invalid } in rows {
        hash.update(series.to_le_bytes());
        hash.update(round.to_le_bytes());
        hash.update(value.map_or(u64::MAX, f64::to_bits).to_le_bytes());
        let number = invalid.as_deref().map_or(0, |invalid| {
            let next = reasons.len() as u32 + 1;
            *reasons.entry(invalid).or_insert(next)
        });
        hash.update(number.to_le_bytes());
    }
    for (reason, number) in reasons {
        hash.update(number.to_le_bytes());
        hash.update(Sha256::digest(reason));
    }
    hex(&hash.finalize())
}

#[cfg(test)]
#[path = "result_tests.rs"]
mod tests;
