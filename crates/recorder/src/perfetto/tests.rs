//! Written traces are read back, also by Perfetto's schema if installed.

use std::collections::BTreeMap;
use std::process::Command;

use prost::Message;
use trace::{At, Device, Flags, Io, Kind, Process, Trace};

use super::proto::{TracePacket, TrackEvent, Type};
use super::write;

const MS: u64 = 1_000_000;

/// Two processes; the second waits while the disk is idle for 2 ms.
fn trace() -> Trace {
    let io = |queued: u64, issued: u64, completed: u64, sector, process| Io {
        inserted: At::ns(queued + 1000),
        issued: At::ns(issued),
        completed: At::ns(completed),
        flags: Flags::SYNC,
        ..Io::new(queued, Kind::Read, sector, 8, process)
    };
    let process = |pid: u32, name: &str| Process {
        pid,
        tid: pid,
        name: name.to_owned(),
        ..Process::default()
    };
    Trace {
        devices: vec![Device { name: "sda\u{1b}[2J".to_owned(), ..Device::default() }],
        processes: vec![process(7, "postgres"), process(0, "bad\u{1b}[2J\nname")],
        schedulers: vec!["bfq".to_owned()],
        ios: vec![
            io(0, 2000, 2 * MS, 8, 0),
            io(MS, 4 * MS, 9 * MS, 800_000, 1),
            io(MS + 10, 9 * MS, 9 * MS, 16, 0),
            Io::new(10 * MS, Kind::Write, 0, 8, 0),
        ],
        ..Trace::default()
    }
}

#[derive(Clone, PartialEq, Message)]
struct Whole {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<TracePacket>,
}

fn packets(trace: &Trace) -> Vec<TracePacket> {
    let bytes = write(Vec::new(), trace).expect("memory");
    Whole::decode(bytes.as_slice()).expect("a trace").packet
}

