//! The machine's processors in the hands of one experiment, with a way back.

use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use super::attributes::{self, Original};
use super::isolate::{self, Isolation, Moved};
use super::setting::Setting;
use crate::error::Error;
use crate::journal::{self, Entry, Lock, Undo};
use crate::root::Root;
use crate::session::Session;
use crate::settings::Problem;

/// The key of its journal entry: one experiment at a time has the machine's processors.
const KEY: &str = "processors";

/// What was changed on the machine, as the journal has it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Made {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) attributes: Vec<Original>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) moved: Option<Moved>,
}

/// The journal entry: what is noted in it is on the disk before it is done. Shared with the thread that keeps processors empty.
#[derive(Debug, Clone)]
pub(super) struct Ledger {
    root: Root,
    made: Arc<Mutex<Made>>,
}

impl Ledger {
    /// Changes what is noted; when this returns, it survives a loss of power.
    pub(super) fn note(&self, change: impl FnOnce(&mut Made)) -> Result<(), Error> {
        let mut made = self.made.lock().expect("nobody panics while noting");
        change(&mut made);
        journal::write(&self.root, KEY, &Entry::new(&self.root, Undo::Processors(made.clone()))?)
    }

    /// What is noted.
    pub(super) fn made(&self) -> Made {
        self.made.lock().expect("nobody panics while noting").clone()
    }
}

/// The machine's processors in the hands of one experiment; dropped, everything is put back.
#[derive(Debug)]
pub struct Guard {
    root: Root,
    lock: Lock,
    ledger: Ledger,
    isolation: Option<Isolation>,
    in_effect: Setting,
    ended: bool,
}

impl Guard {
    /// Takes hold of the processors' settings; nothing is changed yet.
    ///
    /// # Errors
    /// [`Error::Busy`] when another experiment has them; [`Error::Io`].
    pub fn begin(root: &Root) -> Result<Guard, Error> {
        let lock = Lock::take(root, KEY, "the machine's processors")?;
        let ledger = Ledger { root: root.clone(), made: Arc::default() };
        let in_effect = Setting::default();
        Ok(Guard { root: root.clone(), lock, ledger, isolation: None, in_effect, ended: false })
    }

    /// Refuses a setting that can be known to be impossible here.
    ///
    /// # Errors
    /// What is missing or refused, and what to do.
    pub fn admit(&self, setting: &Setting) -> Result<(), Error> {
        attributes::admit(&self.root, &setting.attributes)?;
        setting.placement.admit(&self.root, setting.isolate.as_ref())?;
        setting.isolate.as_ref().map_or(Ok(()), |cpus| Isolation::admit(&self.root, cpus))
    }

    /// Brings a setting into effect, and takes back what the one before had and this one has not. The placement is the program's.
    ///
    /// # Errors
    /// [`Error::Io`] when the journal cannot be written; what the kernel refuses are problems.
    pub fn apply(&mut self, setting: &Setting, _session: &Session) -> Result<Vec<Problem>, Error> {
        if self.in_effect.isolate != setting.isolate
            && let Some(isolation) = self.isolation.take()
        {
            isolation.end()?;
        }
        let problems = attributes::apply(&self.root, &setting.attributes, &self.ledger)?;
        if let (Some(cpus), None) = (&setting.isolate, &self.isolation) {
            self.isolation = Some(Isolation::begin(&self.root, cpus, &self.ledger)?);
        }
        self.in_effect = setting.clone();
        Ok(problems)
    }

    /// What of the setting is not in effect any more.
    pub fn check(&self) -> Vec<Problem> {
        let mut problems = attributes::check(&self.root, &self.in_effect.attributes);
        problems.extend(self.isolation.iter().flat_map(Isolation::check));
        problems
    }

    /// Figures for the record.
    pub fn counters(&self) -> Vec<(String, f64)> {
        self.isolation.iter().flat_map(Isolation::counters).collect()
    }

    /// Tasks that cannot be moved off isolated processors, each with the reason.
    pub fn unmovable(&self) -> Vec<String> {
        self.isolation.iter().flat_map(Isolation::unmovable).collect()
    }

    /// Puts everything back.
    ///
    /// # Errors
    /// What could not be put back; the journal keeps it then, for `schedlab restore`.
    pub fn restore(mut self) -> Result<(), Error> {
        self.ended = true;
        self.finish()
    }

    fn finish(&mut self) -> Result<(), Error> {
        if let Some(isolation) = self.isolation.take() {
            isolation.end()?;
        }
        let made = self.ledger.made();
        if made == Made::default() {
            if journal::read(&self.root, KEY)?.is_some() {
                journal::remove(&self.root, KEY)?;
            }
            return Ok(());
        }
        undo(&self.root, &made, &self.root.boot_id()?, &self.lock).map(drop)
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

/// Puts back what the journal says, and gives what was done. A restart has put everything back by itself.
pub(crate) fn undo(root: &Root, made: &Made, boot_id: &str, _lock: &Lock) -> Result<Vec<String>, Error> {
    let mut done = Vec::new();
    if boot_id == root.boot_id()? {
        if let Some(moved) = &made.moved {
            done.extend(isolate::put_back(root, moved)?);
        }
        done.extend(attributes::put_back(root, &made.attributes)?);
    }
    journal::remove(root, KEY)?;
    Ok(done)
}
