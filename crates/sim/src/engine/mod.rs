//! The event loop: clients × queue × device in virtual time.
//!
//! The order at one instant is fixed: completions, dispatch, timer, dispatch, CPU jobs, then the due
//! clients, with a dispatch after each or after all ([`Rules::async_dispatch`]). So a synchronous
//! reader's next request arrives after the device has been offered another one: this is what makes
//! its idleness deceptive.
//!
//! It panics, naming scheduler, seed and state, if time goes back, a bio completes twice, the
//! device is overfilled, a guarantee is broken, or Little's law fails to the nanosecond.

mod client;
mod cpus;
mod ledger;
mod running;
mod slots;
mod wakes;

use crate::workload::{FlowMeasured, Measured, Member, Pass};
use elevator::{BlockRequest, Entry, Guarantee, Op, Queue, Request, SECTOR_BYTES, Time};

use crate::device::{Command, DeviceModel};
use crate::error::SimError;
use crate::host::CpuCost;
use crate::trace::{Event, EventKind, Observer};
use crate::turnaround::Turnarounds;

use cpus::{Cpus, Job};
pub(crate) use ledger::difference;
pub use ledger::jain;
use ledger::{Ledger, Mark, State};
use running::{ClientState, RunningClient};
use slots::Slots;
use wakes::Wakes;

/// Tag above those of all requests; the device has at most one flush.
const FLUSH_TAG: u32 = 1 << 20;
/// Maximum events at one instant: a closed loop needs a few per open bio (at most 65,536).
const STANDSTILL: u32 = 10_000_000;
/// Turns of the loop between two calls of `stop`.
const STOP_EVERY: u32 = 1 << 6;

#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) elevator: &'static str,
    pub(crate) workload: &'static str,
    pub(crate) seed: u64,
    pub(crate) turnarounds: Turnarounds,
    pub(crate) reaches_device: bool,
    pub(crate) buffered: bool,
    pub(crate) flushes_at_end: bool,
    pub(crate) first_stops_all: bool,
    /// kblockd dispatches after all clients of an instant (Linux 6.1 blk_mq_submit_bio runs the
    /// queue asynchronously; confirmed). Otherwise the client dispatches.
    pub(crate) async_dispatch: bool,
    pub(crate) cpu_cost: CpuCost,
    pub(crate) guarantees: &'static [Guarantee],
}

pub(crate) struct Engine<'a, O: Observer + ?Sized> {
    rules: Rules,
    observer: &'a mut O,
    pub(crate) queue: Queue,
    pub(crate) device: Box<dyn DeviceModel>,
    device_depth: u32,
    is_flash: bool,
    cpus: Cpus,
    /// Commands at the device, flushes included.
    in_device: u32,
    flushing: Vec<u32>,
    /// The flush waits for room at the device.
    flush_waits: bool,
    /// One flush serves them all, since the kernel has at most one in flight (Linux 6.1
    /// block/blk-flush.c; confirmed), and older kernels one barrier.
    to_flush: Vec<u32>,
    clients: Vec<RunningClient>,
    live: u32,
    wakes: Wakes,
    slots: Slots,
    pub(crate) now: Time,
    /// Requests count if completed within `open..=close`.
    open: Time,
    close: Time,
    stopping: bool,
    pub(crate) ledger: Ledger,
    pub(crate) at_close: Option<Mark>,
    pub(crate) measured: Measured,
    flows: Vec<FlowMeasured>,
    turns: u32,
    turns_at_this_time: u32,
    done_tags: Vec<u32>,
    done_bios: Vec<u64>,
    /// Clients whose waiting requests have just received a tag.
    admitted: Vec<u32>,
}

