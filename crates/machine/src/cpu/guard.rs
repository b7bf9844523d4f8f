//! The machine's CPUs in the hands of one experiment, with a way back.
//!
//! A variant brings up to four things: values that are written to the machine, a scheduler that a
//! program loads, CPUs that others leave, and a placement, which is the program's own.
//! [`Guard::apply`] first ends what the variant before had and this one has not, then writes, then
//! loads, then empties, so that what is started in between leaves the isolated CPUs as well.

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

/// What is locked, for the user.
const WHAT: &str = "the setting of the machine's CPUs";

/// The machine's CPUs in the hands of one experiment; dropped, everything is put back.
#[derive(Debug)]
pub struct Guard {
    root: Root,
    _locks: [Lock; 2],
    /// The same for every schedlab on the machine, whatever its state directory; taken when
    /// something of the machine is to be written.
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
    /// Takes hold of the CPUs' settings, and puts back what a dead owner left; nothing else is
    /// changed yet.
    ///
    /// # Errors
    /// [`Error::Busy`] when another experiment has them; [`Error::Io`]; the errors of putting back.
    pub fn begin(root: &Root) -> Result<Guard, Error> {
        let locks = [Lock::take(root, KEY, WHAT)?, Lock::take(root, PREVIOUS, WHAT)?];
        // An entry under our own lock is a dead owner's: what the machine shows now is not how it
        // was.
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

    /// Refuses a setting that can be known to be impossible here, or that could lock up the
    /// machine.
    ///
    /// # Errors
    /// [`Error::Cpu`] with what is missing or refused, and what to do; [`Error::Busy`] when another
    /// schedlab with another state directory writes settings of the CPUs.
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

    /// Brings a setting into effect, and takes back what the one before had and this one has not.
    /// The placement is the program's.
    ///
    /// # Errors
    /// [`Error::Io`] when the journal cannot be written; what cannot be taken back of the setting
    /// before. What the kernel refuses are problems.
    pub fn apply(&mut self, setting: &Setting, session: &Session) -> Result<Vec<Problem>, Error> {
        self.watch = None;
        // Until this has succeeded nothing is in effect that could be checked.
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

    /// What of the setting is not in effect any more, or was not for a while since it was applied.
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

    /// How much the watch has seen.
    #[cfg(test)]
    pub(super) fn watched(&self) -> usize {
        self.watch.iter().flat_map(Watch::seen).count()
    }

    /// Figures for the results file.
    pub fn counters(&self) -> Vec<(String, f64)> {
        self.isolation.iter().flat_map(Isolation::counters).collect()
    }

    /// Tasks that cannot be moved off isolated CPUs, each with the reason.
    pub fn unmovable(&self) -> Vec<String> {
        self.isolation.iter().flat_map(Isolation::unmovable).collect()
    }

    /// Puts everything back. The scheduler that a program has loaded is ended first: call this
    /// before the session is ended, which would kill the program.
    ///
    /// # Errors
    /// What could not be put back; the journal keeps it then, for `schedlab restore`.
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

    /// Makes sure that no schedlab with another state directory writes to the machine at the same
    /// time.
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
    /// Puts back as far as possible; what fails stays in the journal.
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.finish();
        }
    }
}

/// How the journal's entries of this crate are undone.
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

/// The settings of the CPUs, and the tasks that had to leave some of them, are as before.
#[derive(Debug)]
pub struct Restoration {
    /// What had to be done; empty if everything was right already.
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

/// Puts back what the journal says, and gives what was done. A restart has put everything back by
/// itself. Tasks that cannot be moved back do not keep values from being put back, nor the other
/// way round.
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
