//! Converts a simulated trial into metrics and counters.

use experiment::plan::Limits;
use experiment::results::Observation;
use sim::Outcome;

use crate::arena::evidence::{curves, never_reached, too_few};
use crate::arena::modelled::{ms, of_anticipation, of_device};

pub(super) fn observation(outcome: &Outcome, limits: &Limits) -> Observation {
    let measured = &outcome.measured;
    let mut metrics = sim::workload::metrics(measured);
    // Simulated I/O uses no CPU time.
    metrics.remove("cpu_us_per_io");
    if !metrics.is_empty() {
        let of_waiting = outcome.anticipation.iter().flat_map(of_anticipation);
        let extra =
            of_queue(outcome).into_iter().chain(of_device(&outcome.device)).chain(of_waiting);
        metrics.extend(extra.map(|(name, value)| (name.to_owned(), value)));
    }
    let (queue, device) = (&outcome.queue, &outcome.device);
    let counters = [
        ("bios", queue.submitted),
        ("requests", queue.inserted),
        ("back_merges", queue.back_merges),
        ("front_merges", queue.front_merges),
        ("coalesced", queue.coalesced),
        ("splits", queue.splits),
        ("waited_for_request", queue.waited),
        ("device_transfers", device.transfers),
        ("device_bytes", device.bytes),
        ("device_seeks", device.seeks),
        ("device_cached_writes", device.cached_writes),
        ("device_moved_pages", device.moved_pages),
        ("device_erases", device.erases),
        ("syncs", measured.syncs),
        ("passes", u64::from(measured.passes)),
    ];
    Observation {
        duration_ns: measured.window_ns,
        metrics,
        latency: curves(measured),
        counters: counters
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value as f64))
            .collect(),
        invalid: never_reached(&measured.issued, device.bytes, limits)
            .into_iter()
            .chain(too_few(measured))
            .collect(),
    }
}

fn of_queue(outcome: &Outcome) -> Vec<(&'static str, f64)> {
    let queue = &outcome.queue;
    let mut found = vec![
        ("longest_wait_ms", ms(outcome.longest_wait_ns)),
        ("device_busy_share", outcome.busy_share()),
        ("device_idle_share", outcome.idle_share()),
        ("deceptive_idle_ms", ms(outcome.deceptive_idle_ns)),
        ("merges", (queue.back_merges + queue.front_merges + queue.coalesced) as f64),
    ];
    found.extend(outcome.jain_fairness.map(|index| ("fairness_jain", index)));
    found
}
