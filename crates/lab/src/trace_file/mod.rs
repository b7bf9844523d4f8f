//! Event traces of simulated trials, one row per event.
//!
//! Parquet is ten times smaller than CSV. Both can be read back, and `schedlab trace` recomputes a
//! trial's figures from either.

#[cfg(feature = "full")]
mod columnar;
mod columns;
mod comma;
#[cfg(feature = "full")]
mod perfetto;

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use elevator::Time;
use experiment::results::Results;
use machine::files::Dir;
use sim::{Event, Observer};
use trace::Trace;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Parquet,
    /// Comma-separated text with a header line.
    Csv,
    /// Tracks for ui.perfetto.dev; write-only.
    Perfetto,
}

impl Format {
    fn extension(self) -> &'static str {
        match self {
            Format::Parquet => "parquet",
            Format::Csv => "csv",
            Format::Perfetto => "perfetto-trace",
        }
    }

    pub fn available(self) -> Result<Format> {
        if cfg!(feature = "full") || self == Format::Csv { Ok(self) } else { Err(self.absent()) }
    }

    fn absent(self) -> anyhow::Error {
        let what = if self == Format::Parquet { "Parquet" } else { "traces of Perfetto" };
        crate::failure::usage(text::absent("trace", what, "use csv, or "))
    }

    fn of(path: &Path) -> Result<Format> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("parquet") => Format::Parquet.available(),
            Some("csv") => Ok(Format::Csv),
            Some("perfetto-trace") => Format::Perfetto.available(),
            _ => Err(crate::failure::usage(format!(
                "{}: not a trace; name a .parquet or a .csv file, as compare --arena sim --trace writes them",
                path.display()
            ))),
        }
    }
}

pub fn is_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "parquet" || extension == "csv")
}

#[derive(Debug)]
pub struct TraceFile {
    format: Format,
    dir: Dir,
    /// Workloads and variants whose first trial was measured in an earlier session.
    earlier: BTreeSet<(String, String)>,
}

/// Maximum characters of a workload's or variant's name in a file name; file systems allow 255
/// bytes.
const NAME: usize = 80;

/// The file name for a workload and variant. Special characters become dashes, long names are cut,
/// and names in `taken` get a number.
pub fn name(format: Format, workload: &str, variant: &str, taken: &[String]) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._".contains(c) { c } else { '-' };
    let short = |name: &str| name.chars().take(NAME).map(plain).collect::<String>();
    let name = format!("{}-{}", short(workload), short(variant));
    let extension = format.extension();
    let numbered = (2..).map(|number| format!("{name}-{number}.{extension}"));
    let plain = format!("{name}.{extension}");
    std::iter::once(plain)
        .chain(numbered)
        .find(|name| !taken.contains(name))
        .expect("numbers do not end")
}

impl TraceFile {
    pub fn new(format: Format, dir: Dir) -> Result<TraceFile> {
        Ok(TraceFile { format: format.available()?, dir, earlier: BTreeSet::new() })
    }

    /// Keeps traces of first trials when results are resumed.
    pub fn keep_earlier(self, results: &Results) -> TraceFile {
        let earlier = results
            .trials
            .iter()
            .map(|trial| (trial.workload.clone(), trial.variant.clone()))
            .collect();
        TraceFile { earlier, ..self }
    }

    /// Whether this file is a trace from an earlier session.
    pub(crate) fn keeps(&self, name: &str, workload: &str, variant: &str) -> bool {
        self.earlier.contains(&(workload.to_owned(), variant.to_owned())) && self.dir.has(name)
    }

    pub fn name(&self, workload: &str, variant: &str, taken: &[String]) -> String {
        name(self.format, workload, variant, taken)
    }

    /// Replaces an existing file.
    pub fn writer(&self, name: &str) -> Result<Writer> {
        Writer::create(self.format, self.dir.replace_in_place(name)?, self.dir.file(name))
    }

