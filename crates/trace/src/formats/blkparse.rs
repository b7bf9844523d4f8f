//! blkparse's default text output [C, blkparse(1) and blkparse_fmt.c].
//!
//! A line is
//! `major,minor cpu sequence seconds.nanoseconds pid action rwbs sector + sectors [command]`, in
//! sectors of 512 bytes. A Q event is a request before merging and scheduling; [`super::join`] adds
//! its later stages. rwbs is F for a leading flush; then R, W, D (discard) or N (a flush alone);
//! then F (FUA), A (read-ahead), S (sync), M (metadata). A remap (A) names the device above. The
//! summary begins with "CPU…" or "Total (…".

use super::builder::{Builder, Extent, SECOND_NS};
use super::join::{Action, Event, Joiner};
use super::lines::{Next, Reader, excerpt, number};
use crate::io::{Flags, Kind};

#[derive(Debug, Default)]
pub(super) struct Events {
    joiner: Joiner,
}

pub(super) fn is_event(line: &str) -> bool {
    let words: Vec<&str> = line.split_ascii_whitespace().take(6).collect();
    match words.as_slice() {
        [device, _cpu, _sequence, time, _pid, _action] => {
            numbers_of(device).is_some() && nanoseconds(time).is_ok()
        }
        _ => is_banner(line),
    }
}

/// Whether this is the header line that blkparse prints when it reads several files.
fn is_banner(line: &str) -> bool {
    line.starts_with("Input file ")
}

fn wrong(line: &str) -> String {
    let found = excerpt(line);
    format!(
        "expected \"major,minor cpu sequence seconds.nanoseconds pid action rwbs sector + sectors\", found {found:?}"
    )
}

impl Reader for Events {
    fn line(&mut self, line: &str, to: &mut Builder) -> Result<Next, String> {
        if line.starts_with("CPU") || line.starts_with("Total (") {
            return Ok(Next::End);
        }
        if is_banner(line) {
            return Ok(Next::Line);
        }
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let &[device, cpu, sequence, time, pid, action, ref rest @ ..] = words.as_slice() else {
            return Err(wrong(line));
        };
        let (major, minor) = numbers_of(device).ok_or_else(|| wrong(line))?;
        number(cpu, "a CPU")?;
        number(sequence, "a sequence number")?;
        let at = nanoseconds(time)?;
        let action = match action {
            "Q" => Action::Queue,
            "G" => Action::Tag,
            "I" => Action::Insert,
            "M" | "F" => Action::Merge,
            "D" => Action::Issue,
            "R" => Action::Requeue,
            "C" => Action::Complete,
            "A" => {
                remap(device, (major, minor), rest, to);
                return Ok(Next::Line);
            }
            _ => return Ok(Next::Line),
        };
        let pid = u32::try_from(number(pid, "a pid")?)
            .map_err(|_| format!("expected a pid, found {:?}", excerpt(pid)))?;
        let Some((rwbs, place)) = rest.split_first() else {
            return if action == Action::Queue { Err(wrong(line)) } else { Ok(Next::Line) };
        };
        let (kind, flags) = marks(rwbs)?;
        let extent = match place {
            [sector, "+", sectors, ..] => Extent::of_sectors(
                number(sector, "a sector")?,
                number(sectors, "a number of sectors")?,
            )?,
            // A flush that precedes a write with its own event.
            _ if rwbs.starts_with('F') || kind == Kind::Flush => Extent { sector: 0, sectors: 0 },
            _ if action == Action::Queue => return Err(wrong(line)),
            _ => return Ok(Next::Line),
        };
        let kind = if extent.sectors == 0 { Kind::Flush } else { kind };
        let failed =
            action == Action::Complete && rest.last().is_some_and(|word| word.starts_with("[-"));
        let flags = if failed { flags.with(Flags::FAILED) } else { flags };
        let (process, device) = match action {
            Action::Queue => {
                to.in_order(at)?;
                (to.process(pid, command(line)), device_of(device, major, minor, to))
            }
            _ => (0, device_of(device, major, minor, to)),
        };
        self.joiner.event(&Event { at, action, kind, flags, extent, process, device }, to);
        Ok(Next::Line)
    }
}

