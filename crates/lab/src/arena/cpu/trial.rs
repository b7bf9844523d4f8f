//! A trial on CPUs: the workload, the counters around it, and reasons to invalidate it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, anyhow};
use experiment::results::{InvalidReason, OWN_CPU, Observation};
use load::programs::ProcessStats;
use machine::probe::{SystemCounters, SystemDelta, frequency_mhz};
use machine::session::Launch;

use machine::cpu::Setting;

use super::{CpuArena, background};
use crate::arena::invalid::{interrupted, invalid_of};
use crate::arena::program::{self, Programs};
use crate::arena::{TrialSpec, evidence};
use crate::failure::usage;

/// For the no-op program.
const SHORT: Duration = Duration::from_secs(30);

impl CpuArena<'_> {
    /// Starts a no-op program with this variant's placement.
    pub(super) fn try_variant(&self, variant: &str, setting: &Setting) -> Result<()> {
        let refused = |e: machine::Error| usage(format!("variant {variant}: {e}"));
        let session = self.session()?;
        let program = session.program("true", "coreutils", "to try how programs are placed")?;
        let placement = setting.placement.clone();
        let running =
            session.start(&Launch { program, placement, ..Launch::default() }).map_err(refused)?;
        running.wait(SHORT, &AtomicBool::new(false)).map(drop).map_err(refused)
    }

    /// Runs each variant's command once, to detect failures and warm caches.
    pub(super) fn try_commands(&self, programs: &mut Programs) -> Result<()> {
        let own = |setting: &Setting| setting.run.is_some();
        for (_, variant, setting) in self.variants.iter().filter(|(_, _, setting)| own(setting)) {
            for workload in 0..self.workloads.iter().count() {
                self.progress.phase(&format!("first run of {variant}"));
                let noted = ProcessStats::default();
                let context = self.context(self.session()?, &noted);
                let (duration, warmup) = (self.duration, Duration::ZERO);
                let spec = TrialSpec { workload, seed: 1, duration, warmup };
                programs.reset(workload, &context)?;
                let tried = programs.measure(&spec, setting, &context);
                if self.flag.load(Ordering::Relaxed) {
                    return Ok(());
                }
                let why = match tried {
                    Ok(Ok(_)) => continue,
                    Ok(Err(InvalidReason::ProgramFailed { detail })) => detail,
                    Ok(Err(reason)) => reason.to_string(),
                    Err(why) => why.to_string(),
                };
                return Err(anyhow!("variant {variant}: {why}"));
            }
        }
        Ok(())
    }

    pub(super) fn trial(&mut self, spec: &TrialSpec) -> Result<Observation> {
        let mut programs = std::mem::take(&mut self.programs);
        let observation = self.trial_of(spec, &mut programs);
        self.programs = programs;
        observation
    }

    fn trial_of(&self, spec: &TrialSpec, programs: &mut Programs) -> Result<Observation> {
        let session = self.session()?;
        let guard = self.guard.as_ref().ok_or_else(super::given_back)?;
        programs.reset(spec.workload, &self.context(session, &ProcessStats::default()))?;
        let processes = self.loads.start(session, spec.workload)?;
        std::thread::sleep(spec.warmup);
        let variant = self.applied.expect("a variant is applied before a trial is measured");
        let setting = self.variants.setting(variant);
        let before = self.system()?;
        let noted = ProcessStats::default();
        let outcome = programs.measure(spec, setting, &self.context(session, &noted));
        let system = self.system()?.since(&before);
        // Before the CPUs reduce their frequency.
        let mhz = frequency_mhz(&self.root.proc(""), &self.root.sys(""));
        let counted = guard.counters();
        let mut invalid: Vec<InvalidReason> = guard.check().into_iter().map(invalid_of).collect();
        let loads = background::end(processes)?;
        invalid.extend(loads.invalid);
        let displaced = noted.displaced.take().into_iter();
        invalid.extend(displaced.map(|(attribute, wanted, found)| {
            let attribute = attribute.to_owned();
            InvalidReason::ChangedMeanwhile { attribute, wanted, found }
        }));
        if self.flag.load(Ordering::Relaxed) {
            invalid.push(interrupted(self.stop));
        }
        let mut observation = Observation::default();
        match outcome? {
            Ok(seen) => {
                invalid.extend(evidence::of_system(&system, &self.limits));
                invalid.extend(program::too_few(&seen.counts));
                let own = noted.own_cpu.get().as_secs_f64() / seen.window.as_secs_f64().max(1e-9);
                observation.duration_ns = u64::try_from(seen.window.as_nanos()).unwrap_or(u64::MAX);
                observation.metrics = seen.metrics;
                // Our own workloads count all threads over exactly the measured time.
                if !seen.counters.contains_key("task_threads") {
                    observation.counters = noted.task.take().counters().collect();
                    let wall_ms = noted.wall.get().as_secs_f64() * 1e3;
                    observation.counters.insert("task_wall_ms".to_owned(), wall_ms);
                }
                observation.counters.extend(seen.counters);
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
        observation.counters.extend(of_system(&system, mhz).chain(counted).chain(loads.counters));
        observation.invalid = invalid;
        Ok(observation)
    }

    fn system(&self) -> Result<SystemCounters> {
        Ok(SystemCounters::read(&self.root.proc(""), &self.root.sys(""))?)
    }
}

fn of_system(system: &SystemDelta, mhz: Option<f64>) -> impl Iterator<Item = (String, f64)> {
    let counters = [
        ("steal_share", Some(system.steal_share)),
        ("cpu_busy_share", Some(system.busy_share)),
        ("cpu_mhz", mhz),
    ];
    counters.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)))
}
