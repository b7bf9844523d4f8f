//! Parses Perfetto's ftrace block events, and converts them to a trace.
//!
//! Each CPU's events are in bundles, so they are sorted at the end. A request starts with
//! `block_bio_queue`, or without such events for a disk, at insert or issue. A partition's bio has
//! the partition's device number and the disk's sectors; it is assigned to the disk with the same
//! major and the next lower minor number among those that complete requests [H]. A number without
//! completed requests is a volume, whose bios are its requests.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, anyhow, bail};
use text::limits::{PERFETTO_EVENTS, TRACE_PROCESSES};
use trace::formats::{Action, Builder, Event, Extent, Format, Joiner};
use trace::{Flags, Kind, Trace};

use super::wire::{Field, fields};
use crate::live::letters;

/// A task's name has at most 15.
const NAME: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Request(Action),
    /// Used for volumes only.
    BioComplete,
}

/// The field in `FtraceEvent`, and fields for letters, process name and error.
struct Row {
    field: u32,
    what: What,
    rwbs: u32,
    comm: u32,
    error: u32,
}

const fn row(field: u32, what: What, rwbs: u32, comm: u32, error: u32) -> Row {
    Row { field, what, rwbs, comm, error }
}

/// No field has the number 0.
const ABSENT: u32 = 0;

/// Perfetto's protos/perfetto/trace/ftrace/block.proto.
const ROWS: [Row; 9] = [
    row(119, What::Request(Action::Queue), 4, 5, ABSENT),
    row(122, What::Request(Action::Tag), 4, 5, ABSENT),
    row(115, What::Request(Action::Merge), 4, 5, ABSENT),
    row(118, What::Request(Action::Merge), 4, 5, ABSENT),
    row(126, What::Request(Action::Insert), 5, 6, ABSENT),
    row(45, What::Request(Action::Issue), 5, 6, ABSENT),
    row(129, What::Request(Action::Requeue), 5, ABSENT, ABSENT),
    row(125, What::Request(Action::Complete), 5, ABSENT, 7),
    row(117, What::BioComplete, 5, ABSENT, 4),
];
/// Older traces have `errors`.
const ERRORS: u32 = 4;

#[derive(Debug, Clone, Copy)]
struct Known {
    at: u64,
    device: u64,
    sector: u64,
    sectors: u32,
    thread: u32,
    name: u32,
    what: What,
    kind: Kind,
    flags: Flags,
}

#[derive(Debug, Default)]
pub(super) struct Events {
    all: Vec<Known>,
    names: BTreeMap<Vec<u8>, u32>,
    /// Processes by thread.
    processes: BTreeMap<u32, u32>,
    lost: u64,
    unpacked: u64,
}

pub fn check_events(number: usize) -> Result<()> {
    Ok(PERFETTO_EVENTS.check(number)?)
}

impl Events {
    /// Adds to the uncompressed size.
    pub(super) fn unpacked(&mut self, bytes: u64) -> Result<()> {
        self.unpacked = self.unpacked.saturating_add(bytes);
        crate::file::check_unpacked(self.unpacked)
    }

    pub(super) fn lost(&mut self) {
        self.lost += 1;
    }

    pub(super) fn thread(&mut self, thread: u32, process: u32) -> Result<()> {
        self.processes.insert(thread, process);
        Ok(TRACE_PROCESSES.check(self.processes.len())?)
    }

    /// Parses an `FtraceEvent` message.
    pub(super) fn event(&mut self, message: &[u8]) -> Result<()> {
        let (mut at, mut thread, mut found) = (0, 0, None);
        fields(message, &mut |field| {
            match field {
                Field::Number(1, time) => at = time,
                Field::Number(2, number) => thread = u32::try_from(number).unwrap_or(0),
                Field::Bytes(tag, bytes) => {
                    let row = ROWS.iter().find(|row| row.field == tag);
                    found = row.map(|row| (row, bytes.to_vec())).or(found.take());
                }
                Field::Number(..) => {}
            }
            Ok(())
        })?;
        let Some((row, body)) = found else { return Ok(()) };
        check_events(self.all.len() + 1)?;
        let known = self.known(row, &body, at, thread)?;
        self.all.push(known);
        Ok(())
    }

