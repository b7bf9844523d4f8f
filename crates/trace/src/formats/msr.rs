//! CSV of the MSR Cambridge traces [C, the collection's README].
//!
//! `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`: time of issue and latency in
//! units of 100 ns (Windows file time), Read or Write, bytes. Processes are not recorded: each disk
//! of each host counts as one [P]. A header line is skipped. Lines were written at completion and
//! may be out of order.

use super::builder::{Builder, Extent, request_from_bytes};
use super::lines::{Next, Reader, cells, excerpt, number};
use crate::io::Kind;

const TICK_NS: u64 = 100;
/// Ticks from 1601, the epoch of file time, to 1970.
const EPOCH_TICKS: u64 = 116_444_736_000_000_000;

/// A header is accepted only before the first valid line.
#[derive(Debug, Default)]
pub(super) struct Csv {
    begun: bool,
}

pub(super) fn is_msr(line: &str) -> bool {
    is_header(line)
        || line.split(',').count() == 7
            && line.split(',').nth(3).is_some_and(|word| kind(word).is_some())
}

fn is_header(line: &str) -> bool {
    line.trim_start().get(..19).is_some_and(|word| word.eq_ignore_ascii_case("timestamp,hostname,"))
}

fn kind(word: &str) -> Option<Kind> {
    let word = word.trim();
    if word.eq_ignore_ascii_case("read") {
        Some(Kind::Read)
    } else if word.eq_ignore_ascii_case("write") {
        Some(Kind::Write)
    } else {
        None
    }
}

impl Reader for Csv {
    fn line(&mut self, line: &str, to: &mut Builder) -> Result<Next, String> {
        if !self.begun && is_header(line) {
            self.begun = true;
            return Ok(Next::Line);
        }
        let [time, host, disk, word, offset, size, took] =
            cells(line, "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime")?;
        number(disk, "a disk number")?;
        let at = ticks(time, "a time in units of 100 ns")?;
        let took = ticks(took, "a response time in units of 100 ns")?;
        let kind = kind(word)
            .ok_or_else(|| format!("expected Read or Write, found {:?}", excerpt(word)))?;
        let extent = Extent::of_bytes(
            number(offset, "an offset in bytes")?,
            number(size, "a size in bytes")?,
        )?;
        let name = format!("{host} {disk}");
        let (process, device) = (to.process(0, &name), to.device(&name));
        to.push(request_from_bytes(at, took, kind, extent, process, device));
        to.wall(at, at.saturating_sub(EPOCH_TICKS * TICK_NS));
        self.begun = true;
        Ok(Next::Line)
    }
}

/// Nanoseconds since 1601 overflow in 2185; these traces are of 2007.
fn ticks(text: &str, what: &str) -> Result<u64, String> {
    number(text, what)?
        .checked_mul(TICK_NS)
        .ok_or_else(|| format!("expected {what} before the year 2185, found {text}"))
}
