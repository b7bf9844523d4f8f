//! The guard of a device's settings: owns the device for an experiment, gives every variant the
//! same start, puts everything back.
//!
//! # What "the same start" means
//! A variant must not inherit anything from the variant before it, or the order of variants would
//! be part of the result. After [`Guard::apply`], whatever came before:
//! - the scheduler's tunables have the kernel's defaults, as a fresh switch gives them, except
//!   those that the variant names;
//! - the queue attributes that belong to the scheduler (`nr_requests`, `async_depth`,
//!   `wbt_lat_usec`: the kernel chooses them anew at a switch) have what the kernel chose for this
//!   scheduler, except those that the variant names;
//! - every other attribute of the queue and of the device has the value that it had before the
//!   experiment, except those that the variant names; the device's are taken back before the
//!   scheduler is switched, since a cost model at work switches throttling off.
//!
//! A switch gives fresh defaults for free. When the device already runs the variant's scheduler,
//! the defaults recorded at an earlier switch are written back; the first time there is no such
//! results file, so the device is switched away and back (two switches, about twice 25 ms). A
//! variant without a scheduler starts from the device as it was found, its tuning included.
//!
//! # Limits
//! A scheduler keeps what it learned about the device (bfq: the peak rate) when a variant with the
//! same scheduler follows, because a switch costs a freeze of the queue each time; warm-up is there
//! for that. And once `wbt_lat_usec` has been written by anyone, the kernel counts it as chosen by
//! hand until the disk is gone: bfq then leaves throttling on. The guard writes it for every
//! variant from then on, and restores its value; the hidden mark "by hand" has no way back.

use std::collections::BTreeMap;

use super::applied::Applied;
use super::apply::{self, Write, activation, in_order};
use super::attribute::{Directory, is_schedulers_own};
use super::device_attributes;
use super::legal;
use super::recover::{self, Found, KIND};
use super::{Problem, Setting, Snapshot, Watch, holder};
use crate::device::{self, Device, current_scheduler, offered_schedulers, queue_dir};
use crate::error::Error;
use crate::files::OwnLock;
use crate::journal::{self, Abandoned, Entry, Lasting, Lock};
use crate::root::Root;
use elevator::queue_attribute;

/// The attribute that counts as chosen by hand once it is written.
const THROTTLING: &str = "wbt_lat_usec";

/// Ownership of a device's settings. While it lives, no other schedlab changes the device; when it
/// goes, however it goes, the settings are put back: by [`Guard::restore`], by dropping it, or
/// after a crash by [`restore_all`](crate::restore_all).
#[derive(Debug)]
pub struct Guard {
    root: Root,
    device: String,
    identity: String,
    key: String,
    original: Snapshot,
    /// What the kernel gives each scheduler at a switch.
    fresh: BTreeMap<String, Snapshot>,
    throttling_written: bool,
    /// Everything as it was right after the last `apply`.
    applied: Option<Applied>,
    finished: bool,
    _lock: Lock,
    _queue_lock: Option<OwnLock>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Restored {
    /// What had to be written.
    pub changed: Vec<String>,
    /// The device was gone, and its settings with it.
    pub device_gone: bool,
}

impl Guard {
    /// Takes the device: locks it, undoes what a dead owner left, and makes the present settings
    /// durable in the journal. Nothing on the device is changed.
    ///
    /// # Errors
    /// [`Error::Busy`] and [`Error::Held`] when another schedlab has the device; [`Error::Io`] when
    /// the journal cannot be written; the errors of restoring a dead owner's settings.
    pub fn begin(root: &Root, device: &Device) -> Result<Guard, Error> {
        Guard::begin_lasting(root, device, None)
    }

