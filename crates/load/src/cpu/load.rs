//! Threads of a background load, or of a workload.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use crate::cpu::report::no_thread;
use crate::cpu::sys::online_cpus;
use crate::cpu::{Failure, Report};

/// Defaults to one thread per online CPU, regardless of affinity, so that the load does not depend
/// on CPU isolation.
pub(crate) fn for_each_cpu(asked: u32) -> u32 {
    if asked > 0 { asked } else { online_cpus() }
}

/// Counters are computed from the threads' results and the elapsed seconds. If a thread fails, all
/// end.
pub(crate) fn beside<T: Send>(
    threads: u32,
    stop: &AtomicBool,
    one: impl Fn(u32) -> Result<T, Failure> + Sync,
    counters: impl FnOnce(&[T], f64) -> Vec<(&'static str, f64)>,
) -> Result<Report, Failure> {
    let began = Instant::now();
    let done = on_threads(threads, stop, one)?;
    let took = began.elapsed();
    let counters = counters(&done, took.as_secs_f64().max(1e-9));
    Ok(Report {
        window_ns: u64::try_from(took.as_nanos()).unwrap_or(u64::MAX),
        counters: counters.into_iter().map(|(name, value)| (name.to_string(), value)).collect(),
        ..Report::default()
    })
}

/// The threads' results, in order. If one fails, all end.
pub(crate) fn on_threads<T: Send>(
    threads: u32,
    stop: &AtomicBool,
    one: impl Fn(u32) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    let work = &|at: u32| one(at).inspect_err(|_| stop.store(true, Ordering::Relaxed));
    thread::scope(|scope| {
        let made: Result<Vec<_>, Failure> = (0..threads)
            .map(|at| {
                thread::Builder::new().spawn_scoped(scope, move || work(at)).map_err(no_thread)
            })
            .collect();
        let threads = made.inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
        threads.into_iter().map(|thread| thread.join().expect("a load does not panic")).collect()
    })
}

/// The timeout allows for busy machines.
#[cfg(test)]
pub(crate) fn stopped_after(
    ms: u64,
    load: impl FnOnce(&AtomicBool) -> Result<Report, Failure> + Send,
) -> Report {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let running = scope.spawn(|| load(&stop));
        thread::sleep(std::time::Duration::from_millis(ms));
        stop.store(true, Ordering::Relaxed);
        running.join().expect("a load does not panic").expect("nothing is refused here")
    })
}
