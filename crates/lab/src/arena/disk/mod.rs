//! The disk arena: the running kernel's block layer on a real device.
//!
//! `load` measures without knowing plans or results, and this module turns its reports into
//! observations. The sequence of a trial proves that a figure belongs to its variant: set and
//! verify, read counters, run the engine while a thread watches the setting, read both again
//! (`trial`).

pub mod background;
mod check;
mod device;
mod flows;
mod overwrite;
mod setting;
mod target;
mod trial;

use std::fs::{self, File};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use experiment::plan::{FileSystemSpec, Limits, Plan, Variant};
use experiment::results::{Environment, InvalidReason, Observation};
use machine::probe::{ProbeError, SystemCounters};
use machine::session::FileSystem;
use machine::{Authority, Change, Claim, Device, Error, Guard, LoopDevice, Problem, Root, Session};

use self::check::{as_usage, check_scheduler, of_variant};
pub use self::device::Target;
pub use self::setting::{VariantSetting, setting_of};
use self::target::Targets;
use super::defaults::{self, Defaults};
use super::invalid::{invalid_of, share_of};
use super::program::{Programs, TrialContext};
use super::streams::check_no_search;
use super::{Arena, TrialSpec, VariantIndex, Variants};
use load::programs::ProcessStats;

use crate::console::Console;
use crate::failure::usage;
use crate::progress::Progress;
use crate::signals::Stop;
use crate::workloads::Workloads;

/// The user's decisions beyond the plan.
#[derive(Debug)]
pub struct Consent<'a> {
    pub destroy_data: Option<&'a str>,
    /// For the backing file of a temporary loop device.
    pub loop_dir: &'a Path,
    /// User to run the plan's programs as.
    pub run_as: Option<&'a str>,
}

pub struct DiskArena<'a> {
    root: Root,
    device: Device,
    /// Drop order: programs and mounts, settings, claim, device.
    programs: Programs,
    session: Option<Session>,
    guard: Option<Guard>,
    claim: Option<Claim>,
    /// Keeps the device name from being reused.
    held: Option<File>,
    temporary: Option<LoopDevice>,
    limits: Limits,
    stop: &'a Stop,
    progress: &'a dyn Progress,
    flag: Arc<AtomicBool>,
    words: Vec<String>,
    opened: Instant,
    variants: Variants<VariantSetting>,
    applied: VariantIndex,
    baseline: VariantIndex,
    swept: Vec<String>,
    workloads: Workloads,
    run_as: Option<String>,
    files: Option<FileSystemSpec>,
    targets: Targets,
    defaults: Defaults,
}

impl<'a> DiskArena<'a> {
    /// Reports missing privileges before anything else.
    pub fn require_root() -> Result<()> {
        let uid = fs::metadata("/proc/self").map(|me| me.uid());
        if uid.is_ok_and(|uid| uid != 0) {
            return Err(anyhow!(
                "changing a device's scheduler needs root: run the same command with sudo"
            ));
        }
        Ok(())
    }