    /// The same, with the time until which the device is taken, for the message to others.
    pub(super) fn begin_lasting(
        root: &Root,
        device: &Device,
        lasting: Option<Lasting>,
    ) -> Result<Guard, Error> {
        let key = journal::key(&device.identity);
        let path = device.path.display().to_string();
        let lock =
            Lock::take(root, &key, &path).map_err(|error| holder::explain(root, &key, error))?;
        let queue_lock = journal::lock_machine(root, &device.name, &path)?;
        // An entry under our own lock is a dead owner's: what the device shows now is not its
        // original state.
        if let Some(entry) = journal::read(root, &key)? {
            recover::undo(root, &Abandoned { key: &key, entry: &entry, lock: &lock })?;
        }
        let original = Snapshot::take(root, &device.name);
        let found = Found {
            identity: device.identity.clone(),
            device: device.name.clone(),
            original: original.clone(),
        };
        journal::write(root, &key, &Entry::new(root, KIND.name, &found)?.lasting(lasting))?;
        Ok(Guard {
            root: root.clone(),
            device: device.name.clone(),
            identity: device.identity.clone(),
            key,
            original,
            fresh: BTreeMap::new(),
            throttling_written: false,
            applied: None,
            finished: false,
            _lock: lock,
            _queue_lock: queue_lock,
        })
    }

    /// The settings as they were when the guard began.
    pub fn original(&self) -> &Snapshot {
        &self.original
    }

    /// Everything that can be set, as read back after the last [`Guard::apply`]: rounded values
    /// show here.
    pub fn in_effect(&self) -> Option<&Snapshot> {
        self.applied.as_ref().map(|applied| &applied.snapshot)
    }

    /// Puts a setting into effect: the scheduler first, then what the variant before left behind,
    /// then the variant's own values, each read back. An empty list is the proof that it is in
    /// effect; otherwise the trial is invalid.
    ///
    /// # Errors
    /// [`Error::NoScheduler`] and [`Error::UnknownTunable`] for a setting that no repetition can
    /// make work; [`Error::DeviceGone`].
    pub fn apply(&mut self, setting: &Setting) -> Result<Vec<Problem>, Error> {
        self.applied = None;
        self.there()?;
        let left = self.take_back_device();
        let problems = match &setting.scheduler {
            _ if !left.is_empty() => left,
            Some(scheduler) => match self.fresh_start(scheduler)? {
                Ok(target) => self.apply_on(&target, setting)?,
                Err(problem) => vec![problem],
            },
            None => {
                let (_, problems) = self.original.put_back(&self.root, &self.device);
                if problems.is_empty() {
                    self.apply_on(&self.original.clone(), setting)?
                } else {
                    problems
                }
            }
        };
        self.there()?;
        if problems.is_empty() {
            let snapshot = Snapshot::take(&self.root, &self.device);
            self.applied =
                Some(Applied { snapshot, activation: activation(&self.root, &self.device) });
        }
        Ok(problems)
    }

    /// Whether everything still is as [`Guard::apply`] left it; for the end of a trial. A switch
    /// away and back shows too.
    pub fn check(&self) -> Vec<Problem> {
        match &self.applied {
            None => Vec::new(),
            Some(applied) => changes(&self.root, &self.device, applied),
        }
    }

    /// Watches the settings during a trial, from another thread.
    pub fn watch(&self) -> Watch {
        Watch::start(self.root.clone(), self.device.clone(), self.applied.clone())
    }

    /// Puts everything back as it was when the guard began, proves it, and removes the journal
    /// entry.
    ///
    /// # Errors
    /// [`Error::NotRestored`] with what is not as it was; the journal entry stays then, for
    /// `schedlab restore`.
    pub fn restore(mut self) -> Result<Restored, Error> {
        self.finished = true;
        self.put_back()
    }

    /// Lets go of the device as it is now: what has been set stays.
    ///
    /// # Errors
    /// [`Error::Io`] when the journal entry cannot be removed; everything is put back then, as far
    /// as possible.
    pub(super) fn keep(mut self) -> Result<(), Error> {
        journal::remove(&self.root, &self.key)?;
        self.finished = true;
        Ok(())
    }

    fn put_back(&self) -> Result<Restored, Error> {
        // By identity, since after a replug the name may be another disk's.
        let Some(name) = device::name_by_identity(&self.root, &self.identity, &self.device)? else {
            journal::remove(&self.root, &self.key)?;
            return Ok(Restored { changed: Vec::new(), device_gone: true });
        };
        let (changed, found) = self.original.put_back(&self.root, &name);
        if !found.is_empty() {
            let journal = journal::path(&self.root, &self.key);
            return Err(Error::NotRestored { device: name, found, journal });
        }
        journal::remove(&self.root, &self.key)?;
        Ok(Restored { changed, device_gone: false })
    }

