//! Trials of virtual time, measured before they are asked for: on all processors, handed out in the conductor's order.
//!
//! In virtual time a trial is a function of (arm, workload, seed), so the record is the same, byte for byte, with one processor or
//! with sixty.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::Result;
use experiment::plan::Arm;
use experiment::record::Observation;

use super::Upcoming;

/// What tells one trial from another within an experiment: arm, workload, seed.
pub type Key = (String, String, u64);

/// Trials that were measured and not asked for yet.
#[derive(Debug, Default)]
pub struct Ahead(BTreeMap<Key, Observation>);

impl Ahead {
    /// A trial that was measured; it is handed out once.
    pub fn take(&mut self, key: &Key) -> Option<Observation> {
        self.0.remove(key)
    }

    /// What of the trials that come next should be measured now: two for each processor, so that a long one does not leave the
    /// others idle; no more, since an arm may be decided. Nothing while the next block is ready.
    pub fn missing<'u>(&self, upcoming: &Upcoming<'u>) -> Vec<(&'u Arm, Key)> {
        let blocks = (2 * workers()).div_ceil(upcoming.arms.len().max(1)).max(1);
        let mut missing = Vec::new();
        for seed in upcoming.seeds.iter().take(blocks) {
            for arm in &upcoming.arms {
                let key = (arm.name.clone(), upcoming.workload.name.clone(), *seed);
                if !self.0.contains_key(&key) {
                    missing.push((*arm, key));
                }
            }
        }
        let first = upcoming.seeds.first().copied();
        if missing.iter().any(|(_, key)| Some(key.2) == first) { missing } else { Vec::new() }
    }

    /// Measures all of them, on all processors.
    pub fn measure<W: Sync>(
        &mut self,
        wanted: &[(Key, W)],
        one: &(dyn Fn(&Key, &W) -> Result<Observation> + Sync),
    ) -> Result<()> {
        let found = on_all_processors(wanted, &|(key, what)| one(key, what));
        for ((key, _), observation) in wanted.iter().zip(found) {
            self.0.insert(key.clone(), observation?);
        }
        Ok(())
    }
}

/// Does the same with every item, on all processors; the results in the order of the items.
pub fn on_all_processors<I: Sync, R: Send>(items: &[I], one: &(dyn Fn(&I) -> R + Sync)) -> Vec<R> {
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
