//! blktrace's binary files, version 7 [C, include/uapi/linux/blktrace_api.h and blktrace's
//! blkparse.c].
//!
//! A file is a sequence of `struct blk_io_trace`, 48 bytes in the writer's byte order, each
//! followed by its payload. There is one file per CPU, NAME.blktrace.CPU, or one for all from
//! `blkparse -d`. [`Decoder`] takes the bytes of one file; [`Stream`] the decoded events of all in
//! order of time. The action's low 16 bits are the event, the high ones the kind of request. Notes
//! carry process names and the wall clock.

use std::collections::BTreeMap;

use super::blkparse::waited_for;
use super::builder::{Builder, Extent};
use super::join::{Action, Event, Joiner};
use crate::io::{Flags, Kind};

/// Without payload.
pub const HEAD: usize = 48;
/// The upper three bytes of the first word.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 0x07;

/// Categories, in the high bits of an action.
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const SYNC: u32 = 1 << 3;
const PC: u32 = 1 << 9;
const NOTIFY: u32 = 1 << 10;
const AHEAD: u32 = 1 << 11;
const META: u32 = 1 << 12;
const DISCARD: u32 = 1 << 13;
const FUA: u32 = 1 << 15;
/// The payload begins with a control group's number.
const CGROUP: u32 = 1 << 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub at: u64,
    sequence: u32,
    sector: u64,
    bytes: u32,
    action: u32,
    pid: u32,
    device: u32,
    error: u16,
    /// The text of a note, or a remap's device above.
    data: Vec<u8>,
    is_big_endian: bool,
}

#[derive(Debug, Default)]
pub struct Decoder {
    rest: Vec<u8>,
    at: u64,
}

pub fn is_blktrace(bytes: &[u8]) -> bool {
    bytes.first_chunk::<4>().is_some_and(|word| {
        [u32::from_le_bytes(*word), u32::from_be_bytes(*word)]
            .into_iter()
            .any(|word| word & 0xffff_ff00 == MAGIC)
    })
}

fn word(bytes: &[u8], at: usize, is_big: bool) -> u32 {
    let word = bytes[at..at + 4].try_into().expect("a slice of 4 bytes");
    if is_big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
}

fn long(bytes: &[u8], at: usize, is_big: bool) -> u64 {
    let long = bytes[at..at + 8].try_into().expect("a slice of 8 bytes");
    if is_big { u64::from_be_bytes(long) } else { u64::from_le_bytes(long) }
}

fn short(bytes: &[u8], at: usize, is_big: bool) -> u16 {
    let short = [bytes[at], bytes[at + 1]];
    if is_big { u16::from_be_bytes(short) } else { u16::from_le_bytes(short) }
}

impl Decoder {
    /// Calls `each` with every complete record.
    ///
    /// # Errors
    /// Not a record, or one of another version.
    pub fn feed(&mut self, bytes: &[u8], each: &mut dyn FnMut(Record)) -> Result<(), String> {
        self.rest.extend_from_slice(bytes);
        let mut from = 0;
        while let Some(head) = self.rest[from..].first_chunk::<HEAD>() {
            let is_big = self.order(head, from)?;
            let follows = usize::from(short(head, 46, is_big));
            let Some(data) = self.rest[from + HEAD..].get(..follows) else { break };
            each(record(head, data, is_big));
            from += HEAD + follows;
        }
        self.at += from as u64;
        self.rest.drain(..from);
        Ok(())
    }

    fn order(&self, head: &[u8; HEAD], from: usize) -> Result<bool, String> {
        let place = self.at + from as u64;
        for is_big in [false, true] {
            let magic = word(head, 0, is_big);
            if magic & 0xffff_ff00 == MAGIC {
                let version = magic & 0xff;
                return if version == VERSION {
                    Ok(is_big)
                } else {
                    Err(format!(
                        "byte {place}: expected a record of blktrace version {VERSION}, found version {version}"
                    ))
                };
            }
        }
        Err(format!(
            "byte {place}: expected the beginning of a record of blktrace, found {:02x?}",
            &head[..4]
        ))
    }

    /// Bytes truncated at the end of the file.
    pub fn left(&self) -> usize {
        self.rest.len()
    }
}

fn record(head: &[u8; HEAD], data: &[u8], is_big: bool) -> Record {
    let action = word(head, 28, is_big);
    let is_of_interest = action >> 16 & NOTIFY != 0 || action & 0xff == 15;
    Record {
        sequence: word(head, 4, is_big),
        at: long(head, 8, is_big),
        sector: long(head, 16, is_big),
        bytes: word(head, 24, is_big),
        action,
        pid: word(head, 32, is_big),
        device: word(head, 36, is_big),
        error: short(head, 44, is_big),
        data: if is_of_interest { data.to_vec() } else { Vec::new() },
        is_big_endian: is_big,
    }
}