impl<'a, O: Observer + ?Sized> Engine<'a, O> {
    /// Starts at time 0, without clients.
    pub(crate) fn new(
        rules: Rules,
        queue: Queue,
        mut device: Box<dyn DeviceModel>,
        observer: &'a mut O,
    ) -> Self {
        let hw_queues = queue.topology().hw_queues();
        let tags = u64::from(queue.limits().nr_requests) * u64::from(hw_queues);
        assert!(tags <= u64::from(FLUSH_TAG / 4), "tags of requests stay below those of flushes");
        device.use_queues(hw_queues);
        Engine {
            cpus: Cpus::new(queue.topology(), rules.cpu_cost),
            rules,
            observer,
            queue,
            device_depth: device.queue_depth().saturating_mul(hw_queues),
            is_flash: device.is_flash(),
            device,
            in_device: 0,
            flushing: Vec::new(),
            flush_waits: false,
            to_flush: Vec::new(),
            clients: Vec::new(),
            live: 0,
            wakes: Wakes::default(),
            slots: Slots::default(),
            now: Time::ZERO,
            open: Time::ZERO,
            close: Time::ZERO,
            stopping: false,
            ledger: Ledger::default(),
            at_close: None,
            measured: Measured::default(),
            flows: Vec::new(),
            turns: 0,
            turns_at_this_time: 0,
            done_tags: Vec::new(),
            done_bios: Vec::new(),
            admitted: Vec::new(),
        }
    }

    pub(crate) fn with_flows(self, flows: Vec<FlowMeasured>) -> Self {
        Engine { flows, ..self }
    }

    /// Ends once the window has closed and everything begun has ended.
    pub(crate) fn run_pass(
        &mut self,
        members: Vec<Member>,
        Pass { warmup_ns, duration_ns, counts }: Pass,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), SimError> {
        let start = self.now;
        let opens = start + warmup_ns;
        self.close = opens + duration_ns;
        self.open = if counts { opens } else { Time::MAX };
        let window_end = if self.rules.flushes_at_end { Time::MAX } else { self.close };
        self.ledger.begin(counts.then_some((opens, window_end)));
        self.stopping = false;
        self.live = members.len() as u32;
        for (process, member) in (0..).zip(&members) {
            if let Some((flow, spec)) = &member.flow {
                self.queue.elevator_mut().flow(process, *flow, spec);
            }
        }
        self.clients =
            members.into_iter().map(|member| RunningClient::new(member, start)).collect();
        self.wakes.clear();
        for client in 0..self.live {
            self.wake_at(client, start);
        }
        while self.live > 0 {
            self.turns = self.turns.wrapping_add(1);
            if self.turns.is_multiple_of(STOP_EVERY) && stop() {
                return Err(SimError::Interrupted);
            }
            self.run_turn();
        }
        self.check_drained();
        if counts {
            self.sum_up(opens);
        }
        Ok(())
    }

    fn run_turn(&mut self) {
        // A timer may be set in the past, as the kernel's may; it fires at once.
        let timer = self.queue.next_timer().map(|at| at.max(self.now));
        let others = earlier(timer, earlier(self.wakes.next(), self.cpus.next()));
        let is_idle = self.offers_nothing();
        // Most events of a flash device are between its parts.
        if is_idle && self.is_flash {
            self.device.advance_inside(others.unwrap_or(Time::MAX).min(self.next_mark()));
        }
        let device = loop {
            let device = self.device.next_event();
            let Some(next) = earlier(others, device) else {
                self.broken("no event is pending, but clients have not ended")
            };
            self.go_to(next);
            if device.is_some_and(|at| at <= self.now) {
                self.device.advance(self.now, &mut self.done_tags);
            }
            if !is_idle || !self.done_tags.is_empty() || others.is_some_and(|at| at <= self.now) {
                break device;
            }
        };
        let now = self.now;
        if device.is_some_and(|at| at <= now) {
            self.completions();
            self.offer();
            self.admit_waiting();
        }
        if timer.is_some() && self.queue.next_timer().is_some_and(|at| at <= now) {
            self.observe(EventKind::Timer, None, None, None, 0, 0);
            let observer = &mut *self.observer;
            self.queue.on_timer(now, &mut |entry| observe_entry(observer, now, None, &entry));
            self.offer();
        }
        while let Some(job) = self.cpus.pop(now) {
            self.count_turn();
            match job {
                Job::Submit { client, request, asked } => {
                    self.submit_to_queue(client, request, asked)
                }
                Job::Complete { tag } => self.complete_request(tag),
            }
            self.offer();
            self.admit_waiting();
        }
        while let Some((client, wake)) = self.wakes.pop(now) {
            self.count_turn();
            if self.clients[client as usize].wake == wake {
                self.resume(client);
                if !self.rules.async_dispatch {
                    self.offer();
                }
            }
        }
        if self.rules.async_dispatch {
            self.offer();
        }
    }

