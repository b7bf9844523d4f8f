//! The directory of an experiment: plan.toml, and record.jsonl as it grows.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::{Context, Result, bail};
use experiment::record::{End, Header, Line, Note, Record, RecordReader, Trial};
use machine::files::{Bounded, Dir, open_input};
use text::limits::{RECORD_BYTES, RECORD_LINE};

use crate::driver::{RecordLog, TrialLog};
use crate::failure::usage;
use crate::log_file::LogFile;
use crate::signals::Stop;

/// The name of the record in an experiment's directory.
pub const RECORD: &str = "record.jsonl";
/// The directory of its traces, in it.
pub const TRACES: &str = "traces";

/// A record in memory, for a program that asks for no directory.
#[derive(Debug, Default)]
pub struct Memory {
    text: Vec<u8>,
}

impl Memory {
    /// A record that begins with this line.
    ///
    /// # Errors
    /// The line is longer than a record's may be.
    pub fn new(header: &Header) -> Result<Memory> {
        let mut memory = Memory::default();
        memory.append(&Line::Header(Box::new(header.clone())))?;
        Ok(memory)
    }

    /// What record.jsonl would hold.
    pub fn into_bytes(self) -> Vec<u8> {
        self.text
    }

    fn append(&mut self, line: &Line) -> Result<()> {
        let text = line.to_json_line();
        RECORD_LINE.check(text.len() + 1)?;
        RECORD_BYTES.check(self.text.len() + text.len() + 1)?;
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

impl RecordLog for Memory {
    fn append_end(&mut self, end: End) -> Result<()> {
        self.append(&Line::End(end))
    }
}

/// An experiment's directory, open for appending; locked against a second writer.
#[derive(Debug)]
pub struct Store {
    dir: Dir,
    log: LogFile,
}

impl Store {
    /// Writes the plan and the record's first line into a directory. An old record is never
    /// overwritten.
    pub fn create(dir: Dir, header: &Header) -> Result<Store> {
        let log = LogFile::open(&dir, RECORD, &RECORD_BYTES)?;
        let mut store = Store { dir, log };
        if !store.log.is_empty() {
            return Err(holds_one(store.dir()));
        }
        let plan = store.dir.replace("plan.toml", header.plan.to_toml().as_bytes());
        let begun = plan
            .map_err(anyhow::Error::from)
            .and_then(|()| store.append(&Line::Header(Box::new(header.clone()))));
        if let Err(error) = begun {
            // Without its first line there is nothing to resume, whatever the error advises.
            let _ = store.dir.remove(RECORD);
            return Err(error.context(
                "record: nothing was measured; make room or name another --out, and start again",
            ));
        }
        store.dir.sync()?;
        Ok(store)
    }

    /// Opens the record of an experiment that was cut off, and cuts off a line that was not
    /// finished.
    pub fn resume(dir: &Path, stop: &Stop) -> Result<(Store, Record)> {
        let path = dir.join(RECORD);
        let dir = Dir::open(dir).map_err(anyhow::Error::from);
        let opened =
            dir.and_then(|dir| Ok((LogFile::open_existing(&dir, RECORD, &RECORD_BYTES)?, dir)));
        let (mut log, dir) = opened.with_context(|| {
            format!(
                "{}: cannot resume; leave out --resume to begin a new experiment",
                path.display()
            )
        })?;
        let record = parse(&path, log.file(), Some(stop))?;
        if let Some(cut) = &record.cut {
            log.cut(cut.offset)?;
        }
        if record.needs_newline {
            log.end_line()?;
        }
        Ok((Store { dir, log }, record))
    }

    /// The experiment's directory.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// A directory in it, made where it is missing.
    pub fn subdir(&self, name: &str) -> Result<Dir> {
        Ok(self.dir.subdir(name)?)
    }

    /// Appends a line and waits until it is on the disk.
    pub fn append(&mut self, line: &Line) -> Result<()> {
        self.log.append(&line.to_json_line())
    }
}

/// Refuses a directory that holds a record, before anything is measured for it.
///
/// # Errors
/// Wrong usage.
pub fn check_free(dir: Option<&Path>) -> Result<()> {
    let held = dir.filter(|dir| dir.join(RECORD).metadata().is_ok_and(|found| found.len() > 0));
    held.map_or(Ok(()), |dir| Err(holds_one(dir)))
}

fn holds_one(dir: &Path) -> anyhow::Error {
    usage(format!(
        "{}: already holds a record; add --resume to continue it, or name another --out",
        dir.display()
    ))
}

/// Reads the record of an experiment from its directory, or from the file itself.
pub fn read(source: &Path) -> Result<Record> {
    let path = if source.is_dir() { source.join(RECORD) } else { source.to_path_buf() };
    let file = open_input(&path).with_context(|| {
        format!(
            "{}: cannot read (expected the directory that `compare --out` or `run --out` wrote)",
            path.display()
        )
    })?;
    parse(&path, &file, None)
}

/// Reads the record of a directory that is held; none if there is no record, or an empty one.
///
/// # Errors
/// It is a link or no regular file, another user decides over it, or it is not a readable record.
pub fn read_in(dir: &Dir) -> Result<Option<Record>> {
    let Some(file) = dir.open_if_there(RECORD)? else { return Ok(None) };
    let path = dir.file(RECORD);
    let len = file.metadata().with_context(|| format!("{}: cannot look at", path.display()))?.len();
    if len == 0 { Ok(None) } else { parse(&path, &file, None).map(Some) }
}

/// Reads line by line, until a signal asks to end.
fn parse(path: &Path, file: &File, stop: Option<&Stop>) -> Result<Record> {
    let mut input = BufReader::with_capacity(1 << 16, file);
    let (mut reader, mut line) = (RecordReader::default(), Vec::new());
    let mut read = || -> Result<()> {
        while RECORD_LINE.read_line(&mut input, &mut line)? > 0 {
            if let Some(signal) = stop.and_then(Stop::signal) {
                bail!("record: reading was interrupted by {signal}; repeat the command");
            }
            reader.line(&line)?;
        }
        Ok(())
    };
    let unreadable = || format!("{}: not a readable record", path.display());
    read().with_context(unreadable)?;
    reader.finish().with_context(unreadable)
}
