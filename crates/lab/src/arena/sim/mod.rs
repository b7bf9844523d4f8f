//! The sim arena: schedlab's elevators on a modelled device, in virtual time.
//!
//! Neither reads nor changes the machine. Variants share a round's seed; rounds are independent.

mod curves;
mod figures;
pub mod own;
mod setting;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;
use elevator::Evidence;
use experiment::plan::{Limits, Plan, Variant};
use experiment::results::{CPU_TIME_OMITTED, Environment, Observation, UNCONFIRMED};
use sim::workload::Measured;
use sim::{DeviceModel, Observer, Outcome, SimError, Trial};

pub(crate) use setting::cpu_percent;
pub use setting::{ATTRIBUTES, Setting, TURNAROUND_NS};

use super::ahead::Job;
use super::defaults::{self, Defaults};
use super::invalid::interrupted;
use super::model::Model;
use super::parallel::Key;
use super::streams::{schedulable, streams_of};
use super::tasks::check_tasks;
use super::traced::{TraceTo, Traces};
use super::virtual_time::{Progression, Virtual, facts_of};
use super::{TrialSpec, VariantIndex, Variants};
use crate::failure::usage;
use crate::signals::Stop;
use crate::trace_file::TraceFile;
use crate::workloads::Workloads;

pub struct SimArena {
    simulator: Simulator,
    defaults: Defaults,
    course: Progression,
    traces: Traces,
}

#[derive(Debug, Clone)]
struct Simulator {
    model: Arc<Model>,
    variants: Arc<Variants<Setting>>,
    workloads: Arc<Workloads>,
    limits: Limits,
    stop: Stop,
}

#[derive(Debug)]
struct Wanted {
    duration: Duration,
    warmup: Duration,
    trace: Option<TraceTo>,
}

impl SimArena {
    pub fn open(
        plan: &Plan,
        model: Model,
        variants: Variants<Setting>,
        workloads: Workloads,
        stop: &Stop,
    ) -> Result<SimArena> {
        check_tasks(&model, &workloads)?;
        let bytes = model.look(|device| device.sectors()) * elevator::SECTOR_BYTES;
        for (label, work) in workloads.engine() {
            let mixed =
                work.params.flows.iter().any(|flow| flow.params.direct != work.params.direct);
            if mixed {
                return Err(usage(format!(
                    "workload {label}: some flows are direct and some are not; the simulator has no page cache for a part of \
                     them: give each flow direct = true"
                )));
            }
            work.kind
                .extents(&work.params, bytes, 512)
                .map_err(|e| usage(format!("workload {label} on {}: {e}", plan.device)))?;
        }
        let baseline = variants
            .iter()
            .find(|(_, name, _)| *name == plan.baseline())
            .map(|(_, _, setting)| setting);
        let defaults = model.look(|device| defaults::simulated(plan, baseline, device));
        let (model, variants, workloads) =
            (Arc::new(model), Arc::new(variants), Arc::new(workloads));
        Ok(SimArena {
            simulator: Simulator {
                model,
                variants,
                workloads,
                limits: plan.limits.clone(),
                stop: stop.clone(),
            },
            defaults,
            course: Progression::default(),
            traces: Traces::default(),
        })
    }

    /// Limits the threads; the default is one per CPU. Does not affect results.
    pub fn with_threads(mut self, nr_threads: usize) -> SimArena {
        self.course = Progression::on(nr_threads);
        self
    }

    pub fn stopped_by(mut self, stop: &Stop) -> SimArena {
        self.simulator.stop = stop.clone();
        self
    }

    /// Reports the events of a trial to `observer`.
    pub fn observed(
        &self,
        variant: VariantIndex,
        trial: &TrialSpec,
        observer: &mut dyn Observer,
    ) -> Result<Observation> {
        let TrialSpec { workload, seed, duration, warmup } = *trial;
        let key = Key { variant, workload, seed };
        let flag = self.simulator.stop.flag();
        let trial = self.simulator.trial(&key, duration, warmup)?;
        self.simulator
            .observation(&key, sim::run(trial, observer, &|| flag.load(Ordering::Relaxed)))
    }
}

impl Simulator {
    fn trial(&self, key: &Key, duration: Duration, warmup: Duration) -> Result<Trial> {
        let work = self.workloads.work(key.workload);
        let setting = self.variants.setting(key.variant);
        let ns = |time: Duration| {
            u64::try_from(time.as_nanos()).expect("a trial is shorter than 584 years")
        };
        Ok(Trial {
            elevator: setting.kind,
            tunables: setting.tunables.clone(),
            hz: setting.hz,
            host: self.model.look(|device| setting.host(device)),
            nr_requests: setting.nr_requests,
            queue_depth: setting.queue_depth,
            device: self.model.make(key.seed)?,
            workload: work.kind,
            params: work.params.clone(),
            seed: key.seed,
            warmup_ns: ns(warmup),
            duration_ns: ns(duration),
            turnaround_ns: setting.turnaround_ns,
            turnaround_spread_ns: setting.turnaround_ns / 2,
        })
    }