    /// Finds or creates the device, checks the plan, and claims the settings.
    pub fn open(
        root: &Root,
        plan: &Plan,
        target: &Target,
        variants: Variants<VariantSetting>,
        workloads: Workloads,
        consent: &Consent<'_>,
        console: Console<'a>,
    ) -> Result<DiskArena<'a>> {
        let Console { stop, progress } = console;
        check_no_search(&workloads)?;
        if plan.files.is_some() {
            workloads.check_files()?;
        }
        let (temporary, device) = match target {
            Target::Temporary(size) => {
                let made = make_loop(root, *size, consent.loop_dir, stop, progress)?;
                let device = made.describe()?;
                (Some(made), device)
            }
            Target::Device(name) => (None, machine::device::find(root, name).map_err(as_usage)?),
        };
        if device.size_bytes == 0 {
            return Err(usage(format!(
                "{}: no medium or file to measure (found 0 bytes); name another device",
                device.path.display()
            )));
        }
        let schedulers = || plan.variants.iter().map(|variant| variant.scheduler.as_str());
        schedulers().try_for_each(|scheduler| check_scheduler(&device, scheduler))?;
        for (_, variant, setting) in variants.iter() {
            // Check names and ranges before anything is written.
            Change::plan(root, &device, &setting.device)
                .map_err(|e| of_variant(variant, as_usage(e)))?;
        }
        let writes = plan.files.is_some() || workloads.write();
        let authority = if temporary.is_some() {
            Authority::Made
        } else {
            Authority::Named(consent.destroy_data)
        };
        let claim = writes
            .then(|| overwrite::claim(root, &device, authority, stop, progress))
            .transpose()?;
        let held = device.hold(root)?;
        let guard = Guard::begin(root, &device)?;
        let mut words = temporary.as_ref().map(|made| made.warnings().to_vec()).unwrap_or_default();
        words.extend(workloads.remarks());
        words.extend(workloads.without_effect(schedulers()));
        let baseline =
            variants.iter().find(|(_, name, _)| *name == plan.baseline()).map(|(at, ..)| at);
        Ok(DiskArena {
            root: root.clone(),
            device,
            programs: Programs::default(),
            session: None,
            guard: Some(guard),
            claim,
            held: Some(held),
            temporary,
            limits: plan.limits.clone(),
            stop,
            progress,
            flag: stop.flag(),
            words,
            opened: Instant::now(),
            variants,
            applied: VariantIndex(0),
            baseline: baseline.expect("the baseline of a checked plan is one of its variants"),
            swept: defaults::swept(plan),
            workloads,
            run_as: consent.run_as.map(str::to_owned),
            files: plan.files.clone(),
            targets: Targets::default(),
            defaults: Defaults::new(),
        })
    }

    fn prepare_target(&mut self) -> Result<()> {
        let has_loads = self.workloads.loads().next().is_some();
        let has_flows = self.workloads.flows().next().is_some();
        if self.files.is_some() || has_loads || has_flows || self.workloads.has_programs() {
            let mut session = Session::begin(&self.root)?;
            let run_as = self.run_as.as_deref();
            run_as
                .map_or(Ok(()), |name| session.run_as(name))
                .map_err(|e| usage(format!("--as: {e}")))?;
            for share in self.workloads.shares().filter(|share| !share.is_plain()) {
                session
                    .check_share(&self.device, &share_of(share))
                    .map_err(|e| usage(e.to_string()))?;
            }
            self.check_flows(&session)?;
            if !session.bounds_hold_for_the_page_cache()
                && let Some(load) = self
                    .workloads
                    .loads()
                    .find(|load| load.share.io_max.is_some() && !load.work.params.direct)
            {
                return Err(usage(format!(
                    "background {}: io_max of control groups v1 does not bound writes through the page cache; add direct=true",
                    load.work.kind.name
                )));
            }
            // Check everything that does not need the file system before overwriting data.
            let noted = ProcessStats::default();
            self.programs = Programs::find(&self.workloads, &self.context(&session, &noted))?;
            if let Some(files) = &self.files {
                let FileSystemSpec { kind, mkfs, mount } = files.clone();
                self.progress.phase(&format!(
                    "making a file system ({kind}) on {}",
                    self.device.path.display()
                ));
                let claim =
                    self.claim.as_mut().expect("a plan with a file system claims the device");
                session.make_files(&self.device, &FileSystem { kind, mkfs, mount }, claim)?;
            }
            self.session = Some(session);
        }
        let directory = self.session.as_ref().and_then(Session::directory);
        self.targets = Targets::prepare(&self.workloads, &self.device, directory, self.progress)?;
        if let Some(session) = &self.session {
            let noted = ProcessStats::default();
            let context = TrialContext {
                session,
                device: Some(&self.device),
                may_write: self.claim.is_some(),
                stop: &self.flag,
                progress: self.progress,
                noted: &noted,
            };
            self.programs.prepare(&context)?;
        }
        Ok(())
    }

    /// Reports unsupported settings early.
    fn check_flows(&self, session: &Session) -> Result<()> {
        for (_, variant, setting) in self.variants.iter() {
            for flow in self.workloads.flows() {
                let tried = session.check_share(&self.device, &setting.share(flow));
                tried.map_err(|e| usage(format!("variant {variant}, flow {}: {e}", flow.name)))?;
            }
        }
        Ok(())
    }

    fn context<'p>(&'p self, session: &'p Session, noted: &'p ProcessStats) -> TrialContext<'p> {
        TrialContext {
            session,
            device: Some(&self.device),
            may_write: self.claim.is_some(),
            stop: &self.flag,
            progress: self.progress,
            noted,
        }
    }

    /// Checks that this is the device the user consented to.
    fn check_device(&self) -> Result<()> {
        Ok(self.device.check_is(&self.root, self.held.as_ref().ok_or_else(given_back)?)?)
    }

    fn guard(&mut self) -> Result<&mut Guard> {
        self.guard.as_mut().ok_or_else(given_back)
    }

    fn sysfs(&self) -> PathBuf {
        self.root.sys("block").join(&self.device.name)
    }

    fn system(&self) -> Result<SystemCounters, ProbeError> {
        SystemCounters::read(&self.root.proc(""), &self.root.sys(""))
    }
}

