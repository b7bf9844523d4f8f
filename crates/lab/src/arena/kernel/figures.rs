//! Converts a guest's trial into metrics and counters.

use std::collections::BTreeMap;

use anyhow::Result;
use experiment::results::Observation;
use sim::workload::{ClientTotals, Measured};

use super::disk::Modelled;
use crate::arena::evidence::curves;
use crate::arena::modelled::{ms, of_anticipation, of_device};

#[derive(Debug)]
pub(super) struct Shown {
    pub(super) measured: Measured,
    pub(super) longest_wait_ns: Option<u64>,
    /// Merges before the clients started.
    pub(super) merged: u64,
    /// Comparison with solo runs, if requested.
    pub(super) against_alone: BTreeMap<String, f64>,
}

impl Shown {
    pub(super) fn of(measured: Measured) -> Shown {
        Shown { measured, longest_wait_ns: None, merged: 0, against_alone: BTreeMap::new() }
    }
}

/// Leaves `invalid` empty.
pub(super) fn observation(shown: &Shown, disk: &Modelled) -> Result<Observation> {
    let measured = &shown.measured;
    let mut metrics = sim::workload::metrics(measured);
    // Computing takes no virtual time.
    metrics.retain(|name, _| name.rsplit('.').next() != Some("cpu_us_per_io"));
    metrics.extend(shown.against_alone.clone());
    let (device, merges) = (disk.stats()?, disk.merges()? - shown.merged);
    if !metrics.is_empty() {
        let rates: Vec<f64> = measured.clients.iter().map(ClientTotals::bytes_per_s).collect();
        let waiting = disk.anticipation()?;
        let mut extra = of_device(&device);
        extra.extend(waiting.iter().flat_map(of_anticipation));
        extra.push(("merges", merges as f64));
        extra.extend(shown.longest_wait_ns.map(|ns| ("longest_wait_ms", ms(ns))));
        extra.extend(sim::jain(&rates).map(|index| ("fairness_jain", index)));
        metrics.extend(extra.into_iter().map(|(name, value)| (name.to_owned(), value)));
    }
    let counters = [
        ("device_transfers", device.transfers),
        ("device_bytes", device.bytes),
        ("device_seeks", device.seeks),
        ("device_cached_writes", device.cached_writes),
        ("syncs", measured.syncs),
        ("passes", u64::from(measured.passes)),
        ("issued_read_bytes", measured.issued.read_bytes),
        ("issued_written_bytes", measured.issued.written_bytes),
    ];
    Ok(Observation {
        duration_ns: measured.window_ns,
        metrics,
        latency: curves(measured),
        counters: counters
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value as f64))
            .collect(),
        ..Observation::default()
    })
}
