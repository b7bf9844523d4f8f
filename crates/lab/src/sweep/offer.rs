//! What can be set in an arena: the scheduler's tunables and the queue's attributes, with default,
//! range and levels; for CPUs the numeric settings with their present values.
//!
//! The simulator reports them. In the kernel arena, and on the host if the device runs another
//! scheduler, reading them would require a change. The table then gives Linux's tunables, another
//! device with the scheduler those of this kernel, and the pilot run tries every variant.

use std::ops::RangeInclusive;

use anyhow::Result;
use elevator::{Build, ElevatorKind, Evidence, Knob, Limits, Role, Tunable};
use experiment::plan::{ArenaFacts, Variant};
use experiment::sweep::number;
use machine::{Device, Root, device};
use sim::DeviceModel;

use crate::arena::disk::Target;
use crate::arena::kernel::MODULES;
use crate::arena::model::Model;
use crate::arena::sim::{ATTRIBUTES, Setting, TURNAROUND_NS};
use crate::failure::usage;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    Device(Knob),
    Cpu(machine::cpu::Knob),
}

impl Scale {
    pub fn range(&self) -> RangeInclusive<i64> {
        match self {
            Scale::Device(knob) => signed(knob.row.min)..=signed(knob.row.max),
            Scale::Cpu(knob) => knob.scale.min..=knob.scale.max,
        }
    }

    pub fn unit(&self) -> &'static str {
        match self {
            Scale::Device(knob) => knob.row.unit,
            Scale::Cpu(knob) => knob.scale.unit,
        }
    }

    /// The values worth trying, ascending, including the default.
    pub fn levels(&self) -> Vec<i64> {
        match self {
            Scale::Device(knob) => knob.levels().into_iter().map(signed).collect(),
            Scale::Cpu(knob) => knob.levels(),
        }
    }

    fn around(self, default: i64) -> Scale {
        match self {
            Scale::Device(knob) => {
                let default = default.unsigned_abs();
                Scale::Device(Knob { default, most: knob.most.max(default), ..knob })
            }
            Scale::Cpu(knob) => Scale::Cpu(machine::cpu::Knob { default, ..knob }),
        }
    }
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Maximum of an attribute with unknown range.
const ANY: u64 = u32::MAX as u64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    pub name: String,
    /// Default, range and meaning; None if the kernel offers it and schedlab does not know it.
    pub knob: Option<Scale>,
    /// Whether `all` includes it.
    pub usual: bool,
    /// The baseline's value, if known.
    pub default: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub scheduler: String,
    /// Begins with the scheduler's own tunables.
    pub all: Vec<Offered>,
    pub is_of_cpus: bool,
}

impl Offer {
    pub fn of(root: &Root, arena: &ArenaFacts, word: &str, baseline: &Variant) -> Result<Offer> {
        let is_of_cpus = arena.is_cpu();
        let mut all = if is_of_cpus && arena.is_virtual() {
            Vec::new()
        } else if is_of_cpus {
            of_cpus(root, baseline)
        } else if arena.is_in_process() {
            let setting = Setting::of(baseline)?;
            Model::read(word)?.look(|device| simulated(&setting, device))
        } else if arena.chooses_kernel() {
            Model::read(word)?.look(|device| of_kernel(baseline, device))
        } else {
            of_host(root, word, &baseline.scheduler)?
        };
        for offered in &mut all {
            let asked = baseline.tunables.get(&offered.name).and_then(|value| number(value));
            if let Some(asked) = asked.filter(|asked| is_of_cpus || *asked >= 0.0) {
                offered.rebase(asked as i64);
            }
        }
        Ok(Offer { scheduler: baseline.scheduler.clone(), all, is_of_cpus })
    }

    pub fn find(&self, name: &str) -> Option<&Offered> {
        self.all.iter().find(|offered| offered.name == name)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|offered| offered.name.as_str())
    }
}

impl Offered {
    fn known(knob: Knob, usual: bool) -> Offered {
        let default = Some(signed(knob.default));
        Offered { name: knob.row.name.to_owned(), default, knob: Some(Scale::Device(knob)), usual }
    }

    fn unknown(name: &str, value: Option<i64>, usual: bool) -> Offered {
        Offered { name: name.to_owned(), knob: None, usual, default: value }
    }

    /// A value as written in a variant.
    pub fn text(&self, value: i64) -> String {
        match &self.knob {
            Some(Scale::Cpu(knob)) => knob.text(value),
            _ => value.to_string(),
        }
    }

    fn rebase(&mut self, value: i64) {
        self.default = Some(value);
        self.knob = self.knob.map(|knob| knob.around(value));
    }
}

fn attribute(name: &'static str, unit: &'static str, min: u64, max: u64) -> Tunable {
    Tunable {
        name,
        unit,
        min,
        max,
        evidence: Evidence::Confirmed,
        help: "an attribute of the queue",
        role: Role::Knob,
    }
}

