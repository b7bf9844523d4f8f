//! Writes a trace in Perfetto's format.
//!
//! Each process has a track of its requests from queue to completion. Each disk has tracks of
//! requests in the scheduler and at the device, of the scheduler's waits (the disk is idle while
//! requests wait), and counters of both and of the last sector served, a hard disk's actuator
//! position. Flows join a request's slices. Slices on a track must not overlap, so concurrent
//! requests use lanes: tracks of the same name that Perfetto's UI merges.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Result, anyhow};
use text::escaped;
use trace::{Flags, Io, Trace};

use super::proto::{
    ChildOrdering, CounterDescriptor, DebugAnnotation, ProcessDescriptor, TracePacket,
    TrackDescriptor, TrackEvent, Type,
};

/// Shorter waits are a request's way to an idle disk.
const WAIT: u64 = 10_000;

/// Of our packets, and the flag that resets its state.
const SEQUENCE: u32 = 1;
const CLEARED: u32 = 1;

/// Per track; further requests are omitted.
const LANES: usize = 4096;

pub fn write<W: Write>(file: W, trace: &Trace) -> Result<W> {
    let mut writer = Writer { file, last_uuid: 0, bytes: Vec::new() };
    writer.put(TracePacket { sequence_flags: Some(CLEARED), ..TracePacket::default() })?;
    writer.processes(trace)?;
    for device in 0..trace.devices.len() {
        let device =
            u16::try_from(device).map_err(|_| anyhow!("trace: more disks than have numbers"))?;
        writer.device(trace, device)?;
    }
    writer.file.flush()?;
    Ok(writer.file)
}

struct Writer<W> {
    file: W,
    last_uuid: u64,
    bytes: Vec<u8>,
}

struct Lanes {
    parent: u64,
    name: &'static str,
    rank: i32,
    /// With the end of its last slice.
    lanes: Vec<(u64, u64)>,
}

struct Slice<'a> {
    from: u64,
    until: u64,
    name: String,
    io: Option<(usize, &'a Io)>,
    ends_flow: bool,
}

impl<W: Write> Writer<W> {
    fn put(&mut self, packet: TracePacket) -> Result<()> {
        let packet = TracePacket { trusted_packet_sequence_id: Some(SEQUENCE), ..packet };
        // A trace repeats field 1 for each packet.
        self.bytes.clear();
        prost::encoding::message::encode(1, &packet, &mut self.bytes);
        self.file.write_all(&self.bytes)?;
        Ok(())
    }

    fn track(&mut self, track: TrackDescriptor) -> Result<u64> {
        self.last_uuid += 1;
        let uuid = self.last_uuid;
        let track = TrackDescriptor { uuid: Some(uuid), ..track };
        self.put(TracePacket { track_descriptor: Some(track), ..TracePacket::default() })?;
        Ok(uuid)
    }

    fn event(&mut self, at: u64, event: TrackEvent) -> Result<()> {
        self.put(TracePacket {
            timestamp: Some(at),
            track_event: Some(event),
            ..TracePacket::default()
        })
    }

    fn slice(&mut self, lanes: &mut Lanes, slice: Slice<'_>, trace: &Trace) -> Result<()> {
        let Slice { from, until, name, io, ends_flow } = slice;
        let lane = match lanes.lanes.iter().position(|(_, busy_until)| *busy_until <= from) {
            Some(lane) => lane,
            None if lanes.lanes.len() == LANES => return Ok(()),
            None => {
                let uuid = self.track(TrackDescriptor {
                    name: Some(lanes.name.to_owned()),
                    parent_uuid: Some(lanes.parent),
                    sibling_order_rank: Some(lanes.rank),
                    ..TrackDescriptor::default()
                })?;
                lanes.lanes.push((uuid, 0));
                lanes.lanes.len() - 1
            }
        };
        let (track, busy_until) = &mut lanes.lanes[lane];
        let track = *track;
        // With equal timestamps, the end would be sorted before the start.
        *busy_until = until.max(from + 1);
        let until = *busy_until;
        let flow = io.map(|(number, _)| number as u64 + 1).into_iter().collect::<Vec<_>>();
        let (flow_ids, terminating_flow_ids) =
            if ends_flow { (Vec::new(), flow) } else { (flow, Vec::new()) };
        self.event(
            from,
            TrackEvent {
                r#type: Some(Type::SliceBegin.into()),
                track_uuid: Some(track),
                name: Some(name),
                debug_annotations: io.map(|(_, io)| annotations(io, trace)).unwrap_or_default(),
                flow_ids,
                terminating_flow_ids,
                ..TrackEvent::default()
            },
        )?;
        let end = TrackEvent {
            r#type: Some(Type::SliceEnd.into()),
            track_uuid: Some(track),
            ..TrackEvent::default()
        };
        self.event(until, end)
    }

