//! A line for each setting of a device: documentation and current value.

use elevator::{Build, Evidence, Initial, Knob, LINUX, QueueFacts, Values, queue_attribute};
use machine::Root;
use machine::device::{self, Attribute, Device};
use machine::settings::device_attributes::{ROWS, Row};
use machine::settings::{Holder, Snapshot, is_in_effect};
use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Group {
    /// `queue/iosched`.
    Scheduler,
    /// `queue`.
    Queue,
    /// Outside the queue: io.cost model and drive switches.
    Device,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) place: Group,
    pub(super) value: String,
    /// Empty if dimensionless or unknown.
    pub(super) unit: &'static str,
    /// The kernel's default for the active scheduler; None if it cannot be computed.
    pub(super) default: Option<String>,
    pub(super) default_from: String,
    #[serde(skip)]
    pub(super) rule: Option<String>,
    /// None if unknown.
    pub(super) differs: Option<bool>,
    pub(super) writable: bool,
    pub(super) min: Option<i64>,
    pub(super) max: Option<u64>,
    pub(super) words: Vec<&'static str>,
    /// The value that `schedlab set --for` will restore.
    pub(super) set_by_schedlab_from: Option<String>,
    /// How certain range, default and meaning are; empty if unknown.
    pub(super) evidence: &'static str,
    pub(super) help: &'static str,
}

/// All settings of a device but its scheduler: tunables, then writable, then read-only attributes.
pub(super) fn all(root: &Root, device: &Device, holder: Option<&Holder>) -> Vec<Line> {
    let known = Known::of(root, device);
    let mut tunables: Vec<Line> =
        device.tunables.iter().map(|(name, shown)| known.tunable(name, shown)).collect();
    let mut queue: Vec<Line> = device
        .queue
        .iter()
        .filter(|(name, _)| *name != "scheduler")
        .map(|(name, shown)| known.attribute(name, shown))
        .collect();
    let rank = |line: &Line| {
        let at = elevator::QUEUE_ATTRIBUTES.iter().position(|row| row.name == line.name);
        (!line.writable, at.unwrap_or(usize::MAX))
    };
    queue.sort_by_key(rank);
    for line in tunables.iter_mut().chain(&mut queue) {
        line.set_by_schedlab_from = holder.and_then(|holder| before(holder, device, line));
    }
    tunables.extend(queue);
    tunables.extend(device_attributes(root, device, holder));
    tunables
}

fn device_attributes(root: &Root, device: &Device, holder: Option<&Holder>) -> Vec<Line> {
    let shown = Snapshot::take(root, &device.name).device;
    let line = |row: &Row, value: &String| {
        let shown = Attribute { value: value.clone(), writable: true };
        let mut line = Line::unknown(row.name, Group::Device, &shown);
        line.help = row.help;
        line.default = Some(row.unset.to_owned());
        line.differs = Some(!is_in_effect(row.name, row.unset, value));
        line.default_from = "the kernel's own".to_owned();
        line.evidence = Evidence::Confirmed.mark();
        line.set_by_schedlab_from = holder.and_then(|holder| before(holder, device, &line));
        line
    };
    ROWS.iter().filter_map(|row| Some(line(row, shown.get(row.name)?))).collect()
}

fn before(holder: &Holder, device: &Device, line: &Line) -> Option<String> {
    holder.lasting?;
    let original = match line.place {
        Group::Queue => holder.original.queue.get(&line.name),
        Group::Device => holder.original.device.get(&line.name),
        Group::Scheduler if holder.original.scheduler == device.scheduler => {
            holder.original.tunables.get(&line.name)
        }
        Group::Scheduler => None,
    };
    original.filter(|original| **original != line.value).cloned()
}

struct Known<'a> {
    device: &'a Device,
    scheduler: &'a str,
    tags: Option<u64>,
    knobs: Vec<Knob>,
}

