//! Measures trials in virtual time in advance, on several threads.
//!
//! A trial is a function of (variant, workload, seed), so it can be measured before its round is
//! requested, and discarded if unneeded. The results file is identical for any number of CPUs.
//! There are no barriers, which would idle CPUs whenever trials differ in length.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::Result;
use experiment::results::Observation;

use super::parallel::{Key, workers};

/// The flag is set when the result is no longer needed.
pub(super) type Job = Box<dyn FnOnce(&AtomicBool) -> Result<Observation> + Send>;

#[derive(Default)]
struct Trials {
    waiting: VecDeque<(Key, Job)>,
    running: BTreeSet<Key>,
    /// Errors and panics surface in `take`.
    done: BTreeMap<Key, thread::Result<Result<Observation>>>,
    /// Threads that have not decided to exit.
    threads: usize,
}

impl Trials {
    fn knows(&self, key: &Key) -> bool {
        self.running.contains(key)
            || self.done.contains_key(key)
            || self.waiting.iter().any(|(known, _)| known == key)
    }
}

#[derive(Default)]
struct Shared {
    trials: Mutex<Trials>,
    changed: Condvar,
    abandoned: AtomicBool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Trials> {
        self.trials.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'t>(&self, trials: MutexGuard<'t, Trials>) -> MutexGuard<'t, Trials> {
        self.changed.wait(trials).unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self) {
        let mut trials = self.lock();
        while let Some((key, job)) = trials.waiting.pop_front() {
            trials.running.insert(key);
            drop(trials);
            let found = catch_unwind(AssertUnwindSafe(|| job(&self.abandoned)));
            trials = self.lock();
            trials.running.remove(&key);
            trials.done.insert(key, found);
            self.changed.notify_all();
        }
        trials.threads -= 1;
    }
}

pub(super) struct Ahead {
    shared: Arc<Shared>,
    threads: Vec<thread::JoinHandle<()>>,
    nr_threads: usize,
}

impl Default for Ahead {
    fn default() -> Ahead {
        Ahead::on(workers())
    }
}

impl Ahead {
    pub(super) fn on(nr_threads: usize) -> Ahead {
        Ahead { shared: Arc::default(), threads: Vec::new(), nr_threads }
    }

    /// Trials to measure in advance: enough to keep all threads busy during one long trial. More
    /// would be wasted if a variant is decided early.
    pub(super) fn depth(&self) -> usize {
        2 * self.nr_threads
    }

    /// Announces a workload's trials in the expected order, of which the first `next` are certain.
    /// Discards its other trials and calls `job` for new ones.
    pub(super) fn announce(&mut self, keys: &[Key], next: usize, mut job: impl FnMut(&Key) -> Job) {
        let Some(workload) = keys.first().map(|key| key.workload) else { return };
        self.end_idle_threads();
        let mut trials = self.shared.lock();
        let stays = |key: &Key| key.workload != workload || keys.contains(key);
        trials.done.retain(|key, _| stays(key));
        trials.waiting.retain(|(key, _)| stays(key));
        // Trials needed next overtake other workloads'.
        let mut first: VecDeque<(Key, Job)> = VecDeque::new();
        for key in &keys[..next.min(keys.len())] {
            match trials.waiting.iter().position(|(known, _)| known == key) {
                Some(at) => first.extend(trials.waiting.remove(at)),
                None if trials.knows(key) => {}
                None => first.push_back((*key, job(key))),
            }
        }
        first.append(&mut trials.waiting);
        trials.waiting = first;
        for key in keys.iter().skip(next) {
            if !trials.knows(key) {
                let job = job(key);
                trials.waiting.push_back((*key, job));
            }
        }
        let more = (self.nr_threads - trials.threads).min(trials.waiting.len());
        trials.threads += more;
        drop(trials);
        self.threads.retain(|thread| !thread.is_finished());
        for _ in 0..more {
            let shared = Arc::clone(&self.shared);
            self.threads.push(thread::spawn(move || shared.serve()));
        }
    }

    /// After a pilot run the process drops privileges, which affects only new threads.
    fn end_idle_threads(&mut self) {
        let trials = self.shared.lock();
        let idle = trials.waiting.is_empty() && trials.running.is_empty();
        drop(trials);
        if idle {
            self.threads.drain(..).for_each(ended);
        }
    }

