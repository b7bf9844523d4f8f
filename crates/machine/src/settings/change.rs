//! A change of a device's settings that stays: planned, carried out whole or not at all, and then
//! let go of, or held for a while.
//!
//! An experiment puts its variants into effect with a [`Guard`], which gives every variant the same
//! start. A change is what a user asks for: only what is named is touched. If it names another
//! scheduler than the present one, the kernel's fresh defaults hold for what is not named; if it
//! names the present one, nothing else of it is touched. What the kernel ties to a named attribute
//! moves along and is reported (`nr_requests` moves mq-deadline's `async_depth`), with one
//! exception: read-ahead, which the kernel computes anew whenever a limit of the queue is written,
//! is written back as it was, since a request for smaller requests does not ask for that.
//!
//! # Guarantees
//! Old values are durable before the first write, and their entry goes when everything named has
//! been read back. So after a crash at any point between, restoring brings back exactly the state
//! before. What fails, or has no effect, takes everything back.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::apply::{self, Write, in_order};
use super::attribute::{Directory, is_limit, is_schedulers_own, same};
use super::device_attributes;
use super::legal::Asked;
use super::{Guard, Lasting, Problem, Restored, Setting, Snapshot, undo};
use crate::device::{self, Device, offered_schedulers, queue_dir};
use crate::error::Error;
use crate::modules;
use crate::root::Root;

const READ_AHEAD: &str = "read_ahead_kb";

/// A change that has been checked against the device. Nothing is written yet.
#[derive(Debug)]
pub struct Change {
    root: Root,
    device: Device,
    setting: Setting,
    switch_to: Option<String>,
    /// In the order in which they are written.
    writes: Vec<Write>,
    keeps_read_ahead: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedWrite {
    /// `scheduler`, a tunable or an attribute of the queue.
    pub attribute: String,
    pub path: PathBuf,
    pub value: String,
    /// What it is now; none for a tunable that comes with the new scheduler.
    pub now: Option<String>,
    /// Whether it is asked for; else it is written so that it stays as it is.
    pub named: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    pub changed: Vec<Changed>,
    /// What takes it back.
    pub undo: Setting,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// `scheduler`, a tunable or an attribute of the queue.
    pub attribute: String,
    /// Its value before; none for a tunable that came with the new scheduler.
    pub old: Option<String>,
    /// Its value now, as the kernel keeps it.
    pub new: String,
    /// Whether it was asked for; else the kernel moved it along.
    pub named: bool,
}

/// A change that is in force for a while. It ends by [`Held::end`], by dropping it, or after a
/// crash by [`restore_all`](super::restore_all); [`end`](super::end) ends that of another process.
#[derive(Debug)]
pub struct Held {
    guard: Guard,
    done: Done,
    lasting: Lasting,
}

impl Held {
    pub fn done(&self) -> &Done {
        &self.done
    }

    /// For how long it is meant to hold; its owner has to wait and end it.
    pub fn lasting(&self) -> Lasting {
        self.lasting
    }

    /// Takes the change back.
    pub fn end(self) -> Result<Restored, Error> {
        self.guard.restore()
    }
}

impl Change {
    /// Checks what is asked for against the device and the tables, and puts the writes into the
    /// order that the kernel needs. Reads only, and needs no privileges.
    ///
    /// # Errors
    /// [`Error::NoScheduler`], [`Error::UnknownScheduler`], [`Error::UnknownTunable`],
    /// [`Error::TunableOfOther`], [`Error::NotShown`], [`Error::ReadOnlyAttribute`],
    /// [`Error::OutOfRange`], [`Error::NoWayBack`].
    pub fn plan(root: &Root, device: &Device, setting: &Setting) -> Result<Change, Error> {
        let now = Snapshot::take(root, &device.name);
        let Some(present) = &now.scheduler else {
            let why = device::why_no_scheduler(root, &device.name);
            return Err(Error::NoScheduler { device: device.path.display().to_string(), why });
        };
        let switch_to = setting.scheduler.clone().filter(|asked| asked != present);
        if let Some(asked) = &switch_to {
            check_offered(root, device, asked)?;
        }
        let scheduler = switch_to.as_ref().unwrap_or(present);
        let asked = Asked::of(root, device, scheduler, switch_to.is_some(), setting);
        let writes: Vec<Write> = in_order(asked.writes()?.into_iter()).collect();
        let moves_read_ahead =
            writes.iter().any(|write| write.place == Directory::Queue && is_limit(&write.name));
        let keeps_read_ahead = moves_read_ahead
            && now.queue.contains_key(READ_AHEAD)
            && !setting.tunables.contains_key(READ_AHEAD);
        let (root, device, setting) = (root.clone(), device.clone(), setting.clone());
        Ok(Change { root, device, setting, switch_to, writes, keeps_read_ahead })
    }

