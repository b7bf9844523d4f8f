//! Runs all clients through one pass, and sums their results.
//!
//! The calling thread only waits. It checks the stop flag fifty times a second, and gives up when
//! patience after the window is exhausted: a thread in an uninterruptible request cannot be ended,
//! so it is abandoned, and cleans up if the device ever responds.

use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use sim::workload::{Client, Measured, Params, Seat, WorkloadKind};

use crate::buffer::Buffer;
use crate::drive::Submission;
use crate::shared::{Gate, Shared};
use crate::sys::Ring;
use crate::tally::Tally;
use crate::target::Target;
use crate::turnaround::Turnaround;
use crate::{Drive, EngineError, sync};

const TICK: Duration = Duration::from_millis(20);

enum Message {
    Ready(Result<(), EngineError>),
    Done(usize, Box<Tally>),
    /// Its thread panicked.
    Broken(usize),
}

struct Worker {
    kind: &'static WorkloadKind,
    params: Params,
    seat: Seat,
    depth: u32,
    submission: Submission,
    target: Target,
    flush: bool,
    open_ns: u64,
    close_ns: u64,
    shared: Arc<Shared>,
    report: Sender<Message>,
}

enum Means {
    Sync(Buffer),
    Ring(Box<Ring>),
}

pub(super) fn run(
    drive: &Drive,
    targets: &[Target],
    warmup: Duration,
    duration: Duration,
    gate: &Gate,
    stop: &AtomicBool,
) -> Result<Measured, EngineError> {
    let shared = Arc::new(Shared::default());
    let (report, reports) = channel();
    let open_ns = warmup.as_nanos() as u64;
    let close_ns = open_ns + duration.as_nanos() as u64;
    let (threads, spawned) = spawn(drive, targets, open_ns, close_ns, &shared, report);
    let ready = spawned.and_then(|()| await_ready(drive, targets, &reports));
    if ready.is_err() {
        shared.stop();
    }
    let start_ns = if ready.is_ok() { gate.wait(stop) } else { None };
    shared.open_gate(start_ns);
    ready?;
    let tallies = await_done(drive, targets, &reports, &shared, close_ns, stop)?;
    // They only clean up; afterwards, the target is no longer in use.
    threads.into_iter().for_each(|thread| drop(thread.join()));
    Ok(sum(drive, &tallies, close_ns, stop.load(Ordering::Relaxed)))
}

/// Returns threads already started even after an error.
fn spawn(
    drive: &Drive,
    targets: &[Target],
    open_ns: u64,
    close_ns: u64,
    shared: &Arc<Shared>,
    report: Sender<Message>,
) -> (Vec<thread::JoinHandle<()>>, Result<(), EngineError>) {
    let count = targets.len() as u32;
    let mut threads = Vec::with_capacity(targets.len());
    for (index, target) in (0u32..).zip(targets) {
        let worker = Worker {
            kind: drive.kind,
            params: drive.params.clone(),
            seat: Seat { index, count, len: target.len, seed: drive.seed },
            depth: drive.kind.iodepth(&drive.params, index),
            submission: drive.submission,
            target: target.clone(),
            flush: drive.flushes_at_end(),
            open_ns,
            close_ns,
            shared: Arc::clone(shared),
            report: report.clone(),
        };
        // std creates threads without CLONE_IO, so each gets its own I/O context, and per-process
        // schedulers (bfq) see one process per client. The name appears in traces.
        let thread = thread::Builder::new().name(format!("client-{index}"));
        match thread.spawn(move || worker.run()) {
            Ok(thread) => threads.push(thread),
            Err(cause) => {
                let next = "use fewer clients, or raise the limit of processes (ulimit -u)";
                return (
                    threads,
                    Err(EngineError::Setup {
                        doing: "cannot start a client's thread",
                        cause,
                        next,
                    }),
                );
            }
        }
    }
    (threads, Ok(()))
}

/// Waits for all clients; returns the first error.
fn await_ready(
    drive: &Drive,
    targets: &[Target],
    reports: &Receiver<Message>,
) -> Result<(), EngineError> {
    let give_up = Instant::now() + drive.patience;
    let mut first = Ok(());
    for ready in 0..targets.len() {
        match reports.recv_timeout(give_up.saturating_duration_since(Instant::now())) {
            Ok(Message::Ready(result)) => first = first.and(result),
            Ok(Message::Broken(client) | Message::Done(client, _)) => {
                return Err(EngineError::Panicked { client });
            }
            Err(_) => return Err(hung(targets.len() - ready, &targets[ready], drive.patience)),
        }
    }
    first
}

