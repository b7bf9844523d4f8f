//! Scheduler advice for a recorded trace, which is replayed in virtual time under every scheduler
//! on a model of its disk.
//!
//! The advice reports the model's error on held-out reads, and the difference between the trace and
//! its replay under the original scheduler. Effects missing in the model remain undetected, so it
//! includes a plan for a comparison on the real disk.

mod reasons;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use experiment::advice::costs;
use experiment::analysis::{Analysis, Cost};
use experiment::comparison::Verdict;
use experiment::notation::Change;
use experiment::plan::{
    self, ArenaFacts, Budget, Criteria, Limits, Plan, SCHEMA, TrialLength, Variant, WorkloadSpec,
};
use machine::files::Bounded;
use recorder::file::ReadOptions;
use serde::Serialize;
use trace::profile::{self, DeviceProfile};
use trace::{Kind, Trace};

use crate::arena::kernel::cache;
use crate::arena::model::Model;
use crate::failure::usage;
use crate::traces;

pub use reasons::reasons;

/// Linux schedulers, with the tunables that matter most to individual processes.
pub const VARIANTS: [&str; 8] = [
    "none",
    "mq-deadline",
    "kyber",
    "bfq",
    "bfq:slice_idle=0",
    "bfq:low_latency=0",
    "mq-deadline:fifo_batch=1",
    "mq-deadline:writes_starved=8",
];
/// Tunables that enable idling for the last-served process unless they are 0.
const WAITING: [&str; 4] = ["slice_idle", "antic_expire", "anticipation", "anticipate"];
const METRIC: &str = "latency_mean_us";
const LABEL: &str = "recorded-work";
/// Bounds of the replayed part of a trace, in milliseconds.
const LONGEST_MS: u64 = 30_000;
const SHORTEST_MS: u64 = 200;
/// Rounds in virtual time, each with its own seed.
const ROUNDS: u32 = 12;
/// Prefix of the lines in which a fit reports its error.
const HELD_OUT: &str = "# Held out: ";

#[derive(Debug, Clone)]
pub struct Request {
    pub trace: PathBuf,
    /// A description file or the name of a model.
    pub model: String,
    /// None: the kernel arena if a kernel is built and the model is available there, else the
    /// simulator.
    pub arena: Option<&'static ArenaFacts>,
    pub schedulers: Vec<String>,
    /// Issue requests at their recorded times; false: only if the trace has no completions.
    pub open_loop: bool,
    pub cache_dir: Option<PathBuf>,
    /// The device of the real comparison; None: the recorded one.
    pub device: Option<String>,
    pub seed: u64,
}

