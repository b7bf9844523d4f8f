//! The binary layouts of kernel/modelload.h.
//!
//! Native integers are encoded one by one, because casting memory would need unsafe code.

const VERSION: u32 = 2;
/// The first client that finishes stops the others.
pub(super) const FIRST_STOPS_ALL: u32 = 1;
/// Turnarounds are written one by one.
pub(super) const TURNS_DRAWN: u32 = 2;

/// Message header, setup without clients, step, record.
#[cfg(test)]
pub(super) const HEAD: usize = 8;
#[cfg(test)]
pub(super) const SETUP: usize = 48;
pub(super) const STEP: usize = 16;
pub(super) const RECORD: usize = 40;

pub(super) const MESSAGE_SETUP: u32 = 1;
pub(super) const MESSAGE_STEPS: u32 = 2;
pub(super) const MESSAGE_START: u32 = 3;

pub(super) const IO: u8 = 1;
pub(super) const THINK: u8 = 2;
pub(super) const SYNC: u8 = 3;
pub(super) const END: u8 = 4;
pub(super) const TURN: u8 = 5;

pub(super) const ROOM: u8 = 1;
pub(super) const STARTED: u8 = 2;
pub(super) const DONE: u8 = 3;
pub(super) const SYNCED: u8 = 4;
pub(super) const ENDED: u8 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Setup {
    pub(super) disk_fd: i32,
    pub(super) rules: u32,
    pub(super) max_bytes: u32,
    pub(super) warmup_ns: u64,
    pub(super) duration_ns: u64,
    pub(super) turnaround_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) arg: u64,
    pub(super) bytes: u32,
    pub(super) client: u16,
    pub(super) kind: u8,
    pub(super) op: u8,
}

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

pub(super) fn setup(setup: &Setup, depths: &[u32]) -> Vec<u8> {
    let mut bytes = head(MESSAGE_SETUP, depths.len());
    bytes.extend(VERSION.to_ne_bytes());
    bytes.extend(setup.disk_fd.to_ne_bytes());
    bytes.extend(setup.rules.to_ne_bytes());
    bytes.extend(setup.max_bytes.to_ne_bytes());
    bytes.extend(
        [setup.warmup_ns, setup.duration_ns, setup.turnaround_ns]
            .map(u64::to_ne_bytes)
            .as_flattened(),
    );
    depths.iter().for_each(|depth| bytes.extend(depth.to_ne_bytes()));
    bytes
}

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

/// Starts at a time of the monotonic clock, immediately if it has passed.
pub(super) fn start(at_ns: u64) -> Vec<u8> {
    let mut bytes = head(MESSAGE_START, 0);
    bytes.extend(at_ns.to_ne_bytes());
    bytes
}

/// Decodes [`RECORD`] bytes.
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

pub(super) fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("a slice of N bytes is an array of N bytes")
}

