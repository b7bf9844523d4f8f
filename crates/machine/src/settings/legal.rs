//! Validates a user's names and values before anything is written.
//!
//! The kernel responds to a wrong value with "Invalid argument" or another value, and to a missing
//! name with "No such file". Errors here name range and unit, the nearest name, or a tunable's
//! scheduler. Names of out-of-tree schedulers are left to the kernel, and read back.

use std::collections::BTreeMap;

use elevator::{Build, LINUX, QueueFacts, Tunable, Values, queue_attribute, schedulers_with};

use super::Setting;
use super::apply::Write;
use super::attribute::{Directory, same};
use super::device_attributes::{self, ROWS, Row};
use crate::device::{self, Device, node_path, queue_dir};
use crate::error::Error;
use crate::root::Root;

/// A device's current attributes and future scheduler.
pub(super) struct Request<'a> {
    root: &'a Root,
    device: &'a Device,
    /// The scheduler for the named values.
    scheduler: &'a str,
    /// Whether another scheduler is current.
    switches: bool,
    tunables: BTreeMap<String, (String, bool)>,
    queue: BTreeMap<String, (String, bool)>,
    tags: Option<u64>,
    setting: &'a Setting,
}

impl<'a> Request<'a> {
    pub(super) fn new(
        root: &'a Root,
        device: &'a Device,
        scheduler: &'a str,
        switches: bool,
        setting: &'a Setting,
    ) -> Self {
        let dir = queue_dir(root, &device.name);
        Request {
            root,
            device,
            scheduler,
            switches,
            tunables: root.attributes(dir.join("iosched")),
            queue: root.attributes(&dir),
            tags: device::tags(root, &device.name),
            setting,
        }
    }

    /// The writes in any order.
    pub(super) fn writes(&self) -> Result<Vec<Write>, Error> {
        let named = self.setting.tunables.iter();
        named.map(|(name, value)| self.write(name, value)).collect()
    }

    fn write(&self, name: &str, value: &str) -> Result<Write, Error> {
        let place = self.place(name)?;
        match place {
            Directory::Scheduler => self.check_tunable(name, value)?,
            Directory::Queue => self.check_attribute(name, value)?,
            Directory::Device => {
                let row = device_attributes::row(name)
                    .expect("only a name with a row has this directory");
                check_device_attribute(self.root, &self.device.name, row, value)?;
            }
        }
        Ok(Write { place, name: name.to_string(), value: value.to_string() })
    }

    /// The scheduler's tunables first, for a future scheduler from its table.
    fn place(&self, name: &str) -> Result<Directory, Error> {
        if device_attributes::row(name).is_some() {
            return Ok(Directory::Device);
        }
        let shown = if self.switches { None } else { self.tunables.get(name) };
        let read_only = |writable| {
            Error::ReadOnlyAttribute { device: self.path(), name: name.to_string() }
                .unless(writable)
        };
        if let Some((_, writable)) = shown {
            return read_only(*writable).map(|()| Directory::Scheduler);
        }
        if let Some((_, writable)) = self.queue.get(name).filter(|_| name != "scheduler") {
            return read_only(*writable).map(|()| Directory::Queue);
        }
        let foreign = !LINUX.iter().any(|row| row.name == self.scheduler);
        if self.switches && (foreign || self.row(name).is_some()) && !name.contains('/') {
            return Ok(Directory::Scheduler);
        }
        Err(self.missing(name))
    }

    fn missing(&self, name: &str) -> Error {
        let (device, scheduler) = (self.path(), self.scheduler.to_string());
        let others: Vec<String> =
            schedulers_with(name).iter().map(|row| row.name.to_string()).collect();
        if !others.is_empty() && !others.contains(&scheduler) {
            return Error::TunableOfOther { device, scheduler, name: name.to_string(), others };
        }
        if let Some(row) = queue_attribute(name).filter(|row| row.name != "scheduler") {
            return Error::NotShown { device, name: name.to_string(), help: row.help.to_string() };
        }
        let known = self.names();
        Error::UnknownTunable { device, scheduler, name: name.to_string(), known }
    }

    fn names(&self) -> Vec<String> {
        let writable = |all: &BTreeMap<String, (String, bool)>| -> Vec<String> {
            let names =
                all.iter().filter(|(name, (_, writable))| *writable && *name != "scheduler");
            names.map(|(name, _)| name.clone()).collect()
        };
        let of_table =
            || linux_tunables(self.scheduler).iter().map(|row| row.name.to_string()).collect();
        let mut known: Vec<String> =
            if self.switches { of_table() } else { writable(&self.tunables) };
        known.extend(writable(&self.queue));
        let here = ROWS.iter().filter(|row| row.missing(self.root, &self.device.name).is_none());
        known.extend(here.map(|row| row.name.to_string()));
        known
    }

