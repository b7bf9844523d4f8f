//! fio's iolog, versions 2 and 3 [C, fio 3.33: HOWTO, "Trace file format", and logs written by it].
//!
//! Lines are `filename action` (add, open, close) or `filename action offset length`; in version 3
//! with a leading time in µs. In version 2 `wait` advances the clock by its offset in µs (fewer
//! than 100 are discarded), and all else happens as soon as possible. A log is one process [P], a
//! file one disk; sync and datasync are flushes, trim a discard.

use super::builder::{Builder, Extent, request_from_bytes};
use super::lines::{Next, Reader, excerpt, number, times};
use crate::io::Kind;

const MIN_WAIT_NS: u64 = 100_000;

#[derive(Debug, Default)]
pub(super) struct Iolog {
    /// `None` before the header.
    version: Option<u32>,
    /// Version 2: the sum of the waits, in nanoseconds.
    clock_ns: u64,
}

pub(super) fn is_header(line: &str) -> bool {
    line.starts_with("fio version ")
}

impl Reader for Iolog {
    fn line(&mut self, line: &str, to: &mut Builder) -> Result<Next, String> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match self.version {
            None => self.header(line)?,
            Some(2) => self.action(None, &words, line, to)?,
            Some(_) => {
                let (time, rest) =
                    words.split_first().ok_or("expected a time in microseconds, found nothing")?;
                self.action(Some(times(time, 1000, "a time in microseconds")?), rest, line, to)?;
            }
        }
        Ok(Next::Line)
    }
}

impl Iolog {
    fn header(&mut self, line: &str) -> Result<(), String> {
        self.version = Some(match line {
            "fio version 2 iolog" => 2,
            "fio version 3 iolog" => 3,
            _ => {
                let found = excerpt(line);
                return Err(format!(
                    "expected \"fio version 2 iolog\" or \"fio version 3 iolog\", found {found:?}"
                ));
            }
        });
        Ok(())
    }

    fn action(
        &mut self,
        at_ns: Option<u64>,
        words: &[&str],
        line: &str,
        to: &mut Builder,
    ) -> Result<(), String> {
        let at = at_ns.unwrap_or(self.clock_ns);
        let (file, kind, extent) = match words {
            [_, "add" | "open" | "close"] => return Ok(()),
            [_, "wait", us, ..] if at_ns.is_none() => {
                let wait_ns = times(us, 1000, "a wait in microseconds")?;
                if wait_ns >= MIN_WAIT_NS {
                    let clock = self.clock_ns.checked_add(wait_ns);
                    self.clock_ns = clock.ok_or("expected waits of less than 584 years in all")?;
                }
                return Ok(());
            }
            [file, "sync" | "datasync" | "sync_file_range", ..] => {
                (file, Kind::Flush, Extent { sector: 0, sectors: 0 })
            }
            [file, action @ ("read" | "write" | "trim"), offset, len] => {
                let kind = match *action {
                    "read" => Kind::Read,
                    "write" => Kind::Write,
                    _ => Kind::Discard,
                };
                (
                    file,
                    kind,
                    Extent::of_bytes(
                        number(offset, "an offset in bytes")?,
                        number(len, "a length in bytes")?,
                    )?,
                )
            }
            _ => {
                let time = if at_ns.is_some() { "time " } else { "" };
                let found = excerpt(line);
                return Err(format!(
                    "expected \"{time}filename add|open|close\" or \"{time}filename read|write offset length\", found {found:?}"
                ));
            }
        };
        to.in_order(at)?;
        let (process, device) = (to.process(0, "fio"), to.device(file));
        to.push(request_from_bytes(at, 0, kind, extent, process, device));
        Ok(())
    }
}
