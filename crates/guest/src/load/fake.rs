//! A fake /dev/modelload: the clients' state machine and a single server with constant service
//! time. Small rings make steps run low often.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::{self, Read, Write};

use super::wire::{self, Record, Step};

/// Steps and turnarounds in a client's rings.
const RING: usize = 128;
/// Records at which a read returns.
const WORTH: usize = 50;

/// Of a request or a flush.
pub(super) const SERVICE_NS: u64 = 1_000_003;
pub(super) const FLUSH_NS: u64 = 5_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientState {
    Due,
    DueFlush,
    Full,
    Syncing,
    Flushing,
    Closing,
    Ended,
}

#[derive(Debug)]
struct Client {
    state: ClientState,
    depth: u32,
    in_flight: u32,
    steps: VecDeque<Step>,
    turns: VecDeque<u64>,
    used: u64,
    last_written: bool,
    finished: bool,
}

#[derive(Debug, Default)]
pub(super) struct Fake {
    rules: u32,
    turnaround_ns: u64,
    times: (u64, u64),
    clients: Vec<Client>,
    now: u64,
    close: u64,
    stopping: bool,
    started: bool,
    asked: u64,
    wakes: BinaryHeap<Reverse<(u64, u64, usize)>>,
    /// Requests in order, with completion times.
    inside: VecDeque<Record>,
    free_at: u64,
    /// Clients of the flush in progress, and of the next one with request times: the kernel has one
    /// flush at the device at most.
    flushing: Vec<(usize, u64)>,
    to_flush: Vec<(usize, u64)>,
    out: VecDeque<Record>,
    /// Requests at this offset fail with this errno.
    bad: Option<(u64, i32)>,
}

impl Fake {
    /// Starts at a nonzero time.
    pub(super) fn new() -> Fake {
        Fake { now: 77_000_000, ..Fake::default() }
    }

    /// Requests at this offset fail with this errno.
    pub(super) fn failing_at(self, offset: u64, errno: i32) -> Fake {
        Fake { bad: Some((offset, errno)), ..self }
    }

    fn set_up(&mut self, message: &[u8]) {
        let word = |at| u32::from_ne_bytes(wire::part(message, at));
        let long = |at| u64::from_ne_bytes(wire::part(message, at));
        let count = word(4) as usize;
        assert_eq!((message.len(), word(8)), (wire::SETUP + 4 * count, 2));
        self.rules = word(16);
        (self.times, self.turnaround_ns) = ((long(24), long(32)), long(40));
        let client = |index: usize| Client {
            state: ClientState::Due,
            depth: word(wire::SETUP + 4 * index),
            in_flight: 0,
            steps: VecDeque::new(),
            turns: VecDeque::new(),
            used: 0,
            last_written: false,
            finished: false,
        };
        self.clients = (0..count).map(client).collect();
    }

    fn take(&mut self, bytes: &[u8]) {
        let step = Step {
            arg: u64::from_ne_bytes(wire::part(bytes, 0)),
            bytes: u32::from_ne_bytes(wire::part(bytes, 8)),
            client: u16::from_ne_bytes(wire::part(bytes, 12)),
            kind: bytes[14],
            op: bytes[15],
        };
        let client = &mut self.clients[step.client as usize];
        assert!(!client.last_written || step.kind == wire::TURN, "nothing comes after the end");
        if step.kind == wire::TURN {
            client.turns.push_back(step.arg);
        } else {
            client.last_written |= step.kind == wire::END;
            client.steps.push_back(step);
        }
        assert!(client.steps.len() <= RING && client.turns.len() <= RING, "a ring has overflowed");
    }

    fn begin(&mut self, at: u64) {
        self.started = true;
        self.now = self.now.max(at);
        self.close = self.now + self.times.0 + self.times.1;
        self.out.push_back(Record {
            submitted_ns: self.now,
            kind: wire::STARTED,
            ..Record::default()
        });
        (0..self.clients.len()).for_each(|number| self.wake(number, ClientState::Due, self.now));
    }

    /// Clients that need steps.
    fn rooms(&self) -> Vec<Record> {
        let needs = |client: &Client| {
            !client.last_written
                && client.state != ClientState::Ended
                && client.steps.len() < RING / 2
        };
        if !self.clients.iter().any(needs) {
            return Vec::new();
        }
        let room = |(number, client): (usize, &Client)| Record {
            kind: wire::ROOM,
            client: number as u16,
            bytes: (RING - client.steps.len()) as u32,
            offset: (RING - client.turns.len()) as u64,
            ..Record::default()
        };
        self.clients
            .iter()
            .enumerate()
            .filter(|(_, client)| !client.last_written)
            .map(room)
            .collect()
    }

    /// Handles completions before clients.
    fn turn(&mut self) {
        let wake = self.wakes.peek().map(|Reverse((at, _, _))| *at);
        let done = self.inside.front().map(|record| record.completed_ns);
        if done.is_some_and(|done| wake.is_none_or(|wake| done <= wake)) {
            let mut record = self.inside.pop_front().expect("it is there");
            self.now = record.completed_ns;
            if let Some((offset, errno)) = self.bad
                && record.offset == offset
            {
                record.error = -errno;
            }
            if record.kind == wire::SYNCED {
                return self.flushed(record);
            }
            self.out.push_back(record);
            return self.completed(record.client as usize);
        }
        let Reverse((at, _, number)) = self.wakes.pop().expect("somebody lives");
        self.now = at;
        match self.clients[number].state {
            ClientState::Due => self.steps(number),
            ClientState::DueFlush if self.is_over() => self.close(number),
            ClientState::DueFlush => self.flush(number),
            _ => {}
        }
    }

