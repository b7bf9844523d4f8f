//! The client's view: steps, waits, copies, flushes, end. Mirrors the load engine of `load`.
//!
//! A client is one thread, woken `turnaround_ns` after a completion; with iodepth above 1 it then
//! sees all completions so far. If direct I/O finds no tag, the thread sleeps in submit_bio
//! (blk_mq_get_tag), whatever its iodepth. Buffered I/O [P]: no page cache and no read-ahead. A
//! write is a copy to memory; its bio is queued at once as asynchronous, until too much is dirty
//! and the client waits.

use crate::workload::{Lived, Step};
use elevator::{Bio, Completion, Entry, Op, Request, Time};

use super::cpus::Job;
use super::running::{ClientState, RunningClient};
use super::slots::Slot;
use super::{Engine, observe_entry, sectors};
use crate::trace::{EventKind, Observer};

/// A copy between a program and the page cache: a system call, and 8 GB/s. [P]
const COPY_CALL_NS: u64 = 500;
const COPY_BYTES_PER_NS: u64 = 8;
impl<O: Observer + ?Sized> Engine<'_, O> {
    /// Wakes the client at the latest when the window closes.
    pub(super) fn wake_at(&mut self, client: u32, at: Time) {
        self.wake_after(client, at.min(self.close.max(self.now)));
    }

    fn wake_after(&mut self, client: u32, at: Time) {
        self.clients[client as usize].wake = self.wakes.push(at, client);
    }

    fn is_over(&self) -> bool {
        self.now >= self.close || self.stopping
    }

    pub(super) fn resume(&mut self, number: u32) {
        let over = self.is_over();
        let client = &mut self.clients[number as usize];
        client.wake = 0;
        match client.state {
            ClientState::Due => {
                client.unseen = 0;
                self.steps(number);
            }
            ClientState::Blocked => {
                client.state = ClientState::Due;
                self.steps(number);
            }
            ClientState::Copying(request, since) => {
                self.clients[number as usize].state = ClientState::Due;
                self.count(number, request, since);
                self.steps(number);
            }
            ClientState::Throttled(request) => self.write_back(number, request),
            ClientState::Syncing if over => self.close(number),
            ClientState::Syncing => self.flush(number, ClientState::Flushing),
            state => unreachable!("a client that is {state:?} asks for no wake-up"),
        }
    }

    fn steps(&mut self, number: u32) {
        let now = self.now;
        loop {
            if self.is_over() {
                return self.close(number);
            }
            let client = &mut self.clients[number as usize];
            if client.open() == client.depth {
                return self.await_completion(number, ClientState::Full);
            }
            let step = client.program.next(now, client.last.as_ref());
            client.last = None;
            match step {
                Step::Io(request) if !self.rules.reaches_device => {
                    self.observe_bio(EventKind::Submit, number, &request);
                    return self.copy(number, request);
                }
                Step::Io(request) if self.rules.buffered && request.op == Op::Write => {
                    return self.write_back(number, request);
                }
                Step::Io(request) if self.cpus.cost_time() => {
                    client.state = ClientState::Submitting;
                    let job = Job::Submit { client: number, request, asked: now };
                    return self.cpus.enqueue(now, number, job);
                }
                Step::Io(request) => {
                    client.in_flight += 1;
                    self.submit(number, request, true, now);
                    if self.is_blocked(number) {
                        return;
                    }
                }
                Step::Think(ns) => {
                    client.state = ClientState::Due;
                    return self.wake_at(number, now + ns);
                }
                Step::Await(most) if client.open() <= most => {}
                Step::Await(most) => {
                    return self.await_completion(number, ClientState::Awaiting(most));
                }
                Step::Sync if !client.is_waiting() => {
                    return self.flush(number, ClientState::Flushing);
                }
                Step::Sync => {
                    client.state = ClientState::Syncing;
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

    /// Resumes at once if completions came while it was blocked.
    fn await_completion(&mut self, number: u32, state: ClientState) {
        let client = &mut self.clients[number as usize];
        if client.unseen == 0 {
            client.state = state;
            return;
        }
        client.state = ClientState::Due;
        let turned = client.first_unseen + self.rules.turnarounds.draw(number);
        self.wake_at(number, turned.max(self.now));
    }

    /// Blocks a client with waiting parts. At iodepth 1 there is nothing else to submit.
    fn is_blocked(&mut self, number: u32) -> bool {
        let client = &mut self.clients[number as usize];
        let blocked = client.waiting_parts > 0 && client.depth > 1;
        if blocked {
            client.state = ClientState::Blocked;
        }
        blocked
    }

    pub(super) fn unblock(&mut self) {
        while let Some(number) = self.admitted.pop() {
            let client = &mut self.clients[number as usize];
            if client.waiting_parts > 0 {
                client.waiting_parts -= 1;
                if client.waiting_parts == 0 && client.state == ClientState::Blocked {
                    self.wake_after(number, self.now);
                }
            }
        }
    }

    /// The CPU has finished the client's part of a request.
    pub(super) fn submit_to_queue(&mut self, number: u32, request: Request, asked: Time) {
        if !self.is_over() {
            self.clients[number as usize].in_flight += 1;
            self.submit(number, request, true, asked);
            if self.is_blocked(number) {
                return;
            }
        }
        self.clients[number as usize].state = ClientState::Due;
        self.steps(number);
    }

    fn submit(&mut self, number: u32, request: Request, sync: bool, asked: Time) {
        let now = self.now;
        let (sector, nr_sectors) = sectors(self.clients[number as usize].base, &request);
        let slot = self.slots.put(Slot { client: number, sync, request, asked, submitted: now });
        self.observe_bio(EventKind::Submit, number, &request);
        let bio = Bio {
            cookie: u64::from(slot),
            process: number,
            op: request.op,
            sector,
            nr_sectors,
            sync,
            meta: false,
            priority: self.clients[number as usize].priority,
            release: request.release,
            deadline: request.deadline,
        };
        let (observer, admitted) = (&mut *self.observer, &mut self.admitted);
        // Its own parts precede requests that can use a tag freed by a merge.
        let mut own_parts = nr_sectors.div_ceil(self.queue.limits().max_sectors);
        let mut waiting_parts = 0;
        self.queue.submit(now, bio, &mut |entry| {
            observe_entry(observer, now, Some(number), &entry);
            match entry {
                Entry::Waiting => waiting_parts += 1,
                Entry::Inserted(request) if own_parts == 0 && request.sync => {
                    admitted.push(request.process)
                }
                _ => {}
            }
            own_parts = own_parts.saturating_sub(1);
        });
        // Requests with a later release time wait for that, not for a tag.
        if sync && request.release.is_none() {
            self.clients[number as usize].waiting_parts = waiting_parts;
        }
        self.unblock();
    }

    fn write_back(&mut self, number: u32, request: Request) {
        let client = &mut self.clients[number as usize];
        if !client.has_room(request.len) {
            client.state = ClientState::Throttled(request);
            return;
        }
        client.dirty_bios += 1;
        client.dirty_bytes += u64::from(request.len);
        self.submit(number, request, false, self.now);
        self.copy(number, request);
    }

    fn copy(&mut self, number: u32, request: Request) {
        self.clients[number as usize].state = ClientState::Copying(request, self.now);
        self.wake_after(
            number,
            self.now + COPY_CALL_NS + u64::from(request.len) / COPY_BYTES_PER_NS,
        );
    }

    pub(super) fn bio_done(&mut self, bio: u32) {
        let Slot { client: number, sync, request, asked, submitted } = self.slots.take(bio);
        self.ledger.done(submitted, self.now);
        let client = &mut self.clients[number as usize];
        if sync {
            client.in_flight -= 1;
            if client.state == ClientState::Blocked {
                if client.unseen == 0 {
                    client.first_unseen = self.now;
                }
                client.unseen += 1;
            }
            self.count(number, request, asked);
        } else {
            client.dirty_bios -= 1;
            client.dirty_bytes -= u64::from(request.len);
        }
        let (now, over) = (self.now, self.is_over());
        let client = &self.clients[number as usize];
        match client.state {
            ClientState::Full
            | ClientState::Awaiting(_)
            | ClientState::Throttled(_)
            | ClientState::Syncing
                if over =>
            {
                self.close(number);
            }
            ClientState::Awaiting(most) if client.in_flight > most => {}
            ClientState::Full | ClientState::Awaiting(_) => {
                self.clients[number as usize].state = ClientState::Due;
                self.wake_after_turnaround(number);
            }
            ClientState::Throttled(request) if client.wake == 0 && client.has_room(request.len) => {
                self.wake_after(number, now);
            }
            ClientState::Syncing if !client.is_waiting() => self.wake_after_turnaround(number),
            ClientState::Closing if !client.is_waiting() => self.close(number),
            _ => {}
        }
    }

    fn wake_after_turnaround(&mut self, number: u32) {
        let turnaround_ns = self.rules.turnarounds.draw(number);
        self.wake_at(number, self.now + turnaround_ns);
    }

    /// A completion counts if it is inside the window.
    fn count(&mut self, number: u32, request: Request, submitted: Time) {
        let now = self.now;
        self.observe_bio(EventKind::Done, number, &request);
        let client = &mut self.clients[number as usize];
        client.last = Some(Completion { request, submitted, completed: now });
        let measured = match client.flow.and_then(|flow| self.flows.get_mut(flow)) {
            Some(flow) => &mut flow.measured,
            None => &mut self.measured,
        };
        measured.done(now, &mut client.totals, &request, submitted, Some((self.open, self.close)));
    }

    fn flush(&mut self, number: u32, state: ClientState) {
        self.clients[number as usize].state = state;
        if !self.device.has_volatile_cache() {
            return self.finish_flush(number);
        }
        self.to_flush.push(number);
        self.next_flush();
    }

    pub(super) fn finish_flush(&mut self, number: u32) {
        let now = self.now;
        self.observe(EventKind::Flushed, Some(number), None, None, 0, 0);
        self.measured.syncs += u64::from(now >= self.open && now <= self.close);
        match self.clients[number as usize].state {
            ClientState::Flushing if self.is_over() => self.close(number),
            ClientState::Flushing => {
                self.clients[number as usize].state = ClientState::Due;
                self.wake_after_turnaround(number);
            }
            ClientState::LastFlush => self.end(number),
            state => unreachable!("a client that is {state:?} has no flush under way"),
        }
    }

    fn close(&mut self, number: u32) {
        let client = &mut self.clients[number as usize];
        client.wake = 0;
        if client.is_waiting() {
            client.state = ClientState::Closing;
        } else if self.rules.flushes_at_end {
            self.flush(number, ClientState::LastFlush);
        } else {
            self.end(number);
        }
    }

    fn end(&mut self, number: u32) {
        let client = &mut self.clients[number as usize];
        client.state = ClientState::Ended;
        client.ended = self.now;
        self.live -= 1;
        self.observe(EventKind::Exit, Some(number), None, None, 0, 0);
        self.queue.exited(self.now, number);
    }

    /// Ends thinking and throttled clients now, and the others after their open I/O.
    fn stop_others(&mut self) {
        self.stopping = true;
        for number in 0..self.clients.len() as u32 {
            let client = &self.clients[number as usize];
            if matches!(client.state, ClientState::Due | ClientState::Throttled(_))
                && client.wake != 0
            {
                self.close(number);
            }
        }
    }

    pub(super) fn sum_up(&mut self, opens: Time) {
        if self.now <= self.close {
            self.at_close = Some(self.mark());
        }
        let lived = |client: &RunningClient| Lived {
            totals: client.totals,
            began: client.began,
            ended: client.ended,
        };
        let close = (!self.rules.flushes_at_end).then_some(self.close);
        if self.flows.is_empty() {
            let lived: Vec<Lived> = self.clients.iter().map(lived).collect();
            return self.measured.sum_up(&lived, opens, close, self.rules.first_stops_all);
        }
        for (number, flow) in self.flows.iter_mut().enumerate() {
            let own = self.clients.iter().filter(|client| client.flow == Some(number));
            let lived: Vec<Lived> = own.map(lived).collect();
            flow.measured.sum_up(&lived, opens, close, false);
        }
        self.measured.take_flows(std::mem::take(&mut self.flows));
    }
}
