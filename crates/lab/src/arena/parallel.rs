//! Trials of virtual time, measured in parallel before they are asked for, and handed out in the order of the record.
//!
//! In virtual time a trial is a function of (arm, workload, seed), so the record is the same, byte for byte, with one CPU or with
//! sixty.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::Result;
use experiment::record::Observation;

use super::{ArmIndex, Upcoming};

/// What identifies a trial within an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub arm: ArmIndex,
    /// The number of the workload.
    pub workload: usize,
    pub seed: u64,
}

/// Trials that were measured and not asked for yet.
#[derive(Debug, Default)]
pub struct Ahead(BTreeMap<Key, Observation>);

impl Ahead {
    /// A trial that was measured; each is handed out once.
    pub fn take(&mut self, key: &Key) -> Option<Observation> {
        self.0.remove(key)
    }

    /// The trials to measure now: two for each CPU, so that a long one does not leave the others idle; no more, since an arm may be
    /// decided. None while the next block is ready.
    pub fn missing(&self, upcoming: &Upcoming) -> Vec<Key> {
        let workload = upcoming.workload;
        let blocks = (2 * workers()).div_ceil(upcoming.arms.len().max(1)).max(1);
        let seeds = upcoming.seeds.iter().take(blocks);
        let keys = seeds.flat_map(|&seed| upcoming.arms.iter().map(move |&arm| Key { arm, workload, seed }));
        let missing: Vec<Key> = keys.filter(|key| !self.0.contains_key(key)).collect();
        let first = upcoming.seeds.first().copied();
        if missing.iter().any(|key| Some(key.seed) == first) { missing } else { Vec::new() }
    }

    /// Measures all of them in parallel.
    pub fn measure<W: Sync>(
        &mut self,
        wanted: &[(Key, W)],
        one: &(dyn Fn(&Key, &W) -> Result<Observation> + Sync),
    ) -> Result<()> {
        let found = on_all_cpus(wanted, &|(key, what)| one(key, what));
        for ((key, _), observation) in wanted.iter().zip(found) {
            self.0.insert(*key, observation?);
        }
        Ok(())
    }
}

/// Applies `one` to every item, on all CPUs; the results in the order of the items.
///
/// Threads of a scope rather than a thread pool: a batch takes seconds, so the threads' creation does not show, and the twenty lines
/// cost no build time.
pub fn on_all_cpus<I: Sync, R: Send>(items: &[I], one: &(dyn Fn(&I) -> R + Sync)) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let found: Mutex<BTreeMap<usize, R>> = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..workers().min(items.len()) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { break };
                    let result = one(item);
                    found.lock().unwrap_or_else(PoisonError::into_inner).insert(at, result);
                }
            });
        }
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

fn workers() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}