    fn is_over(&self) -> bool {
        self.now >= self.close || self.stopping
    }

    fn wake(&mut self, number: usize, state: ClientState, at: u64) {
        self.clients[number].state = state;
        self.asked += 1;
        self.wakes.push(Reverse((at.min(self.close.max(self.now)), self.asked, number)));
    }

    fn wake_turned(&mut self, number: usize, state: ClientState) {
        let client = &mut self.clients[number];
        let turn = if self.rules & wire::TURNS_DRAWN != 0 {
            client.used += 1;
            client.turns.pop_front().expect("turnarounds come with steps")
        } else {
            self.turnaround_ns
        };
        self.wake(number, state, self.now + turn);
    }

    fn steps(&mut self, number: usize) {
        loop {
            if self.is_over() {
                return self.close(number);
            }
            let client = &mut self.clients[number];
            if client.in_flight == client.depth {
                client.state = ClientState::Full;
                return;
            }
            let step = client.steps.pop_front().expect("steps never run out");
            match step.kind {
                wire::IO => self.submit(number, wire::DONE, SERVICE_NS, step),
                wire::THINK => return self.wake(number, ClientState::Due, self.now + step.arg),
                wire::SYNC if client.in_flight == 0 => return self.flush(number),
                wire::SYNC => {
                    client.state = ClientState::Syncing;
                    return;
                }
                _ => {
                    client.finished = true;
                    if self.rules & wire::FIRST_STOPS_ALL != 0 {
                        self.stopping = true;
                        let due = |number: &usize| self.clients[*number].state == ClientState::Due;
                        let others: Vec<usize> = (0..self.clients.len()).filter(due).collect();
                        others
                            .into_iter()
                            .filter(|other| *other != number)
                            .for_each(|other| self.close(other));
                    }
                    return self.close(number);
                }
            }
        }
    }

    fn submit(&mut self, number: usize, kind: u8, takes: u64, step: Step) {
        self.clients[number].in_flight += 1;
        self.queue(number, kind, takes, step);
    }

    fn queue(&mut self, number: usize, kind: u8, takes: u64, step: Step) {
        self.free_at = self.free_at.max(self.now) + takes;
        self.inside.push_back(Record {
            submitted_ns: self.now,
            completed_ns: self.free_at,
            offset: step.arg,
            bytes: step.bytes,
            error: 0,
            client: number as u16,
            kind,
            op: step.op,
        });
    }

    fn flush(&mut self, number: usize) {
        self.clients[number].state = ClientState::Flushing;
        self.clients[number].in_flight += 1;
        self.to_flush.push((number, self.now));
        self.next_flush();
    }

    fn next_flush(&mut self) {
        if self.flushing.is_empty() && !self.to_flush.is_empty() {
            self.flushing = std::mem::take(&mut self.to_flush);
            let none = Step { arg: 0, bytes: 0, client: 0, kind: wire::SYNC, op: 0 };
            self.queue(self.flushing[0].0, wire::SYNCED, FLUSH_NS, none);
        }
    }

    fn flushed(&mut self, record: Record) {
        for (number, submitted_ns) in std::mem::take(&mut self.flushing) {
            self.out.push_back(Record { client: number as u16, submitted_ns, ..record });
            self.completed(number);
        }
        self.next_flush();
    }

    fn completed(&mut self, number: usize) {
        let over = self.is_over();
        let client = &mut self.clients[number];
        client.in_flight -= 1;
        match client.state {
            ClientState::Full
            | ClientState::Flushing
            | ClientState::Syncing
            | ClientState::Closing
                if over =>
            {
                self.close(number)
            }
            ClientState::Closing => self.close(number),
            ClientState::Full | ClientState::Flushing => self.wake_turned(number, ClientState::Due),
            ClientState::Syncing if client.in_flight == 0 => {
                self.wake_turned(number, ClientState::DueFlush)
            }
            _ => {}
        }
    }

    fn close(&mut self, number: usize) {
        let now = self.now;
        let client = &mut self.clients[number];
        client.state = if client.in_flight > 0 { ClientState::Closing } else { ClientState::Ended };
        if client.state == ClientState::Ended {
            self.out.push_back(Record {
                completed_ns: now,
                offset: client.used,
                bytes: client.finished.into(),
                client: number as u16,
                kind: wire::ENDED,
                ..Record::default()
            });
        }
    }
}

impl Write for Fake {
    fn write(&mut self, message: &[u8]) -> io::Result<usize> {
        match u32::from_ne_bytes(wire::part(message, 0)) {
            wire::MESSAGE_SETUP => self.set_up(message),
            wire::MESSAGE_STEPS => {
                message[wire::HEAD..].chunks(wire::STEP).for_each(|step| self.take(step))
            }
            wire::MESSAGE_START => self.begin(u64::from_ne_bytes(wire::part(message, wire::HEAD))),
            what => panic!("message {what}"),
        }
        Ok(message.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Fake {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let mut tell = self.rooms();
        while tell.is_empty() && self.started && self.out.len() < WORTH {
            if self.clients.iter().all(|client| client.state == ClientState::Ended) {
                break;
            }
            self.turn();
            tell = self.rooms();
        }
        tell.extend(self.out.drain(..));
        let bytes: Vec<u8> = tell.iter().flat_map(wire::told).collect();
        to[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }
}