    /// Writes complete requests; only for [`Format::Perfetto`]. Replaces an existing file.
    pub fn trace(&self, name: &str, trace: &Trace) -> Result<()> {
        if self.format != Format::Perfetto {
            return Err(crate::failure::usage(
                "trace: this format supports only simulator events; choose perfetto",
            ));
        }
        let written = recorder::file::write_tracks(self.dir.replace_in_place(name)?, trace);
        written.with_context(|| unwritten(&self.dir.file(name)))
    }

    /// Writes the log of a guest's scheduler; only for [`Format::Perfetto`].
    pub fn run_queue(&self, name: &str, log: &[u8]) -> Result<()> {
        let written = recorder::file::write_run_queue(&self.dir.replace_in_place(name)?, log);
        written.with_context(|| unwritten(&self.dir.file(name)))
    }
}

trait Sink {
    fn push(&mut self, event: &Event) -> Result<()>;
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Writes events as they occur. The first error is reported at the end, because the simulation
/// cannot handle it.
pub struct Writer {
    sink: Box<dyn Sink>,
    path: PathBuf,
    failed: Option<anyhow::Error>,
}

impl Writer {
    fn create(format: Format, file: File, path: PathBuf) -> Result<Writer> {
        let sink: Box<dyn Sink> = match format {
            Format::Csv => Box::new(comma::Writer::new(file)?),
            #[cfg(feature = "full")]
            Format::Parquet => Box::new(columnar::Writer::new(file)?),
            #[cfg(feature = "full")]
            Format::Perfetto => Box::new(perfetto::Writer::new(file)),
            #[cfg(not(feature = "full"))]
            format => return Err(format.absent()),
        };
        Ok(Writer { sink, path, failed: None })
    }

    pub fn finish(self) -> Result<()> {
        let named = || unwritten(&self.path);
        if let Some(error) = self.failed {
            return Err(error.context(named()));
        }
        self.sink.finish().with_context(named)
    }
}

impl Observer for Writer {
    fn event(&mut self, event: &Event) {
        if self.failed.is_none() {
            self.failed = self.sink.push(event).err();
        }
    }
}

fn unwritten(path: &Path) -> String {
    format!("{}: cannot write the trace (make room, or leave --trace out)", path.display())
}

/// Reads a trace event by event, in the order of time.
pub fn read(path: &Path, each: &mut dyn FnMut(&Event)) -> Result<()> {
    let named = || format!("{}: cannot read the trace", path.display());
    let file = machine::files::open_input(path).with_context(named)?;
    let (mut number, mut last) = (0u64, Time::ZERO);
    let mut in_order = |event: &Event| {
        number += 1;
        if event.at < last {
            let (at, last) = (event.at.as_ns(), last.as_ns());
            return Err(anyhow!(
                "event {number}: out of order (found {at} ns, expected at least {last} ns): the file was changed or damaged"
            ));
        }
        last = event.at;
        each(event);
        Ok(())
    };
    match Format::of(path)? {
        Format::Csv => comma::read(file, &mut in_order),
        #[cfg(feature = "full")]
        Format::Parquet => columnar::read(file, &mut in_order),
        #[cfg(not(feature = "full"))]
        Format::Parquet => Err(Format::Parquet.absent()),
        Format::Perfetto => Err(unread()),
    }
    .with_context(named)
}

fn unread() -> anyhow::Error {
    crate::failure::usage("trace: Perfetto traces cannot be read; name a .parquet or a .csv file")
}

pub fn convert(from: &Path, to: &Path) -> Result<()> {
    let format = Format::of(to)?;
    let (dir, name) = Dir::of_file(to)?;
    let file = dir.create(&name).map_err(|error| {
        let taken = || {
            crate::failure::usage(format!(
                "{}: exists already; name a new file with --to",
                to.display()
            ))
        };
        if error.already_exists() { taken() } else { error.into() }
    })?;
    let mut writer = Writer::create(format, file, to.to_owned())?;
    read(from, &mut |event| writer.event(event))?;
    writer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use elevator::Op;
    use sim::EventKind;

    fn events() -> Vec<Event> {
        let one = |at: u64, kind, process, tag, op, sector, nr_sectors| Event {
            at: Time::from_ns(at),
            kind,
            process,
            tag,
            op,
            sector,
            nr_sectors,
        };
        // More rows than a row group holds.
        (0..150_000u64)
            .flat_map(|n| {
                [
                    one(
                        10 * n,
                        EventKind::Submit,
                        Some(n as u32 % 7),
                        None,
                        Some(Op::Write),
                        n * 8,
                        8,
                    ),
                    one(
                        10 * n + 5,
                        EventKind::Issue,
                        Some(0),
                        Some(3),
                        Some(Op::Read),
                        1 << 40,
                        1024,
                    ),
                    one(10 * n + 9, EventKind::Timer, None, None, None, 0, 0),
                ]
            })
            .collect()
    }

    #[cfg(not(feature = "full"))]
    #[test]
    fn the_minimal_build_refuses_parquet_before_any_file_is_made() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let csv = dir.path().join("a.csv");
        let traces_of_csv = TraceFile::new(Format::Csv, Dir::open(dir.path()).expect("ours"))
            .expect("CSV is there");
        let mut writer = traces_of_csv.writer("a.csv").expect("the file is made");
        writer.event(&events()[0]);
        writer.finish().expect("the file is written");
        let to = dir.path().join("b.parquet");
        std::fs::write(dir.path().join("c.parquet"), "PAR1").expect("the file is written");
        let errors = [
            Format::Parquet.available().map(drop),
            TraceFile::new(Format::Parquet, Dir::open(dir.path()).expect("ours")).map(drop),
            convert(&csv, &to),
            read(&dir.path().join("c.parquet"), &mut |_| ()),
        ];
        for error in errors {
            let error = format!("{:#}", error.expect_err("Parquet is not supported"));
            assert!(error.contains("use csv, or install schedlab with `make install`"), "{error}");
        }
        assert!(!to.exists());
    }

