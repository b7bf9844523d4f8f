//! Scripts: events around a queue, one word each.
//!
//! | word | event |
//! |---|---|
//! | `r1:640+8` | process 1 submits a read of 8 sectors at sector 640; `w` an asynchronous write, `s` a synchronous one; `!` behind it: metadata |
//! | `t3` | three ticks pass |
//! | `c2` | of n requests in the device, in order of dispatch, number 2 modulo n completes |
//! | `q0` | the device returns that request unserved |
//! | `d` | the driver asks for requests |
//! | `x1` | process 1 exits; later requests of the number are a new process's |
//! | `p1=r0` | the I/O priority of process 1 is realtime 0; `b` best effort, `i` idle |
//! | `kquantum=2` | a tunable is set; schedulers without one of that name ignore it |
//!
//! A script starts with two numbers: queue depth and maximum request size in sectors.

use std::fmt;
use std::str::FromStr;

use elevator::{PrioClass, Priority};

/// Processes are below this number.
pub(crate) const PROCESSES: u32 = 64;
/// Maximum ticks at once, events, and sectors and bytes of a submission.
const TICKS: u32 = 100_000;
const EVENTS: usize = 10_000;
const SECTORS: u64 = 1 << 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Read,
    Write,
    SyncWrite,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Submit {
        process: u32,
        kind: Kind,
        meta: bool,
        sector: u64,
        nr_sectors: u32,
    },
    Ticks(u32),
    /// The n-th in the device, modulo their number.
    Complete(u32),
    /// Likewise, returned unserved.
    Requeue(u32),
    /// The driver's dispatch.
    Ask,
    Exit(u32),
    Priority(u32, Priority),
    Set(String, u64),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    pub queue_depth: u32,
    /// Maximum request size.
    pub max_sectors: u32,
    pub events: Vec<Event>,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Submit { process, kind, meta, sector, nr_sectors } => {
                let kind = match kind {
                    Kind::Read => 'r',
                    Kind::Write => 'w',
                    Kind::SyncWrite => 's',
                };
                write!(f, "{kind}{process}:{sector}+{nr_sectors}{}", if *meta { "!" } else { "" })
            }
            Event::Ticks(nr) => write!(f, "t{nr}"),
            Event::Complete(nr) => write!(f, "c{nr}"),
            Event::Requeue(nr) => write!(f, "q{nr}"),
            Event::Ask => f.write_str("d"),
            Event::Exit(process) => write!(f, "x{process}"),
            Event::Priority(process, Priority { class, level }) => match class {
                PrioClass::RealTime => write!(f, "p{process}=r{level}"),
                PrioClass::BestEffort => write!(f, "p{process}=b{level}"),
                PrioClass::Idle => write!(f, "p{process}=i"),
            },
            Event::Set(name, value) => write!(f, "k{name}={value}"),
        }
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.queue_depth, self.max_sectors)?;
        self.events.iter().try_for_each(|event| write!(f, " {event}"))
    }
}

impl FromStr for Event {
    type Err = String;

    fn from_str(word: &str) -> Result<Event, String> {
        event(word).ok_or_else(|| format!("{}: is no event of a script", word.escape_debug()))
    }
}

impl FromStr for Script {
    type Err = String;

    fn from_str(text: &str) -> Result<Script, String> {
        let mut words = text.split_ascii_whitespace();
        let mut bound = |what: &str| {
            let word = words.next().ok_or_else(|| format!("a script begins with the {what}"))?;
            let value = word.parse().ok().filter(|value| (1..=1 << 16).contains(value));
            value.ok_or_else(|| {
                format!("{}: is no {what} (expected 1 to 65536)", word.escape_debug())
            })
        };
        let (queue_depth, max_sectors) = (bound("queue depth")?, bound("largest request")?);
        let events: Vec<Event> =
            words.take(EVENTS + 1).map(str::parse).collect::<Result<_, _>>()?;
        if events.len() > EVENTS {
            return Err(format!("a script has at most {EVENTS} events"));
        }
        let too_large = |event: &Event| matches!(event, Event::Submit { nr_sectors, .. } if *nr_sectors > max_sectors);
        if let Some(event) = events.iter().find(|event| too_large(event)) {
            return Err(format!(
                "{event}: is larger than the largest request (expected at most {max_sectors} sectors)"
            ));
        }
        Ok(Script { queue_depth, max_sectors, events })
    }
}

fn event(word: &str) -> Option<Event> {
    let mut chars = word.chars();
    let (first, rest) = (chars.next()?, chars.as_str());
    let nr = || rest.parse::<u32>().ok();
    let process = |text: &str| text.parse().ok().filter(|process: &u32| *process < PROCESSES);
    Some(match first {
        'r' => submission(Kind::Read, rest)?,
        'w' => submission(Kind::Write, rest)?,
        's' => submission(Kind::SyncWrite, rest)?,
        't' => Event::Ticks(nr().filter(|nr| *nr <= TICKS)?),
        'c' => Event::Complete(nr()?),
        'q' => Event::Requeue(nr()?),
        'd' if rest.is_empty() => Event::Ask,
        'x' => Event::Exit(process(rest)?),
        'p' => {
            let (of, to) = rest.split_once('=')?;
            Event::Priority(process(of)?, priority(to)?)
        }
        'k' => {
            let (name, value) = rest.split_once('=')?;
            let known = !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            Event::Set(known.then(|| name.to_owned())?, value.parse().ok()?)
        }
        _ => return None,
    })
}

fn submission(kind: Kind, rest: &str) -> Option<Event> {
    let (process, place) = rest.split_once(':')?;
    let (place, meta) = place.strip_suffix('!').map_or((place, false), |place| (place, true));
    let (sector, nr_sectors) = place.split_once('+')?;
    let process = process.parse().ok().filter(|process| *process < PROCESSES)?;
    let sector = sector.parse().ok().filter(|sector| *sector < SECTORS)?;
    let nr_sectors = nr_sectors.parse().ok().filter(|nr: &u32| *nr > 0)?;
    Some(Event::Submit { process, kind, meta, sector, nr_sectors })
}

fn priority(text: &str) -> Option<Priority> {
    let mut chars = text.chars();
    let (class, level) = (chars.next()?, chars.as_str());
    let class = match class {
        'i' if level.is_empty() => return Some(Priority { class: PrioClass::Idle, level: 0 }),
        'r' => PrioClass::RealTime,
        'b' => PrioClass::BestEffort,
        _ => return None,
    };
    Some(Priority { class, level: level.parse().ok().filter(|level| *level <= 7)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read_as_it_is_written() {
        let text = "4 1024 r0:640+8 w1:0+64! s2:8+1 t3 c2 q0 d x1 p1=r0 p2=b7 p3=i kquantum=2";
        assert_eq!(text.parse::<Script>().unwrap().to_string(), text);
    }

    #[test]
    fn what_does_not_parse_is_named() {
        let wrong = [
            "",
            "4",
            "0 8",
            "4 0",
            "4 8 z",
            "4 8 r0:0+0",
            "4 8 r0:0+9",
            "4 8 r99:0+8",
            "4 8 d1",
            "4 8 p0=b8",
            "4 8 p0=i1",
            "4 8 k=1",
            "4 8 t100001",
            "4 8 r0:1099511627776+8",
            "4 8 w:1+1",
            "4 8 x-1",
            "70000 8",
        ];
        for text in wrong {
            let error = text.parse::<Script>().unwrap_err();
            assert!(!error.is_empty() && !error.contains('\n'), "{text}: {error}");
        }
        assert!("4 8 r0:0+8 bad".parse::<Script>().unwrap_err().starts_with("bad: "));
    }
}
