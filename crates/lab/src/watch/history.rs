//! The history of a device: a line per test, append-only, and the latest reports.
//!
//! Stored in STATE/history/KEY/history.jsonl; KEY depends on the device's identity, not its name.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
pub use experiment::history::{Entry, Measured, Outcome};
use machine::Root;
use machine::files::Dir;
use text::limits::HISTORY_BYTES;

const DIR: &str = "history";

const FILE: &str = "history.jsonl";

#[derive(Debug, Clone, PartialEq)]
pub struct History {
    key: String,
    dir: PathBuf,
    pub entries: Vec<Entry>,
    /// Number of unreadable lines.
    pub broken: usize,
}

impl History {
    /// Reads a device's history, which may be empty.
    pub fn of(root: &Root, identity: &str) -> Result<History> {
        History::at(root, &machine::key(identity))
    }

    pub fn all(root: &Root) -> Result<Vec<History>> {
        let Some(all) = there(root)? else { return Ok(Vec::new()) };
        all.names()?.iter().map(|key| History::at(root, key)).collect()
    }

    fn at(root: &Root, key: &str) -> Result<History> {
        let found = match there(root)? {
            Some(all) => all.subdir_if_exists(key)?,
            None => None,
        };
        let bytes = found.map(|dir| dir.read(FILE)).transpose()?.flatten().unwrap_or_default();
        HISTORY_BYTES.check(bytes.len())?;
        // Invalid UTF-8 affects only its line.
        let text = String::from_utf8_lossy(&bytes);
        let dir = root.state(DIR).join(key);
        let mut history = History { key: key.to_owned(), dir, entries: Vec::new(), broken: 0 };
        for line in text.lines().filter(|line| !line.is_empty()) {
            match serde_json::from_str(line) {
                Ok(entry) => history.entries.push(entry),
                // A line may be truncated by a crash.
                Err(_) => history.broken += 1,
            }
        }
        Ok(history)
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn last_measured(&self, watch: &str) -> Option<&Measured> {
        self.entries.iter().rev().filter(|entry| entry.watch == watch).find_map(
            |entry| match &entry.outcome {
                Outcome::Measured(measured) => Some(measured.as_ref()),
                _ => None,
            },
        )
    }

    /// Waits for the line to reach the disk.
    pub fn append(&mut self, root: &Root, entry: Entry) -> Result<()> {
        let line = serde_json::to_string(&entry)
            .expect("an entry has only texts and numbers, which always make JSON");
        let mut line = text::escaped(&line).into_owned();
        line.push('\n');
        let dir = root.state_dir()?.subdir(DIR)?.subdir(&self.key)?;
        let new = !dir.has(FILE);
        let mut file = dir.append(FILE)?;
        let write = || -> std::io::Result<()> {
            let length = file.metadata()?.len();
            // Terminate a truncated line.
            let line = if self.broken > 0 { format!("\n{line}") } else { line };
            file.write_all(line.as_bytes()).and_then(|()| file.sync_all()).inspect_err(|_| {
                let _ = file.set_len(length);
            })?;
            if new { Ok(dir.sync()?) } else { Ok(()) }
        };
        let cannot = || {
            format!(
                "{}: cannot write (earlier history is intact); free some space",
                dir.file(FILE).display()
            )
        };
        write().with_context(cannot)?;
        self.entries.push(entry);
        Ok(())
    }

    /// Keeps a watch's last reports; returns the number removed.
    pub fn prune(&self, watch: &str, keep: u32) -> usize {
        let reports: Vec<&str> = self
            .entries
            .iter()
            .filter(|entry| entry.watch == watch)
            .filter_map(|entry| match &entry.outcome {
                Outcome::Measured(measured) => Some(measured.report.as_str()),
                _ => None,
            })
            .collect();
        let old = reports.len().saturating_sub(keep as usize);
        // Remove only directories directly below the history.
        let ours = |report: &&&str| {
            !report.is_empty() && !report.contains('/') && !report.starts_with('.')
        };
        let removed = reports[..old]
            .iter()
            .filter(ours)
            .filter(|report| fs::remove_dir_all(self.dir.join(report)).is_ok());
        removed.count()
    }
}

fn there(root: &Root) -> Result<Option<Dir>> {
    let state = root.state_dir_if_exists()?;
    Ok(state.map(|state| state.subdir_if_exists(DIR)).transpose()?.flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(watch: &str, recommended: Option<&str>) -> Entry {
        let outcome = match recommended {
            None => Outcome::Skipped { why: "noise".to_owned() },
            Some(variant) => Outcome::Measured(Box::new(Measured {
                recommended: Some(variant.to_owned()),
                sentence: format!("Use {variant}."),
                changed: false,
                applied: None,
                effects: Vec::new(),
                report: format!("report-{variant}"),
                ..Measured::default()
            })),
        };
        Entry {
            at: "2026-11-22T02:00:07Z".to_owned(),
            watch: watch.to_owned(),
            device: "/dev/sdb".to_owned(),
            outcome,
        }
    }

    #[test]
    fn lines_are_added_and_read_again_and_each_device_has_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        let mut history = History::of(&root, "wwid a/b").unwrap();
        assert!(history.entries.is_empty());
        for (watch, variant) in [("x", Some("bfq")), ("x", None), ("y", Some("none"))] {
            history.append(&root, entry(watch, variant)).unwrap();
        }
        let again = History::of(&root, "wwid a/b").unwrap();
        assert_eq!(again, history);
        assert_eq!(again.last_measured("x").unwrap().recommended.as_deref(), Some("bfq"));
        assert!(again.last_measured("z").is_none());
        assert!(History::of(&root, "wwid c").unwrap().entries.is_empty());
        assert_eq!(History::all(&root).unwrap().len(), 1);
    }

    #[test]
    fn a_line_that_a_crash_has_cut_costs_that_line_only() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        let mut history = History::of(&root, "a").unwrap();
        history.append(&root, entry("x", Some("bfq"))).unwrap();
        let path = history.dir().join(FILE);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}{}", &text[..text.len() / 2])).unwrap();
        let mut cut = History::of(&root, "a").unwrap();
        assert_eq!((cut.entries.len(), cut.broken), (1, 1));
        cut.append(&root, entry("x", Some("none"))).unwrap();
        let again = History::of(&root, "a").unwrap();
        assert_eq!((again.entries.len(), again.broken), (2, 1));
    }

    #[test]
    fn a_hostile_name_is_one_line_and_steers_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        let mut history = History::of(&root, "a").unwrap();
        let hostile = "x\n{}\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}\u{2028}";
        history.append(&root, entry(hostile, Some(hostile))).unwrap();
        let text = fs::read_to_string(history.dir().join(FILE)).unwrap();
        assert!(text.lines().count() == 1 && !text.contains(text::controls_terminal), "{text:?}");
        assert_eq!(History::of(&root, "a").unwrap(), history, "it means the same");
    }

    #[test]
    fn old_reports_go_and_the_lines_stay() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        let mut history = History::of(&root, "a").unwrap();
        for variant in ["a", "b", "c"] {
            fs::create_dir_all(history.dir().join(format!("report-{variant}"))).unwrap();
            history.append(&root, entry("x", Some(variant))).unwrap();
        }
        assert_eq!(history.prune("x", 2), 1);
        assert!(
            !history.dir().join("report-a").exists() && history.dir().join("report-b").exists()
        );
        assert_eq!(History::of(&root, "a").unwrap().entries.len(), 3);
    }
}