#[derive(Debug)]
pub struct Case {
    pub plan: Plan,
    pub device: DeviceProfile,
    has_arm: bool,
    nr_writes: u64,
    model: String,
    held_out: Vec<String>,
    /// The device of the real comparison, which this machine need not have.
    pub confirm_on: String,
    cautions: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Expected {
    pub variant: String,
    pub latency_mean_us: Option<f64>,
    pub latency_p99_us: Option<f64>,
    /// Relative to the baseline, with its interval; below 1 is faster.
    pub ratio: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub verdict: Option<Verdict>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Trust {
    /// From the model's file.
    pub model: Vec<String>,
    /// Mean latency as recorded and as replayed under the original scheduler, in microseconds.
    pub recorded_mean_us: Option<f64>,
    pub replayed_mean_us: Option<f64>,
    /// `replayed_mean_us` / `recorded_mean_us`.
    pub replayed_to_recorded: Option<f64>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Advice {
    pub arena: &'static ArenaFacts,
    pub model: String,
    /// The variant of the original scheduler.
    pub baseline: String,
    /// None: no variant is better, or the evidence is invalid.
    pub best: Option<String>,
    /// Arguments of `schedlab set` for the best variant.
    pub set: Option<Vec<String>>,
    /// Every metric on which the best variant is worse, the largest factor first.
    pub costs: Vec<Cost>,
    pub sentence: String,
    pub expected: Vec<Expected>,
    pub trust: Trust,
    pub reasons: Vec<String>,
    pub cautions: Vec<String>,
}

pub fn case(request: &Request) -> Result<Case> {
    let shown = request.trace.display();
    let trace = traces::read(&request.trace, &ReadOptions::default())?;
    let profile = profile::profile_trace(&trace);
    let device = profile.devices.first().cloned();
    let device = device.ok_or_else(|| {
        usage(format!("{shown}: no requests (found 0); record a disk while it works"))
    })?;
    let model = Model::read(&request.model)?;
    let (sectors, has_arm) = model.look(|model| (model.sectors(), model.geometry().cylinders > 0));
    let kernel = built_kernel(request.cache_dir.as_deref());
    let arena = match request.arena {
        Some(arena) => arena,
        None if kernel.is_some() => &plan::KERNEL,
        None => &plan::SIM,
    };
    let of_device =
        |io: &&trace::Io| io.device == device.device && matches!(io.kind, Kind::Read | Kind::Write);
    let last = trace.ios.iter().filter(of_device).map(trace::Io::end).max().unwrap_or(0);
    let nr_writes =
        trace.ios.iter().filter(of_device).filter(|io| io.kind == Kind::Write).count() as u64;
    let is_open = request.open_loop || !trace.ios.iter().any(|io| io.completed.get().is_some());
    let span_ms = device.span_ns() / 1_000_000;
    let replayed = Replayed { file: &request.trace, is_open, is_scaled: last > sectors, span_ms };
    let schedulers: Vec<String> = match request.schedulers.is_empty() {
        true => VARIANTS.map(str::to_owned).to_vec(),
        false => request.schedulers.clone(),
    };
    let mut plan = planned(arena, &request.model, &schedulers, &replayed)?;
    plan.seed = request.seed;
    plan.kernel = kernel.filter(|_| arena.chooses_kernel());
    plan.baseline = baseline(&plan, &device);
    let confirm_on = request.device.clone().unwrap_or_else(|| format!("/dev/{}", device.name));
    let mut cautions = cautions(&trace, &profile, &replayed);
    cautions.extend(other_baseline(&plan, &device));
    Ok(Case {
        cautions,
        held_out: held_out(&request.model),
        model: request.model.clone(),
        plan,
        device,
        has_arm,
        nr_writes,
        confirm_on,
    })
}

struct Replayed<'a> {
    file: &'a Path,
    is_open: bool,
    is_scaled: bool,
    span_ms: u64,
}

fn built_kernel(dir: Option<&Path>) -> Option<String> {
    let kernels = cache(dir).ok()?.list().ok()?;
    kernels
        .into_iter()
        .find(|kernel| kernel.patches.is_empty() && !kernel.debug)
        .map(|kernel| kernel.source)
}

fn workload(replayed: &Replayed<'_>) -> Result<WorkloadSpec> {
    let mut spec = plan::parse_workload("replay")?;
    LABEL.clone_into(&mut spec.name);
    let file = replayed.file.canonicalize().unwrap_or_else(|_| replayed.file.to_owned());
    let mut put = |name: &str, value: String| _ = spec.params.insert(name.to_owned(), value);
    put("file", file.display().to_string());
    put("loop", if replayed.is_open { "open" } else { "closed" }.to_owned());
    if replayed.is_scaled {
        put("scale", "true".to_owned());
    }
    if replayed.span_ms > LONGEST_MS {
        put("part", format!("{LONGEST_MS}ms"));
    }
    spec.primary = Some(METRIC.to_owned());
    Ok(spec)
}

fn planned(
    arena: &'static ArenaFacts,
    device: &str,
    schedulers: &[String],
    replayed: &Replayed<'_>,
) -> Result<Plan> {
    let duration_ms = replayed.span_ms.clamp(SHORTEST_MS, LONGEST_MS);
    let variants =
        plan::parse_variants(schedulers).map_err(|e| usage(format!("--schedulers: {e}")))?;
    let time_s = 4.0 * f64::from(ROUNDS) * variants.len() as f64 * duration_ms as f64 / 1000.0;
    Ok(Plan {
        schema: SCHEMA,
        name: "advice".to_owned(),
        arena,
        device: device.to_owned(),
        kernel: None,
        seed: 1,
        baseline: None,
        budget: Budget { time_s: time_s.max(60.0), rounds: Some(ROUNDS), ..Budget::default() },
        trial: TrialLength { duration_ms: Some(duration_ms), warmup_ms: Some(0) },
        criteria: Criteria::default(),
        limits: Limits::default(),
        variants,
        workloads: vec![workload(replayed)?],
        files: None,
        metrics: Vec::new(),
        published: Vec::new(),
    })
}

/// The scheduler that was in effect for most requests, if the trace names any.
pub fn scheduler_in_effect(device: &DeviceProfile) -> Option<&str> {
    let named = device.schedulers.iter().filter(|(name, _)| !name.is_empty());
    named.max_by_key(|(_, requests)| *requests).map(|(name, _)| name.as_str())
}

/// The variant of the scheduler that was in effect; if the trace does not name one of the variants,
/// `none`, and without that the first.
fn baseline(plan: &Plan, device: &DeviceProfile) -> Option<String> {
    let plain = |name: &str| {
        plan.variants
            .iter()
            .find(|variant| variant.scheduler == name && variant.tunables.is_empty())
    };
    let variant = scheduler_in_effect(device).and_then(plain).or_else(|| plain("none"));
    variant.or(plan.variants.first()).map(|variant| variant.name.clone())
}

/// Why the baseline is not the scheduler that was in effect.
fn other_baseline(plan: &Plan, device: &DeviceProfile) -> Option<String> {
    let baseline = plan.baseline.as_deref().unwrap_or_default();
    match scheduler_in_effect(device) {
        Some(name)
            if plan.variants.iter().any(|of| of.scheduler == name && of.name == baseline) =>
        {
            None
        }
        Some(name) => {
            Some(format!("{name} was in effect and is not compared: the baseline is {baseline}"))
        }
        None => Some(format!("the trace names no scheduler: the baseline is {baseline}")),
    }
}

fn held_out(model: &str) -> Vec<String> {
    let name = model.split(':').next().unwrap_or_default();
    let text = text::limits::DEVICE_BYTES.read_text_file(name).ok();
    let lines = text.iter().flat_map(|text| text.lines());
    lines.filter_map(|line| line.strip_prefix(HELD_OUT).map(str::to_owned)).collect()
}

/// Formats a line for [`held_out`].
pub(crate) fn held_out_line(words: &str) -> String {
    format!("{HELD_OUT}{words}\n")
}

fn cautions(trace: &Trace, profile: &profile::Profile, replayed: &Replayed<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let mut say = |is: bool, text: String| found.extend(is.then_some(text));
    let about = &trace.about;
    say(
        about.lost > 0,
        format!("{} events of the trace were lost: the replay is incomplete", about.lost),
    );
    say(
        !about.cut_short.is_empty(),
        format!("the trace ended before its time: {}", about.cut_short),
    );
    let others: Vec<&str> =
        profile.devices.iter().skip(1).map(|device| device.name.as_str()).collect();
    say(
        !others.is_empty(),
        format!("only the busiest disk is replayed; left out: {}", others.join(", ")),
    );
    say(
        replayed.is_open,
        "the times of the trace are kept (open loop): a faster scheduler gets no more work, a slower one a longer queue".to_owned(),
    );
    say(
        replayed.is_scaled,
        "the recorded disk is larger than the model: addresses are scaled down".to_owned(),
    );
    say(
        replayed.span_ms < 10_000,
        format!(
            "the trace is short ({} ms): other work may need another scheduler",
            replayed.span_ms
        ),
    );
    found
}

impl Case {
    pub fn advice(&self, analysis: &Analysis) -> Advice {
        let baseline = self.plan.baseline.clone().unwrap_or_default();
        let mean = |variant: &str, metric: &str| {
            let found = analysis
                .summaries
                .iter()
                .find(|of| of.variant == variant && of.metric == metric && of.n > 0);
            found.map(|of| of.mean)
        };
        let compared = |variant: &str| {
            analysis.comparisons.iter().find(|of| of.variant == variant && of.metric == METRIC)
        };
        let mut expected: Vec<Expected> = self
            .plan
            .variants
            .iter()
            .map(|variant| {
                let comparison = compared(&variant.name);
                Expected {
                    variant: variant.name.clone(),
                    latency_mean_us: mean(&variant.name, METRIC),
                    latency_p99_us: mean(&variant.name, "latency_p99_us"),
                    ratio: comparison.and_then(|of| of.ratio),
                    low: comparison.and_then(|of| of.low),
                    high: comparison.and_then(|of| of.high),
                    verdict: comparison.map(|of| of.verdict),
                }
            })
            .collect();
        let key = |of: &Expected| of.latency_mean_us.unwrap_or(f64::INFINITY);
        expected.sort_by(|a, b| key(a).total_cmp(&key(b)));
        let better = expected.iter().find(|of| of.verdict == Some(Verdict::Better));
        let best = better.map(|of| of.variant.clone());
        let advised = best
            .as_ref()
            .and_then(|best| self.plan.variants.iter().find(|variant| variant.name == *best));
        let recorded = &self.device.total.latency_ns;
        let recorded_mean_us = (recorded.count > 0).then_some(recorded.mean / 1000.0);
        let replayed_mean_us = mean(&baseline, METRIC);
        Advice {
            arena: self.plan.arena,
            model: self.model.clone(),
            sentence: sentence(&baseline, better, &expected, self.plan.criteria.margin),
            baseline,
            set: advised.map(set_words),
            costs: best
                .iter()
                .flat_map(|best| costs(&analysis.comparisons, best))
                .map(Cost::from)
                .collect(),
            best,
            expected,
            trust: Trust {
                model: self.held_out.clone(),
                recorded_mean_us,
                replayed_mean_us,
                replayed_to_recorded: recorded_mean_us
                    .zip(replayed_mean_us)
                    .map(|(of, is)| is / of),
            },
            reasons: reasons(&self.device, self.has_arm, advised.is_some_and(waits)),
            cautions: self.cautions.clone(),
        }
    }

    /// The plan of the real comparison: the baseline with the best variant, or with the second best
    /// if none is better.
    pub fn confirmation(&self, advice: &Advice) -> Result<Plan> {
        let second = advice
            .expected
            .iter()
            .map(|of| &of.variant)
            .find(|variant| **variant != advice.baseline);
        let chosen = advice.best.as_ref().or(second);
        let wanted = |name: &String| *name == advice.baseline || Some(name) == chosen;
        let mut plan = self.plan.clone();
        plan.name = "confirmation".to_owned();
        plan.arena = &plan::DISK;
        plan.kernel = None;
        plan.device.clone_from(&self.confirm_on);
        plan.variants.retain(|variant| wanted(&variant.name));
        plan.budget = Budget::default();
        plan.trial.warmup_ms = None;
        plan.workloads.iter_mut().for_each(|workload| _ = workload.params.remove("scale"));
        let trial_s = plan.trial.duration_ms.unwrap_or(LONGEST_MS) as f64 / 1000.0;
        plan.budget.time_s = plan.budget.time_s.max(40.0 * trial_s);
        Ok(plan)
    }

    /// A warning if the real comparison writes to the disk.
    pub fn writes(&self) -> Option<String> {
        (self.nr_writes > 0).then(|| {
            format!(
                "the trace has {} writes, which overwrite what lies there: compare on a disk of the same kind without data, or name the disk \
                 by --destroy-data",
                self.nr_writes
            )
        })
    }
}

/// Arguments of `schedlab set`: `scheduler=bfq`, `low_latency=0`.
pub fn set_words(variant: &Variant) -> Vec<String> {
    let tunables = variant.tunables.iter().map(|(name, value)| format!("{name}={value}"));
    [format!("scheduler={}", variant.scheduler)].into_iter().chain(tunables).collect()
}

/// Whether the variant's scheduler may idle the disk while it waits for a process's next request.
fn waits(variant: &Variant) -> bool {
    let has = |name: &str| {
        elevator::find(&variant.scheduler).is_some_and(|kind| kind.tunable(name).is_some())
    };
    WAITING
        .iter()
        .any(|name| has(name) && variant.tunables.get(*name).is_none_or(|value| value != "0"))
}

impl Expected {
    /// The change of the mean latency, if there is evidence of it.
    pub fn change(&self) -> Option<Change> {
        self.ratio.map(|ratio| Change { ratio, low: self.low, high: self.high })
    }
}

fn sentence(baseline: &str, best: Option<&Expected>, all: &[Expected], margin: f64) -> String {
    match best.and_then(|best| Some((&best.variant, best.change()?))) {
        Some((variant, change)) => {
            format!("use {variant}: mean latency {change} against {baseline}")
        }
        _ if all.iter().all(|of| of.latency_mean_us.is_none()) => {
            "no advice: no trial of the replay is valid; see the report for the reasons".to_owned()
        }
        _ => {
            let percent = margin * 100.0;
            format!("keep {baseline}: no other scheduler is better by more than {percent} %")
        }
    }
}

pub fn write(path: &Path, plan: &Plan, comments: &[String]) -> Result<()> {
    let comments: String = comments
        .iter()
        .map(|line| format!("# {}\n", text::escaped(&line.replace('\n', " "))))
        .collect();
    let text = format!("{comments}{}", plan.to_toml());
    machine::files::replace_at(path, text.as_bytes())
        .with_context(|| format!("{}: cannot write the plan", path.display()))
}