    /// Runs each flow alone, if requested; None also on failure.
    fn alone(
        &self,
        key: &Key,
        wanted: &Wanted,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<Measured>>> {
        let params = &self.workloads.work(key.workload).params;
        if !params.alone {
            return Ok(None);
        }
        let mut alone = Vec::new();
        for number in 0..params.flows.len() {
            match sim::run_flow_alone(
                self.trial(key, wanted.duration, wanted.warmup)?,
                number,
                stop,
            ) {
                Ok(outcome) => alone.push(outcome.measured),
                Err(_) => return Ok(None),
            }
        }
        Ok(Some(alone))
    }

    fn measured(
        &self,
        key: &Key,
        wanted: &Wanted,
        clients: u32,
        stop: &dyn Fn() -> bool,
    ) -> Result<Observation> {
        let mut trial = self.trial(key, wanted.duration, wanted.warmup)?;
        trial.params.clients = clients;
        let alone = self.alone(key, wanted, stop)?;
        let outcome = match &wanted.trace {
            None => sim::run(trial, &mut sim::Unobserved, stop),
            Some(to) => {
                let mut writer = to.writer()?;
                let outcome = sim::run(trial, &mut writer, stop);
                writer.finish()?;
                outcome
            }
        };
        let against = match (&outcome, &alone) {
            (Ok(outcome), Some(alone)) => sim::workload::against_alone(&outcome.measured, alone),
            _ => BTreeMap::new(),
        };
        let mut observation = self.observation(key, outcome)?;
        observation.metrics.extend(against);
        Ok(observation)
    }

    fn observation(&self, key: &Key, outcome: Result<Outcome, SimError>) -> Result<Observation> {
        match outcome {
            Ok(outcome) => Ok(figures::observation(&outcome, &self.limits)),
            Err(SimError::Interrupted) => {
                Ok(Observation { invalid: vec![interrupted(&self.stop)], ..Observation::default() })
            }
            Err(error) => {
                let workload = &self.workloads.get(key.workload).name;
                Err(usage(format!("workload {workload} on {}: {error}", self.model.word())))
            }
        }
    }

    fn one(&self, key: &Key, wanted: &Wanted, abandoned: &AtomicBool) -> Result<Observation> {
        let flag = self.stop.flag();
        let stop = || flag.load(Ordering::Relaxed) || abandoned.load(Ordering::Relaxed);
        let params = &self.workloads.work(key.workload).params;
        if !params.timed.find_streams {
            return self.measured(key, wanted, params.clients, &stop);
        }
        let Wanted { duration, warmup, .. } = *wanted;
        let found = schedulable(params.clients, |streams| {
            self.measured(key, &Wanted { duration, warmup, trace: None }, streams, &stop)
        })?;
        if wanted.trace.is_some() {
            self.measured(key, wanted, streams_of(&found), &stop)?;
        }
        Ok(found)
    }
}

impl Virtual for SimArena {
    fn course(&mut self) -> &mut Progression {
        &mut self.course
    }

    fn elapsed(&self) -> Duration {
        self.course.elapsed()
    }

    fn job(&mut self, key: &Key, trial: &TrialSpec) -> Job {
        let TrialSpec { duration, warmup, .. } = *trial;
        let (workload, variant) = (
            &self.simulator.workloads.get(key.workload).name,
            self.simulator.variants.name(key.variant),
        );
        let trace = self.traces.next((key.workload, workload), (key.variant, variant));
        let wanted = Wanted { duration, warmup, trace };
        let (simulator, key) = (self.simulator.clone(), *key);
        Box::new(move |abandoned| simulator.one(&key, &wanted, abandoned))
    }

    fn take_in(&mut self, variant: &Variant) -> Result<VariantIndex> {
        Ok(Arc::make_mut(&mut self.simulator.variants).admit(&variant.name, Setting::of(variant)?))
    }

    fn write_events(&mut self, files: TraceFile) {
        self.traces = Traces::into(files);
    }

    fn facts(&self) -> Environment {
        let mut facts = facts_of(&self.simulator.model, &self.simulator.workloads);
        for (_, variant, setting) in self.simulator.variants.iter() {
            let look = |device: &dyn DeviceModel| {
                (setting.describe(device), setting.omits_cpu_time(device))
            };
            let (described, omits_cpu_time) = self.simulator.model.look(look);
            facts.entry("variants".to_owned()).or_default().insert(variant.to_owned(), described);
            if omits_cpu_time {
                facts
                    .entry(CPU_TIME_OMITTED.to_owned())
                    .or_default()
                    .insert(variant.to_owned(), "cpu_percent=0".to_owned());
            }
            if own::find(setting.kind.name).is_some() {
                let source = setting.kind.source.to_owned();
                facts
                    .entry("own schedulers".to_owned())
                    .or_default()
                    .insert(variant.to_owned(), source);
            }
            let evidence = setting.kind.evidence;
            if evidence != Evidence::Confirmed {
                let said = format!("{} {}", evidence.mark(), evidence.words());
                facts.entry(UNCONFIRMED.to_owned()).or_default().insert(variant.to_owned(), said);
            }
        }
        defaults::note(&mut facts, &self.defaults);
        facts
    }

    fn last_words(&mut self) -> Vec<String> {
        let mut remarks = self.simulator.workloads.remarks();
        remarks.extend(curves::beyond_capacity(&self.simulator.model, &self.simulator.workloads));
        remarks
    }
}