    fn processes(&mut self, trace: &Trace) -> Result<()> {
        let mut tracks: BTreeMap<u32, Lanes> = BTreeMap::new();
        for (number, io) in trace.ios.iter().enumerate() {
            let Some(completed) = io.completed.get() else { continue };
            if let std::collections::btree_map::Entry::Vacant(vacant) = tracks.entry(io.process) {
                let parent = self.process(trace, io.process)?;
                vacant.insert(Lanes { parent, name: "requests", rank: 0, lanes: Vec::new() });
            }
            let lanes = tracks.get_mut(&io.process).expect("it was made above");
            let slice = Slice {
                from: io.queued,
                until: completed,
                name: words(io),
                io: Some((number, io)),
                ends_flow: false,
            };
            self.slice(lanes, slice, trace)?;
        }
        Ok(())
    }

    fn process(&mut self, trace: &Trace, number: u32) -> Result<u64> {
        let process = trace.processes.get(number as usize).cloned().unwrap_or_default();
        let name = escaped(&process.name).replace('\n', " ");
        let name = if name.is_empty() { format!("process {number}") } else { name };
        // Below its process.
        let pid = i32::try_from(process.pid).ok().filter(|pid| *pid > 0);
        let descriptor =
            pid.map(|pid| ProcessDescriptor { pid: Some(pid), process_name: Some(name.clone()) });
        let shown = if process.tid == process.pid {
            name
        } else {
            format!("{name} (thread {})", process.tid)
        };
        let name = descriptor.is_none().then_some(shown);
        self.track(TrackDescriptor { name, process: descriptor, ..TrackDescriptor::default() })
    }

    fn device(&mut self, trace: &Trace, device: u16) -> Result<()> {
        let of_device =
            |(_, io): &(usize, &Io)| io.device == device && io.completed.get().is_some();
        let mut ios: Vec<(usize, &Io)> = trace.ios.iter().enumerate().filter(of_device).collect();
        if ios.is_empty() {
            return Ok(());
        }
        let name = escaped(&trace.devices[usize::from(device)].name).replace('\n', " ");
        let parent = self.track(TrackDescriptor {
            name: Some(if name.is_empty() { format!("disk {device}") } else { name }),
            child_ordering: Some(ChildOrdering::Explicit.into()),
            ..TrackDescriptor::default()
        })?;
        let lanes = |name, rank| Lanes { parent, name, rank, lanes: Vec::new() };
        let (mut queue, mut disk) = (lanes("in the scheduler", 1), lanes("at the disk", 3));
        for (number, io) in &ios {
            let Some(issued) = io.issued.get() else { continue };
            let from = io.inserted.get().unwrap_or(io.queued);
            let slice = Slice {
                from,
                until: issued,
                name: words(io),
                io: Some((*number, io)),
                ends_flow: false,
            };
            self.slice(&mut queue, slice, trace)?;
        }
        ios.sort_by_key(|(_, io)| io.issued.get().unwrap_or(io.queued));
        for (number, io) in &ios {
            let (Some(issued), Some(completed)) = (io.issued.get(), io.completed.get()) else {
                continue;
            };
            let slice = Slice {
                from: issued,
                until: completed,
                name: words(io),
                io: Some((*number, io)),
                ends_flow: true,
            };
            self.slice(&mut disk, slice, trace)?;
        }
        self.counters(trace, parent, &ios)
    }

