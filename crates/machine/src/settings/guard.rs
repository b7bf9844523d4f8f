//! The guard of a device's settings: owns the device for an experiment, gives every variant the
//! same start, and restores everything.

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

/// Counts as set manually once written.
const THROTTLING: &str = "wbt_lat_usec";

/// Excludes other schedlabs. The settings are restored by [`Guard::restore`], on drop, or after a
/// crash by [`restore_all`](crate::restore_all).
///
/// If the scheduler stays, it keeps its measurements of the device (bfq: the peak rate), because
/// each switch freezes the queue; warm-up compensates. After any write to `wbt_lat_usec`, bfq
/// leaves throttling enabled for the disk's lifetime. The guard then writes it for every variant,
/// but cannot clear that hidden flag.
#[derive(Debug)]
pub struct Guard {
    root: Root,
    device: String,
    identity: String,
    key: String,
    original: Snapshot,
    /// The kernel's defaults after a switch to each scheduler.
    fresh: BTreeMap<String, Snapshot>,
    throttling_written: bool,
    /// Whether bfq's `async_depth` was written again after a switch.
    renewed_depth: bool,
    /// Right after `apply`.
    applied: Option<Applied>,
    finished: bool,
    _lock: Lock,
    _queue_lock: Option<OwnLock>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Restored {
    pub changed: Vec<String>,
    /// The device is gone, and its settings too.
    pub device_gone: bool,
}

impl Guard {
    /// Locks the device, undoes a dead owner's changes, and journals the current settings durably.
    ///
    /// # Errors
    /// [`Error::Busy`] and [`Error::Held`] if another schedlab has the device; [`Error::Io`] if the
    /// journal cannot be written; the errors of restoring.
    pub fn begin(root: &Root, device: &Device) -> Result<Guard, Error> {
        Guard::begin_lasting(root, device, None)
    }

