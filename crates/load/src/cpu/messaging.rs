//! Messages between many processes or threads: many wake-ups and switches, little computing.
//!
//! After the idea of hackbench. In a round, each sender sends one message to every receiver of its
//! group, which has as many senders as receivers; each receiver has its own channel. Unlike
//! hackbench, it ends by time: senders complete their round and send a farewell, and receivers exit
//! after all farewells. All messages sent are thus received within the window, and both counts are
//! compared.
//!
//! Messages are at most 4096 bytes, so that writes are atomic.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};
use serde::{Deserialize, Serialize};

use crate::cpu::clock::{SLICE_NS, now_ns, sleep_until};
use crate::cpu::counted::Counted;
use crate::cpu::messenger::{Channel, END, HEAD, READY, Role, SLOT, STOPPED, task};
use crate::cpu::report::no_thread;
use crate::cpu::sys::{Children, Shared, fork_messenger};
use crate::cpu::{Failure, Report};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    pub groups: u32,
    /// Senders per group, and receivers.
    pub fds: u32,
    /// Message size, 1 to 4096.
    pub bytes: u32,
    /// Threads instead of processes.
    pub threads: bool,
    /// Pipes instead of socket pairs.
    pub pipes: bool,
    pub duration_ns: u64,
}

/// Runs until its time is over or `stop`.
///
/// # Errors
/// [`Failure::Refused`] without channels, threads or processes, [`Failure::Wrong`] if a message was
/// lost.
pub fn run(spec: &Spec, stop: &AtomicBool) -> Result<Report, Failure> {
    let tasks = 2 * spec.groups as usize * spec.fds as usize;
    let shared = Shared::new(HEAD + SLOT * tasks).map_err(refused("share memory"))?;
    let numbers = shared.numbers();
    let groups: Vec<Vec<Channel>> = (0..spec.groups)
        .map(|_| (0..spec.fds).map(|_| channel(spec.pipes)).collect::<Result<_, _>>())
        .collect::<Result<_, _>>()
        .map_err(refused("make the channels of messages (ulimit -n is the limit of open files)"))?;
    let roles: Vec<Role<'_>> = groups
        .iter()
        .flat_map(|group| {
            let receivers = group.iter().map(|channel| Role::Receive(&channel.from, group.len()));
            receivers.chain(group.iter().map(|_| Role::Send(group)))
        })
        .collect();
    let began = if spec.threads {
        in_threads(spec, &roles, numbers, stop)?
    } else {
        in_processes(spec, &roles, numbers, stop)?
    };
    summed(&roles, numbers, began)
}

fn refused<E: Into<std::io::Error>>(what: &'static str) -> impl Fn(E) -> Failure {
    move |cause| Failure::Refused { what, cause: cause.into() }
}

fn channel(pipes: bool) -> rustix::io::Result<Channel> {
    let (from, to) = if pipes {
        pipe_with(PipeFlags::CLOEXEC)?
    } else {
        socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?
    };
    Ok(Channel { from, to })
}

