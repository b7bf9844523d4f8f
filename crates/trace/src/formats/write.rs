//! Writes traces as text for other tools: fio's iolog version 3, and blkparse's default output.
//!
//! An iolog has one file per disk and no processes: fio replays it as one thread. blkparse's text
//! has an event for each known stage: Q, G, I (M for a merged bio), D and C; it has no place for
//! queue entry, control groups, priorities and schedulers. Characters that would end a word or line
//! are removed from names.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::builder::SECOND_NS;
use super::format::Format;
use crate::io::{Flags, Io, Kind};
use crate::trace::{Device, Trace};

/// The lines without line ends; `None` for a binary format.
pub fn lines(format: Format, trace: &Trace) -> Option<Box<dyn Iterator<Item = String> + '_>> {
    match format {
        Format::Fio => Some(Box::new(iolog(trace))),
        Format::Blkparse => Some(Box::new(events(trace))),
        _ => None,
    }
}

fn word(name: &str) -> String {
    let plain = |c: char| {
        if c.is_whitespace() || c.is_control() || text::controls_terminal(c) { '_' } else { c }
    };
    name.chars().map(plain).collect()
}

fn file(device: &Device, number: usize) -> String {
    match device.name.as_str() {
        "" => format!("disk-{number}"),
        name if device.major > 0 && !name.starts_with('/') => format!("/dev/{}", word(name)),
        name => word(name),
    }
}

fn iolog(trace: &Trace) -> impl Iterator<Item = String> + '_ {
    let files: Vec<String> =
        (0..).zip(&trace.devices).map(|(number, device)| file(device, number)).collect();
    let mark = move |at: u64, action: &'static str| {
        let files = files.clone();
        files.into_iter().map(move |file| format!("{at} {file} {action}"))
    };
    let begin = std::iter::once("fio version 3 iolog".to_owned())
        .chain(mark(0, "add"))
        .chain(mark(0, "open"));
    let end = trace.ios.last().map_or(0, |io| io.queued / 1000);
    let names: Vec<String> =
        (0..).zip(&trace.devices).map(|(number, device)| file(device, number)).collect();
    let requests = trace.ios.iter().filter_map(move |io| {
        let (at, name) = (io.queued / 1000, &names[usize::from(io.device)]);
        let (offset, len) = (io.sector.saturating_mul(512), u64::from(io.sectors) * 512);
        let action = match io.kind {
            Kind::Read => "read",
            Kind::Write => "write",
            Kind::Discard => "trim",
            Kind::Flush => return Some(format!("{at} {name} datasync 0 0")),
            Kind::Other => return None,
        };
        (len > 0).then(|| format!("{at} {name} {action} {offset} {len}"))
    });
    begin.chain(requests).chain(mark(end, "close"))
}

/// In the order in which equal times are written.
const STAGES: [char; 5] = ['Q', 'G', 'I', 'D', 'C'];

fn time_of(io: &Io, stage: usize) -> Option<u64> {
    match stage {
        0 => Some(io.queued),
        1 => io.tagged.get(),
        2 => io.inserted.get(),
        3 => io.issued.get(),
        _ => io.completed.get(),
    }
}

/// A heap holds later stages until they are due.
fn events(trace: &Trace) -> impl Iterator<Item = String> + '_ {
    let mut heap: BinaryHeap<Reverse<(u64, usize, usize)>> = BinaryHeap::new();
    let (mut next, mut sequence) = (0usize, 0u64);
    std::iter::from_fn(move || {
        let asked = trace.ios.get(next).map(|io| io.queued);
        let (number, stage) = match (heap.peek(), asked) {
            (Some(Reverse((at, ..))), Some(asked)) if *at < asked => {
                heap.pop().map(|Reverse((_, n, stage))| (n, stage))?
            }
            (Some(_), None) => heap.pop().map(|Reverse((_, number, stage))| (number, stage))?,
            (_, Some(_)) => {
                let io = &trace.ios[next];
                let later = (1..STAGES.len())
                    .filter_map(|stage| Some(Reverse((time_of(io, stage)?, next, stage))));
                heap.extend(later);
                next += 1;
                (next - 1, 0)
            }
            (None, None) => return None,
        };
        sequence += 1;
        Some(event(trace, &trace.ios[number], stage, sequence))
    })
}

