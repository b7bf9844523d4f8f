//! Gives one experiment the machine's CPU settings, and restores them.
//!
//! A variant consists of written values, a scheduler loaded by a program, isolated CPUs, and its
//! own program's placement. [`Guard::apply`] reverts the previous variant's further parts, writes,
//! loads, and isolates last, so that newly started tasks leave the CPUs too.

use std::fmt;
use std::sync::Mutex;

use super::attributes::{self, Watch, Write};
use super::isolate::{self, Isolation};
use super::ledger::{KEY, Ledger, Made, PREVIOUS};
use super::realtime;
use super::sched_ext::{self, Loaded};
use super::setting::Setting;
use crate::Error;
use crate::Root;
use crate::files::OwnLock;
use crate::journal::{self, Abandoned, Entry, Kind, Lock, Stage, Undone};
use crate::session::Session;
use crate::settings::Problem;

const WHAT: &str = "the setting of the machine's CPUs";

/// Exclusive use of the CPU settings, restored on drop.
#[derive(Debug)]
pub struct Guard {
    root: Root,
    _locks: [Lock; 2],
    /// Independent of the state directory; taken before the first write.
    machine: Mutex<[Option<OwnLock>; 2]>,
    ledger: Ledger,
    isolation: Option<Isolation>,
    loaded: Option<Loaded>,
    watch: Option<Watch>,
    targets: Vec<Write>,
    in_effect: Setting,
    ended: bool,
}

impl Guard {
    /// Takes the CPU settings, and restores what a dead owner left.
    ///
    /// # Errors
    /// [`Error::Busy`] if another experiment has them; [`Error::Io`]; the errors of restoring.
    pub fn begin(root: &Root) -> Result<Guard, Error> {
        let locks = [Lock::take(root, KEY, WHAT)?, Lock::take(root, PREVIOUS, WHAT)?];
        // Under our lock, an entry is a dead owner's, and current values are not the originals.
        for key in [KEY, PREVIOUS] {
            if let Some(entry) = journal::read(root, key)? {
                undo(root, key, &entry)?;
            }
        }
        Ok(Guard {
            root: root.clone(),
            _locks: locks,
            machine: Mutex::default(),
            ledger: Ledger::new(root),
            isolation: None,
            loaded: None,
            watch: None,
            targets: Vec::new(),
            in_effect: Setting::default(),
            ended: false,
        })
    }

    /// Refuses settings that are impossible here or could lock up the machine.
    ///
    /// # Errors
    /// [`Error::Cpu`]; [`Error::Busy`] if a schedlab with another state directory writes CPU
    /// settings.
    pub fn admit(&self, setting: &Setting) -> Result<(), Error> {
        attributes::admit(&self.root, &setting.attributes)?;
        setting.placement.admit(&self.root, setting.isolate.as_ref())?;
        realtime::admit(&self.root, setting)?;
        if let Some(binary) = &setting.sched_ext {
            sched_ext::admit(&self.root, binary, self.loaded.as_ref())?;
        }
        if let Some(cpus) = &setting.isolate {
            Isolation::admit(&self.root, cpus)?;
        }
        self.take_machine(setting)
    }

    /// Reverts the previous setting's further parts. Values refused by the kernel are problems.
    ///
    /// # Errors
    /// [`Error::Io`] if the journal cannot be written; failures to revert.
    pub fn apply(&mut self, setting: &Setting, session: &Session) -> Result<Vec<Problem>, Error> {
        self.watch = None;
        // Until this succeeds, there is nothing to check.
        let before = std::mem::take(&mut self.in_effect);
        self.targets.clear();
        self.take_machine(setting)?;
        if before.isolate != setting.isolate
            && let Some(isolation) = self.isolation.take()
        {
            isolation.end()?;
        }
        let stays = |loaded: &Loaded| {
            setting.sched_ext.as_deref() == Some(loaded.binary()) && loaded.check().is_empty()
        };
        if let Some(loaded) = self.loaded.take_if(|loaded| !stays(loaded)) {
            loaded.end()?;
        }
        let (targets, mut problems) =
            attributes::apply(&self.root, &setting.attributes, &self.ledger)?;
        if let (Some(binary), None) = (&setting.sched_ext, &self.loaded) {
            match sched_ext::load(&self.root, binary, session)? {
                Ok(loaded) => self.loaded = Some(loaded),
                Err(problem) => problems.push(problem),
            }
        }
        if let (Some(cpus), None) = (&setting.isolate, &self.isolation) {
            self.isolation = Some(Isolation::begin(&self.root, cpus, &self.ledger)?);
        }
        if problems.is_empty() {
            self.watch = Watch::start(&self.root, &targets);
        }
        self.targets = targets;
        self.in_effect = setting.clone();
        Ok(problems)
    }

