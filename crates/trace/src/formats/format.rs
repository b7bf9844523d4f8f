//! The table of formats, parse options, and parse errors.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Detected from the contents.
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

#[derive(Debug)]
pub struct FormatRow {
    pub format: Format,
    pub name: &'static str,
    pub what: &'static str,
    /// Information beyond time, place, length and direction.
    pub knows: &'static str,
    /// File extensions for output; empty if the format cannot be written.
    pub endings: &'static [&'static str],
}

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
        what: "blktrace's binary files, NAME.blktrace.CPU; name one of them, or the output of blkparse -d",
        knows: "every stage, thread and its name",
        endings: &[],
    },
    FormatRow {
        format: Format::Blkparse,
        name: "blkparse",
        what: "the text that blkparse prints by default",
        knows: "the stages of its events, thread and its name",
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
        what: "Perfetto's traces with ftrace's block events; tracks for ui.perfetto.dev are written but not read",
        knows: "the stages of its events, thread and its name",
        endings: &["perfetto-trace"],
    },
];

impl Format {
    pub fn name(self) -> &'static str {
        FORMATS.iter().find(|row| row.format == self).map_or("auto", |row| row.name)
    }

    pub fn of_name(name: &str) -> Option<Format> {
        if name == "auto" {
            return Some(Format::Auto);
        }
        FORMATS.iter().find(|row| row.name == name).map(|row| row.format)
    }

    /// The output format of a file extension.
    pub fn of_ending(ending: &str) -> Option<Format> {
        FORMATS.iter().find(|row| row.endings.contains(&ending)).map(|row| row.format)
    }

    pub fn names() -> impl Iterator<Item = &'static str> {
        std::iter::once("auto").chain(FORMATS.iter().map(|row| row.name))
    }

    /// Whether it is text, for a `Parser`.
    pub fn is_text(self) -> bool {
        !matches!(self, Format::Auto | Format::Parquet | Format::Blktrace | Format::Perfetto)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Count and skip malformed lines instead of failing at the first.
    pub skip_bad: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct TraceError {
    pub line: u64,
    /// Expected and actual text.
    pub problem: String,
}
