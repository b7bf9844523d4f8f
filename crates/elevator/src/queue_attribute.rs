//! The rows of [`QUEUE_ATTRIBUTES`](crate::QUEUE_ATTRIBUTES): a queue attribute, its accepted
//! values, and the origin of its default.
//!
//! The kernel rejects a wrong value with "Invalid argument" or silently stores another, so values
//! are checked before writing. A limit that depends on the device (such as the largest transfer) is
//! given by the attribute that shows it.

use crate::kind::Evidence;

/// An attribute in `/sys/block/DEVICE/queue`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueAttribute {
    pub name: &'static str,
    /// Empty if none.
    pub unit: &'static str,
    pub values: Values,
    pub writable: bool,
    /// The value on a new device.
    pub initial: Initial,
    /// Ascending. Empty where a change would make the machine wrong, not fast: hardware,
    /// accounting, data safety.
    pub levels: &'static [u64],
    /// Certainty of range, default and meaning.
    pub evidence: Evidence,
    /// One line, with the effect of each value of a switch.
    pub help: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    Number {
        min: i64,
        max: u64,
        ceiling: Ceiling,
    },
    /// Empty: those that the kernel offers.
    Words(&'static [&'static str]),
}

/// Lowers a maximum on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ceiling {
    None,
    /// Another queue attribute.
    Attribute(&'static str),
    /// Without a scheduler, the hardware's tags.
    Tags,
}

/// The origin of a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Initial {
    /// Set from the hardware.
    Driver,
    Kernel(&'static str),
    /// The initial value of another attribute.
    Attribute(&'static str),
    /// Computed by the kernel by this rule.
    Rule(&'static str),
    /// Set on each switch.
    Scheduler(&'static str),
}

impl Initial {
    pub fn words(self) -> String {
        match self {
            Initial::Driver => "as the driver says".to_string(),
            Initial::Kernel(value) => format!("{value} on every device"),
            Initial::Attribute(name) => format!("that of {name}"),
            Initial::Rule(rule) | Initial::Scheduler(rule) => rule.to_string(),
        }
    }
}

/// Facts about a device, for derived values.
pub struct QueueFacts<'a> {
    pub scheduler: &'a str,
    pub tags: Option<u64>,
    /// The value of another queue attribute.
    pub shown: &'a dyn Fn(&str) -> Option<String>,
}

impl QueueFacts<'_> {
    fn number(&self, name: &str) -> Option<u64> {
        (self.shown)(name)?.parse().ok()
    }
}

/// BLKDEV_DEFAULT_RQ.
const DEFAULT_REQUESTS: u64 = 128;

impl QueueAttribute {
    /// None if only driver or kernel determine it.
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

    /// None for words.
    pub fn max(&self, facts: &QueueFacts) -> Option<u64> {
        let Values::Number { max, ceiling, .. } = self.values else { return None };
        let lower = match ceiling {
            Ceiling::None => None,
            Ceiling::Attribute(name) => facts.number(name),
            Ceiling::Tags => facts.tags.filter(|_| facts.scheduler == "none"),
        };
        Some(lower.map_or(max, |lower| lower.min(max)))
    }

    /// Ascending.
    pub fn levels(&self, facts: &QueueFacts) -> Vec<u64> {
        let max = self.max(facts).unwrap_or(0);
        self.levels.iter().copied().filter(|level| *level <= max).collect()
    }
}
