//! What a process has to do, and what it tells of it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::{cyclic, forks, io, linpack, memory, messaging, spin, wakeup};

/// What a process has to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "kebab-case")]
pub enum Order {
    /// Solves systems of linear equations, and ends by itself.
    Linpack(linpack::Order),
    /// Sends messages between processes or threads, and ends by itself.
    Messaging(messaging::Order),
    /// Wakes threads, and ends by itself.
    Wakeup(wakeup::Order),
    /// Sleeps until moments, and ends by itself.
    Cyclic(cyclic::Order),
    /// Computes until it is told to end.
    Spin(spin::Order),
    /// Streams through memory until it is told to end.
    Memory(memory::Order),
    /// Forks until it is told to end.
    Forks(forks::Order),
    /// Writes files until it is told to end.
    Io(io::Order),
}

/// What a work has shown.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Report {
    /// Length of what was measured, in nanoseconds.
    pub window_ns: u64,
    /// Value of each metric, in the unit of its name.
    pub metrics: BTreeMap<String, f64>,
    /// How many measurements each percentile of `metrics` rests on.
    #[serde(default)]
    pub counts: BTreeMap<String, u64>,
    /// What else was counted.
    #[serde(default)]
    pub counters: BTreeMap<String, f64>,
}

/// Why a work gave no figures.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The machine refused something.
    #[error("cannot {what}: {cause}")]
    Refused {
        /// What was asked for.
        what: &'static str,
        /// The kernel's answer.
        cause: std::io::Error,
    },
    /// The result is wrong: the processor, the memory or the compiler is.
    #[error("the result is wrong: {what}")]
    Wrong {
        /// By how much.
        what: String,
    },
}

/// Does the work; `begun` is called when it has started, and what goes on until it is told so ends when `stop` is set.
///
/// # Errors
/// [`Failure`].
pub fn run(order: &Order, stop: &AtomicBool, begun: impl FnOnce()) -> Result<Report, Failure> {
    begun();
    match order {
        Order::Linpack(order) => linpack::run(order, stop),
        Order::Messaging(order) => messaging::run(order, stop),
        Order::Wakeup(order) => wakeup::run(order, stop),
        Order::Cyclic(order) => cyclic::run(order, stop),
        Order::Spin(order) => spin::run(order, stop),
        Order::Memory(order) => memory::run(order, stop),
        Order::Forks(order) => forks::run(order, stop),
        Order::Io(order) => io::run(order, stop),
    }
}

/// How many threads a load has: what was asked for, or one for each processor that is online. Not the processors that it may use: beside an emptied
/// processor the competition is to be the same as without.
pub(crate) fn for_each_processor(asked: u32) -> u32 {
    if asked > 0 {
        return asked;
    }
    // SAFETY: the call has a number for an argument and touches no memory.
    let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    u32::try_from(online).unwrap_or(1).max(1)
}

/// Runs the threads of a load, each with its number; what they return and the seconds that it took make the counters. If one fails, all
/// are told to end.
pub(crate) fn beside<T: Send>(
    threads: u32,
    stop: &AtomicBool,
    one: impl Fn(u32) -> Result<T, Failure> + Sync,
    counters: impl FnOnce(&[T], f64) -> Vec<(&'static str, f64)>,
) -> Result<Report, Failure> {
    let began = Instant::now();
    let work = &|at: u32| one(at).inspect_err(|_| stop.store(true, Ordering::Relaxed));
    let done: Vec<T> = thread::scope(|scope| {
        let made: Result<Vec<_>, Failure> = (0..threads)
            .map(|at| thread::Builder::new().spawn_scoped(scope, move || work(at)).map_err(no_thread))
            .collect();
        let threads = made.inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
        threads.into_iter().map(|thread| thread.join().expect("a load does not panic")).collect::<Result<_, _>>()
    })?;
    let took = began.elapsed();
    let counters = counters(&done, took.as_secs_f64().max(1e-9));
    Ok(Report {
        window_ns: u64::try_from(took.as_nanos()).unwrap_or(u64::MAX),
        counters: counters.into_iter().map(|(name, value)| (name.to_string(), value)).collect(),
        ..Report::default()
    })
}

/// The kernel makes no more threads.
pub(crate) fn no_thread(cause: std::io::Error) -> Failure {
    Failure::Refused { what: "make a thread (a policy of deadline and a limit of processes forbid it)", cause }
}

/// There is no more memory.
pub(crate) fn no_memory() -> Failure {
    let cause = std::io::ErrorKind::OutOfMemory.into();
    Failure::Refused { what: "get the memory that it streams through (name a smaller size=…)", cause }
}

/// Runs a load for some milliseconds, then tells it to end, which it must do within a tenth of a second; tests are patient where the
/// machine is loaded, and only a load that does not end at all fails them.
#[cfg(test)]
pub(crate) fn stopped_after(ms: u64, load: impl FnOnce(&AtomicBool) -> Result<Report, Failure> + Send) -> Report {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let running = scope.spawn(|| load(&stop));
        thread::sleep(std::time::Duration::from_millis(ms));
        stop.store(true, Ordering::Relaxed);
        running.join().expect("a load does not panic").expect("nothing is refused here")
    })
}