#[test]
fn each_request_is_a_slice_of_its_process_the_scheduler_and_the_disk_joined_by_a_flow() {
    let packets = packets(&trace());
    let tracks: BTreeMap<u64, (String, Option<u64>)> = packets
        .iter()
        .filter_map(|packet| packet.track_descriptor.as_ref())
        .map(|track| {
            let process = track.process.as_ref().and_then(|process| process.process_name.clone());
            (
                track.uuid.expect("a number"),
                (track.name.clone().or(process).unwrap_or_default(), track.parent_uuid),
            )
        })
        .collect();
    let events: Vec<(u64, &TrackEvent)> = packets
        .iter()
        .filter_map(|packet| Some((packet.timestamp?, packet.track_event.as_ref()?)))
        .collect();
    let begins = |name: &str| -> Vec<(u64, &TrackEvent)> {
        let of = events.iter().filter(|(_, event)| event.r#type() == Type::SliceBegin);
        of.filter(|(_, event)| tracks[&event.track_uuid.expect("a track")].0 == name)
            .copied()
            .collect()
    };
    for (name, slices) in [
        ("requests", 3),
        ("in the scheduler", 3),
        ("at the disk", 3),
        ("waits of the scheduler", 1),
    ] {
        assert_eq!(begins(name).len(), slices, "{name}");
    }
    let (from, wait) = begins("waits of the scheduler")[0];
    assert_eq!((from, wait.name.as_deref()), (2 * MS, Some("the disk is idle, requests wait")));
    // A flow passes three slices and ends at the disk.
    for flow in 1..=3 {
        let passes = events.iter().filter(|(_, event)| event.flow_ids.contains(&flow)).count();
        let ends =
            events.iter().filter(|(_, event)| event.terminating_flow_ids.contains(&flow)).count();
        assert_eq!((passes, ends), (2, 1), "flow {flow}");
    }
    assert!(tracks.values().all(|(name, _)| !name.contains(['\u{1b}', '\n'])), "{tracks:?}");
    for (uuid, (name, parent)) in &tracks {
        assert!(
            parent.is_none_or(|parent| tracks.contains_key(&parent) && parent < *uuid),
            "{name}"
        );
    }
}

#[test]
fn slices_of_a_track_do_not_overlap_and_counters_return_to_nothing() {
    let packets = packets(&trace());
    let mut open: BTreeMap<u64, (u64, bool)> = BTreeMap::new();
    let mut counters: BTreeMap<u64, i64> = BTreeMap::new();
    for packet in &packets {
        let (Some(at), Some(event)) = (packet.timestamp, &packet.track_event) else { continue };
        let track = event.track_uuid.expect("a track");
        let (last, inside) = open.get(&track).copied().unwrap_or((0, false));
        match event.r#type() {
            Type::SliceBegin => assert!(!inside && at >= last, "{event:?}"),
            Type::SliceEnd => assert!(inside && at > last, "{event:?}"),
            Type::Counter => {
                counters.insert(track, event.counter_value.expect("a value"));
                continue;
            }
            other => panic!("{other:?}"),
        }
        open.insert(track, (at, event.r#type() == Type::SliceBegin));
    }
    assert!(open.values().all(|(_, inside)| !inside));
    let mut last: Vec<i64> = counters.into_values().collect();
    last.sort_unstable();
    assert_eq!(last[..2], [0, 0], "no request waits, and none is at the disk");
}

/// A path below the root of the project.
pub(super) fn of_project(path: &str) -> std::path::PathBuf {
    std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}

/// Perfetto's Python packages, which `scripts/need test` installs.
pub(super) fn is_perfetto_here() -> bool {
    let is_here = of_project("target/tools/perfetto/done-2").exists();
    if !is_here {
        testbed::skip("Perfetto's schema and UI needed (scripts/need test)");
    }
    is_here
}

fn in_file(dir: &tempfile::TempDir) -> std::path::PathBuf {
    let file = dir.path().join("x.perfetto-trace");
    std::fs::write(&file, write(Vec::new(), &trace()).expect("memory")).expect("a file");
    file
}

#[test]
fn perfettos_own_schema_knows_every_field() {
    if !is_perfetto_here() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let script = "
import sys
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
trace = Trace(); trace.ParseFromString(open(sys.argv[1], 'rb').read())
def unknown(message):
    again = type(message)(); again.CopyFrom(message); again.DiscardUnknownFields()
    return message.ByteSize() - again.ByteSize()
names = [p.track_descriptor.name or p.track_descriptor.process.process_name for p in trace.packet if p.HasField('track_descriptor')]
begins = sum(p.track_event.type == TrackEvent.TYPE_SLICE_BEGIN for p in trace.packet)
print(unknown(trace), begins, 'postgres' in names, 'actuator: last sector served' in names)
";
    let python = of_project("target/tools/perfetto/bin/python");
    let output =
        Command::new(python).args(["-c", script]).arg(in_file(&dir)).output().expect("Python runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said.trim(), "0 10 True True", "{}", String::from_utf8_lossy(&output.stderr));
}

/// Every slice must be on its track, without overlap, and each request joined by flows.
#[test]
fn perfettos_own_query_engine_has_every_slice_and_joins_each_request_by_flows() {
    if !is_perfetto_here() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let queries = [
        "select count(*) from slice",
        "select count(*) from flow",
        "select count(*) from counter",
        "select name from process where name is not null order by name",
        "select a.name, b.name from flow f join slice a on a.id = f.slice_out join slice b on b.id = f.slice_in \
         where a.name != b.name",
        "select ts, dur from slice where name like '%idle%'",
        "select name from stats where severity in ('error', 'data_loss') and value > 0",
    ];
    let script = of_project("scripts/perfetto");
    let output = Command::new(script)
        .arg("query")
        .arg(in_file(&dir))
        .args(queries)
        .output()
        .expect("Python runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let expected = "[[10]]\n[[6]]\n[[15]]\n[[\"postgres\"]]\n[]\n[[2000000, 2000000]]\n[]";
    assert_eq!(said.trim(), expected, "{}", String::from_utf8_lossy(&output.stderr));
}
