//! What a client does, from its own point of view: steps, waiting, copying, flushing, ending.
//!
//! The same as the load engine of crate `host` does with threads and rings. A client with iodepth 1 waits for each request; one with
//! more is woken by a completion and looks once for all that have come until then, so its next requests come together. A client
//! is woken `turnaround_ns` after the completion.
//!
//! Buffered I/O [P]: there is no page cache and no read-ahead. A buffered read goes to the queue as it is. A buffered write is a
//! copy into memory, after which the client goes on; the piece is handed to the queue at once as an asynchronous request
//! (write-back without the kernel's delay of seconds) until so much is under way that the client has to wait. What is written is
//! flushed before the client ends. Where no I/O reaches the device, each request is a copy and nothing else.

use elevator::{Completion, Op, Piece, Priority, Request, Time};
use workload::{Client, ClientTotals, Lived, Member, Step};

use super::slots::Slot;
use super::{Engine, sectors, tell};
use crate::trace::{EventKind, Observer};

/// A copy between a program and the page cache: a system call, and 8 GB/s. [P]
const COPY_CALL_NS: u64 = 500;
const COPY_BYTES_PER_NS: u64 = 8;
/// What a client may have under way to the device without waiting: bytes, and pieces. [P]
const DIRTY_BYTES: u64 = 16 << 20;
const DIRTY_PIECES: u32 = 1024;

/// What a client is up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mood {
    /// Is asked for steps at its wake-up.
    Due,
    /// All that it may have open is open; goes on after a completion.
    Full,
    /// Copies until its wake-up; since when.
    Copying(Request, Time),
    /// Too much is under way; goes on with this write when there is room.
    Throttled(Request),
    /// Waits for everything in flight, then flushes.
    Syncing,
    /// Waits for its flush, then goes on.
    Flushing,
    /// Starts nothing any more; waits for what is in flight.
    Closing,
    /// Waits for its last flush.
    LastFlush,
    /// Has ended.
    Ended,
}

/// A client at its place.
pub(super) struct Seated {
    program: Box<dyn Client + Send>,
    /// First byte of its region on the device.
    pub(super) base: u64,
    depth: u32,
    pub(super) mood: Mood,
    /// The number of its wake-up; 0: none.
    pub(super) wake: u64,
    /// Pieces in flight that it waits for.
    in_flight: u32,
    /// Write-back under way.
    dirty_pieces: u32,
    dirty_bytes: u64,
    /// The latest completion that it has not heard of.
    last: Option<Completion>,
    began: Time,
    ended: Time,
    totals: ClientTotals,
}

impl Seated {
    /// A client that is asked for its first step at `start`.
    pub(super) fn new(member: Member, start: Time) -> Seated {
        let Member { program, base, iodepth } = member;
        assert!(iodepth > 0, "a client may have at least one request open");
        Seated {
            program,
            base,
            depth: iodepth,
            mood: Mood::Due,
            wake: 0,
            in_flight: 0,
            dirty_pieces: 0,
            dirty_bytes: 0,
            last: None,
            began: start,
            ended: start,
            totals: ClientTotals::default(),
        }
    }

    fn has_room(&self, bytes: u32) -> bool {
        let fits = self.dirty_bytes + u64::from(bytes) <= DIRTY_BYTES && self.dirty_pieces < DIRTY_PIECES;
        fits || self.dirty_pieces == 0
    }

    fn is_waiting(&self) -> bool {
        self.in_flight + self.dirty_pieces > 0
    }
}

