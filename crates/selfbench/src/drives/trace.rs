//! DiskSim's validation traces: one request per line, sent to the real drive once the previous one
//! was done.
//!
//! `R|W ACTION SECTOR SECTORS SERVICE_US THINK_US`: direction, the tracer's guess of the drive's
//! action (unused), first sector and length in sectors of 512 bytes, response time, and time from
//! this completion to the next request.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use elevator::Op;
use machine::files::Bounded;
use text::limits::{TRACE_BYTES, TRACE_REQUESTS};

/// An hour.
const MAX_US: f64 = 3.6e9;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Request {
    pub(super) op: Op,
    pub(super) sector: u64,
    pub(super) nr_sectors: u32,
    pub(super) service_us: f64,
    /// Time from its completion to the next request.
    pub(super) think_us: f64,
}

pub(super) fn read(path: &Path, sectors: u64) -> Result<Vec<Request>> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let text =
        TRACE_BYTES.read_text(file).with_context(|| format!("cannot read {}", path.display()))?;
    parse(&text, sectors).map_err(|error| anyhow!("{}, {error:#}", path.display()))
}

/// Parses the requests; an error names the line.
fn parse(text: &str, sectors: u64) -> Result<Vec<Request>> {
    let mut requests = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        TRACE_REQUESTS.check(requests.len() + 1)?;
        requests.push(request(line, sectors).with_context(|| format!("line {}", at + 1))?);
    }
    if requests.is_empty() {
        bail!("no line holds a request; name DiskSim's directory, with its traces in valid");
    }
    Ok(requests)
}

fn request(line: &str, sectors: u64) -> Result<Request> {
    let mut words = line.split_ascii_whitespace();
    let all: [Option<&str>; 6] = std::array::from_fn(|_| words.next());
    let ([Some(op), _, Some(sector), Some(nr), Some(service), Some(think)], None) =
        (all, words.next())
    else {
        let found = line.split_ascii_whitespace().count();
        bail!("{found} words (expected 6: R|W ACTION SECTOR SECTORS SERVICE_US THINK_US)");
    };
    let op = match op {
        "R" => Op::Read,
        "W" => Op::Write,
        other => bail!("direction: unknown (found {}, expected R or W)", escape(other)),
    };
    let sector: u64 = number(sector, "first sector")?;
    let nr_sectors: u32 = number(nr, "number of sectors")?;
    let within = sector.checked_add(nr_sectors.into()).is_some_and(|end| end <= sectors);
    if nr_sectors == 0 || nr_sectors > 1 << 24 || !within {
        bail!("{nr_sectors} sectors from {sector} on are not on the disk of {sectors} sectors");
    }
    Ok(Request { op, sector, nr_sectors, service_us: time(service)?, think_us: time(think)? })
}

fn number<T: std::str::FromStr>(word: &str, what: &str) -> Result<T> {
    word.parse()
        .map_err(|_| anyhow!("{what}: not a whole number in range (found {})", escape(word)))
}

fn time(word: &str) -> Result<f64> {
    let time = word.parse().ok().filter(|time: &f64| (0.0..=MAX_US).contains(time));
    time.ok_or_else(|| anyhow!("time: not microseconds up to an hour (found {})", escape(word)))
}

fn escape(word: &str) -> String {
    word.chars().take(20).flat_map(char::escape_default).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_read_line_by_line() {
        let text = "R Hit  4583176   4    663.00000  45422.00000\n\nW Doub 17 2 0 1e3\n";
        let read = Request {
            op: Op::Read,
            sector: 4_583_176,
            nr_sectors: 4,
            service_us: 663.0,
            think_us: 45_422.0,
        };
        let written =
            Request { op: Op::Write, sector: 17, nr_sectors: 2, service_us: 0.0, think_us: 1000.0 };
        assert_eq!(parse(text, 5_000_000).unwrap(), [read, written]);
    }

    #[test]
    fn a_line_that_is_no_request_is_named_with_its_fault() {
        for (line, fault) in [
            ("R Hit 1 2 3", "5 words (expected 6"),
            ("X Hit 1 2 3 4", "direction: unknown (found X"),
            ("\u{1b}[2J Hit 1 2 3 4", "found \\u{1b}[2J"),
            ("R Hit -1 2 3 4", "first sector: not a whole number in range (found -1)"),
            ("R Hit 1 2.5 3 4", "number of sectors: not"),
            ("R Hit 99 2 3 4", "2 sectors from 99 on are not on the disk of 100 sectors"),
            ("R Hit 18446744073709551615 2 3 4", "not on the disk"),
            ("R Hit 1 0 3 4", "0 sectors from 1 on"),
            ("R Hit 1 2 nan 4", "time: not microseconds up to an hour (found nan)"),
            ("R Hit 1 2 3 -1", "found -1"),
            ("R Hit 1 2 3 inf", "found inf"),
        ] {
            let error =
                format!("{:#}", parse(&format!("R Hit 0 1 1 1\n{line}\n"), 100).unwrap_err());
            assert!(error.starts_with("line 2: ") && error.contains(fault), "{line}: {error}");
        }
        assert!(format!("{:#}", parse("\n", 100).unwrap_err()).contains("no line holds a request"));
    }
}