    fn row(&self, name: &str) -> Option<Tunable> {
        linux_tunables(self.scheduler).into_iter().find(|row| row.name == name)
    }

    fn check_tunable(&self, name: &str, value: &str) -> Result<(), Error> {
        let Some(row) = self.row(name) else { return Ok(()) };
        let fits = value.parse::<u64>().is_ok_and(|number| (row.min..=row.max).contains(&number));
        let range = || format!("a whole number from {} to {}{}", row.min, row.max, unit(row.unit));
        if fits { Ok(()) } else { Err(self.out_of_range(name, value, range())) }
    }

    fn check_attribute(&self, name: &str, value: &str) -> Result<(), Error> {
        let Some(row) = queue_attribute(name) else { return Ok(()) };
        match row.values {
            Values::Words(words) if words.is_empty() || words.contains(&value) => Ok(()),
            Values::Words(words) => {
                Err(self.out_of_range(name, value, format!("one of: {}", words.join(", "))))
            }
            Values::Number { min, .. } => {
                let shown = |of: &str| self.will_show(of);
                let facts =
                    QueueFacts { scheduler: self.scheduler, tags: self.tags, shown: &shown };
                let max = row.max(&facts).unwrap_or(u64::MAX);
                let fits = value
                    .parse::<i128>()
                    .is_ok_and(|n| n >= i128::from(min) && n <= i128::from(max));
                if !fits {
                    let range = format!("a whole number from {min} to {max}{}", unit(row.unit));
                    return Err(self.out_of_range(name, value, range));
                }
                self.check_way_back(name, value)
            }
        }
    }

    /// The value with the named values in effect: `nr_requests` limits `async_depth`.
    fn will_show(&self, name: &str) -> Option<String> {
        let named = self.setting.tunables.get(name).cloned();
        let shown = self.queue.get(name).map(|(text, _)| text.clone());
        if name != "nr_requests" || !self.switches {
            return named.or(shown);
        }
        let facts = QueueFacts { scheduler: self.scheduler, tags: self.tags, shown: &|_| None };
        named.or_else(|| queue_attribute(name).and_then(|row| row.default(&facts))).or(shown)
    }

    /// The kernel accepts only multiples of the granularity, but starts with the driver's value,
    /// which may be none and could not be restored.
    fn check_way_back(&self, name: &str, value: &str) -> Result<(), Error> {
        let number = |of: &str| self.queue.get(of).and_then(|(text, _)| text.parse::<u64>().ok());
        let (Some(present), Some(unit)) = (number(name), number("discard_granularity")) else {
            return Ok(());
        };
        if name != "discard_max_bytes"
            || unit == 0
            || present % unit == 0
            || same(value, &present.to_string())
        {
            return Ok(());
        }
        let why = format!(
            "it is {present}, not a multiple of discard_granularity ({unit}); the kernel accepts only multiples"
        );
        Err(Error::NoWayBack { device: self.path(), name: name.to_string(), why })
    }

    fn out_of_range(&self, name: &str, value: &str, range: String) -> Error {
        Error::OutOfRange {
            device: self.path(),
            name: name.to_string(),
            value: value.to_string(),
            range,
        }
    }

    fn path(&self) -> String {
        self.device.path.display().to_string()
    }
}

pub(super) fn check_device_attribute(
    root: &Root,
    device: &str,
    row: &Row,
    value: &str,
) -> Result<(), Error> {
    let (device_path, name) = (node_path(device).display().to_string(), row.name.to_string());
    if let Some(why) = row.missing(root, device) {
        return Err(Error::NotHere { device: device_path, name, why });
    }
    let wrong =
        |range| Error::OutOfRange { device: device_path, name, value: value.to_string(), range };
    row.check(value).map_err(wrong)
}

fn linux_tunables(scheduler: &str) -> Vec<Tunable> {
    let row = LINUX.iter().find(|row| row.name == scheduler);
    row.map(|row| row.tunables(&Build::default()).iter().map(|knob| knob.row).collect())
        .unwrap_or_default()
}

fn unit(unit: &str) -> String {
    match unit {
        "" => String::new(),
        "switch" => " (a switch)".to_string(),
        unit => format!(" {unit}"),
    }
}

impl Error {
    fn unless(self, fine: bool) -> Result<(), Error> {
        if fine { Ok(()) } else { Err(self) }
    }
}
