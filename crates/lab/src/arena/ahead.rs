//! Trials of virtual time, measured by threads before they are asked for.
//!
//! In virtual time a trial is a function of (variant, workload, seed), so a trial of a round that
//! may follow can be measured early, and discarded if no round asks for it: the results file is the
//! same, byte for byte, with one CPU or with sixty. The threads do not wait for each other or for
//! the thread that compares and writes: batches that all have to end before the next one begins
//! leave CPUs idle as soon as trials differ in length.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::Result;
use experiment::results::Observation;

use super::parallel::{Key, workers};

/// Measures one trial. The flag says that nothing will ask for it.
pub(super) type Job = Box<dyn FnOnce(&AtomicBool) -> Result<Observation> + Send>;

#[derive(Default)]
struct Trials {
    waiting: VecDeque<(Key, Job)>,
    running: BTreeSet<Key>,
    /// An error, or a panic, belongs to the trial that is asked for.
    done: BTreeMap<Key, thread::Result<Result<Observation>>>,
    /// Threads that have not decided to end.
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

    /// What a thread does until nothing waits.
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

/// The trials of the rounds ahead, and the threads that measure them.
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
    /// With this number of threads at most.
    pub(super) fn on(nr_threads: usize) -> Ahead {
        Ahead { shared: Arc::default(), threads: Vec::new(), nr_threads }
    }

    /// The number of trials that are measured before their round is asked for: enough that no
    /// thread is idle while one of them takes longer than the others, and no more, since a variant
    /// may be decided.
    pub(super) fn depth(&self) -> usize {
        2 * self.nr_threads
    }

    /// Announces the trials of a workload in the order in which they may be asked for; `next` of
    /// them will be, unless measuring ends. Trials of that workload that are not among them are
    /// discarded, `job` is called for those that are new.
    pub(super) fn announce(&mut self, keys: &[Key], next: usize, mut job: impl FnMut(&Key) -> Job) {
        let Some(workload) = keys.first().map(|key| key.workload) else { return };
        self.end_idle_threads();
        let mut trials = self.shared.lock();
        let stays = |key: &Key| key.workload != workload || keys.contains(key);
        trials.done.retain(|key, _| stays(key));
        trials.waiting.retain(|(key, _)| stays(key));
        // What will be asked for first goes to the front, also if it waited behind another
        // workload's trials.
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

    /// Threads of a pilot run must not go on: this process gives up rights after it, which binds
    /// only threads that begin later.
    fn end_idle_threads(&mut self) {
        let trials = self.shared.lock();
        let idle = trials.waiting.is_empty() && trials.running.is_empty();
        drop(trials);
        if idle {
            self.threads.drain(..).for_each(ended);
        }
    }

    /// A trial that was announced, when it is done; each is handed out once. None: it was not
    /// announced.
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

/// Waits for the end of a thread.
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

    /// A trial whose observation says which it was.
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
                // Backwards: the order in which they are asked for is not that of measuring.
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
        // One that was running when it was dropped may be done; the next announcement discards it.
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
