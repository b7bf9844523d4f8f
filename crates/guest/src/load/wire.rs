//! The layouts of kernel/modelload.h, as bytes: what is written to /dev/modelload and what is read from it.
//!
//! Integers are those of the machine; they are laid out one by one, since a cast of memory would need unsafe code.

/// Version of the protocol.
const VERSION: u32 = 1;
/// The first client that ends by itself ends the others.
pub(super) const FIRST_STOPS_ALL: u32 = 1;
/// Turnarounds are given one by one.
pub(super) const TURNS_DRAWN: u32 = 2;

/// Bytes of a message's head, of a setup without its clients, of a step, of a record.
pub(super) const HEAD: usize = 8;
pub(super) const SETUP: usize = 48;
pub(super) const STEP: usize = 16;
pub(super) const RECORD: usize = 40;

/// What a message holds.
pub(super) const MESSAGE_SETUP: u32 = 1;
pub(super) const MESSAGE_STEPS: u32 = 2;
pub(super) const MESSAGE_START: u32 = 3;

/// Kinds of steps.
pub(super) const IO: u8 = 1;
pub(super) const THINK: u8 = 2;
pub(super) const SYNC: u8 = 3;
pub(super) const END: u8 = 4;
pub(super) const TURN: u8 = 5;

/// Kinds of records.
pub(super) const ROOM: u8 = 1;
pub(super) const STARTED: u8 = 2;
pub(super) const DONE: u8 = 3;
pub(super) const SYNCED: u8 = 4;
pub(super) const ENDED: u8 = 5;

/// A pass as the kernel is told of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Setup {
    pub(super) disk_fd: i32,
    pub(super) rules: u32,
    pub(super) max_bytes: u32,
    pub(super) warmup_ns: u64,
    pub(super) duration_ns: u64,
    pub(super) turnaround_ns: u64,
}

/// A step of a client, or a turnaround.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) arg: u64,
    pub(super) bytes: u32,
    pub(super) client: u16,
    pub(super) kind: u8,
    pub(super) op: u8,
}

/// What the kernel tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Record {
    pub(super) submitted_ns: u64,
    pub(super) completed_ns: u64,
    pub(super) offset: u64,
    pub(super) bytes: u32,
    pub(super) error: i32,
    pub(super) client: u16,
    pub(super) kind: u8,
    pub(super) op: u8,
}

fn head(what: u32, count: usize) -> Vec<u8> {
    let count = u32::try_from(count).expect("a message is far below 4 G records");
    [what.to_ne_bytes(), count.to_ne_bytes()].concat()
}

/// The message that sets a pass up, for clients with these iodepths.
pub(super) fn setup(setup: &Setup, depths: &[u32]) -> Vec<u8> {
    let mut bytes = head(MESSAGE_SETUP, depths.len());
    bytes.extend(VERSION.to_ne_bytes());
    bytes.extend(setup.disk_fd.to_ne_bytes());
    bytes.extend(setup.rules.to_ne_bytes());
    bytes.extend(setup.max_bytes.to_ne_bytes());
    bytes.extend([setup.warmup_ns, setup.duration_ns, setup.turnaround_ns].map(u64::to_ne_bytes).as_flattened());
    depths.iter().for_each(|depth| bytes.extend(depth.to_ne_bytes()));
    bytes
}

/// A message of steps.
pub(super) fn steps(steps: &[Step]) -> Vec<u8> {
    let mut bytes = head(MESSAGE_STEPS, steps.len());
    bytes.reserve(steps.len() * STEP);
    for step in steps {
        bytes.extend(step.arg.to_ne_bytes());
        bytes.extend(step.bytes.to_ne_bytes());
        bytes.extend(step.client.to_ne_bytes());
        bytes.extend([step.kind, step.op]);
    }
    bytes
}

/// The message that starts a pass.
pub(super) fn start() -> Vec<u8> {
    head(MESSAGE_START, 0)
}

/// A record of [`RECORD`] bytes.
pub(super) fn record(bytes: &[u8]) -> Record {
    Record {
        submitted_ns: u64::from_ne_bytes(part(bytes, 0)),
        completed_ns: u64::from_ne_bytes(part(bytes, 8)),
        offset: u64::from_ne_bytes(part(bytes, 16)),
        bytes: u32::from_ne_bytes(part(bytes, 24)),
        error: i32::from_ne_bytes(part(bytes, 28)),
        client: u16::from_ne_bytes(part(bytes, 32)),
        kind: bytes[34],
        op: bytes[35],
    }
}

/// `N` bytes from a place on.
pub(super) fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("a slice of N bytes is an array of N bytes")
}