    /// What would be written, in this order. A value that is in effect already is not written
    /// again.
    pub fn writes(&self) -> Vec<PlannedWrite> {
        let queue = queue_dir(&self.root, &self.device.name);
        let now = Snapshot::take(&self.root, &self.device.name);
        let scheduler = self.switch_to.iter().map(|name| PlannedWrite {
            attribute: "scheduler".to_string(),
            path: queue.join("scheduler"),
            value: name.clone(),
            now: now.scheduler.clone(),
            named: true,
        });
        let named = self.writes.iter().map(|write| PlannedWrite {
            attribute: write.name.clone(),
            path: write.place.path(&self.root, &self.device.name, &write.name),
            value: write.value.clone(),
            now: match write.place {
                Directory::Queue => now.queue.get(&write.name).cloned(),
                Directory::Scheduler if self.switch_to.is_some() => None,
                Directory::Scheduler => now.tunables.get(&write.name).cloned(),
                Directory::Device => now.device.get(&write.name).cloned(),
            },
            named: true,
        });
        let mut all: Vec<PlannedWrite> = scheduler.chain(named).collect();
        if let Some(value) = now.queue.get(READ_AHEAD).filter(|_| self.keeps_read_ahead) {
            let (attribute, path) = (READ_AHEAD.to_string(), queue.join(READ_AHEAD));
            let after_queue =
                all.iter().rposition(|write| !write.path.starts_with(queue.join("iosched")));
            let kept = PlannedWrite {
                attribute,
                path,
                value: value.clone(),
                now: Some(value.clone()),
                named: false,
            };
            all.insert(after_queue.map_or(0, |at| at + 1), kept);
        }
        all
    }

    /// Carries the change out for good, i.e. until somebody changes it again or the machine is
    /// restarted.
    ///
    /// # Errors
    /// [`Error::NotSet`] when a write fails or has no effect: everything is as before then.
    /// [`Error::Busy`], [`Error::Held`], [`Error::Io`] when the journal cannot be written: nothing
    /// was written then.
    pub fn carry_out(self) -> Result<Done, Error> {
        let (guard, done) = self.begin(None)?;
        guard.keep()?;
        Ok(done)
    }

    /// Carries the change out for a while: the journal goes on knowing the old values, with this
    /// process as their owner.
    pub fn hold(self, duration: Duration) -> Result<Held, Error> {
        let lasting = Lasting::of(duration);
        let (guard, done) = self.begin(Some(lasting))?;
        Ok(Held { guard, done, lasting })
    }

    fn begin(self, lasting: Option<Lasting>) -> Result<(Guard, Done), Error> {
        let guard = Guard::begin_lasting(&self.root, &self.device, lasting)?;
        // The guard may have undone what a dead owner left, and the name may have become another
        // disk's since it was looked up.
        let is_same =
            device::name_by_identity(&self.root, &self.device.identity, &self.device.name)?;
        if is_same.as_ref() != Some(&self.device.name) {
            return Err(Error::DeviceGone { device: self.device.path.display().to_string() });
        }
        let change = Change::plan(&self.root, &self.device, &self.setting)?;
        match change.put_into_effect(&guard) {
            Ok(()) => {
                let done = change.done(guard.original());
                Ok((guard, done))
            }
            Err(found) => {
                let device = self.device.path.display().to_string();
                let left = guard.restore().err().map(Box::new);
                Err(Error::NotSet { device, found, left })
            }
        }
    }

