//! From what a simulated trial showed to the metrics and counters of the record.

use experiment::record::Observation;
use sim::Outcome;

use super::super::seen::{curves, too_few};

/// The trial as the record keeps it.
pub(super) fn observation(outcome: &Outcome) -> Observation {
    let measured = &outcome.measured;
    let mut metrics = workload::metrics(measured);
    // Nobody's processor did this work.
    metrics.remove("cpu_us_per_io");
    if !metrics.is_empty() {
        let extra = of_device(outcome).into_iter().chain(of_anticipation(outcome));
        metrics.extend(extra.map(|(name, value)| (name.to_owned(), value)));
    }
    let (queue, device) = (&outcome.queue, &outcome.device);
    let counters = [
        ("pieces", queue.submitted),
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
        counters: counters.into_iter().map(|(name, value)| (name.to_owned(), value as f64)).collect(),
        voids: too_few(measured),
    }
}

fn of_device(outcome: &Outcome) -> Vec<(&'static str, f64)> {
    let (device, queue) = (&outcome.device, &outcome.queue);
    let ms = |ns: u64| ns as f64 / 1e6;
    let mut found = vec![
        ("longest_wait_ms", ms(outcome.longest_wait_ns)),
        ("device_busy_share", outcome.busy_share()),
        ("device_idle_share", outcome.idle_share()),
        ("deceptive_idle_ms", ms(outcome.deceptive_idle_ns)),
        ("device_cache_hits", device.cache_hits as f64),
        ("merges", (queue.back_merges + queue.front_merges + queue.coalesced) as f64),
    ];
    found.extend(outcome.jain_fairness.map(|index| ("fairness_jain", index)));
    if device.seeks > 0 && device.transfers > 0 {
        let per_transfer = |sum: f64| sum / device.transfers as f64;
        found.push(("seek_distance_cylinders", per_transfer(device.seek_cylinders as f64)));
        found.push(("seek_ms", per_transfer(ms(device.seek_ns))));
        found.push(("rotation_ms", per_transfer(ms(device.rotation_ns))));
    }
    found
}

fn of_anticipation(outcome: &Outcome) -> Vec<(&'static str, f64)> {
    let Some(of) = &outcome.anticipation else { return Vec::new() };
    let ms = |ns: u64| ns as f64 / 1e6;
    let mut found = vec![
        ("anticipations", of.started as f64),
        ("anticipation_successes", of.successes as f64),
        ("anticipation_failures", of.failures as f64),
        ("success_wait_total_ms", ms(of.success_wait_ns)),
        ("failure_wait_total_ms", ms(of.failure_wait_ns)),
    ];
    if of.successes > 0 {
        found.push(("success_wait_mean_ms", ms(of.success_wait_ns) / of.successes as f64));
    }
    found.extend(outcome.false_idle_per_wait_ns().map(|ns| ("false_idle_ms", ns / 1e6)));
    found.extend(outcome.false_idle_per_success_ns().map(|ns| ("false_idle_per_success_ms", ns / 1e6)));
    found
}
