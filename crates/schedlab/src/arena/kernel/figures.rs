//! From what a trial in a guest showed to the metrics and counters of the record.

use anyhow::Result;
use experiment::record::Observation;
use workload::{ClientTotals, Measured};

use super::disk::Modelled;
use crate::arena::modelled::{of_anticipation, of_device};
use crate::arena::seen::curves;

/// The trial as the record keeps it; nothing is said against it yet.
pub(super) fn observation(measured: &Measured, disk: &Modelled) -> Result<Observation> {
    let mut metrics = workload::metrics(measured);
    // No processor's time is measured where computing takes none.
    metrics.remove("cpu_us_per_io");
    let (device, merges) = (disk.stats()?, disk.merges()?);
    if !metrics.is_empty() {
        let rates: Vec<f64> = measured.clients.iter().map(ClientTotals::bytes_per_s).collect();
        let waiting = disk.anticipation()?;
        let mut extra = of_device(&device);
        extra.extend(waiting.iter().flat_map(of_anticipation));
        extra.push(("merges", merges as f64));
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
        counters: counters.into_iter().map(|(name, value)| (name.to_owned(), value as f64)).collect(),
        ..Observation::default()
    })
}
