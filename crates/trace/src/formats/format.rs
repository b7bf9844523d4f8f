//! The table of formats, how a trace is read, and what is wrong with one.

/// A format of traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Found out from the contents.
    Auto,
    Parquet,
    Blktrace,
    Blkparse,
    Fio,
    Msr,
    Alibaba,
    Tencent,
    CloudPhysics,
    Perfetto,
}

/// A row of the table of formats.
#[derive(Debug)]
pub struct FormatRow {
    pub format: Format,
    /// The word in plans and on the command line.
    pub name: &'static str,
    /// What it is, for people.
    pub what: &'static str,
    /// What a reader knows of a request beside time, place, length and direction.
    pub knows: &'static str,
    /// The endings of names by which a file to be written is recognised; empty where the format is
    /// not written.
    pub endings: &'static [&'static str],
}

/// All formats, in the order of the reference.
pub static FORMATS: &[FormatRow] = &[
    FormatRow {
        format: Format::Parquet,
        name: "parquet",
        what: "schedlab's own traces, as `schedlab trace record` writes them",
        knows: "everything: each stage, process, control group, priority, scheduler",
        endings: &["parquet"],
    },
    FormatRow {
        format: Format::Blktrace,
        name: "blktrace",
        what: "blktrace's binary files, NAME.blktrace.CPU; name one of them, or what blkparse -d wrote",
        knows: "every stage, thread and its name",
        endings: &[],
    },
    FormatRow {
        format: Format::Blkparse,
        name: "blkparse",
        what: "the text that blkparse prints by default",
        knows: "the stages whose events it holds, thread and its name",
        endings: &["blkparse", "txt"],
    },
    FormatRow {
        format: Format::Fio,
        name: "fio",
        what: "fio's iolog, versions 2 and 3; version 3 is written",
        knows: "flushes and discards; a log is one process",
        endings: &["iolog", "fio"],
    },
    FormatRow {
        format: Format::Msr,
        name: "msr",
        what: "CSV of the MSR Cambridge traces",
        knows: "when it completed; a disk counts as a process",
        endings: &[],
    },
    FormatRow {
        format: Format::Alibaba,
        name: "alibaba",
        what: "CSV of Alibaba's block traces of 2020",
        knows: "nothing else; a volume counts as a process",
        endings: &[],
    },
    FormatRow {
        format: Format::Tencent,
        name: "tencent",
        what: "CSV of Tencent's block storage traces (CBS, 2018)",
        knows: "nothing else, and times of whole seconds; a volume counts as a process",
        endings: &[],
    },
    FormatRow {
        format: Format::CloudPhysics,
        name: "cloudphysics",
        what: "CSV of CloudPhysics' virtual machines: ts,lba,op,size or version,time,op,size,lbn",
        knows: "nothing else; the second form has times of whole seconds",
        endings: &[],
    },
    FormatRow {
        format: Format::Perfetto,
        name: "perfetto",
        what: "Perfetto's traces with ftrace's block events; tracks for ui.perfetto.dev are written, and not read",
        knows: "the stages whose events it holds, thread and its name",
        endings: &["perfetto-trace"],
    },
];

impl Format {
    /// The word in plans and on the command line.
    pub fn name(self) -> &'static str {
        FORMATS.iter().find(|row| row.format == self).map_or("auto", |row| row.name)
    }

    /// The format of this name.
    pub fn of_name(name: &str) -> Option<Format> {
        if name == "auto" {
            return Some(Format::Auto);
        }
        FORMATS.iter().find(|row| row.name == name).map(|row| row.format)
    }

    /// The format in which a file of this name is written.
    pub fn of_ending(ending: &str) -> Option<Format> {
        FORMATS.iter().find(|row| row.endings.contains(&ending)).map(|row| row.format)
    }

    /// Every name, `auto` first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        std::iter::once("auto").chain(FORMATS.iter().map(|row| row.name))
    }

    /// Whether it is text, read by a [`Parser`].
    pub fn is_text(self) -> bool {
        !matches!(self, Format::Auto | Format::Parquet | Format::Blktrace | Format::Perfetto)
    }
}

/// How to read a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Count broken lines and pass over them, instead of giving up at the first one.
    pub skip_bad: bool,
}

/// What is wrong with a trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct TraceError {
    /// The line, from 1.
    pub line: u64,
    /// What was expected there and what was found.
    pub problem: String,
}