    /// Parts not in effect now, or temporarily since they were applied.
    pub fn check(&self) -> Vec<Problem> {
        let mut problems: Vec<Problem> = self.watch.iter().flat_map(Watch::seen).collect();
        for problem in attributes::check(&self.root, &self.targets) {
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
        problems.extend(self.loaded.iter().flat_map(Loaded::check));
        problems.extend(self.isolation.iter().flat_map(Isolation::check));
        problems
    }

    #[cfg(test)]
    pub(super) fn watched(&self) -> usize {
        self.watch.iter().flat_map(Watch::seen).count()
    }

    pub fn counters(&self) -> Vec<(String, f64)> {
        self.isolation.iter().flat_map(Isolation::counters).collect()
    }

    /// Tasks that cannot be moved, with the reasons.
    pub fn unmovable(&self) -> Vec<String> {
        self.isolation.iter().flat_map(Isolation::unmovable).collect()
    }

    /// Call this before the session ends, which would kill the loaded scheduler.
    ///
    /// # Errors
    /// Failures to restore; their entry stays for `schedlab restore`.
    pub fn restore(mut self) -> Result<(), Error> {
        self.ended = true;
        self.finish()
    }

    /// Tries everything, and returns the first error.
    fn finish(&mut self) -> Result<(), Error> {
        self.watch = None;
        self.targets.clear();
        let unloaded = self.loaded.take().map_or(Ok(()), Loaded::end);
        let isolated = self.isolation.take().map_or(Ok(()), Isolation::end);
        let made = self.ledger.made();
        let undone = if made == Made::default() {
            journal::read(&self.root, KEY)
                .and_then(|entry| entry.map_or(Ok(()), |_| journal::remove(&self.root, KEY)))
        } else {
            self.root.boot_id().and_then(|boot| put_back(&self.root, KEY, &made, &boot).map(drop))
        };
        undone.and(unloaded).and(isolated)
    }

    /// Locks out schedlabs with other state directories.
    fn take_machine(&self, setting: &Setting) -> Result<(), Error> {
        if setting.attributes.is_empty() && setting.sched_ext.is_none() {
            return Ok(());
        }
        let mut machine = self.machine.lock().expect("no thread panics while it holds this");
        if machine.iter().all(Option::is_none) {
            let lock = |name| journal::lock_machine(&self.root, name, WHAT);
            *machine = [lock(KEY)?, lock(PREVIOUS)?];
        }
        Ok(())
    }
}

impl Drop for Guard {
    /// Failures stay in the journal.
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.finish();
        }
    }
}

pub const UNDO: [Kind; 2] = [kind(KEY), kind(PREVIOUS)];

const fn kind(name: &'static str) -> Kind {
    Kind {
        name,
        stage: Stage::Settings,
        single_use: None,
        subject: |_| Some(WHAT.to_string()),
        undo: |root, Abandoned { key, entry, .. }| {
            Ok(Box::new(Restoration { changed: undo(root, key, entry)? }))
        },
    }
}

#[derive(Debug)]
pub struct Restoration {
    /// Empty if nothing had to be done.
    pub changed: Vec<String>,
}

impl Undone for Restoration {}

impl fmt::Display for Restoration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.changed.as_slice() {
            [] => f.write_str("the CPUs' settings are as they were before the experiment"),
            changed => write!(f, "the CPUs' settings are restored: {}", changed.join(", ")),
        }
    }
}

fn undo(root: &Root, key: &str, entry: &Entry) -> Result<Vec<String>, Error> {
    put_back(root, key, &entry.expect(root, entry.kind(), key)?, &entry.boot_id)
}

/// Restores tasks and values independently. After a reboot, there is nothing to restore.
fn put_back(root: &Root, key: &str, made: &Made, boot_id: &str) -> Result<Vec<String>, Error> {
    let mut done = Vec::new();
    if boot_id == root.boot_id()? {
        let moved =
            made.moved.as_ref().map_or(Ok(Vec::new()), |moved| isolate::put_back(root, moved));
        let (written, found) = attributes::put_back(root, &made.attributes);
        done.extend(moved?);
        done.extend(written);
        if !found.is_empty() {
            let journal = journal::path(root, key);
            return Err(Error::NotRestored { device: WHAT.to_string(), found, journal });
        }
    }
    journal::remove(root, key)?;
    Ok(done)
}
