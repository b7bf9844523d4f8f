//! The CPU arena: programs placed on CPUs, and settings of the CPU scheduler.
//!
//! Settings of the program (nice level, policy, CPUs) are applied when it starts, and verified.
//! Those of the machine use the journaled guard of `machine::cpu`.

pub mod background;
pub mod inside;
mod trial;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use experiment::plan::{Limits, Plan, Variant};
use experiment::results::{Environment, InvalidReason, Observation};
use load::programs::ProcessStats;
use machine::cpu::{Guard, KEYS, Setting};
use machine::{Root, Session};

use self::background::BackgroundLoads;
use super::invalid::invalid_of;
use super::program::{Programs, TrialContext};
use super::{Arena, TrialSpec, VariantIndex, Variants};
use crate::console::Console;
use crate::failure::usage;
use crate::length::trial_length;
use crate::progress::Progress;
use crate::signals::Stop;
use crate::workloads::Workloads;

pub fn setting_of(variant: &Variant) -> Result<Setting> {
    let pairs = variant.tunables.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    Setting::read(&variant.scheduler, pairs)
        .map_err(|e| usage(format!("variant {}: {e}", variant.name)))
}

/// Names of settings, for parsing variants written as one word.
pub fn keys() -> Vec<&'static str> {
    KEYS.iter().map(|row| row.name).collect()
}

pub struct CpuArena<'a> {
    root: Root,
    /// Dropped first: a program of the session may be the CPU scheduler.
    guard: Option<Guard>,
    programs: Programs,
    session: Option<Session>,
    variants: Variants<Setting>,
    applied: Option<VariantIndex>,
    workloads: Workloads,
    loads: BackgroundLoads,
    limits: Limits,
    duration: Duration,
    stop: &'a Stop,
    progress: &'a dyn Progress,
    flag: Arc<AtomicBool>,
    words: Vec<String>,
    /// Tasks that cannot be moved off isolated CPUs, with reasons.
    unmovable: BTreeSet<String>,
    opened: Instant,
}

impl<'a> CpuArena<'a> {
    /// Claims the settings without changing them.
    pub fn open(
        root: &Root,
        plan: &Plan,
        variants: Variants<Setting>,
        workloads: Workloads,
        loads: BackgroundLoads,
        run_as: Option<&str>,
        console: Console<'a>,
    ) -> Result<CpuArena<'a>> {
        let Console { stop, progress } = console;
        let guard = Guard::begin(root)?;
        let mut session = Session::begin(root)?;
        run_as
            .map_or(Ok(()), |name| session.run_as(name))
            .map_err(|e| usage(format!("--as: {e}")))?;
        let arena = CpuArena {
            root: root.clone(),
            programs: Programs::default(),
            session: Some(session),
            guard: Some(guard),
            variants,
            applied: None,
            words: workloads.remarks(),
            workloads,
            loads,
            limits: plan.limits.clone(),
            duration: trial_length(plan).0,
            stop,
            progress,
            flag: stop.flag(),
            unmovable: BTreeSet::new(),
            opened: Instant::now(),
        };
        for (_, name, setting) in arena.variants.iter() {
            arena.check(name, setting)?;
        }
        arena.remarks().iter().for_each(|remark| progress.remark(remark));
        Ok(arena)
    }

    fn check(&self, variant: &str, setting: &Setting) -> Result<()> {
        let guard = self.guard.as_ref().ok_or_else(given_back)?;
        guard.admit(setting).map_err(|e| usage(format!("variant {variant}: {e}")))
    }

    /// Remarks about schedlab's own placement and invisible tasks.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let place = inherited(&self.root);
        if !place.is_empty() {
            remarks.push(format!(
                "schedlab itself runs with {place}: programs and loads inherit it where a variant does not set another"
            ));
        }
        let isolates = self.variants.iter().any(|(_, _, setting)| setting.isolate.is_some());
        if isolates && !machine::cpu::sees_all_tasks(&self.root) {
            remarks.push(
                "isolate moves the tasks of this PID namespace only; others keep using the CPUs"
                    .to_owned(),
            );
        }
        remarks
    }

    fn session(&self) -> Result<&Session> {
        self.session.as_ref().ok_or_else(given_back)
    }

    fn context<'p>(&'p self, session: &'p Session, noted: &'p ProcessStats) -> TrialContext<'p> {
        TrialContext {
            session,
            device: None,
            may_write: false,
            stop: &self.flag,
            progress: self.progress,
            noted,
        }
    }
}