/// The scheduler's tunables on this device, and the attributes of the simulated queue.
fn simulated(setting: &Setting, device: &dyn DeviceModel) -> Vec<Offered> {
    let host = setting.host(device);
    let queue = sim::queue_for(
        setting.kind,
        &[],
        setting.hz,
        host,
        setting.nr_requests,
        setting.queue_depth,
        device,
    );
    let (elevator, limits) = (queue.elevator(), queue.limits());
    let rows = setting.kind.tunables.iter().filter(|row| !matches!(row.role, Role::Alias(_)));
    let window = limits.nr_requests.into();
    let mut all: Vec<Offered> = rows
        .map(|row| Offered::known(Knob::new(*row, elevator.get(row.name), window), row.is_knob()))
        .collect();
    all.extend(ATTRIBUTES.iter().map(|known| {
        let default = match known.name {
            "hz" => setting.hz.into(),
            "one_cpu" => u64::from(host.cpus == 1),
            "cpus" => host.cpus.into(),
            "cpu_percent" => host.cpu_percent.into(),
            "nr_requests" => window,
            "queue_depth" => limits.queue_depth.into(),
            _ => setting.turnaround_ns / 1000,
        };
        let (min, max) = known.form.bounds();
        Offered::known(Knob::new(attribute(known.name, "", min, max), default, window), false)
    }));
    all
}

/// The tunables of a Linux scheduler according to the table.
fn of_kernel(baseline: &Variant, device: &dyn DeviceModel) -> Vec<Offered> {
    // A patched scheduler is assumed to have the same tunables.
    let name = baseline.scheduler.split('@').next().unwrap_or_default();
    let tags = Limits::adapter_tags(device.queue_depth());
    let nr_requests = if name == "none" { tags } else { 2 * tags.min(128) };
    let mut all = elevator::find(name).map_or_else(Vec::new, |kind| of_table(kind, nr_requests));
    if MODULES.contains(&name) {
        // The modules' own tunables are not in the elevator table.
        all.push(Offered::unknown("max_inflight", None, false));
    }
    let queue = [
        ("nr_requests", "requests", 65_536, nr_requests.into()),
        ("queue_depth", "requests", 65_536, device.queue_depth().into()),
        ("turnaround_us", "µs", 1_000_000, TURNAROUND_NS / 1000),
    ];
    all.extend(queue.map(|(name, unit, max, default)| {
        let min = u64::from(unit == "requests");
        Offered::known(Knob::new(attribute(name, unit, min, max), default, ANY), false)
    }));
    all
}

fn of_table(kind: &ElevatorKind, nr_requests: u32) -> Vec<Offered> {
    let build = Build { nr_tags: nr_requests, ..Build::default() };
    kind.knobs(&build).into_iter().map(|knob| Offered::known(knob, true)).collect()
}

/// The numeric CPU settings of this machine. `all` covers the program's settings that are valid
/// under the baseline's policy; settings that change the machine must be named.
fn of_cpus(root: &Root, baseline: &Variant) -> Vec<Offered> {
    let counts = |knob: &machine::cpu::Knob| {
        let text = knob.text(knob.default);
        let set = baseline.tunables.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let set = set
            .filter(|(key, _)| *key != knob.scale.name)
            .chain([(knob.scale.name, text.as_str())]);
        knob.is_of_program() && machine::cpu::Setting::read(&baseline.scheduler, set).is_ok()
    };
    let known = machine::cpu::knobs(root).into_iter().map(|knob| Offered {
        name: knob.scale.name.to_owned(),
        usual: counts(&knob),
        default: Some(knob.default),
        knob: Some(Scale::Cpu(knob)),
    });
    let others = machine::cpu::other_numbers(root).into_iter();
    known.chain(others.map(|(key, value)| Offered::unknown(&key, Some(value), false))).collect()
}