/// Encodes a record as the kernel does.
#[cfg(test)]
pub(super) fn told(record: &Record) -> Vec<u8> {
    let mut bytes: Vec<u8> =
        [record.submitted_ns, record.completed_ns, record.offset].map(u64::to_ne_bytes).concat();
    bytes.extend(record.bytes.to_ne_bytes());
    bytes.extend(record.error.to_ne_bytes());
    bytes.extend(record.client.to_ne_bytes());
    bytes.extend([record.kind, record.op, 0, 0, 0, 0]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = include_str!("../../../../kernel/modelload.h");

    /// The value of an enumerator or macro in the header.
    fn number(name: &str) -> u64 {
        let line = HEADER
            .lines()
            .filter(|line| !line.starts_with(" *"))
            .find(|line| line.split_whitespace().any(|word| word == name))
            .unwrap_or_else(|| panic!("{name} is in the header"));
        let (_, value) = line.split_once(name).unwrap();
        let value: String = value
            .trim_start_matches([' ', '=', '\t'])
            .chars()
            .take_while(|c| *c != ',' && *c != '/')
            .collect();
        match value.trim() {
            "(1U << 0)" => 1,
            "(1U << 1)" => 2,
            text => text.parse().unwrap_or_else(|_| panic!("{name} = {text}")),
        }
    }

    /// A struct's fields with offsets, and its size.
    fn layout(name: &str) -> (Vec<(String, usize)>, usize) {
        let (_, rest) = HEADER.split_once(&format!("struct {name} {{")).unwrap();
        let (body, _) = rest.split_once("};").unwrap();
        let (mut at, mut fields, mut largest) = (0usize, Vec::new(), 1);
        for line in body.lines().filter(|line| line.contains(';')) {
            let words: Vec<&str> = line.split(';').next().unwrap().split_whitespace().collect();
            let (size, align) = match words[..words.len() - 1] {
                ["__u64"] => (8, 8),
                ["__u32" | "__s32"] => (4, 4),
                ["__u16"] => (2, 2),
                ["__u8"] => (1, 1),
                ["struct", "modelload_head"] => (8, 4),
                _ => panic!("{line}"),
            };
            at = at.next_multiple_of(align);
            fields.push((words[words.len() - 1].to_owned(), at));
            at += size;
            largest = align.max(largest);
        }
        (fields, at.next_multiple_of(largest))
    }

    #[test]
    fn the_numbers_are_those_of_the_header() {
        let numbers: &[(&str, u64)] = &[
            ("MODELLOAD_VERSION", VERSION.into()),
            ("MODELLOAD_FIRST_STOPS_ALL", FIRST_STOPS_ALL.into()),
            ("MODELLOAD_TURNS_DRAWN", TURNS_DRAWN.into()),
            ("MODELLOAD_SETUP", MESSAGE_SETUP.into()),
            ("MODELLOAD_STEPS", MESSAGE_STEPS.into()),
            ("MODELLOAD_START", MESSAGE_START.into()),
            ("MODELLOAD_IO", IO.into()),
            ("MODELLOAD_THINK", THINK.into()),
            ("MODELLOAD_SYNC", SYNC.into()),
            ("MODELLOAD_END", END.into()),
            ("MODELLOAD_TURN", TURN.into()),
            ("MODELLOAD_ROOM", ROOM.into()),
            ("MODELLOAD_STARTED", STARTED.into()),
            ("MODELLOAD_DONE", DONE.into()),
            ("MODELLOAD_SYNCED", SYNCED.into()),
            ("MODELLOAD_ENDED", ENDED.into()),
            ("MODELLOAD_READ", 0),
            ("MODELLOAD_WRITE", 1),
        ];
        for (name, ours) in numbers {
            assert_eq!(number(name), *ours, "{name}");
        }
    }

    #[test]
    fn the_layouts_are_those_of_the_header() {
        let places = |name| {
            layout(name)
                .0
                .into_iter()
                .map(|(field, at)| format!("{field} {at}"))
                .collect::<Vec<_>>()
        };
        assert_eq!(places("modelload_step"), ["arg 0", "bytes 8", "client 12", "kind 14", "op 15"]);
        let record =
            ["submitted_ns 0", "completed_ns 8", "offset 16", "bytes 24", "error 28", "client 32"];
        assert_eq!(places("modelload_record")[..6], record);
        assert_eq!(places("modelload_record")[6..], ["kind 34", "op 35", "unused 36"]);
        let setup =
            ["head 0", "version 8", "disk_fd 12", "rules 16", "max_bytes 20", "warmup_ns 24"];
        assert_eq!(places("modelload_setup")[..6], setup);
        assert_eq!(places("modelload_setup")[6..], ["duration_ns 32", "turnaround_ns 40"]);
        let sizes =
            ["head", "setup", "step", "record"].map(|name| layout(&format!("modelload_{name}")).1);
        assert_eq!(sizes, [HEAD, SETUP, STEP, RECORD]);
    }

    #[test]
    fn messages_and_records_have_their_fields_in_their_places() {
        let setup = Setup {
            disk_fd: -2,
            rules: 3,
            max_bytes: 4096,
            warmup_ns: 5,
            duration_ns: 6,
            turnaround_ns: 7,
        };
        let bytes = super::setup(&setup, &[8, 9]);
        assert_eq!(bytes.len(), SETUP + 8);
        assert_eq!(i32::from_ne_bytes(part(&bytes, 12)), -2);
        assert_eq!([24, 32, 40].map(|at| u64::from_ne_bytes(part(&bytes, at))), [5, 6, 7]);
        assert_eq!(
            [4, 16, 20, 48, 52].map(|at| u32::from_ne_bytes(part(&bytes, at))),
            [2, 3, 4096, 8, 9]
        );
        let told_of = Record {
            submitted_ns: 1,
            completed_ns: 2,
            offset: 3,
            bytes: 4,
            error: -5,
            client: 6,
            kind: 7,
            op: 1,
        };
        assert_eq!((record(&told(&told_of)), told(&told_of).len()), (told_of, RECORD));
    }
}
