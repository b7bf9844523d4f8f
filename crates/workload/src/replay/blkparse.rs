//! The text that blkparse prints by default [C, blkparse(1) and blkparse_fmt.c].
//!
//! A line is `major,minor cpu sequence seconds.nanoseconds pid action rwbs sector + sectors [command]`, sectors being 512 bytes.
//! The events with action Q are replayed: what processes asked for, before merging and scheduling, which are the replaying
//! system's business. Direction comes from rwbs: R or W, after an F for a flush that goes first and before letters that say more.
//! Flushes without data and discards are left out and counted, as are Q events of other devices than the first one's: a stack
//! of devices would be replayed twice.
//!
//! What follows the events, per-CPU and total counts, begins with a line "CPU…" or "Total (…" and is not looked at. A process is a
//! pid. How long a request took is not known, since its completion may be that of a merged one [P].

use elevator::{Op, SECTOR_BYTES};

use super::lines::{Line, Raw, Reader, excerpt, number};

/// Reads events.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The device of the first request.
    device: Option<String>,
}

/// Whether a line is an event.
pub(super) fn is_event(line: &str) -> bool {
    let words: Vec<&str> = line.split_ascii_whitespace().take(6).collect();
    match words.as_slice() {
        [device, _cpu, _sequence, time, _pid, _action] => is_device(device) && nanoseconds(time).is_ok(),
        _ => is_banner(line),
    }
}

/// What blkparse prints first where it reads several files.
fn is_banner(line: &str) -> bool {
    line.starts_with("Input file ")
}

impl Reader for Events {
    fn line<'a>(&mut self, line: &'a str) -> Result<Line<'a>, String> {
        if line.starts_with("CPU") || line.starts_with("Total (") {
            return Ok(Line::End);
        }
        if is_banner(line) {
            return Ok(Line::Nothing);
        }
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let wrong = || {
            let found = excerpt(line);
            format!(
                "expected \"major,minor cpu sequence seconds.nanoseconds pid action rwbs sector + sectors\", found {found:?}"
            )
        };
        let &[device, cpu, sequence, time, pid, action, ref rest @ ..] = words.as_slice() else { return Err(wrong()) };
        if !is_device(device) {
            return Err(wrong());
        }
        number(cpu, "a CPU")?;
        number(sequence, "a sequence number")?;
        let at_ns = nanoseconds(time)?;
        if action != "Q" {
            return Ok(Line::Nothing);
        }
        let &[rwbs, ref rest @ ..] = rest else { return Err(wrong()) };
        let op = match rwbs.trim_start_matches('F').chars().next() {
            Some('R') => Op::Read,
            Some('W') => Op::Write,
            Some('D' | 'N') | None => return Ok(Line::LeftOut),
            Some(_) => return Err(format!("expected rwbs with R, W, D, N or F, found {:?}", excerpt(rwbs))),
        };
        let (sector, sectors) = match rest {
            [sector, "+", sectors, ..] => (number(sector, "a sector")?, number(sectors, "a number of sectors")?),
            // A flush that announces a write which is an event of its own.
            _ if rwbs.starts_with('F') => return Ok(Line::LeftOut),
            _ => return Err(wrong()),
        };
        if sectors == 0 {
            return Ok(Line::LeftOut);
        }
        number(pid, "a pid")?;
        if self.device.get_or_insert_with(|| device.to_owned()) != device {
            return Ok(Line::LeftOut);
        }
        let bytes = |sectors: u64| {
            let bytes = sectors.checked_mul(SECTOR_BYTES);
            bytes.ok_or_else(|| format!("expected less than 2^55 sectors, found {sectors}"))
        };
        let (offset, len) = (bytes(sector)?, bytes(sectors)?);
        Ok(Line::Request(Raw { at_ns, took_ns: 0, op, offset, len, process: pid, space: "" }))
    }
}

/// `8,0`.
fn is_device(word: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    word.split_once(',').is_some_and(|(major, minor)| digits(major) && digits(minor))
}

/// `12.000000345`, with nine digits after the point.
fn nanoseconds(text: &str) -> Result<u64, String> {
    let wrong = || format!("expected a time like 0.000012345, found {:?}", excerpt(text));
    let (seconds, fraction) = text.split_once('.').ok_or_else(wrong)?;
    if fraction.len() != 9 {
        return Err(wrong());
    }
    let seconds = number(seconds, "seconds").map_err(|_| wrong())?;
    let fraction = number(fraction, "nanoseconds").map_err(|_| wrong())?;
    seconds.checked_mul(1_000_000_000).and_then(|ns| ns.checked_add(fraction)).ok_or_else(wrong)
}