    /// Waits for a trial and removes it. None: not announced.
    pub(super) fn take(&mut self, key: &Key) -> Option<Result<Observation>> {
        let mut trials = self.shared.lock();
        loop {
            match trials.done.remove(key) {
                Some(Ok(found)) => return Some(found),
                Some(Err(panic)) => {
                    drop(trials);
                    resume_unwind(panic)
                }
                None if !trials.knows(key) => return None,
                None => trials = self.shared.wait(trials),
            }
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.shared.lock().waiting.clear();
        self.shared.abandoned.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(ended);
    }
}

fn ended(thread: thread::JoinHandle<()>) {
    thread.join().expect("the jobs of a thread may panic, the thread does not");
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use anyhow::bail;

    use super::*;
    use crate::arena::VariantIndex;

    fn key(workload: usize, variant: usize, seed: u64) -> Key {
        Key { variant: VariantIndex(variant), workload, seed }
    }

    fn job(key: &Key) -> Job {
        let ns = 1000 * key.seed + 10 * key.workload as u64 + key.variant.0 as u64;
        Box::new(move |_| Ok(Observation { duration_ns: ns, ..Observation::default() }))
    }

    fn taken(ahead: &mut Ahead, key: &Key) -> Option<u64> {
        Some(ahead.take(key)?.unwrap().duration_ns)
    }

    #[test]
    fn every_trial_is_handed_out_once_whatever_the_number_of_threads() {
        for threads in [1, 2, 7] {
            let mut ahead = Ahead::on(threads);
            let keys: Vec<Key> =
                (0..20).flat_map(|seed| [key(0, 0, seed), key(0, 1, seed)]).collect();
            for round in 0..20 {
                ahead.announce(&keys[2 * round..], 2, job);
                // Trials are not taken in the order of measuring.
                for key in keys[2 * round..2 * round + 2].iter().rev() {
                    assert_eq!(
                        taken(&mut ahead, key),
                        Some(1000 * key.seed + key.variant.0 as u64)
                    );
                    assert!(ahead.take(key).is_none(), "{threads} threads");
                }
            }
        }
    }

    #[test]
    fn a_trial_that_was_not_announced_or_not_again_is_unknown() {
        let mut ahead = Ahead::on(1);
        assert!(ahead.take(&key(0, 0, 0)).is_none());
        ahead.announce(&[key(0, 0, 0), key(0, 1, 0)], 2, job);
        ahead.announce(&[key(1, 0, 0)], 1, job);
        ahead.announce(&[key(0, 1, 0)], 1, job);
        assert_eq!(taken(&mut ahead, &key(0, 1, 0)), Some(1));
        assert_eq!(taken(&mut ahead, &key(1, 0, 0)), Some(10), "another workload's stay");
        // If already running, the trial may complete; the next announcement discards it.
        ahead.announce(&[key(0, 2, 0)], 1, job);
        assert!(ahead.take(&key(0, 0, 0)).is_none());
    }

    #[test]
    fn what_is_asked_for_next_is_measured_before_what_may_follow() {
        let order: Arc<Mutex<Vec<Key>>> = Arc::default();
        let (gate, begun, hold) =
            (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)), key(9, 0, 0));
        let logged = |at: &Key| -> Job {
            let (at, order, gate, begun) =
                (*at, Arc::clone(&order), Arc::clone(&gate), Arc::clone(&begun));
            Box::new(move |_| {
                begun.store(true, Ordering::Relaxed);
                while at == hold && !gate.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(1));
                }
                order.lock().unwrap().push(at);
                Ok(Observation::default())
            })
        };
        let mut ahead = Ahead::on(1);
        ahead.announce(&[hold], 1, logged);
        while !begun.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        ahead.announce(&[key(0, 0, 0), key(0, 0, 1), key(0, 0, 2)], 1, logged);
        ahead.announce(&[key(1, 0, 0), key(1, 0, 1)], 1, logged);
        gate.store(true, Ordering::Relaxed);
        let all = [hold, key(1, 0, 0), key(0, 0, 0), key(0, 0, 1), key(0, 0, 2), key(1, 0, 1)];
        all.iter().for_each(|key| assert!(ahead.take(key).is_some()));
        assert_eq!(order.lock().unwrap()[..], all);
    }

    #[test]
    fn no_thread_outlives_the_trials_that_it_was_started_for() {
        let mut ahead = Ahead::on(3);
        let mut known = BTreeSet::new();
        for seed in 0..50 {
            let here: Arc<Mutex<BTreeSet<String>>> = Arc::default();
            let keys = [key(0, 0, seed), key(0, 1, seed)];
            ahead.announce(&keys, 2, |_| {
                let here = Arc::clone(&here);
                Box::new(move |_| {
                    here.lock().unwrap().insert(format!("{:?}", thread::current().id()));
                    Ok(Observation::default())
                })
            });
            keys.iter().for_each(|key| assert!(ahead.take(key).is_some()));
            assert!(
                here.lock().unwrap().iter().all(|thread| known.insert(thread.clone())),
                "a thread of another cycle"
            );
        }
    }

    #[test]
    fn an_error_or_a_panic_belongs_to_the_trial_that_is_asked_for() {
        let mut ahead = Ahead::on(2);
        let keys = [key(0, 0, 0), key(0, 1, 0), key(0, 2, 0)];
        ahead.announce(&keys, 3, |key| match key.variant.0 {
            0 => job(key),
            1 => Box::new(|_| bail!("no")),
            _ => Box::new(|_| panic!("never")),
        });
        assert_eq!(taken(&mut ahead, &keys[0]), Some(0));
        assert!(ahead.take(&keys[1]).unwrap().is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| ahead.take(&keys[2]))).is_err());
    }

    #[test]
    fn the_end_abandons_what_is_running_and_forgets_what_waits() {
        let begun = Arc::new(AtomicUsize::new(0));
        let mut ahead = Ahead::on(2);
        let keys: Vec<Key> = (0..9).map(|seed| key(0, 0, seed)).collect();
        ahead.announce(&keys, 1, |_| {
            let begun = Arc::clone(&begun);
            Box::new(move |abandoned| {
                begun.fetch_add(1, Ordering::Relaxed);
                while !abandoned.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
                bail!("abandoned")
            })
        });
        while begun.load(Ordering::Relaxed) < 2 {
            thread::yield_now();
        }
        drop(ahead);
        assert_eq!(begun.load(Ordering::Relaxed), 2);
    }
}
