//! The CSV of the MSR Cambridge traces [C, the collection's README].
//!
//! `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`: the time of issue and how long it took in units of 100 ns
//! (Windows file time), type Read or Write, offset and size in bytes. Processes are not recorded: each disk of each host
//! counts as one [P]. A header line with these names is passed over.

use elevator::Op;

use super::lines::{Line, Raw, Reader, excerpt, number};

/// Nanoseconds of a tick of Windows file time.
const TICK_NS: u64 = 100;

/// Reads lines; a header can only stand before the first good one.
#[derive(Debug, Default)]
pub(super) struct Csv {
    begun: bool,
}

/// Whether a line is one of this format.
pub(super) fn is_msr(line: &str) -> bool {
    is_header(line) || line.split(',').count() == 7 && line.split(',').nth(3).is_some_and(|word| op(word).is_some())
}

fn is_header(line: &str) -> bool {
    line.trim_start().get(..10).is_some_and(|word| word.eq_ignore_ascii_case("timestamp,"))
}

fn op(word: &str) -> Option<Op> {
    let word = word.trim();
    if word.eq_ignore_ascii_case("read") {
        Some(Op::Read)
    } else if word.eq_ignore_ascii_case("write") {
        Some(Op::Write)
    } else {
        None
    }
}

impl Reader for Csv {
    fn line<'a>(&mut self, line: &'a str) -> Result<Line<'a>, String> {
        if !self.begun && is_header(line) {
            self.begun = true;
            return Ok(Line::Nothing);
        }
        let words: Vec<&str> = line.split(',').map(str::trim).collect();
        let &[time, _host, disk, kind, offset, size, took] = words.as_slice() else {
            let found = excerpt(line);
            return Err(format!(
                "expected the seven fields Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime, found {found:?}"
            ));
        };
        number(disk, "a disk number")?;
        // Host and disk together, as they stand in the line.
        let start = line.find(',').map_or(0, |comma| comma + 1);
        let end = start + line[start..].match_indices(',').nth(1).map_or(0, |(at, _)| at);
        let place = &line[start..end];
        let request = Raw {
            at_ns: ticks(time, "a time in units of 100 ns")?,
            took_ns: ticks(took, "a response time in units of 100 ns")?,
            op: op(kind).ok_or_else(|| format!("expected Read or Write, found {:?}", excerpt(kind)))?,
            offset: number(offset, "an offset in bytes")?,
            len: number(size, "a size in bytes")?,
            process: place,
            space: place,
        };
        self.begun = true;
        Ok(Line::Request(request))
    }
}

fn ticks(text: &str, what: &str) -> Result<u64, String> {
    number(text, what)?
        .checked_mul(TICK_NS)
        .ok_or_else(|| format!("expected {what} before the year 2185, found {text}"))
}