    #[cfg(feature = "full")]
    #[test]
    fn events_survive_both_formats_and_the_way_from_one_to_the_other() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for format in [Format::Parquet, Format::Csv] {
            let file = TraceFile::new(format, Dir::open(dir.path()).expect("ours"))
                .expect("it is available");
            let name = file.name("a b", "x/y", &[]);
            assert_ne!(
                file.name("a-b", "x-y", std::slice::from_ref(&name)),
                name,
                "two variants never share a file"
            );
            let mut writer = file.writer(&name).expect("the file is made");
            let path = dir.path().join(&name);
            events().iter().for_each(|event| writer.event(event));
            writer.finish().expect("the file is written");
            let other =
                dir.path().join(if format == Format::Csv { "other.parquet" } else { "other.csv" });
            convert(&path, &other).expect("it can be converted");
            for path in [path, other] {
                let mut seen = Vec::new();
                read(&path, &mut |event| seen.push(*event)).expect("the file is read");
                assert!(seen == events(), "{}", path.display());
            }
        }
    }

    #[test]
    fn a_file_that_is_no_trace_is_named_with_what_is_wrong() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let cases = [
            (
                "a.csv",
                "at_ns,event,process,tag,op,sector,nr_sectors\n5,isue,0,0,read,0,8\n",
                "did you mean \"issue\"",
            ),
            (
                "b.csv",
                "at_ns,event,process,tag,op,sector,nr_sectors\n5,issue,0,0,read,x,8\n",
                "line 2",
            ),
            ("c.csv", "time,what\n", "at_ns"),
            (
                "f.csv",
                "at_ns,event,process,tag,op,sector,nr_sectors\n5,timer,,,,0,0\n4,timer,,,,0,0\n",
                "event 2: out of order (found 4 ns, expected at least 5 ns)",
            ),
            #[cfg(feature = "full")]
            ("d.parquet", "not parquet", "d.parquet"),
            ("e.txt", "", ".parquet or a .csv"),
        ];
        for (name, text, word) in cases {
            let path = dir.path().join(name);
            std::fs::write(&path, text).expect("the file is written");
            let error = format!("{:#}", read(&path, &mut |_| ()).expect_err(name));
            assert!(error.contains(word) && error.contains(name), "{error}");
        }
    }
}
