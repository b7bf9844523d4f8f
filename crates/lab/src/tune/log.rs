//! OUT/search.jsonl: a search's trials, one JSON object per line, flushed before the next trial.
//!
//! A search is a function of its seed and its trials' results, so it resumes by replaying them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use experiment::plan::{Plan, Variant};
use experiment::results::{Environment, Note, Trial};
use machine::files::Dir;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use text::build;
use text::limits::SEARCH_BYTES;

use super::outcome::{BranchOut, SearchEnd};
use crate::driver::{TrialLog, is_cut_short};
use crate::failure::usage;
use crate::log_file::LogFile;

pub const SEARCH: &str = "search.jsonl";

pub const SCHEMA: u32 = 2;

/// Equal headers mean the same search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    pub schema: u32,
    pub schedlab: String,
    /// Its variants are the default and an example.
    pub plan: Plan,
    pub objective: String,
    pub constraints: Vec<String>,
    pub space: Vec<BranchOut>,
    /// Set on every candidate.
    pub fixed: BTreeMap<String, String>,
    /// Including the confirmation's.
    pub trials: u32,
    /// See [`SearchEnd::Patience`].
    pub patience: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Line {
    Search(Box<Header>),
    Environment(Environment),
    /// A candidate, before its first trial.
    Candidate {
        /// 0 is the default.
        number: usize,
        variant: Variant,
    },
    Trial(Box<Trial>),
    Note(Note),
    /// End of the search; OUT/confirm continues from here.
    Chosen {
        /// Number of trials.
        trials: u32,
        why: SearchEnd,
    },
}

#[derive(Debug)]
pub struct Log(LogFile);

#[derive(Debug, Default)]
pub struct LoggedSearch {
    /// By variant, workload and round.
    pub trials: BTreeMap<(String, String, u32), Trial>,
    /// Sequence number, and end in ms since the start.
    pub last: Option<(u64, u64)>,
    pub candidates: usize,
    /// Number of trials and reason.
    pub ended: Option<(u32, SearchEnd)>,
}

impl Log {
    pub fn create(dir: &Dir, header: &Header, environment: &Environment) -> Result<Log> {
        let mut log = Log(LogFile::open(dir, SEARCH, &SEARCH_BYTES)?);
        if !log.0.is_empty() {
            return Err(usage(format!(
                "{}: already holds a search; add --resume to continue it, or name another --out",
                dir.path().display()
            )));
        }
        log.append(&Line::Search(Box::new(header.clone())))?;
        log.append(&Line::Environment(environment.clone()))?;
        dir.sync()?;
        Ok(log)
    }

    /// Continues a search with the same header on the same machine.
    pub fn resume(
        dir: &Dir,
        header: &Header,
        environment: &Environment,
    ) -> Result<(Log, LoggedSearch)> {
        let (path, dir_path) = (dir.file(SEARCH), dir.path());
        if !dir.has(SEARCH) {
            bail!(
                "{}: missing, so nothing to resume; leave out --resume to begin a new search",
                path.display()
            );
        }
        let mut log = LogFile::open_existing(dir, SEARCH, &SEARCH_BYTES)?;
        let text = log.read_lines()?;
        log.cut(text.len() as u64)?;
        check_format(&text)
            .map_err(|why| usage(format!("{}: {why}; name another --out", dir_path.display())))?;
        let mut lines = text.lines().enumerate().map(|(i, line)| {
            serde_json::from_str::<Line>(line)
                .with_context(|| format!("{}, line {}: cannot be read", path.display(), i + 1))
        });
        match lines.next().transpose()? {
            Some(Line::Search(old)) if *old == *header => {}
            Some(Line::Search(_)) => {
                return Err(usage(format!(
                    "{}: holds another search; repeat its command with --resume added, or name another --out",
                    dir_path.display()
                )));
            }
            _ => bail!("{}: no header at its beginning; name another --out", path.display()),
        }
        let mut seen = LoggedSearch::default();
        for line in lines {
            seen.take(line?, environment, dir_path)?;
        }
        Ok((Log(log), seen))
    }

    /// Waits for the line to reach the disk.
    pub fn append(&mut self, line: &Line) -> Result<()> {
        let text = serde_json::to_string(line).expect("a line has only text keys and numbers");
        self.0.append(&text::escaped(&text))
    }
}

/// Checks format and build, if the first line is readable.
fn check_format(text: &str) -> Result<(), String> {
    let header = text
        .lines()
        .next()
        .and_then(|line| serde_json::from_str::<Value>(line).ok())
        .unwrap_or_default();
    let (schema, writer) = (&header["schema"], header["schedlab"].as_str());
    if !schema.is_null() && *schema != SCHEMA {
        return Err(build::other_format(schema, SCHEMA, writer));
    }
    writer.and_then(|writer| build::difference(writer, build::identity())).map_or(Ok(()), Err)
}

impl TrialLog for Log {
    fn append_trial(&mut self, trial: &Trial) -> Result<()> {
        self.append(&Line::Trial(Box::new(trial.clone())))
    }

    fn append_note(&mut self, note: Note) -> Result<()> {
        self.append(&Line::Note(note))
    }
}

impl LoggedSearch {
    fn take(&mut self, line: Line, environment: &Environment, dir: &Path) -> Result<()> {
        match line {
            Line::Environment(then) => {
                for (section, name) in
                    [("kernel", "release"), ("device", "size_bytes"), ("device", "description")]
                {
                    let of = |env: &Environment| {
                        env.get(section).and_then(|facts| facts.get(name)).cloned()
                    };
                    if of(&then) != of(environment) {
                        return Err(usage(format!(
                            "{}: the {section}'s {name} has changed; trials of different machines cannot be combined; name another --out",
                            dir.display()
                        )));
                    }
                }
            }
            Line::Candidate { .. } => self.candidates += 1,
            Line::Trial(trial) => {
                let end = trial.started_ms + trial.observation.duration_ns / 1_000_000;
                self.last = Some((trial.sequence, end));
                if !is_cut_short(&trial) {
                    self.trials.insert(
                        (trial.variant.clone(), trial.workload.clone(), trial.round),
                        *trial,
                    );
                }
            }
            Line::Note(_) => {}
            Line::Chosen { trials, why } => self.ended = Some((trials, why)),
            Line::Search(_) => bail!("{}: holds two searches; name another --out", dir.display()),
        }
        Ok(())
    }
}