    /// Makes `scheduler` the scheduler with nothing left of an earlier activation, as far as that
    /// takes no extra switch; gives the full state that a variant of this scheduler starts from.
    fn fresh_start(&mut self, scheduler: &str) -> Result<Result<Snapshot, Problem>, Error> {
        let (root, device) = (&self.root, self.device.as_str());
        let Some(current) = current_scheduler(root, device) else {
            let why = device::find(root, device)?
                .no_scheduler
                .map_or(String::new(), |why| why.to_string());
            return Err(Error::NoScheduler { device: device.to_string(), why });
        };
        let known = self.fresh.contains_key(scheduler);
        let switched = if current != scheduler {
            apply::switch(root, device, scheduler)
        } else if known || is_fresh_none(root, device, scheduler) {
            Ok(())
        } else {
            there_and_back(root, device, scheduler)
        };
        if let Err(problem) = switched {
            return Ok(Err(problem));
        }
        if !known {
            let fresh = self.learn(scheduler);
            self.fresh.insert(scheduler.to_string(), fresh);
        }
        let mut target = self.fresh[scheduler].clone();
        for (name, value) in &self.original.queue {
            if !is_schedulers_own(name) {
                target.queue.insert(name.clone(), value.clone());
            }
        }
        Ok(Ok(target))
    }

    /// What the kernel gave this scheduler at the switch that just happened.
    fn learn(&self, scheduler: &str) -> Snapshot {
        let mut fresh = Snapshot::take(&self.root, &self.device);
        fresh.queue.retain(|name, _| is_schedulers_own(name));
        if self.throttling_written && fresh.queue.contains_key(THROTTLING) {
            // The kernel no longer chooses it: say what it would have chosen.
            let chosen = match (scheduler, self.original.scheduler.as_deref()) {
                ("bfq", _) => Some("0".to_string()),
                (_, Some("bfq")) => None,
                _ => self.original.queue.get(THROTTLING).cloned(),
            };
            fresh.queue.extend(chosen.map(|value| (THROTTLING.to_string(), value)));
        }
        fresh
    }

    /// Applies the named values of a setting on top of the state that the variant starts from.
    fn apply_on(&mut self, target: &Snapshot, setting: &Setting) -> Result<Vec<Problem>, Error> {
        let named = self.place(setting)?;
        let is_named = |name: &str| named.iter().any(|write| write.name == name);
        let mut problems = self.settle(target, |_, name| !is_named(name));
        for write in in_order(named.iter().cloned()) {
            self.throttling_written |= write.name == THROTTLING;
            problems.extend(apply::write(&self.root, &self.device, &write).err());
        }
        // A named limit of the queue may have moved an attribute that is not named (read-ahead):
        // once more.
        let others = |place, name: &str| {
            place == Directory::Queue && !is_schedulers_own(name) && !is_named(name)
        };
        problems.extend(self.settle(target, others));
        let refused = |name: &str| {
            problems
                .iter()
                .any(|p| matches!(p, Problem::WriteFailed { attribute, .. } if attribute == name))
        };
        let unproven: Vec<Problem> = named
            .iter()
            .filter(|write| !refused(&write.name))
            .filter_map(|write| apply::verify(&self.root, &self.device, write))
            .collect();
        problems.extend(unproven);
        Ok(problems)
    }

    /// Writes what differs from the state that the variant starts from, among the attributes that
    /// `concerns` picks.
    pub(super) fn settle(
        &self,
        target: &Snapshot,
        concerns: impl Fn(Directory, &str) -> bool,
    ) -> Vec<Problem> {
        let mut problems = Vec::new();
        for write in target.writes().filter(|write| concerns(write.place, &write.name)) {
            let found = write.place.read(&self.root, &self.device, &write.name).unwrap_or_default();
            if !write.place.same(&write.name, &write.value, &found) {
                let written = apply::write(&self.root, &self.device, &write);
                problems.extend(
                    written.err().or_else(|| apply::verify(&self.root, &self.device, &write)),
                );
            }
        }
        problems
    }

