//! Builds a trace while it is read: requests, and the tables they refer to.

use std::collections::BTreeMap;

use text::limits::{Limit, TRACE_DEVICES, TRACE_PROCESSES, TRACE_REQUESTS};

use super::format::Format;
use crate::io::{At, Io, Kind};
use crate::trace::{Device, Process, Trace};

pub(super) const SECOND_NS: u64 = 1_000_000_000;
const SECTOR: u64 = 512;
const NAME: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    pub sector: u64,
    pub sectors: u32,
}

impl Extent {
    pub(super) fn of_bytes(offset: u64, len: u64) -> Result<Extent, String> {
        if len == 0 || u32::try_from(len).is_err() {
            return Err(format!("expected a length of 1 to {} bytes, found {len}", u32::MAX));
        }
        let end = offset.checked_add(len);
        let end = end
            .ok_or_else(|| format!("expected an end of at most 64 bits, found {offset} + {len}"))?;
        let sector = offset / SECTOR;
        let sectors = u32::try_from(end.div_ceil(SECTOR) - sector)
            .expect("4 GiB are fewer than 2^32 sectors");
        Ok(Extent { sector, sectors })
    }

    pub(super) fn of_sectors(sector: u64, sectors: u64) -> Result<Extent, String> {
        let fits = sector.checked_add(sectors).and_then(|end| end.checked_mul(SECTOR)).is_some();
        match u32::try_from(sectors) {
            Ok(sectors) if fits => Ok(Extent { sector, sectors }),
            _ => Err(format!(
                "expected less than 2^55 sectors, and 2^32 in a request, found {sector} + {sectors}"
            )),
        }
    }
}

/// Times are relative to the trace's epoch until [`Builder::finish`].
#[derive(Debug, Default)]
pub struct Builder {
    trace: Trace,
    processes: BTreeMap<(u32, String), u32>,
    devices: BTreeMap<String, u16>,
    /// Neighbouring requests are often alike.
    last_process: Option<(u32, u32)>,
    last_device: Option<u16>,
    last: u64,
    exceeded: Option<String>,
    /// A time of the trace and its wall clock, in ns.
    wall: Option<(u64, u64)>,
}

impl Builder {
    pub fn new() -> Builder {
        Builder::default()
    }

    pub fn push(&mut self, io: Io) -> u32 {
        let number = self.trace.ios.len();
        self.last = io.queued;
        self.trace.ios.push(io);
        self.check(&TRACE_REQUESTS, number + 1);
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    pub(super) fn io(&mut self, number: u32) -> &mut Io {
        &mut self.trace.ios[number as usize]
    }

    pub fn len(&self) -> usize {
        self.trace.ios.len()
    }

    pub fn is_empty(&self) -> bool {
        self.trace.ios.is_empty()
    }

    /// Rejects times out of order, in traces written by one clock.
    pub(super) fn in_order(&self, at: u64) -> Result<(), String> {
        if self.is_empty() || at >= self.last {
            return Ok(());
        }
        let (at, last) = (seconds(at), seconds(self.last));
        Err(format!(
            "expected a time not before the previous request's {last} s, found {at} s: time runs backwards"
        ))
    }

    /// A pid with another name is another process.
    pub fn process(&mut self, pid: u32, name: &str) -> u32 {
        if let Some((last, number)) = self.last_process
            && last == pid
            && self.trace.processes[number as usize].name == name
        {
            return number;
        }
        let name: String = name.chars().take(NAME).collect();
        let next = self.trace.processes.len() as u32;
        let number = *self.processes.entry((pid, name.clone())).or_insert(next);
        if number == next {
            self.trace.processes.push(Process { pid, tid: pid, name, ..Process::default() });
            self.check(&TRACE_PROCESSES, next as usize + 1);
        }
        self.last_process = Some((pid, number));
        number
    }

    pub fn device(&mut self, name: &str) -> u16 {
        if let Some(last) = self.last_device
            && self.trace.devices.get(usize::from(last)).is_some_and(|device| device.name == name)
        {
            return last;
        }
        let name: String = name.chars().take(NAME).collect();
        let next = self.trace.devices.len();
        let number = *self.devices.entry(name.clone()).or_insert(next as u16);
        if self.check(&TRACE_DEVICES, next + 1) && usize::from(number) == next {
            self.trace.devices.push(Device { name, ..Device::default() });
        }
        let number = number.min(self.trace.devices.len().saturating_sub(1) as u16);
        self.last_device = Some(number);
        number
    }

    pub fn device_mut(&mut self, number: u16) -> Option<&mut Device> {
        self.trace.devices.get_mut(usize::from(number))
    }

    /// Sets the wall clock, ns since 1970, at a time of the trace.
    pub fn wall(&mut self, at: u64, since_1970: u64) {
        self.wall.get_or_insert((at, since_1970));
    }

    pub fn left_out(&mut self) {
        self.trace.about.left_out += 1;
    }

    pub fn lost(&mut self, number: u64) {
        self.trace.about.lost = self.trace.about.lost.saturating_add(number);
    }

    pub fn bad(&mut self) {
        self.trace.about.bad += 1;
    }

    pub fn nr_bad(&self) -> u64 {
        self.trace.about.bad
    }

    /// Prevents further reading.
    pub fn exceeded(&self) -> Option<&str> {
        self.exceeded.as_deref()
    }

    fn check(&mut self, limit: &'static Limit, found: usize) -> bool {
        match limit.check(found) {
            Ok(()) => true,
            Err(exceeded) => {
                self.exceeded.get_or_insert_with(|| exceeded.to_string());
                false
            }
        }
    }

    /// Returns the trace, with times relative to its first request.
    pub fn finish(self, format: Format) -> Trace {
        let Builder { mut trace, wall, .. } = self;
        trace.sort();
        let first = trace.ios.first().map_or(0, |io| io.queued);
        let mut end = 0;
        for io in &mut trace.ios {
            io.queued -= first;
            end = end.max(io.queued);
            for stage in [
                &mut io.entered,
                &mut io.tagged,
                &mut io.inserted,
                &mut io.issued,
                &mut io.completed,
            ] {
                if let Some(at) = stage.get() {
                    *stage = At::ns(at.saturating_sub(first));
                    end = end.max(at.saturating_sub(first));
                }
            }
        }
        if trace.schedulers.is_empty() {
            trace.schedulers.push(String::new());
        }
        format.name().clone_into(&mut trace.about.source);
        trace.about.length = end;
        trace.about.began =
            wall.map_or(0, |(at, since)| since.saturating_add(first).saturating_sub(at));
        trace
    }
}

/// A request from a format without stages; `took` is 0 if unknown.
pub(super) fn request_from_bytes(
    at: u64,
    took: u64,
    kind: Kind,
    extent: Extent,
    process: u32,
    device: u16,
) -> Io {
    let completed =
        if took == 0 { At::UNKNOWN } else { At::ns(at.saturating_add(took).min(u64::MAX - 1)) };
    Io { completed, device, ..Io::new(at, kind, extent.sector, extent.sectors, process) }
}

fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / SECOND_NS, ns % SECOND_NS)
}