/// Returns the start time.
fn in_threads(
    spec: &Spec,
    roles: &[Role<'_>],
    numbers: &[AtomicU64],
    stop: &AtomicBool,
) -> Result<u64, Failure> {
    thread::scope(|scope| {
        let made: Result<Vec<_>, Failure> = roles
            .iter()
            .zip(numbers[HEAD..].chunks(SLOT))
            .map(|(role, slot)| {
                let work = move || task(*role, spec.bytes as usize, numbers, slot);
                thread::Builder::new()
                    .stack_size(1 << 16)
                    .spawn_scoped(scope, work)
                    .map_err(no_thread)
            })
            .collect();
        // Tasks that wait for the start exit without one.
        let threads = made.inspect_err(|_| abandon(numbers))?;
        let began = begin(spec, roles.len(), numbers, || true)?;
        lead(numbers, stop, || threads.iter().all(|thread| thread.is_finished()), || true)?;
        Ok(began)
    })
}

/// Returns the start time.
fn in_processes(
    spec: &Spec,
    roles: &[Role<'_>],
    numbers: &[AtomicU64],
    stop: &AtomicBool,
) -> Result<u64, Failure> {
    let mut children = Children::default();
    for (role, slot) in roles.iter().zip(numbers[HEAD..].chunks(SLOT)) {
        let child = fork_messenger(*role, spec.bytes as usize, numbers, slot);
        children.0.push(
            child.map_err(refused(
                "fork (a policy of deadline and a limit of processes forbid it)",
            ))?,
        );
    }
    let children = std::cell::RefCell::new(children);
    let began = begin(spec, roles.len(), numbers, || children.borrow_mut().reap())?;
    lead(numbers, stop, || children.borrow().0.is_empty(), || children.borrow_mut().reap())?;
    Ok(began)
}

/// Waits until all tasks are ready, and starts them.
fn begin(
    spec: &Spec,
    tasks: usize,
    numbers: &[AtomicU64],
    well: impl Fn() -> bool,
) -> Result<u64, Failure> {
    while numbers[READY].load(Ordering::Acquire) < tasks as u64 {
        if !well() {
            return Err(lost());
        }
        sleep_until(now_ns() + 1_000_000);
    }
    let began = now_ns();
    numbers[END].store(began.saturating_add(spec.duration_ns).max(1), Ordering::Release);
    Ok(began)
}

/// Monitors tasks until all are done.
fn lead(
    numbers: &[AtomicU64],
    stop: &AtomicBool,
    done: impl Fn() -> bool,
    well: impl Fn() -> bool,
) -> Result<(), Failure> {
    while !done() {
        if stop.load(Ordering::Relaxed) {
            numbers[STOPPED].store(1, Ordering::Release);
        }
        if !well() {
            return Err(lost());
        }
        sleep_until(now_ns() + SLICE_NS);
    }
    Ok(())
}

fn lost() -> Failure {
    Failure::Wrong { what: "a process of the messages has ended before it was done".to_string() }
}

/// Ends tasks that have not started.
fn abandon(numbers: &[AtomicU64]) {
    numbers[STOPPED].store(1, Ordering::Release);
    numbers[END].store(u64::MAX, Ordering::Release);
}

fn summed(roles: &[Role<'_>], numbers: &[AtomicU64], began: u64) -> Result<Report, Failure> {
    let (mut sent, mut received, mut done, mut counted) = (0u64, 0u64, began, Vec::new());
    for (role, slot) in roles.iter().zip(numbers[HEAD..].chunks(SLOT)) {
        let count = slot[0].load(Ordering::Acquire);
        if count == u64::MAX {
            return Err(Failure::Wrong { what: "a channel of messages has failed".to_string() });
        }
        match role {
            Role::Send(_) => sent += count,
            Role::Receive(..) => received += count,
        }
        done = done.max(slot[1].load(Ordering::Acquire));
        counted.push(Counted::load(&slot[2..]));
    }
    equal(sent, received)?;
    let window_ns = done - began;
    let rate = received as f64 * 1e9 / window_ns.max(1) as f64;
    let mut counters = Counted::together(counted);
    counters.insert("messages".to_string(), received as f64);
    Ok(Report {
        window_ns,
        metrics: [("messages_per_s".to_string(), rate)].into(),
        counters,
        ..Report::default()
    })
}

fn equal(sent: u64, received: u64) -> Result<(), Failure> {
    if sent == received {
        return Ok(());
    }
    Err(Failure::Wrong { what: format!("{sent} messages were sent and {received} received") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::messenger::{receive, send};

    const MS: u64 = 1_000_000;

    #[test]
    fn every_message_that_was_sent_was_received_in_every_way() {
        for (threads, pipes, bytes) in
            [(true, true, 1), (true, false, 100), (false, true, 4096), (false, false, 100)]
        {
            let spec = Spec { groups: 2, fds: 3, bytes, threads, pipes, duration_ns: 30 * MS };
            let report = run(&spec, &AtomicBool::new(false)).unwrap();
            let messages = report.counters["messages"];
            assert!(
                messages > 0.0 && messages % 3.0 == 0.0,
                "whole rounds of 3: {spec:?} {report:?}"
            );
            let rate = messages * 1e9 / report.window_ns as f64;
            assert!((report.metrics["messages_per_s"] / rate - 1.0).abs() < 1e-9, "{report:?}");
            assert!(report.window_ns >= 30 * MS, "{report:?}");
        }
    }

    #[test]
    fn a_receiver_counts_exactly_what_came_and_goodbyes_are_no_messages() {
        let channel = channel(true).unwrap();
        let rounds = std::cell::Cell::new(0);
        let over = || rounds.replace(rounds.get() + 1) == 7;
        let sent = send(std::slice::from_ref(&channel), 100, over).unwrap();
        assert_eq!((sent, receive(&channel.from, 100, 1)), (7, Ok(7)));
    }

    #[test]
    fn a_lost_message_is_wrong() {
        assert!(equal(5, 5).is_ok());
        assert_eq!(
            equal(5, 4).unwrap_err().to_string(),
            "CPU workload: wrong result: 5 messages were sent and 4 received"
        );
    }

    #[test]
    fn a_stop_ends_it_and_still_nothing_is_lost() {
        let spec = Spec {
            groups: 1,
            fds: 4,
            bytes: 100,
            threads: false,
            pipes: false,
            duration_ns: u64::MAX,
        };
        let report = run(&spec, &AtomicBool::new(true)).unwrap();
        assert!(report.counters.contains_key("messages"), "{report:?}");
    }
}