/// Forwards the caller's stop; gives up when patience is exhausted.
fn await_done(
    drive: &Drive,
    targets: &[Target],
    reports: &Receiver<Message>,
    shared: &Shared,
    close_ns: u64,
    stop: &AtomicBool,
) -> Result<Vec<Tally>, EngineError> {
    let mut tallies: Vec<Option<Box<Tally>>> = targets.iter().map(|_| None).collect();
    let mut give_up = Duration::from_nanos(close_ns) + drive.patience;
    while let Some(silent) = tallies.iter().position(Option::is_none) {
        match reports.recv_timeout(TICK) {
            Ok(Message::Done(client, tally)) => tallies[client] = Some(tally),
            Ok(Message::Broken(client)) => {
                shared.stop();
                return Err(EngineError::Panicked { client });
            }
            Ok(Message::Ready(_)) => unreachable!("every client has reported that it is ready"),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                let now = Duration::from_nanos(shared.now());
                if stop.load(Ordering::Relaxed) && !shared.is_stopped() {
                    shared.stop();
                    give_up = give_up.min(now + drive.patience);
                }
                if now > give_up {
                    shared.stop();
                    let missing = tallies.iter().filter(|tally| tally.is_none()).count();
                    return Err(hung(missing, &targets[silent], drive.patience));
                }
            }
        }
    }
    Ok(tallies.into_iter().flatten().map(|tally| *tally).collect())
}

fn hung(clients: usize, target: &Target, patience: Duration) -> EngineError {
    EngineError::Hung { clients, path: target.path.clone(), seconds: patience.as_secs() }
}

impl Worker {
    fn run(self) {
        if catch_unwind(AssertUnwindSafe(|| self.work())).is_err() {
            // The receiver may be gone.
            let _ = self.report.send(Message::Broken(self.seat.index as usize));
        }
    }

    fn work(&self) {
        let set_up = self.set_up();
        let (ready, set_up) = match set_up {
            Ok(set_up) => (Ok(()), Some(set_up)),
            Err(error) => (Err(error), None),
        };
        let _ = self.report.send(Message::Ready(ready));
        self.shared.wait_at_gate();
        let Some((mut client, mut means)) = set_up else { return };
        let mut tally = Box::new(Tally::new(self.open_ns, self.close_ns));
        let mut turnaround = Turnaround::new(self.submission, self.seat.seed, self.seat.index);
        let (client, turnaround) = (client.as_mut(), &mut turnaround);
        match &mut means {
            Means::Sync(buffer) => {
                sync::run(client, &self.target, buffer, turnaround, &self.shared, &mut tally)
            }
            Means::Ring(ring) => {
                ring.run(client, &self.target, turnaround, &self.shared, &mut tally)
            }
        }
        if tally.finished && self.kind.pass_based {
            self.shared.stop();
        }
        if self.flush && tally.vanished.is_none() {
            let result = self.target.file.sync_data();
            tally.record_sync(result, &self.target.path, self.shared.now());
        }
        tally.end(self.shared.now());
        drop(means);
        let _ = self.report.send(Message::Done(self.seat.index as usize, tally));
    }

    fn set_up(&self) -> Result<(Box<dyn Client + Send>, Means), EngineError> {
        // The default slack of 50 µs would lengthen think times; failure is harmless.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let size = self.kind.max_request_of(&self.params, self.seat.index);
        let fill = self
            .kind
            .writes_with(&self.params)
            .then_some(self.seat.seed ^ u64::from(self.seat.index));
        let buffer = Buffer::new(size, self.depth, fill)?;
        let means = match self.depth {
            1 => Means::Sync(buffer),
            depth => Means::Ring(Box::new(Ring::new(
                buffer,
                size,
                depth,
                &self.target,
                self.submission,
            )?)),
        };
        Ok((self.kind.client(&self.params, self.seat), means))
    }
}

fn sum(drive: &Drive, tallies: &[Tally], close_ns: u64, interrupted: bool) -> Measured {
    let mut measured = Measured { passes: 1, interrupted, ..Measured::default() };
    let last_end = tallies.iter().map(|tally| tally.ended_ns).max().unwrap_or(0);
    let window_end = if drive.flushes_at_end() { last_end } else { last_end.min(close_ns) };
    let rings =
        (0u32..).zip(tallies).filter(|(client, _)| drive.kind.iodepth(&drive.params, *client) > 1);
    // The kernel may do a ring's work in its own threads (io-wq), which belong to no client.
    measured.cpu_ns = match rings.map(|(_, tally)| tally.process_cpu_ns).max() {
        Some(process) => process,
        None => tallies.iter().map(|tally| tally.cpu_ns).sum(),
    };
    for tally in tallies {
        measured.window_ns = window_end.saturating_sub(tally.open_ns);
        measured.reads.add(&tally.reads);
        measured.writes.add(&tally.writes);
        measured.deadlines.add(&tally.deadlines);
        measured.intervals.add(&tally.intervals);
        measured.syncs += tally.syncs;
        measured.issued.add(&tally.issued);
        measured.errors += tally.errors;
        measured.first_error = measured.first_error.take().or_else(|| tally.first_error.clone());
        measured.vanished = measured.vanished.take().or_else(|| tally.vanished.clone());
        measured.no_space = measured.no_space.take().or_else(|| tally.no_space.clone());
        measured.clients.push(tally.totals(window_end));
    }
    measured
}
