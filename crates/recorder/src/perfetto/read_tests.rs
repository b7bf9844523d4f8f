//! Perfetto's block events, written by its own schema, and invalid bytes.

use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use trace::formats::Format;
use trace::{At, Kind, Trace};

use super::reader::is_perfetto;
use crate::file::{ReadOptions, read};

const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/perfetto/bin/python");

/// Two CPUs' bundles; the later one has earlier events.
const SCRIPT: &str = r"
import os, sys, zlib
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket
dev = os.makedev(8, 0)
def bundle(cpu, *events):
    packet = TracePacket()
    packet.ftrace_events.cpu = cpu
    for at, pid, name, fields in events:
        event = packet.ftrace_events.event.add(timestamp=at, pid=pid)
        body = getattr(event, name)
        body.SetInParent()
        for key, value in fields.items(): setattr(body, key, value)
    return packet
def q(sector, comm='postgres', **more): return dict(dev=dev, sector=sector, nr_sector=8, rwbs='RS', comm=comm, **more)
def c(sector, **more): return dict(dev=dev, sector=sector, nr_sector=8, rwbs='RS', **more)
def whole():
    tree = TracePacket()
    tree.process_tree.threads.add(tid=71, tgid=70, name='postgres')
    lost = bundle(2); lost.ftrace_events.lost_events = True
    return [bundle(1, (5000, 0, 'block_rq_complete', c(800)), (9000, 0, 'block_rq_complete', c(16, error=-5))),
            bundle(0, (1000, 71, 'block_bio_queue', q(800) | dict(dev=os.makedev(8, 1))), (1100, 71, 'block_getrq', q(800)),
                   (1200, 71, 'block_rq_insert', q(800)), (1300, 71, 'block_rq_issue', q(800)), (1350, 71, 'sched_switch', {}),
                   (4000, 9, 'block_bio_queue', q(16, 'backup')), (4100, 9, 'block_rq_issue', q(16, 'backup'))),
            tree, lost]
def bare(): return [bundle(0, (10, 7, 'block_rq_issue', q(64, 'dd')), (90, 0, 'block_rq_complete', c(64, errors=0)))]
def volume():
    dm = os.makedev(253, 0)
    return [bundle(0, (10, 7, 'block_bio_queue', q(64) | dict(dev=dm)), (90, 0, 'block_bio_complete', c(64) | dict(dev=dm)))]
def none(): return [bundle(0, (10, 7, 'sched_switch', {}))]
def trace(packets): t = Trace(); t.packet.extend(packets); return t.SerializeToString()
def compressed(packets):
    packet = TracePacket(); packet.compressed_packets = zlib.compress(trace(packets)); return trace([packet])
def bomb():
    packet = TracePacket(); packet.compressed_packets = zlib.compress(b'\x0a\x80\x80\x80\x40' + bytes(1 << 27)); return trace([packet])
files = dict(whole=trace(whole()), packed=compressed(whole()), bare=trace(bare()), volume=trace(volume()), none=trace(none()), bomb=bomb(),
             twice=trace([TracePacket(compressed_packets=zlib.compress(compressed(whole())))]))
for name, content in files.items(): open(os.path.join(sys.argv[1], name), 'wb').write(content)
";