/// Unusual placement of this process.
fn inherited(root: &Root) -> String {
    let place = machine::placement::own_place(root).into_iter();
    place
        .map(|(what, usual, found)| format!("{what} {found} instead of {usual}"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Maximum number of tasks named in a message.
const NAMED: usize = 8;

fn staying(unmovable: &BTreeSet<String>) -> Option<String> {
    let named: Vec<&str> = unmovable.iter().take(NAMED).map(String::as_str).collect();
    let more = unmovable.len().saturating_sub(NAMED);
    let rest = if more == 0 { String::new() } else { format!(", and {more} more") };
    (!named.is_empty())
        .then(|| format!("could not be moved off the isolated CPUs: {}{rest}", named.join(", ")))
}

fn given_back() -> anyhow::Error {
    anyhow!("CPUs: already released")
}

impl Arena for CpuArena<'_> {
    fn capture(&mut self) -> Result<Environment> {
        let mut facts = machine::environment::of_machine(&self.root)?;
        facts.insert("scheduler".into(), machine::cpu::facts(&self.root));
        let own = facts.entry("schedlab".to_owned()).or_default();
        own.insert("build".to_owned(), text::build::identity().to_owned());
        own.extend(
            Some(inherited(&self.root))
                .filter(|place| !place.is_empty())
                .map(|it| ("placement".to_owned(), it)),
        );
        if !self.programs.versions().is_empty() {
            facts.insert("programs".to_owned(), self.programs.versions().clone());
        }
        Ok(facts)
    }

    fn admit(&mut self, variant: &Variant) -> Result<VariantIndex> {
        let setting = setting_of(variant)?;
        self.check(&variant.name, &setting)?;
        Ok(self.variants.admit(&variant.name, setting))
    }

    /// Starts a no-op under every variant to detect missing permissions.
    fn try_out(&mut self) -> Result<()> {
        let noted = ProcessStats::default();
        let programs = Programs::find(&self.workloads, &self.context(self.session()?, &noted))?;
        self.programs = programs;
        for (_, variant, setting) in self.variants.iter() {
            self.try_variant(variant, setting)?;
        }
        let mut programs = std::mem::take(&mut self.programs);
        programs.prepare(&self.context(self.session()?, &noted))?;
        let tried = self.try_commands(&mut programs);
        self.programs = programs;
        tried?;
        Ok(())
    }

    fn apply(&mut self, variant: VariantIndex) -> Result<Vec<InvalidReason>> {
        let (Some(guard), Some(session)) = (&mut self.guard, &self.session) else {
            return Err(given_back());
        };
        let problems = guard.apply(self.variants.setting(variant), session)?;
        self.unmovable.extend(guard.unmovable());
        self.applied = Some(variant);
        Ok(problems.into_iter().map(invalid_of).collect())
    }

    fn measure(&mut self, trial: &TrialSpec) -> Result<Observation> {
        self.trial(trial)
    }

    /// The workload's warmup suffices.
    fn preconditions(&self) -> bool {
        false
    }

    fn elapsed(&self) -> Duration {
        self.opened.elapsed()
    }

    fn finish(&mut self) -> Result<Vec<String>> {
        let mut words = std::mem::take(&mut self.words);
        words.extend(staying(&self.unmovable));
        let restored = self.guard.take().map(Guard::restore).transpose();
        let left = self.session.take().map(Session::end).transpose()?.unwrap_or_default();
        restored?;
        if !left.is_empty() {
            words.push(format!("still running at the end, and ended: {}", left.join(", ")));
        }
        Ok(words)
    }
}