    /// Writes, and proves by reading back; stops at the first write that fails.
    fn put_into_effect(&self, guard: &Guard) -> Result<(), Vec<Problem>> {
        let (root, device) = (&self.root, self.device.name.as_str());
        if let Some(scheduler) = &self.switch_to {
            apply::switch(root, device, scheduler).map_err(|problem| vec![problem])?;
        }
        let (queue, tunables): (Vec<&Write>, Vec<&Write>) =
            self.writes.iter().partition(|write| write.place != Directory::Scheduler);
        for write in queue {
            self.write(write)?;
        }
        let is_named = |name: &str| self.setting.tunables.contains_key(name);
        let kept = |place, name: &str| {
            place == Directory::Queue && !is_schedulers_own(name) && !is_named(name)
        };
        let problems = guard.settle(guard.original(), kept);
        if !problems.is_empty() {
            return Err(problems);
        }
        for write in tunables {
            self.write(write)?;
        }
        let unproven: Vec<Problem> =
            self.writes.iter().filter_map(|write| apply::verify(root, device, write)).collect();
        if unproven.is_empty() { Ok(()) } else { Err(unproven) }
    }

    fn write(&self, write: &Write) -> Result<(), Vec<Problem>> {
        let found = write.place.read(&self.root, &self.device.name, &write.name);
        if found.is_some_and(|found| write.place.same(&write.name, &write.value, &found)) {
            return Ok(());
        }
        apply::write(&self.root, &self.device.name, write).map_err(|problem| vec![problem])
    }

    fn done(&self, old: &Snapshot) -> Done {
        let new = Snapshot::take(&self.root, &self.device.name);
        let undo = undo::undo(old, &new);
        Done { changed: self.changed(old, &new), undo }
    }

    fn changed(&self, old: &Snapshot, new: &Snapshot) -> Vec<Changed> {
        let is_named = |name: &str| self.setting.tunables.contains_key(name);
        let mut all = Vec::new();
        if old.scheduler != new.scheduler {
            let text = |scheduler: &Option<String>| scheduler.clone().unwrap_or_default();
            let old = Some(text(&old.scheduler));
            all.push(Changed {
                attribute: "scheduler".to_string(),
                old,
                new: text(&new.scheduler),
                named: true,
            });
        }
        let mut compare = |old: &BTreeMap<String, String>,
                           new: &BTreeMap<String, String>,
                           all_new: bool| {
            for (name, value) in new {
                let before = old.get(name).filter(|_| !all_new);
                let same = |before: &String| {
                    device_attributes::row(name)
                        .map_or_else(|| same(before, value), |row| row.same(before, value))
                };
                let differs = before.map_or(is_named(name), |before| !same(before));
                if differs {
                    let (old, new) = (before.cloned(), value.clone());
                    all.push(Changed { attribute: name.clone(), old, new, named: is_named(name) });
                }
            }
        };
        compare(&old.queue, &new.queue, false);
        compare(&old.device, &new.device, false);
        compare(&old.tunables, &new.tunables, old.scheduler != new.scheduler);
        all
    }
}

fn check_offered(root: &Root, device: &Device, scheduler: &str) -> Result<(), Error> {
    let mut known = offered_schedulers(root, &device.name);
    known.extend(modules::unloaded(root, &known));
    if known.iter().any(|name| name == scheduler) {
        return Ok(());
    }
    let (device, word) = (device.path.display().to_string(), scheduler.to_string());
    Err(Error::UnknownScheduler { device, word, known })
}
