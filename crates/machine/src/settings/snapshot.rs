//! All settings of a device at one moment, and restoring them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Problem;
use super::apply::{self, Write};
use super::attribute::Directory;
use super::device_attributes::ROWS;
use crate::device::{current_scheduler, queue_dir};
use crate::root::Root;

/// Writing an attribute may change another (queue limits change read-ahead, `nr_requests` changes
/// mq-deadline's `async_depth`); such chains are shorter than this.
const ROUNDS: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// `None` if the device has none.
    pub scheduler: Option<String>,
    pub tunables: BTreeMap<String, String>,
    /// Writable attributes, without the scheduler.
    pub queue: BTreeMap<String, String>,
    /// Attributes outside of the queue.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub device: BTreeMap<String, String>,
}

impl Snapshot {
    pub fn take(root: &Root, name: &str) -> Snapshot {
        let queue = queue_dir(root, name);
        let writable = |dir| -> BTreeMap<String, String> {
            let all = root.attributes(dir).into_iter();
            // Writing text cannot restore an empty attribute.
            all.filter(|(_, (text, writable))| *writable && !text.is_empty())
                .map(|(name, (text, _))| (name, text))
                .collect()
        };
        let mut attributes = writable(queue.clone());
        attributes.remove("scheduler");
        Snapshot {
            scheduler: current_scheduler(root, name),
            tunables: writable(queue.join("iosched")),
            queue: attributes,
            device: ROWS
                .iter()
                .filter_map(|row| Some((row.name.to_string(), row.read(root, name)?)))
                .collect(),
        }
    }

    /// Attribute, value here, value in `now`.
    pub fn differences(&self, now: &Snapshot) -> Vec<(String, String, String)> {
        let text = |scheduler: &Option<String>| scheduler.clone().unwrap_or_default();
        let mut all = Vec::new();
        if self.scheduler != now.scheduler {
            all.push(("scheduler".to_string(), text(&self.scheduler), text(&now.scheduler)));
        }
        let parts = [
            (Directory::Scheduler, &self.tunables, &now.tunables),
            (Directory::Queue, &self.queue, &now.queue),
            (Directory::Device, &self.device, &now.device),
        ];
        for (place, own, other) in parts {
            for (name, value) in own {
                let found = other.get(name).map(String::as_str).unwrap_or_default();
                if !place.same(name, value, found) {
                    all.push((name.clone(), value.clone(), found.to_string()));
                }
            }
        }
        all
    }

    /// First the scheduler. Returns the written attributes, and those that could not be restored.
    pub(crate) fn put_back(&self, root: &Root, name: &str) -> (Vec<String>, Vec<Problem>) {
        let mut changed = Vec::new();
        let mut now = Snapshot::take(root, name);
        if let Some(scheduler) = self.scheduler.as_ref().filter(|_| self.scheduler != now.scheduler)
        {
            changed.push("scheduler".to_string());
            if let Err(problem) = apply::switch(root, name, scheduler) {
                // Tunables do not exist under another scheduler, and queue attributes differ.
                return (changed, vec![problem]);
            }
            now = Snapshot::take(root, name);
        }
        let mut refused = Vec::new();
        for _ in 0..ROUNDS {
            let differing: Vec<String> =
                self.differences(&now).into_iter().map(|(name, ..)| name).collect();
            if differing.is_empty() {
                break;
            }
            refused.clear();
            for write in self.writes().filter(|write| differing.contains(&write.name)) {
                refused.extend(apply::write(root, name, &write).err());
                if !changed.contains(&write.name) {
                    changed.push(write.name);
                }
            }
            now = Snapshot::take(root, name);
        }
        let problems = self.differences(&now).into_iter().map(|(attribute, wanted, found)| {
            let said = refused
                .iter()
                .find(|problem| matches!(problem, Problem::WriteFailed { attribute: of, .. } if *of == attribute));
            said.cloned().unwrap_or(Problem::NotInEffect { attribute, wanted, found })
        });
        (changed, problems.collect())
    }

    /// All values in write order.
    pub(super) fn writes(&self) -> impl Iterator<Item = Write> + '_ {
        let of = |place| {
            move |(name, value): (&String, &String)| Write {
                place,
                name: name.clone(),
                value: value.clone(),
            }
        };
        let queue = self.queue.iter().map(of(Directory::Queue));
        let tunables = self.tunables.iter().map(of(Directory::Scheduler));
        apply::in_order(self.device.iter().map(of(Directory::Device)).chain(queue).chain(tunables))
    }
}