    /// Before this time, no mark is taken.
    fn next_mark(&self) -> Time {
        let closes = if self.now <= self.close { self.close + 1 } else { Time::MAX };
        self.ledger.next_open().min(closes)
    }

    fn go_to(&mut self, next: Time) {
        if next <= self.now {
            assert!(
                next == self.now,
                "time went back: from {} to {} ns",
                self.now.as_ns(),
                next.as_ns()
            );
            self.count_turn();
            return;
        }
        self.turns_at_this_time = 0;
        if self.ledger.opens(next) {
            self.ledger.at_open = Some(self.mark());
        }
        if next > self.close && self.now <= self.close {
            self.at_close = Some(self.mark());
        }
        let busy = self.in_device > 0;
        let holding = !busy && self.queue.held() + self.queue.waiting() > 0;
        self.ledger.count_interval(
            self.now,
            next,
            State { bios: self.slots.used(), busy, holding },
        );
        self.now = next;
    }

    fn count_turn(&mut self) {
        self.turns_at_this_time += 1;
        if self.turns_at_this_time == STANDSTILL {
            self.broken("time does not advance");
        }
    }

    fn completions(&mut self) {
        // No completion appends to the list.
        for at in 0..self.done_tags.len() {
            let tag = self.done_tags[at];
            assert!(self.in_device > 0, "the device completed tag {tag}, which was not in flight");
            self.in_device -= 1;
            if tag == FLUSH_TAG {
                self.complete_flush();
            } else if self.cpus.cost_time() {
                let process = self.queue.at_device(tag).process;
                self.cpus.enqueue(self.now, process, Job::Complete { tag });
            } else {
                self.complete_request(tag);
            }
        }
        self.done_tags.clear();
    }

    /// Clients that asked during a flush get the next one.
    fn complete_flush(&mut self) {
        for client in std::mem::take(&mut self.flushing) {
            self.finish_flush(client);
        }
        self.next_flush();
    }

    fn next_flush(&mut self) {
        if self.flushing.is_empty() && !self.to_flush.is_empty() {
            self.flushing = std::mem::take(&mut self.to_flush);
            self.flush_waits = true;
        }
    }

    fn complete_request(&mut self, tag: u32) {
        let done = self.queue.complete(self.now, tag, &mut self.done_bios);
        self.observer.event(&of_request(self.now, EventKind::Complete, &done.request));
        for at in 0..self.done_bios.len() {
            self.bio_done(self.done_bios[at] as u32);
        }
        self.done_bios.clear();
    }

    fn admit_waiting(&mut self) {
        let now = self.now;
        let (observer, admitted) = (&mut *self.observer, &mut self.admitted);
        let mut inserted = false;
        self.queue.admit_waiting(now, &mut |entry| {
            inserted = true;
            if let Entry::Inserted(request) = entry
                && request.sync
            {
                admitted.push(request.process);
            }
            observe_entry(observer, now, None, &entry);
        });
        if inserted {
            self.unblock();
            self.offer();
        }
    }

    /// Whether only a completion, a timer or a client can bring the device something.
    fn offers_nothing(&self) -> bool {
        self.in_device == self.device_depth || !self.flush_waits && self.queue.held() == 0
    }

    #[inline]
    fn offer(&mut self) {
        if self.in_device < self.device_depth {
            self.fill_device();
        }
    }

    /// Flushes first, which no scheduler sees.
    fn fill_device(&mut self) {
        let now = self.now;
        while self.in_device < self.device_depth {
            if std::mem::take(&mut self.flush_waits) {
                self.observe(EventKind::Flush, self.flushing.first().copied(), None, None, 0, 0);
                self.device.submit(now, Command::Flush { tag: FLUSH_TAG });
                self.in_device += 1;
                continue;
            }
            let Some(request) = self.queue.dispatch(now, &*self.device) else { break };
            self.ledger.count_issue(now, request);
            self.observer.event(&of_request(now, EventKind::Issue, request));
            let BlockRequest { tag, process, op, sector, nr_sectors, .. } = *request;
            debug_assert!(tag < FLUSH_TAG, "tags of requests stay below that of flushes");
            let queue = self.queue.topology().hw_queue(process);
            self.device.submit_on(now, queue, Command::Transfer { tag, op, sector, nr_sectors });
            self.in_device += 1;
        }
        if self.in_device == 0 && self.queue.in_flight() == 0 && self.queue.held() > 0 {
            self.check_idling();
        }
    }