    fn known(&mut self, row: &Row, body: &[u8], at: u64, thread: u32) -> Result<Known> {
        let (mut device, mut sector, mut sectors, mut failed) = (0, 0, 0, false);
        let (mut rwbs, mut comm) = (Vec::new(), Vec::new());
        fields(body, &mut |field| {
            match field {
                Field::Number(1, number) => device = number,
                Field::Number(2, number) => sector = number,
                Field::Number(3, number) => sectors = u32::try_from(number).unwrap_or(u32::MAX),
                Field::Number(tag, number)
                    if tag == row.error || row.error == 7 && tag == ERRORS =>
                {
                    failed |= number != 0
                }
                Field::Bytes(tag, bytes) if tag == row.rwbs => rwbs = bytes.to_vec(),
                Field::Bytes(tag, bytes) if tag == row.comm => {
                    comm = bytes[..bytes.len().min(NAME)].to_vec()
                }
                _ => {}
            }
            Ok(())
        })?;
        let (kind, flags) = letters(&rwbs, sectors);
        // A passthrough command's sector is meaningless.
        let placed = kind != Kind::Flush
            && sector.checked_add(u64::from(sectors)).is_some_and(|end| end < 1 << 55);
        let sector = if placed { sector } else { 0 };
        let next = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        let name = *self.names.entry(comm).or_insert(next);
        TRACE_PROCESSES.check(self.names.len())?;
        let flags = if failed { flags.with(Flags::FAILED) } else { flags };
        Ok(Known { at, device, sector, sectors, thread, name, what: row.what, kind, flags })
    }

    pub(super) fn trace(mut self) -> Result<Trace> {
        self.all.sort_by_key(|event| event.at);
        let devices = Devices::of(&self.all);
        let mut names = vec![String::new(); self.names.len()];
        for (name, number) in &self.names {
            names[*number as usize] = String::from_utf8_lossy(name).into_owned();
        }
        let (mut joiner, mut to) = (Joiner::default(), Builder::new());
        to.lost(self.lost);
        for event in &self.all {
            let Some((device, actions)) = devices.actions(event) else { continue };
            let number = device_of(device, &mut to);
            for action in actions {
                let extent = Extent { sector: event.sector, sectors: event.sectors };
                let process = match action {
                    Action::Queue => to.process(event.thread, &names[event.name as usize]),
                    _ => 0,
                };
                let Known { at, kind, flags, .. } = *event;
                joiner.event(
                    &Event { at, action, kind, flags, extent, process, device: number },
                    &mut to,
                );
            }
            if let Some(problem) = to.exceeded() {
                bail!("{problem}");
            }
        }
        if to.is_empty() {
            return Err(anyhow!(
                "trace: no requests among its events; record ftrace's events block_rq_issue and block_rq_complete, preferably also \
                 block_bio_queue and block_rq_insert (tracks that schedlab wrote cannot be read: name the original trace)"
            ));
        }
        let mut trace = to.finish(Format::Perfetto);
        for process in &mut trace.processes {
            process.pid = self.processes.get(&process.tid).copied().unwrap_or(process.pid);
        }
        Ok(trace)
    }
}

fn device_of(number: u64, to: &mut Builder) -> u16 {
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let index = to.device(&format!("{major},{minor}"));
    if let Some(device) = to.device_mut(index) {
        (device.major, device.minor) = (major, minor);
    }
    index
}

#[derive(Debug, Default)]
struct Devices {
    /// Major and minor number.
    disks: BTreeSet<(u32, u32)>,
    queued: BTreeSet<(u32, u32)>,
    inserted: BTreeSet<(u32, u32)>,
}

impl Devices {
    fn of(all: &[Known]) -> Devices {
        let mut devices = Devices::default();
        let has =
            |event: &&Known| matches!(event.what, What::Request(Action::Issue | Action::Complete));
        devices.disks = all.iter().filter(has).map(|event| numbers(event.device)).collect();
        for event in all {
            let disk = devices.disk(numbers(event.device));
            match event.what {
                What::Request(Action::Queue) => devices.queued.insert(disk),
                What::Request(Action::Insert) => devices.inserted.insert(disk),
                _ => false,
            };
        }
        devices
    }

    fn disk(&self, number: (u32, u32)) -> (u32, u32) {
        let below = self.disks.range((number.0, 0)..=number).next_back();
        below.copied().unwrap_or(number)
    }

    /// The disk, and the event's actions there.
    fn actions(&self, event: &Known) -> Option<(u64, impl Iterator<Item = Action> + use<>)> {
        let disk = self.disk(numbers(event.device));
        let is_volume = !self.disks.contains(&disk);
        let action = match event.what {
            What::BioComplete if is_volume => Action::Complete,
            What::BioComplete => return None,
            What::Request(action) => action,
        };
        let is_first = match action {
            Action::Insert => true,
            Action::Issue => !self.inserted.contains(&disk),
            _ => false,
        };
        let begins = is_first && !self.queued.contains(&disk);
        let number = rustix::fs::makedev(disk.0, disk.1);
        Some((number, begins.then_some(Action::Queue).into_iter().chain([action])))
    }
}

fn numbers(device: u64) -> (u32, u32) {
    (rustix::fs::major(device), rustix::fs::minor(device))
}
