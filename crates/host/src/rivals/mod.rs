//! Other programs that write the settings which are to be kept.
//!
//! A rule that is right and loses against another program at every start is worse than none: the user believes in a setting that is
//! not there. So everything that is known to write the scheduler or attributes of a queue is looked for, and named with file and line,
//! what it writes, who wins, and what to do.
//!
//! Pure detection: nothing is run and nothing is changed. What is read is configuration, so a rival that is configured and not
//! started is named too. A rule of udev is left out only where one of its own conditions certainly does not hold for the device.
//! power-profiles-daemon is not looked for: it sets processors and platforms, no queue.

mod configured;
mod rules;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use crate::root::Root;

/// What is asked about.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The kernel's name of the device.
    pub device: &'a str,
    /// What is to be kept: `scheduler`, tunables, attributes of the queue.
    pub attributes: &'a [String],
    /// The name of our rule's file.
    pub rule: &'a str,
    /// Whether our rule answers every event, not only the appearance of the device.
    pub insists: bool,
}

/// Something else that writes one of the attributes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rival {
    /// What it belongs to: `udev`, `tuned`, `TLP` …
    pub program: &'static str,
    /// The file.
    pub file: PathBuf,
    /// The line, from 1; none for what has no lines.
    pub line: Option<usize>,
    /// What stands there.
    pub writes: String,
    /// Who wins.
    pub order: Order,
    /// What to do about it.
    pub advice: String,
}

/// Who has the last word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// It writes before our rule: ours wins.
    Before,
    /// It writes before our rule when the device appears, and again at every later event, at which ours is silent.
    AtChanges,
    /// It writes after our rule: it wins.
    After,
    /// It has no effect.
    Idle,
}

impl Order {
    /// Whether the kept setting does not last.
    pub fn beats_ours(self) -> bool {
        matches!(self, Order::AtChanges | Order::After)
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Order::Before => "it comes before the kept rule, which wins",
            Order::AtChanges => {
                "it writes again whenever a program that wrote to the device closes it: it wins from then on"
            }
            Order::After => "it comes after the kept rule: it wins",
            Order::Idle => "it has no effect",
        })
    }
}

impl fmt::Display for Rival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", self.program, self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ") writes the same: {}; {}", self.writes, self.order)?;
        if self.advice.is_empty() { Ok(()) } else { write!(f, "; {}", self.advice) }
    }
}

/// Every rival there is, those that win first.
pub fn find(root: &Root, question: &Question<'_>) -> Vec<Rival> {
    let mut all = rules::find(root, question);
    all.extend(configured::find(root, question));
    all.sort_by_key(|rival| !rival.order.beats_ours());
    all
}

impl Question<'_> {
    fn asks(&self, attribute: &str) -> bool {
        self.attributes.iter().any(|asked| asked == attribute)
    }

    /// Whether a path or command names an attribute that is asked about: `…/queue/scheduler`, `blockdev --setra`.
    fn is_named_in(&self, text: &str) -> bool {
        let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let names = |attribute: &str| {
            ["queue/", "queue/iosched/"].iter().any(|dir| {
                let path = format!("{dir}{attribute}");
                text.match_indices(&path).any(|(at, _)| ends(&text[at + path.len()..]))
            })
        };
        let sets_read_ahead =
            text.contains("--setra") || text.contains("--setfra") || text.contains("bdi/read_ahead_kb");
        self.attributes.iter().any(|asked| names(asked)) || (sets_read_ahead && self.asks("read_ahead_kb"))
    }

    /// Whether a path or command may mean the device: it names it, by pattern or in full, or names no device of /sys/block at all.
    fn may_mean(&self, text: &str) -> bool {
        let mut named =
            text.split("block/").skip(1).filter_map(|rest| rest.split(['/', ' ', '"', '\'']).next()).peekable();
        named.peek().is_none() || named.any(|name| name.contains(['$', '{']) || rules::matches(name, self.device))
    }
}

/// A configuration's lines with their numbers, from 1; empty if it is absent.
fn lines(root: &Root, path: &str) -> Vec<(usize, String)> {
    let text = std::fs::read(root.path(path)).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines().enumerate().map(|(index, line)| (index + 1, line.trim().to_string())).collect()
}

/// The files of a configuration that is spread over directories: in order of their names; of files with one name that of the first
/// directory counts, and an empty one or a link to nothing stands for none.
fn spread(root: &Root, dirs: &[&str], suffix: &str) -> Vec<String> {
    let mut all = std::collections::BTreeMap::new();
    for dir in dirs {
        for name in root.names(root.path(dir)).into_iter().filter(|name| name.ends_with(suffix)) {
            all.entry(name.clone()).or_insert(format!("{dir}/{name}"));
        }
    }
    all.into_values().collect()
}