impl Record {
    pub fn order(&self) -> (u64, u32) {
        (self.at, self.sequence)
    }
}

/// Joins records, given in order, into a trace.
#[derive(Debug, Default)]
pub struct Stream {
    joiner: Joiner,
    names: BTreeMap<u32, String>,
    last: u64,
}

impl Stream {
    pub fn record(&mut self, record: &Record, to: &mut Builder) {
        let (category, action) = (record.action >> 16, record.action & 0xffff);
        if category & NOTIFY != 0 {
            return self.note(record, action & 0xff, to);
        }
        let action = match action & 0xff {
            1 => Action::Queue,
            2 | 3 => Action::Merge,
            4 => Action::Tag,
            6 => Action::Requeue,
            7 => Action::Issue,
            8 => Action::Complete,
            12 => Action::Insert,
            15 => return remap(record, to),
            _ => return,
        };
        let sectors = record.bytes.div_ceil(512);
        if category & PC != 0 || record.sector.checked_add(u64::from(sectors)).is_none() {
            if action == Action::Queue {
                to.left_out();
            }
            return;
        }
        let (kind, flags) = marks(category, sectors);
        let flags = if action == Action::Complete && record.error != 0 {
            flags.with(Flags::FAILED)
        } else {
            flags
        };
        let extent =
            Extent { sector: if kind == Kind::Flush { 0 } else { record.sector }, sectors };
        let name = self.names.get(&record.pid).map_or("", String::as_str);
        let process = if action == Action::Queue { to.process(record.pid, name) } else { 0 };
        // Records of a CPU may be slightly out of order: requests are in the order of the files.
        let at =
            record.at.min(u64::MAX - 1).max(if action == Action::Queue { self.last } else { 0 });
        if action == Action::Queue {
            self.last = at;
        }
        let device = device(record.device, to);
        self.joiner.event(&Event { at, action, kind, flags, extent, process, device }, to);
    }

    fn note(&mut self, record: &Record, what: u32, to: &mut Builder) {
        let skip = if record.action & CGROUP != 0 { 8 } else { 0 };
        let Some(data) = record.data.get(skip..) else { return };
        match what {
            0 => {
                let name = data.split(|byte| *byte == 0).next().unwrap_or_default();
                self.names.insert(record.pid, String::from_utf8_lossy(name).into_owned());
            }
            1 if data.len() >= 8 => {
                let part = |at| u64::from(word(data, at, record.is_big_endian));
                to.wall(record.at, part(0) * 1_000_000_000 + part(4));
            }
            _ => {}
        }
    }
}

fn marks(category: u32, sectors: u32) -> (Kind, Flags) {
    let kind = match category {
        _ if sectors == 0 => Kind::Flush,
        c if c & DISCARD != 0 => Kind::Discard,
        c if c & WRITE != 0 => Kind::Write,
        _ => Kind::Read,
    };
    let marks = [
        (SYNC, Flags::SYNC),
        (META, Flags::META),
        (FUA, Flags::FUA),
        (AHEAD, Flags::AHEAD),
        (FLUSH, Flags::PREFLUSH),
    ];
    let flags = marks.into_iter().filter(|(bit, _)| category & bit != 0);
    (kind, waited_for(kind, flags.fold(Flags::default(), |all, (_, flag)| all.with(flag))))
}

fn numbers(device: u32) -> (u32, u32) {
    (device >> 20, device & 0xf_ffff)
}

fn device(number: u32, to: &mut Builder) -> u16 {
    let (major, minor) = numbers(number);
    let index = to.device(&format!("{major},{minor}"));
    if let Some(device) = to.device_mut(index) {
        (device.major, device.minor) = (major, minor);
    }
    index
}

/// The payload of a remap: device above, target device, sector above, in network byte order.
fn remap(record: &Record, to: &mut Builder) {
    let skip = if record.action & CGROUP != 0 { 8 } else { 0 };
    let Some(above) =
        record.data.get(skip..).filter(|data| data.len() >= 4).map(|data| word(data, 0, true))
    else {
        return;
    };
    let below = record.device;
    if numbers(above).0 == numbers(below).0 {
        return;
    }
    let (above, below) = (device(above, to), format!("{},{}", numbers(below).0, numbers(below).1));
    if let Some(device) = to.device_mut(above)
        && !device.below.contains(&below)
    {
        device.below.push(below);
    }
}