impl Arena for DiskArena<'_> {
    fn capture(&mut self) -> Result<Environment> {
        let mut facts = machine::environment::capture(&self.root, &self.device)?;
        facts.insert("scheduler".into(), machine::cpu::facts(&self.root));
        facts
            .entry("schedlab".to_owned())
            .or_default()
            .insert("build".to_owned(), text::build::identity().to_owned());
        defaults::note(&mut facts, &self.defaults);
        if !self.programs.versions().is_empty() {
            facts.insert("programs".to_owned(), self.programs.versions().clone());
        }
        if let Some(FileSystemSpec { kind, mkfs, mount }) = &self.files {
            let options = [("kind", kind), ("mkfs", mkfs), ("mount", mount)];
            let told = options.into_iter().filter(|(_, text)| !text.is_empty());
            facts.insert(
                "files".to_owned(),
                told.map(|(name, text)| (name.to_owned(), text.clone())).collect(),
            );
        }
        Ok(facts)
    }

    fn admit(&mut self, variant: &Variant) -> Result<VariantIndex> {
        check_scheduler(&self.device, &variant.scheduler)?;
        Ok(self.variants.admit(&variant.name, setting_of(variant)?))
    }

    /// Tries every variant, then prepares workloads, which can take minutes. A refused value is an
    /// error, except in a sweep, where it is data.
    fn try_out(&mut self) -> Result<()> {
        let guard = self.guard.as_mut().ok_or_else(given_back)?;
        for (variant, name, setting) in self.variants.iter() {
            let problems =
                guard.apply(&setting.device).map_err(|e| of_variant(name, as_usage(e)))?;
            let refused =
                problems.iter().find(|problem| !matches!(problem, Problem::DeviceGone { .. }));
            match refused {
                Some(problem) if self.swept.is_empty() => {
                    return Err(usage(format!(
                        "variant {name}: {problem}; leave it out, or give another value"
                    )));
                }
                Some(problem) => self
                    .progress
                    .say(&format!("variant {name}: {problem}; its trials will be invalid")),
                None => {}
            }
            if variant == self.baseline {
                let found = guard.in_effect().cloned().unwrap_or_default();
                let all = found.queue.into_iter().chain(found.tunables);
                self.defaults = all.filter(|(name, _)| self.swept.contains(name)).collect();
            }
        }
        self.prepare_target()
    }

    fn apply(&mut self, variant: VariantIndex) -> Result<Vec<InvalidReason>> {
        let device = self.device.path.display().to_string();
        let guard = self.guard.as_mut().ok_or_else(given_back)?;
        self.applied = variant;
        match guard.apply(&self.variants.setting(variant).device) {
            Ok(problems) => Ok(problems.into_iter().map(invalid_of).collect()),
            Err(Error::DeviceGone { .. }) => {
                Ok(vec![InvalidReason::DeviceVanished { detail: format!("{device} is gone") }])
            }
            Err(error) => Err(error.into()),
        }
    }

    fn begin_round(&mut self) -> Result<()> {
        let own_mount = self.session.as_ref().and_then(Session::directory);
        let check = |claim: &Claim| claim.check_unused(&self.root, &self.device, own_mount);
        Ok(self.claim.as_ref().map_or(Ok(()), check)?)
    }

    fn measure(&mut self, trial: &TrialSpec) -> Result<Observation> {
        self.trial(trial)
    }

    fn elapsed(&self) -> Duration {
        self.opened.elapsed()
    }

    fn finish(&mut self) -> Result<Vec<String>> {
        let mut words = std::mem::take(&mut self.words);
        let ended = self.session.take().map(Session::end).transpose();
        words.extend(self.guard.as_ref().and_then(Guard::remark).map(str::to_owned));
        let restored = self.guard.take().map(Guard::restore).transpose();
        (self.claim, self.held) = (None, None);
        // Remove the loop device even if restoring failed: the settings vanish with it.
        let removed = self.temporary.take().map(LoopDevice::remove).transpose();
        if restored?.is_some_and(|restored| restored.device_gone) {
            words.push(format!(
                "{} has disappeared, together with its settings",
                self.device.path.display()
            ));
        }
        let left = ended?.unwrap_or_default();
        if !left.is_empty() {
            words.push(format!("terminated at the end: {}", left.join(", ")));
        }
        removed?;
        Ok(words)
    }
}

fn given_back() -> anyhow::Error {
    anyhow!("device: already released")
}

pub(crate) fn make_loop(
    root: &Root,
    size: u64,
    dir: &Path,
    stop: &Stop,
    progress: &dyn Progress,
) -> Result<LoopDevice> {
    let what = format!("filling a file of {} in {}", text::format_size(size), dir.display());
    let made = LoopDevice::create(root, size, dir, &mut |done| {
        progress.prepare(&what, done, size);
        if stop.signal().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(made)
}