impl<'a> Known<'a> {
    fn of(root: &Root, device: &'a Device) -> Known<'a> {
        let scheduler = device.scheduler.as_deref().unwrap_or_default();
        let nr_tags = device.nr_requests.and_then(|window| u32::try_from(window).ok());
        let build =
            Build { nr_tags: nr_tags.unwrap_or(Build::default().nr_tags), ..Build::default() };
        let row = LINUX.iter().find(|row| row.name == scheduler);
        let knobs = row.map(|row| row.tunables(&build)).unwrap_or_default();
        Known { device, scheduler, tags: device::tags(root, &device.name), knobs }
    }

    fn tunable(&self, name: &str, shown: &Attribute) -> Line {
        let line = Line::unknown(name, Group::Scheduler, shown);
        let Some(knob) = self.knobs.iter().find(|knob| knob.row.name == name) else { return line };
        let default = knob.default.to_string();
        // mq-deadline's async_depth was 3/4 of nr_requests before Linux 6.10, and in some later
        // versions.
        let older = (name == "async_depth").then(|| (knob.default * 3 / 4).to_string());
        let is_default = |default: &String| is_in_effect(name, default, &shown.value);
        let differs = !is_default(&default) && !older.as_ref().is_some_and(is_default);
        let from = older.map_or_else(
            || format!("{default} with a fresh {}", self.scheduler),
            |older| format!("nr_requests; {older} in older kernels"),
        );
        Line {
            unit: knob.row.unit,
            default: Some(default),
            default_from: from,
            differs: Some(differs),
            min: Some(i64::try_from(knob.row.min).unwrap_or(i64::MAX)),
            max: Some(knob.row.max),
            evidence: knob.row.evidence.mark(),
            help: knob.row.help,
            ..line
        }
    }

    fn attribute(&self, name: &str, shown: &Attribute) -> Line {
        let line = Line::unknown(name, Group::Queue, shown);
        let Some(row) = queue_attribute(name) else { return line };
        let shows = |of: &str| self.device.queue.get(of).map(|attribute| attribute.value.clone());
        let facts = QueueFacts { scheduler: self.scheduler, tags: self.tags, shown: &shows };
        let default = row.default(&facts).filter(|_| row.writable);
        let (min, max, words) = match row.values {
            Values::Words(words) => (None, None, words.to_vec()),
            Values::Number { min, .. } => (Some(min), row.max(&facts), Vec::new()),
        };
        Line {
            unit: row.unit,
            differs: default.as_ref().map(|default| !is_in_effect(name, default, &shown.value)),
            default,
            default_from: row.initial.words(),
            rule: matches!(row.initial, Initial::Rule(_) | Initial::Scheduler(_))
                .then(|| row.initial.words()),
            min,
            max,
            words,
            evidence: row.evidence.mark(),
            help: row.help,
            ..line
        }
    }
}

impl Line {
    fn unknown(name: &str, place: Group, shown: &Attribute) -> Line {
        Line {
            name: name.to_owned(),
            place,
            value: shown.value.clone(),
            unit: "",
            default: None,
            default_from: "unknown".to_owned(),
            rule: None,
            differs: None,
            writable: shown.writable,
            min: None,
            max: None,
            words: Vec::new(),
            set_by_schedlab_from: None,
            evidence: "",
            help: "unknown to schedlab",
        }
    }

    /// Empty if unknown or read-only.
    pub(super) fn range(&self) -> String {
        const UNBOUNDED: u64 = i32::MAX as u64;
        match (self.min, self.max) {
            _ if !self.writable => String::new(),
            (Some(0), Some(1)) => "0 or 1".to_owned(),
            (Some(min), Some(max)) if max >= UNBOUNDED => format!("from {min}"),
            (Some(min), Some(max)) => format!("{min} to {max}"),
            _ => self.words.join(" | "),
        }
    }

    /// Switches have no unit.
    pub(super) fn with_unit(&self) -> String {
        match self.unit {
            "" | "switch" => self.value.clone(),
            unit => format!("{} {unit}", self.value),
        }
    }
}
