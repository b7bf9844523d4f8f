//! The sim arena: the laboratory's own schedulers on a modelled device, in virtual time.
//!
//! Nothing of the machine is read or changed. All arms of a block get the same seed, which makes blocks of independent seeds.

mod figures;
mod setting;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use experiment::plan::{Arm, Plan, WorkloadSpec};
use experiment::record::{Environment, Observation};
use sim::{DeviceModel, Observer, Outcome, SimError, Trial};

pub use setting::{ATTRIBUTES, Setting, TURNAROUND_NS};

use super::ahead::Key;
use super::defaults::{self, Defaults};
use super::virtual_time::{Course, Virtual, facts_of};
use super::{TrialOrder, interrupted};
use crate::failure::usage;
use crate::signals::Stop;
use crate::trace_file::{Format, TraceFile};
use crate::work::Works;

/// Larger files than this describe no device.
const MAX_DESCRIPTION: u64 = 1 << 20;

/// What a plan's `device` means in the simulator.
#[derive(Debug)]
pub struct Model {
    /// As in the plan.
    word: String,
    /// The text of the file, where it names one, and the changes after it.
    own: Option<(String, Vec<(String, String)>)>,
    /// A new one, to look at and to copy; shared by the threads that simulate.
    prototype: Mutex<Box<dyn DeviceModel>>,
}

/// The text of a device's description.
fn description(name: &str) -> Result<String> {
    if name.starts_with("/dev/") {
        return Err(usage(format!(
            "{name}: a real device, which the simulator cannot measure; use --arena disk, or a model of schedlab list devices"
        )));
    }
    let cannot = |why: String| usage(format!("{name}: cannot read the description of a device: {why}"));
    let file = std::fs::metadata(name).map_err(|e| cannot(e.to_string()))?;
    if !file.is_file() || file.len() > MAX_DESCRIPTION {
        return Err(cannot("it is no file of at most 1 MiB".to_owned()));
    }
    std::fs::read_to_string(name).map_err(|e| cannot(e.to_string()))
}

impl Model {
    /// Reads the file that the word names, if it names one; whether the device can be made is tried at once.
    pub fn read(word: &str) -> Result<Model> {
        let (name, changes) = word.split_once(':').map_or((word, ""), |(name, changes)| (name, changes));
        let own = if name.ends_with(".toml") || name.contains('/') {
            let text = description(name)?;
            let changes = changes.split(':').filter(|change| !change.is_empty()).map(|change| {
                let (key, value) = change.split_once('=').ok_or_else(|| {
                    usage(format!(
                        "--device {word}: {change:?} is no change; write KEY=VALUE, e.g. {name}:queue_depth=8"
                    ))
                })?;
                Ok((key.to_owned(), value.to_owned()))
            });
            Some((text, changes.collect::<Result<Vec<_>>>()?))
        } else {
            None
        };
        let prototype = made(word, own.as_ref(), 0)?;
        Ok(Model { word: word.to_owned(), own, prototype: Mutex::new(prototype) })
    }

    /// A device for a trial with this seed.
    pub fn make(&self, seed: u64) -> Result<Box<dyn DeviceModel>> {
        self.look(|device| device.copy(seed)).map_or_else(|| made(&self.word, self.own.as_ref(), seed), Ok)
    }

    /// As in the plan.
    pub fn word(&self) -> &str {
        &self.word
    }

    /// The text of the file that describes it, where it has one.
    pub fn description(&self) -> Option<&str> {
        self.own.as_ref().map(|(text, _)| text.as_str())
    }

    /// Looks at a device that nothing has been done to.
    pub fn look<T>(&self, see: impl FnOnce(&dyn DeviceModel) -> T) -> T {
        see(self.prototype.lock().unwrap_or_else(PoisonError::into_inner).as_ref())
    }
}

/// A new device.
fn made(word: &str, own: Option<&(String, Vec<(String, String)>)>, seed: u64) -> Result<Box<dyn DeviceModel>> {
    match own {
        None => sim::device::device(word, seed).map_err(|e| usage(e.to_string())),
        Some((text, changes)) => {
            let changes: Vec<(&str, &str)> = changes.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
            sim::device::device_from_toml(text, &changes, seed).map_err(|e| usage(format!("{word}: {e}")))
        }
    }
}

/// The simulator.
#[derive(Debug)]
pub struct SimArena<'a> {
    model: Model,
    settings: BTreeMap<String, Setting>,
    works: Works,
    /// What the tunables of a sweep have at the baseline.
    defaults: Defaults,
    course: Course,
    stop: &'a Stop,
    flag: Arc<AtomicBool>,
    traces: Option<TraceFile>,
    /// Workload and arm of trials that were traced.
    traced: Vec<(String, String)>,
    /// Their files.
    files: Vec<std::path::PathBuf>,
}

/// One trial to simulate.
#[derive(Debug)]
pub struct Wanted<'w> {
    setting: Setting,
    workload: &'w WorkloadSpec,
    duration: Duration,
    warmup: Duration,
    /// Where its events go.
    trace: Option<std::path::PathBuf>,
}