fn of_host(root: &Root, word: &str, scheduler: &str) -> Result<Vec<Offered>> {
    let temporary = Target::is_temporary(word)?;
    let device = if temporary {
        None
    } else {
        Some(device::find(root, word).map_err(|e| usage(e.to_string()))?)
    };
    let all = device::list(root)?;
    // An existing loop device represents one that is still to be made.
    let like = device.as_ref().or_else(|| all.iter().find(|one| one.kind == device::Kind::Loop));
    let runs = |one: &&Device| one.scheduler.as_deref() == Some(scheduler);
    let running = device.iter().chain(&all).find(runs);
    let nr_requests = nr_requests(device.as_ref(), scheduler);
    let tabled =
        elevator::find(scheduler).map_or_else(Vec::new, |kind| of_table(kind, nr_requests));
    let mut offered = match running {
        Some(running) => seen(running, &tabled, elevator::find(scheduler)),
        None => tabled,
    };
    let queue = |name: &str| like.and_then(|one| one.queue.get(name));
    let now = |name: &str| queue(name).and_then(|attribute| attribute.value.parse().ok());
    let read_ahead = now("read_ahead_kb").unwrap_or(128);
    offered.push(Offered::known(
        Knob::new(attribute("nr_requests", "requests", 4, 65_536), nr_requests.into(), ANY),
        false,
    ));
    offered.push(Offered::known(
        Knob::new(attribute("read_ahead_kb", "KiB", 0, ANY), read_ahead, ANY),
        false,
    ));
    for (name, attribute) in like.iter().flat_map(|one| &one.queue) {
        if attribute.writable
            && name != "scheduler"
            && offered.iter().all(|known| known.name != *name)
        {
            offered.push(Offered::unknown(name, attribute.value.parse().ok(), false));
        }
    }
    Ok(offered)
}

/// The tunables that a device exposes for the scheduler, with the table's details if known. Their
/// present values are not taken as defaults, because they may have been changed.
fn seen(running: &Device, tabled: &[Offered], kind: Option<&ElevatorKind>) -> Vec<Offered> {
    let writable =
        running.tunables.iter().filter(|(_, attribute)| attribute.writable).map(|(name, _)| name);
    let is_alias = |name: &str| {
        let row = kind.and_then(|kind| kind.tunable(name));
        row.is_some_and(|row| matches!(row.role, Role::Alias(_)))
    };
    let shown: Vec<&String> = writable.filter(|name| !is_alias(name)).collect();
    let known =
        tabled.iter().filter(|offered| shown.iter().any(|name| **name == offered.name)).cloned();
    let others = shown.iter().filter(|name| tabled.iter().all(|offered| offered.name != ***name));
    known.chain(others.map(|name| Offered::unknown(name, None, true))).collect()
}

/// The scheduler's nr_requests on a device: the present value if the device runs it, else the
/// kernel's default, twice the tags and at most 256.
fn nr_requests(device: Option<&Device>, scheduler: &str) -> u32 {
    let now = device.and_then(|device| device.nr_requests).and_then(|n| u32::try_from(n).ok());
    match (now, device.and_then(|device| device.scheduler.as_deref())) {
        (Some(now), Some("none")) if scheduler != "none" => 2 * now.min(128),
        (Some(now), _) => now,
        (None, _) => 256,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn device(scheduler: &str, tunables: &[&str], nr_requests: u64) -> Device {
        let attribute = |name: &&str| {
            (name.to_string(), device::Attribute { value: "1".into(), writable: true })
        };
        let tunables: BTreeMap<_, _> = tunables.iter().map(attribute).collect();
        // A device whose other fields do not matter.
        let mut any = device::list(&Root::real()).unwrap().remove(0);
        (any.scheduler, any.tunables, any.nr_requests) =
            (Some(scheduler.into()), tunables, Some(nr_requests));
        any
    }

    fn names(offered: &[Offered]) -> Vec<(&str, bool)> {
        offered.iter().map(|one| (one.name.as_str(), one.knob.is_some())).collect()
    }

    #[test]
    fn what_the_kernel_shows_decides_and_what_the_table_does_not_know_is_named() {
        let bfq = elevator::find("bfq").unwrap();
        let device =
            device("bfq", &["slice_idle", "slice_idle_us", "low_latency", "brand_new"], 64);
        let found = seen(&device, &of_table(bfq, 64), Some(bfq));
        assert_eq!(
            names(&found),
            [("slice_idle", true), ("low_latency", true), ("brand_new", false)]
        );
    }

    #[test]
    fn a_scheduler_gets_twice_the_devices_tags_unless_it_has_its_window_already() {
        assert_eq!(nr_requests(Some(&device("none", &[], 64)), "bfq"), 128);
        assert_eq!(nr_requests(Some(&device("none", &[], 1023)), "bfq"), 256);
        assert_eq!(nr_requests(Some(&device("bfq", &[], 64)), "bfq"), 64);
        assert_eq!(nr_requests(None, "bfq"), 256);
    }

    #[test]
    fn the_simulator_is_asked_for_its_own_and_the_kernel_around_it() {
        let setting =
            Setting::of(&experiment::plan::parse_variant("mq-deadline:nr_requests=32").unwrap())
                .unwrap();
        let found = Model::read("hp97560").unwrap().look(|device| simulated(&setting, device));
        let of = |name: &str| found.iter().find(|one| one.name == name).unwrap();
        assert_eq!(of("async_depth").default, Some(32));
        assert_eq!(of("nr_requests").default, Some(32));
        assert!(of("fifo_batch").usual && !of("nr_requests").usual && !of("linux").usual);
    }
}
