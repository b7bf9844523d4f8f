//! A trial on a real device: the workload, the counters around it, and reasons to invalidate it.
//!
//! Background load runs throughout, and its bytes are subtracted from the device's counts.

use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Result;
use experiment::results::{InvalidReason, OWN_CPU, Observation};
use load::Allowance;
use load::programs::ProcessStats;
use load::{Drive, Submission};
use machine::cpu::Setting;
use machine::probe::{DeviceCounters, DeviceDelta, SystemDelta};
use sim::workload::Params;

use super::DiskArena;
use super::background::{Done, RunningLoads};
use super::flows;
use crate::arena::TrialSpec;
use crate::arena::evidence::{self, Evidence};
use crate::arena::invalid::{interrupted, invalid_of};
use crate::arena::program::TrialContext;
use crate::workloads::Work;

enum Outcome {
    Engine(Box<EngineTrial>),
    Program(ProgramTrial),
}

/// In this process, or in one per flow.
struct EngineTrial {
    params: Params,
    nr_clients: u64,
    measured: load::Measured,
    /// From flow processes.
    invalid: Vec<InvalidReason>,
}

/// Includes schedlab's own CPU time.
struct ProgramTrial {
    seen: Result<load::programs::Measurement, InvalidReason>,
    own_cpu: Duration,
}

struct Counted {
    device: DeviceDelta,
    system: SystemDelta,
    done: Done,
    /// Why counters could not be read.
    gone: Option<String>,
}

