//! A user's change of a device's settings, made completely or not at all, permanent or temporary.
//!
//! Unlike a [`Guard`], it touches only what it names, except that another scheduler starts with its
//! defaults. Attributes that the kernel changes along are reported (`nr_requests` changes
//! mq-deadline's `async_depth`). Read-ahead, which the kernel recomputes whenever a queue limit is
//! written, is restored.
//!
//! Old values are durable before the first write, and their entry is removed once everything has
//! been read back, so a crash can be undone exactly. A failed or ineffective write reverts
//! everything.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::apply::{self, Write, in_order};
use super::attribute::{Directory, is_limit, is_schedulers_own, same};
use super::device_attributes;
use super::legal::Request;
use super::{Guard, Lasting, Problem, Restored, Setting, Snapshot, undo};
use crate::device::{self, Device, offered_schedulers, queue_dir};
use crate::error::Error;
use crate::modules;
use crate::root::Root;

const READ_AHEAD: &str = "read_ahead_kb";

/// A change checked against the device, but not written.
#[derive(Debug)]
pub struct Change {
    root: Root,
    device: Device,
    setting: Setting,
    switch_to: Option<String>,
    /// In write order.
    writes: Vec<Write>,
    keeps_read_ahead: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedWrite {
    pub attribute: String,
    pub path: PathBuf,
    pub value: String,
    /// `None` for a tunable of the new scheduler.
    pub now: Option<String>,
    /// Otherwise the write preserves its value.
    pub named: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    pub changed: Vec<Changed>,
    /// The setting that reverts the change.
    pub undo: Setting,
    /// A further write, for the user.
    pub remark: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    pub attribute: String,
    /// `None` for a tunable of the new scheduler.
    pub old: Option<String>,
    /// As the kernel stores it.
    pub new: String,
    /// Otherwise the kernel changed it along.
    pub named: bool,
}

/// A temporary change, ended by [`Held::end`], on drop, or after a crash by
/// [`restore_all`](super::restore_all); from another process by [`end`](super::end).
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

    /// The owner must wait and end the change.
    pub fn lasting(&self) -> Lasting {
        self.lasting
    }

    pub fn end(self) -> Result<Restored, Error> {
        self.guard.restore()
    }
}

impl Change {
    /// Reads only, and needs no privileges.
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
        let request = Request::new(root, device, scheduler, switch_to.is_some(), setting);
        let writes: Vec<Write> = in_order(request.writes()?.into_iter()).collect();
        let moves_read_ahead =
            writes.iter().any(|write| write.place == Directory::Queue && is_limit(&write.name));
        let keeps_read_ahead = moves_read_ahead
            && now.queue.contains_key(READ_AHEAD)
            && !setting.tunables.contains_key(READ_AHEAD);
        let (root, device, setting) = (root.clone(), device.clone(), setting.clone());
        Ok(Change { root, device, setting, switch_to, writes, keeps_read_ahead })
    }

    /// The planned writes, in order, without values already in effect.
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

    /// The setting that would revert the change, were it made now.
    pub fn undo(&self) -> Setting {
        let old = Snapshot::take(&self.root, &self.device.name);
        let mut new = old.clone();
        if let Some(scheduler) = &self.switch_to {
            new.scheduler = Some(scheduler.clone());
            new.tunables.clear();
            // It turns writeback throttling off.
            if let Some(wbt) = new.queue.get_mut("wbt_lat_usec").filter(|_| scheduler == "bfq") {
                "0".clone_into(wbt);
            }
        }
        for write in &self.writes {
            let values = match write.place {
                Directory::Scheduler => &mut new.tunables,
                Directory::Queue => &mut new.queue,
                Directory::Device => &mut new.device,
            };
            values.insert(write.name.clone(), write.value.clone());
        }
        undo::undo(&old, &new)
    }

    /// Permanent, i.e. until the next change or reboot.
    ///
    /// # Errors
    /// [`Error::NotSet`] if a write fails or has no effect; everything is then as before.
    /// [`Error::Busy`], [`Error::Held`], [`Error::Io`] if the journal cannot be written; nothing
    /// was written then.
    pub fn carry_out(self) -> Result<Done, Error> {
        let (guard, done) = self.begin(None)?;
        guard.release()?;
        Ok(done)
    }

    /// The journal keeps the old values, with this process as their owner.
    pub fn hold(self, duration: Duration) -> Result<Held, Error> {
        let lasting = Lasting::of(duration);
        let (guard, done) = self.begin(Some(lasting))?;
        Ok(Held { guard, done, lasting })
    }

    fn begin(self, lasting: Option<Lasting>) -> Result<(Guard, Done), Error> {
        let guard = Guard::begin_lasting(&self.root, &self.device, lasting)?;
        // The guard may have undone a dead owner's changes, and the name may be another disk's by
        // now.
        let is_same =
            device::name_by_identity(&self.root, &self.device.identity, &self.device.name)?;
        if is_same.as_ref() != Some(&self.device.name) {
            return Err(Error::DeviceGone { device: self.device.path.display().to_string() });
        }
        let change = Change::plan(&self.root, &self.device, &self.setting)?;
        match change.put_into_effect(&guard) {
            Ok(renewed) => {
                let remark = renewed.then(|| apply::DEPTH_NOTE.to_string());
                let done = Done { remark, ..change.done(guard.original()) };
                Ok((guard, done))
            }
            Err(found) => {
                let device = self.device.path.display().to_string();
                let left = guard.restore().err().map(Box::new);
                Err(Error::NotSet { device, found, left })
            }
        }
    }

    /// Stops at the first failure. Returns whether bfq's `async_depth` was written again.
    fn put_into_effect(&self, guard: &Guard) -> Result<bool, Vec<Problem>> {
        let (root, device) = (&self.root, self.device.name.as_str());
        let renewed = match &self.switch_to {
            Some(to) => apply::switch(root, device, to).map_err(|problem| vec![problem])?,
            None => false,
        };
        let (queue, tunables): (Vec<&Write>, Vec<&Write>) =
            self.writes.iter().partition(|write| write.place != Directory::Scheduler);
        for write in queue {
            self.write(write)?;
        }
        let is_named = |name: &str| self.setting.tunables.contains_key(name);
        let kept = |place, name: &str| {
            place == Directory::Queue && !is_schedulers_own(name) && !is_named(name)
        };
        let problems = guard.write_differences(guard.original(), kept);
        if !problems.is_empty() {
            return Err(problems);
        }
        for write in tunables {
            self.write(write)?;
        }
        let unproven: Vec<Problem> =
            self.writes.iter().filter_map(|write| apply::verify(root, device, write)).collect();
        if unproven.is_empty() { Ok(renewed) } else { Err(unproven) }
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
        Done { changed: self.changed(old, &new), undo, remark: None }
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