    /// The device idles while requests are held: was this guaranteed?
    fn check_idling(&self) {
        for guarantee in self.rules.guarantees {
            match guarantee {
                Guarantee::WorkConserving => {
                    self.broken("a work-conserving scheduler lets the device idle")
                }
                Guarantee::IdlesWithTimer if self.queue.next_timer().is_none() => {
                    self.broken("the scheduler lets the device idle without a timer")
                }
                _ => {}
            }
        }
    }

    /// Checks that nothing remains and that Little's law holds exactly.
    fn check_drained(&mut self) {
        if self.slots.used() > 0
            || !self.queue.is_idle()
            || !self.flushing.is_empty()
            || !self.to_flush.is_empty()
        {
            self.broken("clients have ended, but not all of their work");
        }
        let ledger = &self.ledger;
        assert_eq!(
            ledger.bio_time, ledger.latency_sum,
            "Little's law: the integral of the bios in the system is the sum of their latencies ({:?})",
            self.rules
        );
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { device: self.device.stats(), anticipation: self.queue.elevator().anticipation() }
    }

    #[cold]
    fn broken(&self, what: &str) -> ! {
        let states: Vec<ClientState> =
            self.clients.iter().map(|client| client.state).take(8).collect();
        panic!(
            "{what}: elevator {}, workload {}, seed {}, at {} ns: {} held, {} waiting, {} in flight, {} commands at the \
             device, {} bios open, {} of {} clients live, the first ones {states:?}, timer {:?}",
            self.rules.elevator,
            self.rules.workload,
            self.rules.seed,
            self.now.as_ns(),
            self.queue.held(),
            self.queue.waiting(),
            self.queue.in_flight(),
            self.in_device,
            self.slots.used(),
            self.live,
            self.clients.len(),
            self.queue.next_timer(),
        )
    }

    #[inline]
    fn observe(
        &mut self,
        kind: EventKind,
        process: Option<u32>,
        tag: Option<u32>,
        op: Option<Op>,
        sector: u64,
        nr_sectors: u32,
    ) {
        self.observer.event(&Event { at: self.now, kind, process, tag, op, sector, nr_sectors });
    }

    /// The client's view: a bio submitted, or its completion received.
    #[inline]
    fn observe_bio(&mut self, kind: EventKind, client: u32, request: &Request) {
        let (sector, nr_sectors) = sectors(self.clients[client as usize].base, request);
        self.observe(kind, Some(client), None, Some(request.op), sector, nr_sectors);
    }
}

#[inline]
fn earlier(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// The sectors that contain a request's bytes, rounded outwards for small buffered requests.
fn sectors(base: u64, request: &Request) -> (u64, u32) {
    let from = (base + request.offset) / SECTOR_BYTES;
    let to = (base + request.offset + u64::from(request.len)).div_ceil(SECTOR_BYTES);
    (from, (to - from) as u32)
}

fn of_request(at: Time, kind: EventKind, request: &BlockRequest) -> Event {
    Event {
        at,
        kind,
        process: Some(request.process),
        tag: Some(request.tag),
        op: Some(request.op),
        sector: request.sector,
        nr_sectors: request.nr_sectors,
    }
}

#[inline]
fn observe_entry<O: Observer + ?Sized>(
    observer: &mut O,
    now: Time,
    process: Option<u32>,
    entry: &Entry,
) {
    observer.event(&match entry {
        Entry::Inserted(request) => of_request(now, EventKind::Insert, request),
        Entry::Merged(request) => of_request(now, EventKind::Merge, request),
        Entry::Waiting => Event {
            at: now,
            kind: EventKind::Wait,
            process,
            tag: None,
            op: None,
            sector: 0,
            nr_sectors: 0,
        },
    });
}
