//! From bytes to a trace: lines, the format, and everything that is checked alike in all formats.

use std::collections::BTreeMap;

use text::limits::TRACE_REQUESTS;

use super::lines::{Line, Raw, Reader, excerpt};
use super::trace::{Format, Options, Record, Trace, TraceError};
use super::{blkparse, fio, msr};

/// Where the files or disks of one trace begin on the target.
const BORDER: u64 = 1 << 20;

/// Reads a trace.
///
/// # Errors
/// The first line that is broken (unless they are skipped), or that the trace holds no request at all.
pub fn parse(format: Format, bytes: &[u8], options: Options) -> Result<Trace, TraceError> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return Err(TraceError { line: 1, problem: "expected text, found gzip: unpack it first (gunzip)".into() });
    }
    let format = match format {
        Format::Auto => detect(bytes, options)?,
        known => known,
    };
    let mut reader: Box<dyn Reader> = match format {
        Format::Auto => unreachable!("the format was found out"),
        Format::Fio => Box::new(fio::Iolog::default()),
        Format::Blkparse => Box::new(blkparse::Events::default()),
        Format::Msr => Box::new(msr::Csv::default()),
    };
    let mut trace = Collector::default();
    let mut last_line = 0;
    for (number, line) in lines(bytes) {
        last_line = number;
        // Not a broken line, which could be skipped.
        TRACE_REQUESTS
            .check(trace.records.len())
            .map_err(|exceeded| TraceError { line: number, problem: exceeded.to_string() })?;
        let seen = line.and_then(|line| {
            let seen = reader.line(line)?;
            if let Line::Request(raw) = seen {
                trace.add(number, &raw)?
            }
            Ok(seen)
        });
        match seen {
            Ok(Line::End) => break,
            Ok(Line::LeftOut) => trace.left_out += 1,
            Ok(_) => {}
            Err(_) if options.skip_bad => trace.bad_lines += 1,
            Err(problem) => return Err(TraceError { line: number, problem }),
        }
    }
    TRACE_REQUESTS
        .check(trace.records.len())
        .map_err(|exceeded| TraceError { line: last_line, problem: exceeded.to_string() })?;
    trace.finish(format, last_line)
}

/// Lines that are not blank, with their numbers, without their ends; Err where one is no text.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (u64, Result<&str, String>)> {
    (1u64..).zip(bytes.split(|byte| *byte == b'\n')).filter(|(_, line)| !line.trim_ascii().is_empty()).map(
        |(number, line)| {
            let text = std::str::from_utf8(line.trim_ascii_end());
            (number, text.map_err(|_| format!("expected text, found {:?}", excerpt(&String::from_utf8_lossy(line)))))
        },
    )
}

/// The format of the first line that has one; only broken lines that are skipped may stand before it.
fn detect(bytes: &[u8], options: Options) -> Result<Format, TraceError> {
    let mut first = None;
    for (number, line) in lines(bytes) {
        let line = line.unwrap_or("");
        let known = [
            (Format::Fio, fio::is_header(line)),
            (Format::Msr, msr::is_msr(line)),
            (Format::Blkparse, blkparse::is_event(line)),
        ];
        if let Some((format, _)) = known.into_iter().find(|(_, fits)| *fits) {
            return Ok(format);
        }
        first.get_or_insert((number, line));
        if !options.skip_bad {
            break;
        }
    }
    let (line, text) = first.unwrap_or((1, ""));
    Err(TraceError {
        line,
        problem: format!(
            "expected the beginning of a fio iolog (\"fio version 2 iolog\"), of blkparse's text (\"8,0 0 1 0.000000000 …\") or of an \
             MSR Cambridge CSV (\"128166372003061629,hm,0,Read,…\"), found {:?}; give format to say which",
            excerpt(text)
        ),
    })
}

/// Requests as they come in.
#[derive(Default)]
struct Collector {
    records: Vec<Record>,
    /// The space of each record.
    spaces_of: Vec<u32>,
    /// The end of what was used of each space.
    ends: Vec<u64>,
    processes: BTreeMap<String, u32>,
    spaces: BTreeMap<String, u32>,
    first_ns: u64,
    bad_lines: u64,
    left_out: u64,
}

impl Collector {
    fn add(&mut self, line: u64, raw: &Raw<'_>) -> Result<(), String> {
        let len = u32::try_from(raw.len).ok().filter(|len| *len > 0);
        let len = len.ok_or_else(|| format!("expected a length of 1 to {} bytes, found {}", u32::MAX, raw.len))?;
        let end = raw.offset.checked_add(raw.len);
        let end =
            end.ok_or_else(|| format!("expected an end of at most 64 bits, found {} + {}", raw.offset, raw.len))?;
        let first_ns = if self.records.is_empty() { raw.at_ns } else { self.first_ns };
        let last_ns = self.records.last().map_or(first_ns, |last| first_ns + last.at_ns);
        if raw.at_ns < last_ns {
            let (at, last) = (seconds(raw.at_ns), seconds(last_ns));
            return Err(format!(
                "expected a time not before the previous request's {last} s, found {at} s: time runs backwards"
            ));
        }
        self.first_ns = first_ns;
        let process = intern(&mut self.processes, raw.process);
        let space = intern(&mut self.spaces, raw.space);
        self.ends.resize(self.spaces.len(), 0);
        let used = &mut self.ends[space as usize];
        *used = end.max(*used);
        self.spaces_of.push(space);
        let (at_ns, took_ns) = (raw.at_ns - first_ns, raw.took_ns);
        self.records.push(Record { at_ns, took_ns, op: raw.op, offset: raw.offset, len, process, line });
        Ok(())
    }

    fn finish(mut self, format: Format, last_line: u64) -> Result<Trace, TraceError> {
        if self.records.is_empty() {
            let skipped =
                if self.bad_lines > 0 { format!(" ({} broken lines)", self.bad_lines) } else { String::new() };
            let problem = format!("expected at least one read or write before the end of the file{skipped}");
            return Err(TraceError { line: last_line.max(1), problem });
        }
        let mut base = 0u64;
        let mut bases = Vec::with_capacity(self.ends.len());
        for end in &self.ends {
            bases.push(base);
            let next = base.checked_add(*end).and_then(|end| end.checked_next_multiple_of(BORDER));
            base = next.unwrap_or(u64::MAX);
        }
        for (record, space) in self.records.iter_mut().zip(&self.spaces_of) {
            let offset = record.offset.checked_add(bases[*space as usize]);
            let offset = offset.filter(|offset| offset.checked_add(record.len.into()).is_some());
            record.offset = offset.ok_or_else(|| TraceError {
                line: record.line,
                problem: "the files or disks of this trace, one after another, end beyond 64 bits".into(),
            })?;
        }
        Ok(Trace::new(format, self.records, self.bad_lines, self.left_out))
    }
}

/// The number of a name, given in order of appearance.
fn intern(names: &mut BTreeMap<String, u32>, name: &str) -> u32 {
    if let Some(&number) = names.get(name) {
        return number;
    }
    let number = names.len() as u32;
    names.insert(name.to_owned(), number);
    number
}

fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}