impl<'a> SimArena<'a> {
    /// Checks that the plan can be simulated.
    pub fn open(plan: &Plan, stop: &'a Stop) -> Result<SimArena<'a>> {
        let model = Model::read(&plan.device)?;
        let mut settings = BTreeMap::new();
        for arm in &plan.arms {
            settings.insert(arm.name.clone(), Setting::of(arm)?);
        }
        let works = Works::of(plan)?;
        for spec in &plan.workloads {
            let work = works.get(spec);
            let bytes = model.look(|device| device.sectors()) * elevator::SECTOR_BYTES;
            work.kind
                .extents(&work.params, bytes, 512)
                .map_err(|e| usage(format!("workload {} on {}: {e}", spec.name, plan.device)))?;
        }
        let setting = settings.get(plan.baseline());
        let defaults = model.look(|device| defaults::simulated(plan, setting, device));
        Ok(SimArena {
            model,
            settings,
            works,
            defaults,
            course: Course::default(),
            stop,
            flag: stop.flag(),
            traces: None,
            traced: Vec::new(),
            files: Vec::new(),
        })
    }

    /// Where the events of this trial are to be written: the first one of each workload and arm is.
    fn trace_of(&mut self, workload: &str, arm: &str) -> Option<std::path::PathBuf> {
        let traces = self.traces.as_ref()?;
        let named = (workload.to_owned(), arm.to_owned());
        if self.traced.contains(&named) {
            return None;
        }
        let path = traces.path(workload, arm, &self.files);
        self.traced.push(named);
        self.files.push(path.clone());
        Some(path)
    }

    /// One trial, of which somebody hears every event.
    pub fn heard(&self, arm: &str, order: &TrialOrder<'_>, observer: &mut dyn Observer) -> Result<Observation> {
        let TrialOrder { workload, seed, duration, warmup } = *order;
        let wanted = Wanted { setting: self.settings[arm].clone(), workload, duration, warmup, trace: None };
        let stop = || self.flag.load(Ordering::Relaxed);
        self.observation(&wanted, sim::run(self.trial(seed, &wanted)?, observer, &stop))
    }

    fn trial(&self, seed: u64, wanted: &Wanted<'_>) -> Result<Trial> {
        let work = self.works.get(wanted.workload);
        let setting = &wanted.setting;
        let ns = |time: Duration| u64::try_from(time.as_nanos()).expect("a trial is shorter than 584 years");
        Ok(Trial {
            elevator: setting.kind,
            tunables: setting.tunables.clone(),
            hz: setting.hz,
            one_cpu: setting.one_cpu,
            nr_requests: setting.nr_requests,
            queue_depth: setting.queue_depth,
            device: self.model.make(seed)?,
            workload: work.kind,
            params: work.params.clone(),
            seed,
            warmup_ns: ns(wanted.warmup),
            duration_ns: ns(wanted.duration),
            turnaround_ns: setting.turnaround_ns,
            turnaround_spread_ns: setting.turnaround_ns / 2,
        })
    }

    fn observation(&self, wanted: &Wanted<'_>, outcome: Result<Outcome, SimError>) -> Result<Observation> {
        match outcome {
            Ok(outcome) => Ok(figures::observation(&outcome)),
            Err(SimError::Interrupted) => {
                Ok(Observation { voids: vec![interrupted(self.stop)], ..Observation::default() })
            }
            Err(error) => Err(usage(format!("workload {} on {}: {error}", wanted.workload.name, self.model.word))),
        }
    }
}

impl Virtual for SimArena<'_> {
    type Wanted<'w> = Wanted<'w>;

    fn course(&self) -> &Course {
        &self.course
    }

    fn course_mut(&mut self) -> &mut Course {
        &mut self.course
    }

    fn wanted<'w>(&mut self, arm: &str, order: &TrialOrder<'w>) -> Wanted<'w> {
        let TrialOrder { workload, duration, warmup, .. } = *order;
        let trace = self.trace_of(&workload.name, arm);
        Wanted { setting: self.settings[arm].clone(), workload, duration, warmup, trace }
    }

    fn one(&self, key: &Key, wanted: &Wanted<'_>) -> Result<Observation> {
        let trial = self.trial(key.2, wanted)?;
        let stop = || self.flag.load(Ordering::Relaxed);
        let outcome = match &wanted.trace {
            None => sim::run(trial, &mut sim::Unobserved, &stop),
            Some(path) => {
                let traces = self.traces.as_ref().expect("a trace is only wanted where there is a place for it");
                let mut writer = traces.writer(path)?;
                let outcome = sim::run(trial, &mut writer, &stop);
                writer.finish()?;
                outcome
            }
        };
        self.observation(wanted, outcome)
    }

    fn take_in(&mut self, arm: &Arm) -> Result<()> {
        self.settings.insert(arm.name.clone(), Setting::of(arm)?);
        Ok(())
    }

    fn write_events(&mut self, format: Format, dir: &Path) -> Result<()> {
        self.traces = Some(TraceFile::new(format, dir)?);
        Ok(())
    }

    fn facts(&self) -> Environment {
        let mut facts = facts_of(&self.model, &self.works);
        let release = format!("none: simulated by schedlab {}", env!("CARGO_PKG_VERSION"));
        facts.entry("kernel".to_owned()).or_default().insert("release".to_owned(), release);
        for (arm, setting) in &self.settings {
            let described = self.model.look(|device| setting.describe(device));
            facts.entry("arms".to_owned()).or_default().insert(arm.clone(), described);
        }
        defaults::note(&mut facts, &self.defaults);
        facts
    }

    fn last_words(&mut self) -> Vec<String> {
        std::mem::take(&mut self.works.words)
    }
}