    /// The same, with a duration for messages to others.
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
        // Under our lock, an entry is a dead owner's, and current values are not the originals.
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
            renewed_depth: false,
            applied: None,
            finished: false,
            _lock: lock,
            _queue_lock: queue_lock,
        })
    }

    /// The settings when the guard began.
    pub fn original(&self) -> &Snapshot {
        &self.original
    }

    /// The settings as read back after [`Guard::apply`], with the kernel's rounding.
    pub fn in_effect(&self) -> Option<&Snapshot> {
        self.applied.as_ref().map(|applied| &applied.snapshot)
    }

    /// Writes besides the variants' settings, for the user.
    pub fn remark(&self) -> Option<&'static str> {
        self.renewed_depth.then_some(apply::DEPTH_NOTE)
    }

    /// Applies the scheduler, then values left by the previous variant, then its own, each read
    /// back. An empty list proves the effect; otherwise the trial is invalid.
    ///
    /// Values that the variant does not name are independent of previous variants:
    /// - tunables have the kernel's defaults, as after a switch;
    /// - the scheduler's queue attributes (`nr_requests`, `async_depth`, `wbt_lat_usec`) have the
    ///   kernel's choice for this scheduler;
    /// - other queue and device attributes have their values from before the experiment, restored
    ///   before the switch, because an active cost model disables throttling.
    ///
    /// A device that already runs the scheduler gets the defaults recorded at an earlier switch;
    /// without a record, it is switched away and back (about 25 ms each). A variant without a
    /// scheduler starts from the original state.
    ///
    /// # Errors
    /// [`Error::NoScheduler`] and [`Error::UnknownTunable`] for a setting that can never work;
    /// [`Error::DeviceGone`].
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

    /// Changes since [`Guard::apply`], including a switch away and back.
    pub fn check(&self) -> Vec<Problem> {
        match &self.applied {
            None => Vec::new(),
            Some(applied) => changes(&self.root, &self.device, applied),
        }
    }

    /// Watches the settings from another thread.
    pub fn watch(&self) -> Watch {
        Watch::start(self.root.clone(), self.device.clone(), self.applied.clone())
    }

    /// Restores and verifies the settings, and removes the journal entry.
    ///
    /// # Errors
    /// [`Error::NotRestored`] with the differences; the journal entry then stays for `schedlab
    /// restore`.
    pub fn restore(mut self) -> Result<Restored, Error> {
        self.finished = true;
        self.put_back()
    }

    /// Releases the device with its current settings.
    ///
    /// # Errors
    /// [`Error::Io`] if the journal entry cannot be removed; settings are then restored as far as
    /// possible.
    pub(super) fn release(mut self) -> Result<(), Error> {
        journal::remove(&self.root, &self.key)?;
        self.finished = true;
        Ok(())
    }

    fn put_back(&self) -> Result<Restored, Error> {
        // After a replug, the name may be another disk's.
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

    /// Avoids an additional switch if possible; returns the full initial state of the scheduler's
    /// variants.
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
            Ok(false)
        } else {
            switch_away_and_back(root, device, scheduler)
        };
        match switched {
            Ok(renewed) => self.renewed_depth |= renewed,
            Err(problem) => return Ok(Err(problem)),
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

    /// Records the defaults right after a switch.
    fn learn(&self, scheduler: &str) -> Snapshot {
        let mut fresh = Snapshot::take(&self.root, &self.device);
        fresh.queue.retain(|name, _| is_schedulers_own(name));
        if self.throttling_written && fresh.queue.contains_key(THROTTLING) {
            // The kernel no longer chooses this value: record its former choice.
            let chosen = match (scheduler, self.original.scheduler.as_deref()) {
                ("bfq", _) => Some("0".to_string()),
                (_, Some("bfq")) => None,
                _ => self.original.queue.get(THROTTLING).cloned(),
            };
            fresh.queue.extend(chosen.map(|value| (THROTTLING.to_string(), value)));
        }
        fresh
    }

    /// Named values on top of the initial state.
    fn apply_on(&mut self, target: &Snapshot, setting: &Setting) -> Result<Vec<Problem>, Error> {
        let named = self.place(setting)?;
        let is_named = |name: &str| named.iter().any(|write| write.name == name);
        let mut problems = self.write_differences(target, |_, name| !is_named(name));
        for write in in_order(named.iter().cloned()) {
            self.throttling_written |= write.name == THROTTLING;
            problems.extend(apply::write(&self.root, &self.device, &write).err());
        }
        // A named queue limit may have changed read-ahead, so settle again.
        let others = |place, name: &str| {
            place == Directory::Queue && !is_schedulers_own(name) && !is_named(name)
        };
        problems.extend(self.write_differences(target, others));
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

    /// Writes only attributes selected by `concerns`.
    pub(super) fn write_differences(
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

    fn take_back_device(&self) -> Vec<Problem> {
        self.write_differences(&self.original, |place, _| place == Directory::Device)
    }

    /// Device attributes precede tunables, which precede queue attributes.
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
    /// Failures stay in the journal.
    fn drop(&mut self) {
        if !self.finished {
            let _ = self.put_back();
        }
    }
}

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

/// `none` keeps no state, and is fresh if its queue size is that of the hardware.
fn is_fresh_none(root: &Root, device: &str, scheduler: &str) -> bool {
    let queue = queue_dir(root, device);
    let window = root.read_optional(queue.join("nr_requests"));
    scheduler == "none"
        && window.is_some()
        && window == root.read_optional(queue.join("../mq/0/nr_tags"))
}

/// Resets the scheduler's state. With only one scheduler, nothing is done: no other can have run
/// before.
fn switch_away_and_back(root: &Root, device: &str, scheduler: &str) -> Result<bool, Problem> {
    let offered = offered_schedulers(root, device);
    let away = offered.iter().find(|name| *name == "none").filter(|name| *name != scheduler);
    match away.or_else(|| offered.iter().find(|name| *name != scheduler)) {
        None => Ok(false),
        Some(away) => {
            apply::switch(root, device, away).and_then(|_| apply::switch(root, device, scheduler))
        }
    }
}