    /// Writes counters, and the scheduler's waits, which follow from them.
    fn counters(&mut self, trace: &Trace, parent: u64, ios: &[(usize, &Io)]) -> Result<()> {
        let mut counter = |name: &str, unit: &str, rank| {
            let counter = Some(CounterDescriptor { unit_name: Some(unit.to_owned()) });
            let (name, parent_uuid, sibling_order_rank) =
                (Some(name.to_owned()), Some(parent), Some(rank));
            self.track(TrackDescriptor {
                name,
                parent_uuid,
                counter,
                sibling_order_rank,
                ..TrackDescriptor::default()
            })
        };
        let waiting = counter("requests in the scheduler", "requests", 4)?;
        let at_disk = counter("requests at the disk", "requests", 5)?;
        let actuator = counter("actuator: last sector served", "sector", 6)?;
        let mut waits =
            Lanes { parent, name: "waits of the scheduler", rank: 2, lanes: Vec::new() };
        // Time, changes of the counters, the actuator's new position. Completions precede issues.
        let mut changes: Vec<(u64, u8, i64, i64, Option<u64>)> = Vec::new();
        for (_, io) in ios {
            let (Some(issued), Some(completed)) = (io.issued.get(), io.completed.get()) else {
                continue;
            };
            changes.push((io.inserted.get().unwrap_or(io.queued), 1, 1, 0, None));
            changes.push((issued, 2, -1, 1, None));
            changes.push((
                completed.max(issued),
                if completed > issued { 0 } else { 3 },
                0,
                -1,
                (io.sectors > 0).then(|| io.end()),
            ));
        }
        changes.sort_unstable();
        let (mut in_queue, mut inside, mut held_since) = (0, 0, None);
        for (at, _, queue, disk, sector) in changes {
            (in_queue, inside) = (in_queue + queue, inside + disk);
            for (track, changed, value) in [
                (waiting, queue != 0, in_queue),
                (at_disk, disk != 0, inside),
                (
                    actuator,
                    sector.is_some(),
                    sector.map_or(0, |sector| i64::try_from(sector).unwrap_or(i64::MAX)),
                ),
            ] {
                if changed {
                    let r#type = Some(Type::Counter.into());
                    let event = TrackEvent {
                        r#type,
                        track_uuid: Some(track),
                        counter_value: Some(value),
                        ..TrackEvent::default()
                    };
                    self.event(at, event)?;
                }
            }
            if inside == 0 && in_queue > 0 {
                held_since.get_or_insert(at);
            } else if let Some(from) = held_since.take()
                && at.saturating_sub(from) >= WAIT
            {
                let name = "the disk is idle, requests wait".to_owned();
                self.slice(
                    &mut waits,
                    Slice { from, until: at, name, io: None, ends_flow: false },
                    trace,
                )?;
            }
        }
        Ok(())
    }
}

/// `read 8 sectors`.
fn words(io: &Io) -> String {
    if io.sectors == 0 {
        io.kind.name().to_owned()
    } else {
        format!("{} {} sectors", io.kind.name(), io.sectors)
    }
}

fn annotations(io: &Io, trace: &Trace) -> Vec<DebugAnnotation> {
    let number = |name: &str, value: u64| DebugAnnotation {
        name: Some(name.to_owned()),
        uint_value: Some(value),
        string_value: None,
    };
    let word = |name: &str, value: String| DebugAnnotation {
        name: Some(name.to_owned()),
        uint_value: None,
        string_value: Some(value),
    };
    let mut all = vec![number("sector", io.sector), number("sectors", io.sectors.into())];
    let scheduler = trace.schedulers.get(usize::from(io.scheduler)).filter(|name| !name.is_empty());
    all.extend(scheduler.map(|name| word("scheduler", escaped(name).into_owned())));
    if io.bios > 1 {
        all.push(number("bios", io.bios.into()));
    }
    let marks = [
        (Flags::SYNC, "sync"),
        (Flags::META, "meta"),
        (Flags::FUA, "fua"),
        (Flags::AHEAD, "read-ahead"),
        (Flags::BACKGROUND, "background"),
        (Flags::FAILED, "failed"),
        (Flags::REQUEUED, "requeued"),
    ];
    let marks: Vec<&str> =
        marks.iter().filter(|(mark, _)| io.flags.has(*mark)).map(|(_, name)| *name).collect();
    if !marks.is_empty() {
        all.push(word("flags", marks.join(", ")));
    }
    all
}
