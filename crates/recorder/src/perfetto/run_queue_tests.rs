//! A guest's scheduling events are what Perfetto's own schema and query engine find in the file.

use std::process::Command;

use super::tests::{is_perfetto_here, of_project};
use super::write_run_queue;

const IDLE: (i32, i32, i32, &str) = (0, 0, 120, "swapper");
const SPIN: (i32, i32, i32, &str) = (40, 40, 120, "spin");
const WORKER: (i32, i32, i32, &str) = (52, 51, 115, "bad\u{1b}[2J\nname");

/// pid, tgid, priority and name.
type Task = (i32, i32, i32, &'static str);

fn record(time_ns: u64, event: u32, prev_state: u32, prev: Task, task: Task) -> [u8; 56] {
    let mut bytes = [0; 56];
    bytes[..8].copy_from_slice(&time_ns.to_le_bytes());
    let words = [
        event,
        prev_state,
        prev.0 as u32,
        prev.2 as u32,
        task.0 as u32,
        task.1 as u32,
        task.2 as u32,
    ];
    for (place, word) in bytes[8..36].chunks_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes[36..36 + task.3.len()].copy_from_slice(task.3.as_bytes());
    bytes
}

/// A spinner is preempted for 1 µs by a worker that wakes 3 µs before, twice.
fn log() -> Vec<u8> {
    let mut log = vec![record(1_000, 2, 0, (0, 0, 0, ""), SPIN), record(2_000, 0, 0, IDLE, SPIN)];
    for begin in [10_000, 20_000] {
        log.extend([
            record(begin, 1, 0, (0, 0, 0, ""), WORKER),
            record(begin + 3_000, 0, 0, SPIN, WORKER),
            record(begin + 4_000, 0, 1, WORKER, SPIN),
        ]);
    }
    log.concat()
}

fn written(log: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_run_queue(&mut bytes, log).expect("memory");
    bytes
}

#[test]
fn a_log_that_is_cut_or_has_an_unknown_event_is_refused() {
    let error = |log: &[u8]| write_run_queue(Vec::new(), log).unwrap_err().to_string();
    assert!(error(&log()[1..]).contains("multiple of 56"));
    assert!(error(&record(1, 3, 0, IDLE, SPIN)).contains("unknown event 3"));
    assert!(error(&record(1, u32::MAX, 0, IDLE, SPIN)).contains("unknown event"));
    assert!(written(&[]).len() < 20);
}

#[test]
fn a_long_log_is_many_packets_that_our_own_reader_accepts() {
    let long: Vec<u8> = (0..2_500).flat_map(|at| record(at, 0, 0, SPIN, WORKER)).collect();
    let bytes = written(&long);
    assert!(super::is_perfetto(&bytes));
    let error = super::read(bytes.as_slice()).unwrap_err().to_string();
    assert!(error.starts_with("trace: no requests among its events"), "{error}");
    let packets = {
        let (mut rest, mut count) = (bytes.as_slice(), 0);
        while let Some((0x0a, after)) = rest.split_first() {
            let mut after = after;
            let length = prost::encoding::decode_varint(&mut after).expect("a length");
            rest = &after[length as usize..];
            count += 1;
        }
        assert!(rest.is_empty());
        count
    };
    assert_eq!(packets, 4, "a process tree, and 1,000 events each");
}

fn in_file(dir: &tempfile::TempDir) -> std::path::PathBuf {
    let file = dir.path().join("x.perfetto-trace");
    std::fs::write(&file, written(&log())).expect("a file");
    file
}

#[test]
fn perfettos_own_schema_knows_every_field_of_a_run_queue() {
    if !is_perfetto_here() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let script = "
import sys
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
trace = Trace(); trace.ParseFromString(open(sys.argv[1], 'rb').read())
again = Trace(); again.CopyFrom(trace); again.DiscardUnknownFields()
print(trace.ByteSize() - again.ByteSize())
for packet in trace.packet:
    for thread in packet.process_tree.threads:
        print('thread', thread.tid, thread.tgid, thread.name)
    for process in packet.process_tree.processes:
        print('process', process.pid, list(process.cmdline))
    for event in packet.ftrace_events.event:
        kind = event.WhichOneof('event')
        print(event.timestamp, kind, *[value for _, value in getattr(event, kind).ListFields()])
";
    let python = of_project("target/tools/perfetto/bin/python");
    let output =
        Command::new(python).args(["-c", script]).arg(in_file(&dir)).output().expect("Python runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let expected = "0
thread 52 51 bad\\u001b[2J name
process 40 ['spin']
1000 sched_wakeup_new spin 40 120 0
2000 sched_switch  0 120 0 spin 40 120
10000 sched_waking bad\\u001b[2J name 52 115 0
13000 sched_switch spin 40 120 0 bad\\u001b[2J name 52 115
14000 sched_switch bad\\u001b[2J name 52 115 1 spin 40 120
20000 sched_waking bad\\u001b[2J name 52 115 0
23000 sched_switch spin 40 120 0 bad\\u001b[2J name 52 115
24000 sched_switch bad\\u001b[2J name 52 115 1 spin 40 120
";
    assert_eq!(said, expected, "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn perfettos_own_query_engine_has_what_runs_and_how_long_a_thread_waits() {
    if !is_perfetto_here() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let of_thread = |tid: i32| {
        format!(
            "select ts, dur, state from thread_state join thread using (utid) where tid = {tid} order by ts"
        )
    };
    let output = Command::new(of_project("scripts/perfetto"))
        .arg("query")
        .arg(in_file(&dir))
        .args([
            "select ts, dur, tid from sched join thread using (utid) order by ts",
            &of_thread(52),
            "select name from stats where severity in ('error', 'data_loss') and value > 0",
        ])
        .output()
        .expect("Python runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines[0],
        "[[2000, 11000, 40], [13000, 1000, 52], [14000, 9000, 40], [23000, 1000, 52], [24000, -1, 40]]",
        "{said}{errors}"
    );
    assert_eq!(
        lines[1],
        "[[10000, 3000, \"R\"], [13000, 1000, \"Running\"], [14000, 6000, \"S\"], [20000, 3000, \"R\"], \
         [23000, 1000, \"Running\"], [24000, -1, \"S\"]]",
        "{said}{errors}"
    );
    assert_eq!(lines[2], "[]", "{said}{errors}");
}
