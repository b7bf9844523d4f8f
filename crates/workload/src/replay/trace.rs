//! A trace in memory: its requests, and what is known of all of them.

use elevator::Op;

/// A format of trace text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Found out from the text itself.
    Auto,
    /// fio iolog, version 2 or 3.
    Fio,
    /// What blkparse prints by default.
    Blkparse,
    /// CSV of the MSR Cambridge traces.
    Msr,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 4] = [Format::Auto, Format::Fio, Format::Blkparse, Format::Msr];

    /// The word in plans and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Auto => "auto",
            Format::Fio => "fio",
            Format::Blkparse => "blkparse",
            Format::Msr => "msr",
        }
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

/// A request of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Nanoseconds since the first request of the trace.
    pub at_ns: u64,
    /// Nanoseconds that it took, as recorded; 0 where the format does not say.
    pub took_ns: u64,
    /// Direction.
    pub op: Op,
    /// First byte on the target.
    pub offset: u64,
    /// Bytes; never 0.
    pub len: u32,
    /// Who asked; dense, from 0, in order of appearance.
    pub process: u32,
    /// Its line in the file.
    pub line: u64,
}

/// A trace, ready to be replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The format that it was read as.
    pub format: Format,
    /// Its requests in the order of time; never empty.
    pub records: Vec<Record>,
    /// Broken lines that were passed over (with skip_bad).
    pub bad_lines: u64,
    /// Events that cannot be replayed as reads or writes: flushes, discards, other devices.
    pub left_out: u64,
    /// The records of each process.
    pub(super) by_process: Vec<Vec<u32>>,
    /// The end of the byte that lies furthest out.
    pub(super) end: u64,
    pub(super) largest: u32,
    /// The largest power of two that divides every offset and length.
    pub(super) alignment: u64,
}

impl Trace {
    /// `records` are in the order of time, their processes dense.
    pub(super) fn new(format: Format, records: Vec<Record>, bad_lines: u64, left_out: u64) -> Trace {
        let processes = records.iter().map(|record| record.process + 1).max().unwrap_or(0);
        let mut by_process = vec![Vec::new(); processes as usize];
        for (number, record) in (0u32..).zip(&records) {
            by_process[record.process as usize].push(number);
        }
        let end = records.iter().map(|record| record.offset + u64::from(record.len)).max().unwrap_or(0);
        let largest = records.iter().map(|record| record.len).max().unwrap_or(0);
        let bits = records.iter().fold(0, |bits, record| bits | record.offset | u64::from(record.len));
        let alignment = 1u64.checked_shl(bits.trailing_zeros()).unwrap_or(1);
        Trace { format, records, bad_lines, left_out, by_process, end, largest, alignment }
    }

    /// How many processes it has; at least 1.
    pub fn processes(&self) -> u32 {
        self.by_process.len() as u32
    }

    /// The first byte after everything that it touches.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Bytes of its largest request.
    pub fn largest(&self) -> u32 {
        self.largest
    }

    /// Whether it holds a write.
    pub fn writes(&self) -> bool {
        self.records.iter().any(|record| record.op == Op::Write)
    }

    /// The first request that does not satisfy `holds`.
    pub(super) fn first_against(&self, holds: impl Fn(&Record) -> bool) -> Option<&Record> {
        self.records.iter().find(|record| !holds(record))
    }
}