impl DiskArena<'_> {
    /// Caches are cold at the start.
    pub(super) fn trial(&mut self, spec: &TrialSpec) -> Result<Observation> {
        if let Some(session) = &mut self.session {
            let noted = ProcessStats::default();
            let context = TrialContext {
                session,
                device: Some(&self.device),
                may_write: self.claim.is_some(),
                stop: &self.flag,
                progress: self.progress,
                noted: &noted,
            };
            self.programs.reset(spec.workload, &context)?;
            session.cool()?;
        }
        let sysfs = self.sysfs();
        if sysfs.exists() {
            self.check_device()?;
        }
        let before = (DeviceCounters::read(&sysfs), self.system());
        let watch = self.guard()?.watch();
        let loads = self.background(spec)?;
        let outcome = match self.workloads.get(spec.workload).work() {
            Some(work) if !work.params.flows.is_empty() => {
                self.flows(work, spec).map(Box::new).map(Outcome::Engine)
            }
            Some(work) => self.engine(work, spec).map(Box::new).map(Outcome::Engine),
            None => self.program(spec).map(Outcome::Program),
        };
        let done = loads.end()?;
        let mut invalid: Vec<InvalidReason> = watch.stop().into_iter().map(invalid_of).collect();
        for reason in self.guard()?.check().into_iter().map(invalid_of) {
            if !invalid
                .iter()
                .any(|seen| std::mem::discriminant(seen) == std::mem::discriminant(&reason))
            {
                invalid.push(reason);
            }
        }
        invalid.extend(done.invalid.iter().cloned());
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) if !sysfs.exists() => {
                invalid.push(InvalidReason::DeviceVanished { detail: error.to_string() });
                return Ok(Observation { invalid, ..Observation::default() });
            }
            Err(error) => return Err(error),
        };
        let device = DeviceCounters::read(&sysfs).and_then(|after| Ok(after.since(&before.0?)));
        let system = self.system().and_then(|after| Ok(after.since(&before.1?)))?;
        let (device, gone) = match device {
            Ok(delta) => (delta, None),
            Err(error) => (DeviceDelta::default(), Some(error.to_string())),
        };
        let counted = Counted { device, system, done, gone };
        match outcome {
            Outcome::Engine(trial) => Ok(self.observed(&trial, counted, invalid)),
            Outcome::Program(trial) => Ok(self.observed_of_program(spec, trial, counted, invalid)),
        }
    }

    fn background(&self, spec: &TrialSpec) -> Result<RunningLoads> {
        let workload = self.workloads.get(spec.workload);
        let loads = &workload.loads;
        let Some(session) = self.session.as_ref().filter(|_| !loads.is_empty()) else {
            return Ok(RunningLoads::default());
        };
        let running =
            RunningLoads::start(session, loads, self.targets.loads(spec.workload), spec.seed)?;
        if workload.program().is_some() {
            // The engine has its own warmup.
            std::thread::sleep(spec.warmup);
        }
        Ok(running)
    }

    fn engine(&self, work: &Work, spec: &TrialSpec) -> Result<EngineTrial> {
        let Work { kind, params } = work.clone();
        let files = self.targets.clients(spec.workload);
        let TrialSpec { seed, duration, warmup, .. } = *spec;
        let drive = Drive {
            kind,
            params,
            files,
            seed,
            duration,
            warmup,
            patience: load::PATIENCE,
            submission: Submission::IoUring,
        };
        let measured = load::run(&drive, &self.flag)?;
        let Drive { params, files, .. } = drive;
        Ok(EngineTrial { params, nr_clients: files.len() as u64, measured, invalid: Vec::new() })
    }

    fn flows(&self, work: &Work, spec: &TrialSpec) -> Result<EngineTrial> {
        let session = self.session.as_ref().expect("flows are prepared in a session");
        let (setting, params) = (self.variants.setting(self.applied), work.params.clone());
        let files = self.targets.flows(spec.workload);
        let driven = flows::run(session, setting, &params.flows, files, spec, &self.flag)?;
        let nr_clients = files.iter().map(|files| files.len() as u64).sum();
        Ok(EngineTrial { params, nr_clients, measured: driven.measured, invalid: driven.invalid })
    }

    fn program(&mut self, spec: &TrialSpec) -> Result<ProgramTrial> {
        let session = self.session.as_ref().expect("programs are prepared in a session");
        let noted = ProcessStats::default();
        let context = TrialContext {
            session,
            device: Some(&self.device),
            may_write: self.claim.is_some(),
            stop: &self.flag,
            progress: self.progress,
            noted: &noted,
        };
        let seen = self.programs.measure(spec, &Setting::default(), &context)?;
        Ok(ProgramTrial { seen, own_cpu: noted.own_cpu.get() })
    }

    fn observed(
        &self,
        trial: &EngineTrial,
        counted: Counted,
        mut invalid: Vec<InvalidReason>,
    ) -> Observation {
        let Counted { device, system, done, gone } = counted;
        let EngineTrial { params, nr_clients, measured, invalid: of_flows } = trial;
        invalid.extend(of_flows.iter().cloned());
        let gone = gone.or_else(|| measured.vanished.clone()).or_else(|| measured.no_space.clone());
        invalid.extend(gone.map(|detail| InvalidReason::DeviceVanished { detail }));
        if measured.interrupted || self.flag.load(Ordering::Relaxed) {
            invalid.push(interrupted(self.stop));
        }
        let alone = without(&device, &done);
        let seen = Evidence { measured, device: &alone, system: &system };
        let mut allowance = Allowance::of(params, *nr_clients, measured, &self.sysfs());
        if self.files.is_some() || !done.counters.is_empty() {
            // File systems add I/O, and background load continues between the readings.
            allowance = Allowance { read_bytes: u64::MAX >> 1, written_bytes: u64::MAX >> 1 };
        }
        invalid.extend(seen.invalid(&allowance, &self.limits));
        let mut observation = Evidence { device: &device, ..seen }.observation(invalid);
        observation.counters.extend(done.counters);
        observation
    }

    fn observed_of_program(
        &self,
        spec: &TrialSpec,
        trial: ProgramTrial,
        counted: Counted,
        mut invalid: Vec<InvalidReason>,
    ) -> Observation {
        let Counted { device, system, done, gone } = counted;
        invalid.extend(gone.map(|detail| InvalidReason::DeviceVanished { detail }));
        if self.flag.load(Ordering::Relaxed) {
            invalid.push(interrupted(self.stop));
        }
        let mut observation = Observation::default();
        match trial.seen {
            Ok(seen) => {
                invalid.extend(evidence::of_system(&system, &self.limits));
                if device.device_errors > 0 {
                    let first = "counted by the device".to_owned();
                    invalid
                        .push(InvalidReason::DeviceErrors { count: device.device_errors, first });
                }
                invalid.extend(self.programs.invalid(
                    spec.workload,
                    &seen,
                    &without(&device, &done),
                    &self.limits,
                ));
                let own = trial.own_cpu.as_secs_f64() / seen.window.as_secs_f64().max(1e-9);
                observation.duration_ns = u64::try_from(seen.window.as_nanos()).unwrap_or(u64::MAX);
                observation.metrics = seen.metrics;
                observation.counters = seen.counters;
                observation.counters.insert(OWN_CPU.to_owned(), own);
            }
            Err(reason)
                if !invalid
                    .iter()
                    .any(|invalid| matches!(invalid, InvalidReason::Interrupted { .. })) =>
            {
                invalid.push(reason)
            }
            Err(_) => {}
        }
        observation.counters.extend(evidence::counters(&device, &system));
        observation.counters.extend(done.counters);
        observation.invalid = invalid;
        observation
    }
}

/// The device's I/O without the background's.
fn without(device: &DeviceDelta, done: &Done) -> DeviceDelta {
    DeviceDelta {
        read_bytes: device.read_bytes.saturating_sub(done.issued.read_bytes),
        written_bytes: device.written_bytes.saturating_sub(done.issued.written_bytes),
        ..*device
    }
}