fn event(trace: &Trace, io: &Io, stage: usize, sequence: u64) -> String {
    let device = &trace.devices[usize::from(io.device)];
    let process = &trace.processes[io.process as usize];
    let at = time_of(io, stage).unwrap_or(io.queued);
    let (seconds, ns) = (at / SECOND_NS, at % SECOND_NS);
    let action = if stage == 2 && io.flags.has(Flags::MERGED) { 'M' } else { STAGES[stage] };
    let id = if process.tid > 0 { process.tid } else { process.pid };
    let (id, who) = match action {
        'C' => (0, if io.flags.has(Flags::FAILED) { "-5".to_owned() } else { "0".to_owned() }),
        _ => (
            id,
            process
                .name
                .chars()
                .map(|c| if c.is_control() || text::controls_terminal(c) { '?' } else { c })
                .collect(),
        ),
    };
    // A disk without numbers gets its index.
    let (major, minor) =
        if device.major > 0 { (device.major, device.minor) } else { (0, u32::from(io.device)) };
    let numbers = format!("{major},{minor}");
    let place =
        if io.sectors > 0 { format!(" {} + {}", io.sector, io.sectors) } else { String::new() };
    format!(
        "{numbers:>6} {:>4} {sequence:>8} {seconds:>5}.{ns:09} {id:>5}  {action} {:>3}{place} [{who}]",
        0,
        rwbs(io)
    )
}

fn rwbs(io: &Io) -> String {
    let mut text = String::new();
    let mut put = |holds: bool, letter| {
        if holds {
            text.push(letter)
        }
    };
    put(io.flags.has(Flags::PREFLUSH), 'F');
    let letter = match io.kind {
        Kind::Read => 'R',
        Kind::Write => 'W',
        Kind::Discard => 'D',
        Kind::Flush | Kind::Other => 'N',
    };
    put(true, letter);
    put(io.flags.has(Flags::FUA), 'F');
    put(io.flags.has(Flags::AHEAD), 'A');
    // Implied for reads.
    put(io.flags.has(Flags::SYNC) && io.kind != Kind::Read, 'S');
    put(io.flags.has(Flags::META), 'M');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::{Options, parse};
    use crate::io::At;
    use crate::trace::Process;

    fn trace() -> Trace {
        let io = |n: u64| Io {
            tagged: At::ns(n * 1000 + 10),
            inserted: At::ns(n * 1000 + 20),
            issued: At::ns(n * 1000 + 700 + n % 17),
            completed: At::ns(n * 1000 + 90_000 + n % 4099),
            device: (n % 2) as u16,
            flags: if n.is_multiple_of(5) { Flags::SYNC.with(Flags::META) } else { Flags::SYNC },
            ..Io::new(
                n * 1000,
                if n.is_multiple_of(3) { Kind::Write } else { Kind::Read },
                n * 977 % 4096 * 8,
                8,
                n as u32 % 3,
            )
        };
        let disk = |name: &str, minor| Device {
            name: name.to_owned(),
            major: 8,
            minor,
            ..Device::default()
        };
        let process = |pid, name: &str| Process {
            pid,
            tid: pid,
            name: name.to_owned(),
            ..Process::default()
        };
        Trace {
            devices: vec![disk("8,0", 0), disk("8,16", 16)],
            processes: vec![process(7, "cat"), process(8, "a [-b] c"), process(9, "postgres: x")],
            schedulers: vec![String::new()],
            ios: (0..500).map(io).collect(),
            ..Trace::default()
        }
    }

    fn text(format: Format, trace: &Trace) -> String {
        lines(format, trace).expect("text").fold(String::new(), |all, line| all + &line + "\n")
    }

    #[test]
    fn blkparse_s_text_of_a_trace_is_read_as_the_same_requests() {
        let before = trace();
        let after =
            parse(Format::Auto, text(Format::Blkparse, &before).as_bytes(), Options::default())
                .expect("read");
        assert_eq!(after.about.source, "blkparse");
        assert_eq!(after.ios, before.ios);
        assert_eq!((after.processes, after.devices), (before.processes, before.devices));
    }

    #[test]
    fn an_iolog_of_a_trace_is_read_as_the_same_requests_in_microseconds() {
        let before = trace();
        let after = parse(Format::Auto, text(Format::Fio, &before).as_bytes(), Options::default())
            .expect("read");
        let facts = |trace: &Trace| {
            trace
                .ios
                .iter()
                .map(|io| (io.queued / 1000, io.kind, io.sector, io.sectors, io.device))
                .collect::<Vec<_>>()
        };
        assert_eq!(facts(&after), facts(&before));
    }

    #[test]
    fn names_cannot_add_words_or_lines() {
        let mut hostile = trace();
        hostile.devices[0].name = "a\n0 /etc/passwd read 0 512".to_owned();
        hostile.devices[0].major = 0;
        hostile.processes[0].name = "x]\n8,0 0 9 0.000000000 1 Q W 0 + 8 [y\u{1b}[2J".to_owned();
        for format in [Format::Fio, Format::Blkparse] {
            let text = text(format, &hostile);
            assert_eq!(text.lines().count(), lines(format, &hostile).expect("text").count());
            assert!(!text.contains('\u{1b}'));
            let after = parse(format, text.as_bytes(), Options::default()).expect("still read");
            assert_eq!(after.ios.len(), hostile.ios.len());
        }
    }
}