/// The command name may contain anything; blkparse prints `(null)` for an unknown one.
fn command(line: &str) -> &str {
    let (Some(from), Some(to)) = (line.find('['), line.rfind(']')) else { return "" };
    line.get(from + 1..to).filter(|name| *name != "(null)").unwrap_or("")
}

fn device_of(name: &str, major: u32, minor: u32, to: &mut Builder) -> u16 {
    let number = to.device(name);
    if let Some(device) = to.device_mut(number) {
        (device.major, device.minor) = (major, minor);
    }
    number
}

/// `A rwbs sector + sectors <- (major,minor) sector`: the device in parentheses is above this one.
fn remap(below: &str, numbers: (u32, u32), rest: &[&str], to: &mut Builder) {
    let Some(above) = rest.iter().skip_while(|word| **word != "<-").nth(1) else { return };
    let above = above.trim_start_matches('(').trim_end_matches(')');
    let Some(above_numbers) = numbers_of(above) else { return };
    // A partition's requests are its disk's.
    if above_numbers.0 == numbers.0 {
        return;
    }
    let above = device_of(above, above_numbers.0, above_numbers.1, to);
    if let Some(device) = to.device_mut(above)
        && !device.below.iter().any(|known| known == below)
    {
        device.below.push(below.to_owned());
    }
}

fn marks(rwbs: &str) -> Result<(Kind, Flags), String> {
    let first = rwbs.starts_with('F');
    let mut letters = rwbs.strip_prefix('F').unwrap_or(rwbs).chars();
    let kind = match letters.next() {
        Some('R') => Kind::Read,
        Some('W') => Kind::Write,
        Some('D') => Kind::Discard,
        Some('N' | 'F') | None => Kind::Flush,
        Some(_) => {
            return Err(format!("expected rwbs with R, W, D, N or F, found {:?}", excerpt(rwbs)));
        }
    };
    let mut flags = if first { Flags::PREFLUSH } else { Flags::default() };
    for letter in letters {
        flags = flags.with(match letter {
            'F' => Flags::FUA,
            'A' => Flags::AHEAD,
            'S' => Flags::SYNC,
            'M' => Flags::META,
            _ => Flags::default(),
        });
    }
    Ok((kind, waited_for(kind, flags)))
}

/// Adds SYNC where implied: reads except read-ahead, and writes that must reach the medium.
pub(super) fn waited_for(kind: Kind, flags: Flags) -> Flags {
    let durable = flags.has(Flags::FUA) || flags.has(Flags::PREFLUSH);
    let waited = kind == Kind::Flush || kind == Kind::Read && !flags.has(Flags::AHEAD) || durable;
    if waited { flags.with(Flags::SYNC) } else { flags }
}

fn numbers_of(word: &str) -> Option<(u32, u32)> {
    let (major, minor) = word.split_once(',')?;
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if digits(major) && digits(minor) {
        Some((major.parse().ok()?, minor.parse().ok()?))
    } else {
        None
    }
}

/// Parses `12.000000345`, with nine decimals.
fn nanoseconds(text: &str) -> Result<u64, String> {
    let wrong = || format!("expected a time like 0.000012345, found {:?}", excerpt(text));
    let (seconds, fraction) = text.split_once('.').ok_or_else(wrong)?;
    if fraction.len() != 9 {
        return Err(wrong());
    }
    let seconds = number(seconds, "seconds").map_err(|_| wrong())?;
    let fraction = number(fraction, "nanoseconds").map_err(|_| wrong())?;
    seconds.checked_mul(SECOND_NS).and_then(|ns| ns.checked_add(fraction)).ok_or_else(wrong)
}