    /// Takes back what the variant before has set of the device beside its queue.
    fn take_back_device(&self) -> Vec<Problem> {
        self.settle(&self.original, |place, _| place == Directory::Device)
    }

    /// Finds where each named value belongs: the device's own names, then the scheduler's tunables,
    /// then the queue's attributes.
    fn place(&self, setting: &Setting) -> Result<Vec<Write>, Error> {
        let now = Snapshot::take(&self.root, &self.device);
        let place = |name: &String| {
            if now.device.contains_key(name) {
                return Some(Directory::Device);
            }
            let places = [(Directory::Scheduler, &now.tunables), (Directory::Queue, &now.queue)];
            places.into_iter().find(|(_, names)| names.contains_key(name)).map(|(place, _)| place)
        };
        let mut named = Vec::new();
        for (name, value) in &setting.tunables {
            if let Some(row) = device_attributes::row(name) {
                legal::check_device_attribute(&self.root, &self.device, row, value)?;
            }
            let Some(place) = place(name) else { return Err(self.unplaced(name, now)) };
            named.push(Write { place, name: name.clone(), value: value.clone() });
        }
        Ok(named)
    }

    fn unplaced(&self, name: &str, now: Snapshot) -> Error {
        let (device, name) = (self.device.clone(), name.to_string());
        if let Some(row) = queue_attribute(&name).filter(|row| row.name != "scheduler") {
            return Error::NotShown { device, name, help: row.help.to_string() };
        }
        let known =
            now.tunables.keys().chain(now.queue.keys()).chain(now.device.keys()).cloned().collect();
        Error::UnknownTunable { device, scheduler: now.scheduler.unwrap_or_default(), name, known }
    }

    fn there(&self) -> Result<(), Error> {
        let there = queue_dir(&self.root, &self.device).exists();
        if there { Ok(()) } else { Err(Error::DeviceGone { device: self.device.clone() }) }
    }
}

impl Drop for Guard {
    /// Puts everything back as far as possible; what fails stays in the journal, for
    /// `schedlab restore` or the next start.
    fn drop(&mut self) {
        if !self.finished {
            let _ = self.put_back();
        }
    }
}

/// What is not as it was right after `apply`.
pub(super) fn changes(root: &Root, device: &str, applied: &Applied) -> Vec<Problem> {
    if !queue_dir(root, device).exists() {
        return vec![Problem::DeviceGone { device: device.to_string() }];
    }
    let now = Snapshot::take(root, device);
    let mut problems: Vec<Problem> = applied
        .snapshot
        .differences(&now)
        .into_iter()
        .map(|(attribute, wanted, found)| Problem::ChangedMeanwhile { attribute, wanted, found })
        .collect();
    if problems.is_empty() && activation(root, device) != applied.activation {
        let wanted = now.scheduler.unwrap_or_default();
        let found = "switched away and back".to_string();
        problems.push(Problem::ChangedMeanwhile { attribute: "scheduler".into(), wanted, found });
    }
    problems
}

/// `none` learns nothing and has no tunables; it is fresh when its window is that of the hardware,
/// and then needs no switch.
fn is_fresh_none(root: &Root, device: &str, scheduler: &str) -> bool {
    let queue = queue_dir(root, device);
    let window = root.read_optional(queue.join("nr_requests"));
    scheduler == "none"
        && window.is_some()
        && window == root.read_optional(queue.join("../mq/0/nr_tags"))
}

/// Switches to another scheduler and back, which makes the kernel set everything of the scheduler
/// anew. A device that offers one scheduler only keeps what it has: nothing but that scheduler can
/// run before or after.
fn there_and_back(root: &Root, device: &str, scheduler: &str) -> Result<(), Problem> {
    let offered = offered_schedulers(root, device);
    let away = offered.iter().find(|name| *name == "none").filter(|name| *name != scheduler);
    match away.or_else(|| offered.iter().find(|name| *name != scheduler)) {
        None => Ok(()),
        Some(away) => {
            apply::switch(root, device, away).and_then(|()| apply::switch(root, device, scheduler))
        }
    }
}
