//! Writes a guest's scheduling events as Perfetto shows a machine's: what runs on each CPU, and
//! each thread's states.
//!
//! The events are those of `kernel/modelcpu.h`. Perfetto derives everything from the messages of
//! ftrace's `sched_switch`, `sched_waking` and `sched_wakeup_new`, which are encoded here with the
//! field numbers of its schema. In virtual time, `sched_waking` and `sched_wakeup`, the
//! event of the log, are at the same moment.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Result, bail};
use prost::encoding::{encode_varint, int64, string, uint64};
use text::escaped;

/// Bytes of a `struct modelcpu_record`.
const RECORD: usize = 56;
/// Events of a packet.
const BUNDLE: usize = 1000;

/// Fields of a packet.
const FTRACE_EVENTS: u32 = 1;
const PROCESS_TREE: u32 = 2;
const SEQUENCE: u32 = 10;

/// Kinds of events, and their fields in an event of ftrace.
const SWITCH: u32 = 0;
const FIELDS: [u32; 3] = [4, 20, 114];

struct Event {
    time_ns: u64,
    kind: u32,
    prev_state: u32,
    prev_pid: i32,
    prev_prio: i32,
    pid: i32,
    tgid: i32,
    prio: i32,
    comm: String,
    cpu: u32,
}

/// `log` is the file of the same name in the guest's debugfs.
pub(crate) fn write_run_queue(mut file: impl Write, log: &[u8]) -> Result<()> {
    let (records, []) = log.as_chunks::<RECORD>() else {
        bail!("log of the scheduler: its length is not a multiple of {RECORD} bytes");
    };
    let events = records.iter().map(read).collect::<Result<Vec<Event>>>()?;
    // The last name counts: a new task has its parent's until it begins its own program.
    let tasks: BTreeMap<i32, &Event> = events.iter().map(|event| (event.pid, event)).collect();
    packet(&mut file, PROCESS_TREE, &process_tree(&tasks))?;
    for events in events.chunks(BUNDLE).flat_map(|part| part.chunk_by(|a, b| a.cpu == b.cpu)) {
        let mut bundle = Vec::new();
        uint64::encode(1, &u64::from(events[0].cpu), &mut bundle);
        events.iter().for_each(|event| message(2, &ftrace_event(event, &tasks), &mut bundle));
        packet(&mut file, FTRACE_EVENTS, &bundle)?;
    }
    Ok(file.flush()?)
}

fn read(record: &[u8; RECORD]) -> Result<Event> {
    let word =
        |i: usize| u32::from_le_bytes(record[i..i + 4].try_into().expect("a word has four bytes"));
    let signed = |i| word(i).cast_signed();
    let kind = word(8);
    if kind as usize >= FIELDS.len() {
        bail!("log of the scheduler: unknown event {kind}");
    }
    let comm = record[36..52].split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(Event {
        time_ns: u64::from(word(0)) | u64::from(word(4)) << 32,
        kind,
        prev_state: word(12),
        prev_pid: signed(16),
        prev_prio: signed(20),
        pid: signed(24),
        tgid: signed(28),
        prio: signed(32),
        comm: escaped(&String::from_utf8_lossy(comm)).replace('\n', " "),
        cpu: word(52),
    })
}

fn process_tree(tasks: &BTreeMap<i32, &Event>) -> Vec<u8> {
    let mut tree = Vec::new();
    // The idle task has no process.
    for (pid, task) in tasks.iter().filter(|(pid, _)| **pid > 0) {
        let mut one = Vec::new();
        int64::encode(1, &i64::from(*pid), &mut one);
        if task.tgid == *pid {
            string::encode(3, &task.comm, &mut one);
            message(1, &one, &mut tree);
        } else {
            string::encode(2, &task.comm, &mut one);
            int64::encode(3, &i64::from(task.tgid), &mut one);
            message(2, &one, &mut tree);
        }
    }
    tree
}

fn ftrace_event(event: &Event, tasks: &BTreeMap<i32, &Event>) -> Vec<u8> {
    let mut inner = Vec::new();
    let mut task = |first: u32, comm: &str, pid: i32, prio: i32| {
        string::encode(first, &comm.to_owned(), &mut inner);
        int64::encode(first + 1, &i64::from(pid), &mut inner);
        int64::encode(first + 2, &i64::from(prio), &mut inner);
    };
    if event.kind == SWITCH {
        let prev = tasks.get(&event.prev_pid).map_or("", |task| &task.comm);
        task(1, prev, event.prev_pid, event.prev_prio);
        task(5, &event.comm, event.pid, event.prio);
        int64::encode(4, &i64::from(event.prev_state), &mut inner);
    } else {
        task(1, &event.comm, event.pid, event.prio);
        int64::encode(5, &0, &mut inner);
    }
    let mut outer = Vec::new();
    uint64::encode(1, &event.time_ns, &mut outer);
    int64::encode(2, &i64::from(event.prev_pid), &mut outer);
    message(FIELDS[event.kind as usize], &inner, &mut outer);
    outer
}

/// A field with an encoded message.
fn message(tag: u32, bytes: &[u8], to: &mut Vec<u8>) {
    prost::encoding::encode_key(tag, prost::encoding::WireType::LengthDelimited, to);
    encode_varint(bytes.len() as u64, to);
    to.extend_from_slice(bytes);
}

fn packet(file: &mut impl Write, field: u32, bytes: &[u8]) -> Result<()> {
    let (mut packet, mut framed) = (Vec::new(), Vec::new());
    message(field, bytes, &mut packet);
    uint64::encode(SEQUENCE, &1, &mut packet);
    message(1, &packet, &mut framed);
    Ok(file.write_all(&framed)?)
}