/// `None` without Perfetto's schema.
fn written() -> Option<tempfile::TempDir> {
    if !Path::new(PYTHON).exists() {
        testbed::skip("Perfetto's schema needed (scripts/need test)");
        return None;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let output =
        Command::new(PYTHON).args(["-c", SCRIPT]).arg(dir.path()).output().expect("Python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(dir)
}

fn told(path: PathBuf) -> Trace {
    read(&path, &ReadOptions::default()).expect("a trace")
}

fn refused(path: &Path) -> String {
    format!("{:#}", read(path, &ReadOptions::default()).expect_err("it is refused"))
}

#[test]
fn bundles_of_several_cpus_become_requests_with_every_stage_and_the_process_of_their_thread() {
    let Some(dir) = written() else { return };
    let trace = told(dir.path().join("whole"));
    assert_eq!(trace.check(), Ok(()));
    assert_eq!(
        (trace.about.source.as_str(), trace.about.lost, trace.ios.len()),
        ("perfetto", 1, 2)
    );
    let [first, second] = [trace.ios[0], trace.ios[1]];
    assert_eq!((first.kind, first.sector, first.sectors, first.queued), (Kind::Read, 800, 8, 0));
    let stages = (first.tagged, first.inserted, first.issued, first.completed);
    assert_eq!(stages, (At::ns(100), At::ns(200), At::ns(300), At::ns(4000)));
    assert!(second.flags.has(trace::Flags::FAILED) && !first.flags.has(trace::Flags::FAILED));
    let process = &trace.processes[first.process as usize];
    assert_eq!((process.name.as_str(), process.tid, process.pid), ("postgres", 71, 70));
    assert_eq!(trace.processes[second.process as usize].name, "backup");
    // The partition's bio is the disk's request.
    assert_eq!(
        trace.devices.iter().map(|device| device.name.as_str()).collect::<Vec<_>>(),
        ["8,0"]
    );
}

#[test]
fn packets_that_are_compressed_are_the_same_and_none_of_them_unpacks_without_bounds() {
    let Some(dir) = written() else { return };
    assert_eq!(told(dir.path().join("packed")), told(dir.path().join("whole")));
    assert!(
        refused(&dir.path().join("bomb")).contains("packet of Perfetto: too large"),
        "{}",
        refused(&dir.path().join("bomb"))
    );
    assert!(refused(&dir.path().join("twice")).contains("compressed twice"));
}

#[test]
fn without_queued_bios_a_request_begins_when_it_is_issued_and_a_volume_has_bios_only() {
    let Some(dir) = written() else { return };
    let bare = told(dir.path().join("bare"));
    assert_eq!(
        (bare.ios[0].queued, bare.ios[0].issued, bare.ios[0].completed),
        (0, At::ns(0), At::ns(80))
    );
    assert_eq!(bare.processes[0].name, "dd");
    let volume = told(dir.path().join("volume"));
    assert_eq!(
        (volume.devices[0].major, volume.ios[0].issued, volume.ios[0].completed),
        (253, At::UNKNOWN, At::ns(80))
    );
    assert!(refused(&dir.path().join("none")).contains("block_rq_issue and block_rq_complete"));
}

#[test]
fn a_trace_that_is_cut_off_is_a_trace_up_to_there_and_tracks_of_ours_are_none() {
    let Some(dir) = written() else { return };
    let whole = std::fs::read(dir.path().join("whole")).expect("a file");
    let cut = dir.path().join("cut");
    std::fs::write(&cut, &whole[..whole.len() - 1]).expect("a file");
    assert_eq!(told(cut).ios.len(), 2);
    let ours = dir.path().join("ours");
    std::fs::write(
        &ours,
        super::write(Vec::new(), &told(dir.path().join("whole"))).expect("memory"),
    )
    .expect("a file");
    assert!(
        refused(&ours).contains("tracks that schedlab wrote cannot be read"),
        "{}",
        refused(&ours)
    );
}

#[test]
fn text_is_no_trace_of_perfetto() {
    for text in [
        "\n8,0 0 1 0.000000000 1 Q R 0 + 8 [a]\n",
        "\n\n\n",
        "",
        "\n",
        "\n\u{0}garbage\n",
        "fio version 2 iolog\n",
    ] {
        assert!(!is_perfetto(text.as_bytes()), "{text:?}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_a_trace_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..400), like in any::<bool>()) {
        // Keys of packets, bundles and events reach deeper than chance.
        let mut bytes = bytes;
        if like && bytes.len() > 16 {
            let length = (bytes.len() - 2).min(127) as u8;
            bytes[..6].copy_from_slice(&[0x0a, length, 0x0a, length.saturating_sub(2), 0x12, length.saturating_sub(4)]);
        }
        let _ = super::read(bytes.as_slice());
    }

    #[test]
    fn a_damaged_trace_is_a_trace_or_an_error(at in 0usize..1000, with in any::<u8>()) {
        use std::sync::OnceLock;
        static WHOLE: OnceLock<Vec<u8>> = OnceLock::new();
        let whole = WHOLE.get_or_init(|| written().map_or(Vec::new(), |dir| std::fs::read(dir.path().join("whole")).expect("a file")));
        let mut bytes = whole.clone();
        if let Some(byte) = bytes.get_mut(at) { *byte = with; }
        if let Ok(trace) = super::read(bytes.as_slice()) {
            prop_assert_eq!(trace.check(), Ok(()));
        }
    }
}

#[test]
fn the_format_is_in_the_table_with_its_ending() {
    assert_eq!(Format::of_ending("perfetto-trace"), Some(Format::Perfetto));
}
