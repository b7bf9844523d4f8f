//! The directory of an experiment: plan.toml, and results.jsonl as it grows.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::{Context, Result, bail};
use experiment::results::{End, Header, Line, Note, Results, ResultsReader, Trial};
use machine::files::{Bounded, Dir, open_input};
use text::limits::{RESULTS_BYTES, RESULTS_LINE};

use crate::driver::{ResultsLog, TrialLog};
use crate::failure::usage;
use crate::log_file::LogFile;
use crate::signals::Stop;

pub const RESULTS: &str = "results.jsonl";
pub const TRACES: &str = "traces";

#[derive(Debug, Default)]
pub struct Memory {
    text: Vec<u8>,
}

impl Memory {
    pub fn new(header: &Header) -> Result<Memory> {
        let mut memory = Memory::default();
        memory.append(&Line::Header(Box::new(header.clone())))?;
        Ok(memory)
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.text
    }

    fn append(&mut self, line: &Line) -> Result<()> {
        let text = line.to_json_line();
        RESULTS_LINE.check(text.len() + 1)?;
        RESULTS_BYTES.check(self.text.len() + text.len() + 1)?;
        self.text.extend_from_slice(text.as_bytes());
        self.text.push(b'\n');
        Ok(())
    }
}

impl TrialLog for Memory {
    fn append_trial(&mut self, trial: &Trial) -> Result<()> {
        self.append(&Line::Trial(Box::new(trial.clone())))
    }

    fn append_note(&mut self, note: Note) -> Result<()> {
        self.append(&Line::Note(note))
    }
}

impl ResultsLog for Memory {
    fn append_end(&mut self, end: End) -> Result<()> {
        self.append(&Line::End(end))
    }
}

/// An experiment's directory, open for appending and locked against a second writer.
#[derive(Debug)]
pub struct Store {
    dir: Dir,
    log: LogFile,
}

impl Store {
    /// Writes the plan and the first line of the results file. Never overwrites existing results.
    pub fn create(dir: Dir, header: &Header) -> Result<Store> {
        let log = LogFile::open(&dir, RESULTS, &RESULTS_BYTES)?;
        let mut store = Store { dir, log };
        if !store.log.is_empty() {
            return Err(holds_one(store.dir()));
        }
        let plan = store.dir.replace("plan.toml", header.plan.to_toml().as_bytes());
        let begun = plan
            .map_err(anyhow::Error::from)
            .and_then(|()| store.append(&Line::Header(Box::new(header.clone()))));
        if let Err(error) = begun {
            // Without its first line the file cannot be resumed, despite the error's advice.
            let _ = store.dir.remove(RESULTS);
            return Err(error.context(
                "results file: nothing was measured; make room or name another --out, and start again",
            ));
        }
        store.dir.sync()?;
        Ok(store)
    }

    /// Cuts off a partial line.
    pub fn resume(dir: &Path, stop: &Stop) -> Result<(Store, Results)> {
        let path = dir.join(RESULTS);
        let dir = Dir::open(dir).map_err(anyhow::Error::from);
        let opened =
            dir.and_then(|dir| Ok((LogFile::open_existing(&dir, RESULTS, &RESULTS_BYTES)?, dir)));
        let (mut log, dir) = opened.with_context(|| {
            format!(
                "{}: cannot resume; leave out --resume to begin a new experiment",
                path.display()
            )
        })?;
        let results = parse(&path, log.file(), Some(stop))?;
        if let Some(cut) = &results.cut {
            log.cut(cut.offset)?;
        }
        if results.needs_newline {
            log.end_line()?;
        }
        Ok((Store { dir, log }, results))
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn subdir(&self, name: &str) -> Result<Dir> {
        Ok(self.dir.subdir(name)?)
    }

    /// Appends a line and syncs it.
    pub fn append(&mut self, line: &Line) -> Result<()> {
        self.log.append(&line.to_json_line())
    }
}

/// Refuses a directory that already holds results, before anything is measured.
pub fn check_free(dir: Option<&Path>) -> Result<()> {
    let held = dir.filter(|dir| dir.join(RESULTS).metadata().is_ok_and(|found| found.len() > 0));
    held.map_or(Ok(()), |dir| Err(holds_one(dir)))
}

fn holds_one(dir: &Path) -> anyhow::Error {
    usage(format!(
        "{}: already holds a results file; add --resume to continue it, or name another --out",
        dir.display()
    ))
}

/// Reads the results of an experiment from its directory or file.
pub fn read(source: &Path) -> Result<Results> {
    let path = if source.is_dir() { source.join(RESULTS) } else { source.to_path_buf() };
    let file = open_input(&path).with_context(|| {
        format!(
            "{}: cannot read (expected the directory that `compare --out` or `run --out` wrote)",
            path.display()
        )
    })?;
    parse(&path, &file, None)
}

/// Reads the results in an open directory; None if missing or empty.
///
/// # Errors
/// It is a link or no regular file, another user controls it, or it is not a valid results file.
pub fn read_in(dir: &Dir) -> Result<Option<Results>> {
    let Some(file) = dir.open_if_exists(RESULTS)? else { return Ok(None) };
    let path = dir.file(RESULTS);
    let len = file.metadata().with_context(|| format!("{}: cannot look at", path.display()))?.len();
    if len == 0 { Ok(None) } else { parse(&path, &file, None).map(Some) }
}

/// Reads line by line, until a signal.
fn parse(path: &Path, file: &File, stop: Option<&Stop>) -> Result<Results> {
    let mut input = BufReader::with_capacity(1 << 16, file);
    let (mut reader, mut line) = (ResultsReader::default(), Vec::new());
    let mut read = || -> Result<()> {
        while RESULTS_LINE.read_line(&mut input, &mut line)? > 0 {
            if let Some(signal) = stop.and_then(Stop::signal) {
                bail!("results file: reading was interrupted by {signal}; repeat the command");
            }
            reader.line(&line)?;
        }
        Ok(())
    };
    let unreadable = || format!("{}: not a readable results file", path.display());
    read().with_context(unreadable)?;
    reader.finish().with_context(unreadable)
}
