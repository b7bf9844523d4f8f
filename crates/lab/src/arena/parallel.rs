//! Work on all CPUs, with results in input order.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::VariantIndex;

/// Identifies a trial in virtual time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub variant: VariantIndex,
    pub workload: usize,
    pub seed: u64,
}

/// Scoped threads rather than a pool: batches take seconds, so their creation is negligible.
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

pub(super) fn workers() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}
