//! fio's iolog, versions 2 and 3 [C, fio 3.33: HOWTO, "Trace file format", and logs written by it].
//!
//! The first line names the version. Then `filename action` (add, open, close) or `filename action offset length` (read, write,
//! and others); in version 3 each line begins with a time in microseconds. Version 2 has no times: `wait` advances the clock
//! by as many microseconds as its offset says (fewer than 100 are discarded), and all else happens as soon as possible.
//!
//! A log is what one thread of fio did, so it is one process, however many files it names [P]. sync, datasync and trim
//! are left out and counted. Whether a file was added and opened before is not checked: it does not matter here.

use elevator::Op;

use super::lines::{Line, Raw, Reader, excerpt, number};

/// Waits below this many microseconds are discarded.
const SHORTEST_WAIT_US: u64 = 100;

/// Reads an iolog.
#[derive(Debug, Default)]
pub(super) struct Iolog {
    /// None before the header.
    version: Option<u32>,
    /// Version 2: where the waits have brought the clock, in nanoseconds.
    clock_ns: u64,
}

/// Whether a line begins an iolog.
pub(super) fn is_header(line: &str) -> bool {
    line.starts_with("fio version ")
}

impl Reader for Iolog {
    fn line<'a>(&mut self, line: &'a str) -> Result<Line<'a>, String> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match self.version {
            None => self.header(line),
            Some(2) => self.action(None, &words, line),
            Some(_) => {
                let (time, rest) = words.split_first().ok_or("expected a time in microseconds, found nothing")?;
                self.action(Some(microseconds(time, "a time in microseconds")?), rest, line)
            }
        }
    }
}

impl Iolog {
    fn header<'a>(&mut self, line: &'a str) -> Result<Line<'a>, String> {
        self.version = Some(match line {
            "fio version 2 iolog" => 2,
            "fio version 3 iolog" => 3,
            _ => {
                let found = excerpt(line);
                return Err(format!("expected \"fio version 2 iolog\" or \"fio version 3 iolog\", found {found:?}"));
            }
        });
        Ok(Line::Nothing)
    }

    fn action<'a>(&mut self, at_ns: Option<u64>, words: &[&'a str], line: &str) -> Result<Line<'a>, String> {
        match words {
            [_, "add" | "open" | "close"] => Ok(Line::Nothing),
            [_, "wait", us, ..] if at_ns.is_none() => {
                let wait_ns = microseconds(us, "a wait in microseconds")?;
                if wait_ns >= SHORTEST_WAIT_US * 1000 {
                    let clock = self.clock_ns.checked_add(wait_ns);
                    self.clock_ns = clock.ok_or("expected waits of less than 584 years in all")?;
                }
                Ok(Line::Nothing)
            }
            [_, "sync" | "datasync" | "sync_file_range" | "trim", ..] => Ok(Line::LeftOut),
            [file, action @ ("read" | "write"), offset, len] => Ok(Line::Request(Raw {
                at_ns: at_ns.unwrap_or(self.clock_ns),
                took_ns: 0,
                op: if *action == "read" { Op::Read } else { Op::Write },
                offset: number(offset, "an offset in bytes")?,
                len: number(len, "a length in bytes")?,
                process: "",
                space: file,
            })),
            _ => {
                let time = if at_ns.is_some() { "time " } else { "" };
                let found = excerpt(line);
                Err(format!(
                    "expected \"{time}filename add|open|close\" or \"{time}filename read|write offset length\", found {found:?}"
                ))
            }
        }
    }
}

fn microseconds(text: &str, what: &str) -> Result<u64, String> {
    number(text, what)?.checked_mul(1000).ok_or_else(|| format!("expected {what} of less than 584 years, found {text}"))
}
