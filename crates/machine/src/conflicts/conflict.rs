//! Conflicts with a persisted setting, and parsing of configurations.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use super::pattern;
use crate::root::Root;

#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    pub device: &'a str,
    /// `scheduler`, tunables and queue attributes to be persisted.
    pub attributes: &'a [String],
    pub rule: &'a str,
    /// Whether our rule applies to every event, not only `add`.
    pub insists: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// `udev`, `tuned`, `TLP` …
    pub program: &'static str,
    pub file: PathBuf,
    /// From 1; `None` if there are no lines.
    pub line: Option<usize>,
    pub writes: String,
    pub order: Precedence,
    pub advice: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precedence {
    /// Before our rule: ours wins.
    Before,
    /// Before ours at `add`, and again at later events, to which ours does not apply.
    AtChanges,
    /// After our rule: it wins.
    After,
    Idle,
}

impl Precedence {
    pub fn beats_ours(self) -> bool {
        matches!(self, Precedence::AtChanges | Precedence::After)
    }
}

impl fmt::Display for Precedence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Precedence::Before => "it comes before the persisted rule, which wins",
            Precedence::AtChanges => {
                "it writes again whenever a program that wrote to the device closes it: it wins from then on"
            }
            Precedence::After => "it comes after the persisted rule: it wins",
            Precedence::Idle => "it has no effect",
        })
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", self.program, self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ") writes the same: {}; {}", self.writes, self.order)?;
        if self.advice.is_empty() { Ok(()) } else { write!(f, "; {}", self.advice) }
    }
}

impl Question<'_> {
    pub(super) fn asks(&self, attribute: &str) -> bool {
        self.attributes.iter().any(|asked| asked == attribute)
    }

    /// Whether a path or command names an attribute: `…/queue/scheduler`, `blockdev --setra`.
    pub(super) fn is_named_in(&self, text: &str) -> bool {
        let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let names = |attribute: &str| {
            ["queue/", "queue/iosched/"].iter().any(|dir| {
                let path = format!("{dir}{attribute}");
                text.match_indices(&path).any(|(at, _)| ends(&text[at + path.len()..]))
            })
        };
        let sets_read_ahead = text.contains("--setra")
            || text.contains("--setfra")
            || text.contains("bdi/read_ahead_kb");
        self.attributes.iter().any(|asked| names(asked))
            || (sets_read_ahead && self.asks("read_ahead_kb"))
    }

    /// Whether a path or command matches the device's name, or names no device at all.
    pub(super) fn may_mean(&self, text: &str) -> bool {
        let mut named = text
            .split("block/")
            .skip(1)
            .filter_map(|rest| rest.split(['/', ' ', '"', '\'']).next())
            .peekable();
        named.peek().is_none()
            || named.any(|name| name.contains(['$', '{']) || pattern::matches(name, self.device))
    }
}

/// Lines numbered from 1; empty if absent.
pub(super) fn lines(root: &Root, path: &str) -> Vec<(usize, String)> {
    let text = std::fs::read(root.path(path)).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines().enumerate().map(|(index, line)| (index + 1, line.trim().to_string())).collect()
}

/// Files in drop-in directories, ordered by name. The first directory's file wins; empty files and
/// dangling links mask others.
pub(super) fn drop_in_files(root: &Root, dirs: &[&str], suffix: &str) -> Vec<String> {
    let mut all = std::collections::BTreeMap::new();
    for dir in dirs {
        for name in root.names(root.path(dir)).into_iter().filter(|name| name.ends_with(suffix)) {
            all.entry(name.clone()).or_insert(format!("{dir}/{name}"));
        }
    }
    all.into_values().collect()
}
