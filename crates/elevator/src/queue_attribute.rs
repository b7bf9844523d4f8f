//! What a row of [`QUEUE_ATTRIBUTES`](crate::QUEUE_ATTRIBUTES) is: an attribute of a block device's
//! queue, what it takes, and where its value comes from.
//!
//! The kernel's answer to a wrong value is "Invalid argument", or silence and another value; so
//! what an attribute takes stands here, and is checked before anything is written. What depends on
//! the device (the largest transfer of its hardware) is not a number here but the name of the
//! attribute that shows it.

use crate::kind::Evidence;

/// An attribute under `/sys/block/DEVICE/queue`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueAttribute {
    /// Its name in sysfs.
    pub name: &'static str,
    /// Its unit: `KiB`, `bytes`, `requests`, `switch` (0 or 1), … Empty where it has none.
    pub unit: &'static str,
    /// Accepted or shown values.
    pub values: Values,
    /// Whether the attribute is writable.
    pub writable: bool,
    /// Where the value of a fresh device comes from.
    pub initial: Initial,
    /// The values worth trying, ascending; empty where it is no knob of performance: it describes
    /// the hardware, the accounting, or what the data survives, and turning it would make the
    /// machine wrong rather than fast.
    pub levels: &'static [u64],
    /// How sure range, default and meaning are.
    pub evidence: Evidence,
    /// One line of meaning, with the effect of each value of a switch.
    pub help: &'static str,
}

/// The values of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// A whole number.
    Number {
        /// The smallest.
        min: i64,
        /// The largest value that any kernel accepts.
        max: u64,
        /// What keeps it lower on a device.
        ceiling: Ceiling,
    },
    /// One of these words; none: those that the kernel offers.
    Words(&'static [&'static str]),
}

/// What keeps a number below its largest value on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ceiling {
    /// Nothing.
    None,
    /// The value of another attribute of the queue.
    Attribute(&'static str),
    /// Without a scheduler, the tags of the hardware.
    Tags,
}

/// Where the value of a fresh device comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Initial {
    /// Set by the driver from the hardware.
    Driver,
    /// The same for all devices.
    Kernel(&'static str),
    /// It starts with the value of another attribute.
    Attribute(&'static str),
    /// The kernel computes it by this rule.
    Rule(&'static str),
    /// It belongs to the scheduler, which sets it anew at each switch, by this rule.
    Scheduler(&'static str),
}

impl Initial {
    /// Where from, in words.
    pub fn words(self) -> String {
        match self {
            Initial::Driver => "as the driver says".to_string(),
            Initial::Kernel(value) => format!("{value} on every device"),
            Initial::Attribute(name) => format!("that of {name}"),
            Initial::Rule(rule) | Initial::Scheduler(rule) => rule.to_string(),
        }
    }
}

/// What is known of a device's queue, for values that follow from others.
pub struct QueueFacts<'a> {
    /// The scheduler in effect.
    pub scheduler: &'a str,
    /// The tags of the hardware, where they are known.
    pub tags: Option<u64>,
    /// The value of another attribute of the queue.
    pub shown: &'a dyn Fn(&str) -> Option<String>,
}

impl QueueFacts<'_> {
    fn number(&self, name: &str) -> Option<u64> {
        (self.shown)(name)?.parse().ok()
    }
}

/// Requests that a queue of the kernel is made for where nothing is said.
const DEFAULT_REQUESTS: u64 = 128;

impl QueueAttribute {
    /// The value on a new device with this scheduler; none if only driver or kernel determine it.
    pub fn default(&self, facts: &QueueFacts) -> Option<String> {
        match self.initial {
            Initial::Kernel(value) => Some(value.to_string()),
            Initial::Attribute(name) => (facts.shown)(name),
            Initial::Driver | Initial::Rule(_) => None,
            Initial::Scheduler(_) => self.schedulers_choice(facts).map(|value| value.to_string()),
        }
    }

    fn schedulers_choice(&self, facts: &QueueFacts) -> Option<u64> {
        match (self.name, facts.scheduler) {
            ("nr_requests", "none") => facts.tags,
            ("nr_requests", _) => Some(2 * facts.tags?.min(DEFAULT_REQUESTS)),
            ("async_depth", "none" | "mq-deadline") => facts.number("nr_requests"),
            ("async_depth", "bfq" | "kyber") => Some(facts.number("nr_requests")? * 3 / 4),
            ("wbt_lat_usec", "bfq") => Some(0),
            _ => None,
        }
    }

    /// The largest accepted number on a device; none if the values are words.
    pub fn max(&self, facts: &QueueFacts) -> Option<u64> {
        let Values::Number { max, ceiling, .. } = self.values else { return None };
        let lower = match ceiling {
            Ceiling::None => None,
            Ceiling::Attribute(name) => facts.number(name),
            Ceiling::Tags => facts.tags.filter(|_| facts.scheduler == "none"),
        };
        Some(lower.map_or(max, |lower| lower.min(max)))
    }

    /// The values worth trying on a device, ascending.
    pub fn levels(&self, facts: &QueueFacts) -> Vec<u64> {
        let max = self.max(facts).unwrap_or(0);
        self.levels.iter().copied().filter(|level| *level <= max).collect()
    }
}