impl<O: Observer + ?Sized> Engine<'_, O> {
    /// Asks for a wake-up, at the close of the window at the latest: nobody thinks beyond it.
    pub(super) fn wake_at(&mut self, client: u32, at: Time) {
        self.wake_after(client, at.min(self.close.max(self.now)));
    }

    fn wake_after(&mut self, client: u32, at: Time) {
        self.clients[client as usize].wake = self.wakes.push(at, client);
    }

    /// Whether nobody may start anything any more.
    fn is_over(&self) -> bool {
        self.now >= self.close || self.stopping
    }

    /// A client's time has come.
    pub(super) fn woken(&mut self, number: u32) {
        let client = &mut self.clients[number as usize];
        client.wake = 0;
        let mood = client.mood;
        match mood {
            Mood::Due => self.steps(number),
            Mood::Copying(request, since) => {
                self.clients[number as usize].mood = Mood::Due;
                self.count(number, request, since);
                self.steps(number);
            }
            Mood::Throttled(request) => self.write_back(number, request),
            Mood::Syncing if self.is_over() => self.close(number),
            Mood::Syncing => self.flush(number, Mood::Flushing),
            mood => unreachable!("a client that is {mood:?} asks for no wake-up"),
        }
    }

    /// Takes steps until the client wants something else than to start I/O, or may not.
    fn steps(&mut self, number: u32) {
        let now = self.now;
        loop {
            if self.is_over() {
                return self.close(number);
            }
            let client = &mut self.clients[number as usize];
            if client.in_flight == client.depth {
                client.mood = Mood::Full;
                return;
            }
            match client.program.next(now, client.last.take().as_ref()) {
                Step::Io(request) if !self.rules.reaches_device => {
                    self.observe_piece(EventKind::Submit, number, &request);
                    return self.copy(number, request);
                }
                Step::Io(request) if self.rules.buffered && request.op == Op::Write => {
                    return self.write_back(number, request);
                }
                Step::Io(request) => {
                    client.in_flight += 1;
                    self.submit(number, request, true);
                }
                Step::Think(ns) => {
                    client.mood = Mood::Due;
                    return self.wake_at(number, now + ns);
                }
                Step::Sync if !client.is_waiting() => return self.flush(number, Mood::Flushing),
                Step::Sync => {
                    client.mood = Mood::Syncing;
                    return;
                }
                Step::End => {
                    client.totals.finished = true;
                    if self.rules.first_stops_all {
                        self.stop_others();
                    }
                    return self.close(number);
                }
            }
        }
    }

    /// Hands a piece to the block layer.
    fn submit(&mut self, number: u32, request: Request, sync: bool) {
        let now = self.now;
        let (sector, nr_sectors) = sectors(self.clients[number as usize].base, &request);
        let slot = self.slots.put(Slot { client: number, sync, request, submitted: now });
        self.observe_piece(EventKind::Submit, number, &request);
        let piece = Piece {
            cookie: u64::from(slot),
            process: number,
            op: request.op,
            sector,
            nr_sectors,
            sync,
            meta: false,
            priority: Priority::default(),
            deadline: None,
        };
        let observer = &mut *self.observer;
        self.queue.submit(now, piece, &mut |entry| tell(observer, now, Some(number), &entry));
    }

    /// A write into memory: the piece is on its way, the client copies.
    fn write_back(&mut self, number: u32, request: Request) {
        let client = &mut self.clients[number as usize];
        if !client.has_room(request.len) {
            client.mood = Mood::Throttled(request);
            return;
        }
        client.dirty_pieces += 1;
        client.dirty_bytes += u64::from(request.len);
        self.submit(number, request, false);
        self.copy(number, request);
    }

    fn copy(&mut self, number: u32, request: Request) {
        self.clients[number as usize].mood = Mood::Copying(request, self.now);
        self.wake_after(number, self.now + COPY_CALL_NS + u64::from(request.len) / COPY_BYTES_PER_NS);
    }

    /// A piece is done.
    pub(super) fn piece_done(&mut self, piece: u32) {
        let Slot { client: number, sync, request, submitted } = self.slots.take(piece);
        self.ledger.done(submitted, self.now);
        let client = &mut self.clients[number as usize];
        if sync {
            client.in_flight -= 1;
            self.count(number, request, submitted);
        } else {
            client.dirty_pieces -= 1;
            client.dirty_bytes -= u64::from(request.len);
        }
        let (now, over) = (self.now, self.is_over());
        let client = &self.clients[number as usize];
        match client.mood {
            Mood::Full | Mood::Throttled(_) | Mood::Syncing if over => self.close(number),
            Mood::Full => {
                self.clients[number as usize].mood = Mood::Due;
                self.wake_turned(number);
            }
            Mood::Throttled(request) if client.wake == 0 && client.has_room(request.len) => {
                self.wake_after(number, now);
            }
            Mood::Syncing if !client.is_waiting() => self.wake_turned(number),
            Mood::Closing if !client.is_waiting() => self.close(number),
            _ => {}
        }
    }

    /// The client's next step comes when interrupt, wake-up and system call are over.
    fn wake_turned(&mut self, number: u32) {
        let turnaround_ns = self.rules.turnarounds.draw(number);
        self.wake_at(number, self.now + turnaround_ns);
    }

    /// A client hears that its request is done; it counts if that is inside the window.
    fn count(&mut self, number: u32, request: Request, submitted: Time) {
        let now = self.now;
        self.observe_piece(EventKind::Done, number, &request);
        let client = &mut self.clients[number as usize];
        client.last = Some(Completion { request, submitted, completed: now });
        self.measured.done(now, &mut client.totals, &request, submitted, Some((self.open, self.close)));
    }

    fn flush(&mut self, number: u32, mood: Mood) {
        self.clients[number as usize].mood = mood;
        if !self.device.has_volatile_cache() {
            return self.flushed(number);
        }
        self.to_flush.push(number);
        self.next_flush();
    }

    /// A client's flush is done.
    pub(super) fn flushed(&mut self, number: u32) {
        let now = self.now;
        self.observe(EventKind::Flushed, Some(number), None, None, 0, 0);
        self.measured.syncs += u64::from(now >= self.open && now <= self.close);
        match self.clients[number as usize].mood {
            Mood::Flushing if self.is_over() => self.close(number),
            Mood::Flushing => {
                self.clients[number as usize].mood = Mood::Due;
                self.wake_turned(number);
            }
            Mood::LastFlush => self.end(number),
            mood => unreachable!("a client that is {mood:?} has no flush under way"),
        }
    }

    /// A client starts nothing any more: it waits for what is in flight, flushes where that belongs to it, and ends.
    fn close(&mut self, number: u32) {
        let client = &mut self.clients[number as usize];
        client.wake = 0;
        if client.is_waiting() {
            client.mood = Mood::Closing;
        } else if self.rules.flushes_at_end {
            self.flush(number, Mood::LastFlush);
        } else {
            self.end(number);
        }
    }

    fn end(&mut self, number: u32) {
        let client = &mut self.clients[number as usize];
        client.mood = Mood::Ended;
        client.ended = self.now;
        self.live -= 1;
        self.observe(EventKind::Exit, Some(number), None, None, 0, 0);
        self.queue.exited(self.now, number);
    }

    /// Somebody has finished first: whoever thinks or waits for room ends now, the others with what they are at.
    fn stop_others(&mut self) {
        self.stopping = true;
        for number in 0..self.clients.len() as u32 {
            let client = &self.clients[number as usize];
            if matches!(client.mood, Mood::Due | Mood::Throttled(_)) && client.wake != 0 {
                self.close(number);
            }
        }
    }

    /// The pass is over: its window, and each client's part.
    pub(super) fn sum_up(&mut self, opens: Time) {
        if self.now <= self.close {
            self.at_close = Some(self.mark());
        }
        let lived = |client: &Seated| Lived { totals: client.totals, began: client.began, ended: client.ended };
        let lived: Vec<Lived> = self.clients.iter().map(lived).collect();
        let close = (!self.rules.flushes_at_end).then_some(self.close);
        self.measured.sum_up(&lived, opens, close, self.rules.first_stops_all);
    }
}
