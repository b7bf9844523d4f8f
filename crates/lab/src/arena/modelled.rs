//! Metrics of modelled devices and anticipation.

use elevator::Anticipation;
use sim::device::DeviceStats;

pub(super) fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

pub(super) fn of_device(device: &DeviceStats) -> Vec<(&'static str, f64)> {
    let mut found = vec![("device_cache_hits", device.cache_hits as f64)];
    if device.seeks > 0 && device.transfers > 0 {
        let per_transfer = |sum: f64| sum / device.transfers as f64;
        found.push(("seek_distance_cylinders", per_transfer(device.seek_cylinders as f64)));
        found.push(("seek_ms", per_transfer(ms(device.seek_ns))));
        found.push(("rotation_ms", per_transfer(ms(device.rotation_ns))));
    }
    found
}

pub(super) fn of_anticipation(of: &Anticipation) -> Vec<(&'static str, f64)> {
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
    found.extend(of.false_idle_per_wait_ns().map(|ns| ("false_idle_ms", ns / 1e6)));
    found.extend(of.false_idle_per_success_ns().map(|ns| ("false_idle_per_success_ms", ns / 1e6)));
    found
}
