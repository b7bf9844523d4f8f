//! Evidence of a trial on a real device: the engine's measurements and the counters.
//!
//! In a valid trial, requests issued match those counted. The plan contains the limits, so they
//! cannot be chosen after seeing results.

use experiment::metric::METRICS;
use experiment::plan::Limits;
use experiment::results::{InvalidReason, LatencyCurve, Observation};
use load::Measured;
use load::{Allowance, account};
use machine::probe::{DeviceDelta, SystemDelta};
use sim::workload::Issued;

/// With fewer ticks (half a second on two CPUs), shares are too coarse.
const LEAST_TICKS: u64 = 100;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Evidence<'a> {
    pub measured: &'a Measured,
    pub device: &'a DeviceDelta,
    pub system: &'a SystemDelta,
}

impl Evidence<'_> {
    /// Reasons to invalidate the trial or single percentiles.
    pub(crate) fn invalid(&self, allowance: &Allowance, limits: &Limits) -> Vec<InvalidReason> {
        let Evidence { measured, device, system } = self;
        let mut invalid = Vec::new();
        let errors = measured.errors.max(device.device_errors);
        if errors > 0 {
            let first =
                measured.first_error.clone().unwrap_or_else(|| "counted by the device".to_owned());
            invalid.push(InvalidReason::DeviceErrors { count: errors, first });
        } else if !measured.interrupted {
            // Failed or abandoned requests make the counts differ.
            let account = account(&measured.issued, device, *allowance);
            if account.reached_share < limits.reached_share {
                let (issued_bytes, device_bytes) = (account.issued_bytes, account.device_bytes);
                invalid.push(InvalidReason::NeverReached { issued_bytes, device_bytes });
            }
            let (share, limit) = (account.foreign_share, limits.foreign_io_share);
            if share > limit {
                invalid.push(InvalidReason::ForeignIo { share, limit });
            }
        }
        invalid.extend(of_system(system, limits));
        invalid.extend(too_few(measured));
        invalid
    }

    pub(crate) fn observation(&self, invalid: Vec<InvalidReason>) -> Observation {
        let Evidence { measured, device, system } = self;
        let own = [
            ("issued_read_bytes", measured.issued.read_bytes as f64),
            ("issued_written_bytes", measured.issued.written_bytes as f64),
            ("errors", measured.errors as f64),
        ];
        Observation {
            duration_ns: measured.window_ns,
            metrics: load::metrics(measured),
            latency: curves(measured),
            counters: counters(device, system)
                .chain(own.into_iter().map(|(name, value)| (name.to_owned(), value)))
                .collect(),
            invalid,
        }
    }
}

/// Detects requests served from caches.
pub(super) fn never_reached(
    issued: &Issued,
    device_bytes: u64,
    limits: &Limits,
) -> Option<InvalidReason> {
    let issued_bytes = issued.read_bytes + issued.written_bytes;
    let is_little = (device_bytes as f64) < limits.reached_share * issued_bytes as f64;
    is_little.then_some(InvalidReason::NeverReached { issued_bytes, device_bytes })
}

pub(super) fn of_system(system: &SystemDelta, limits: &Limits) -> Vec<InvalidReason> {
    let mut invalid = Vec::new();
    let (share, limit) = (system.steal_share, limits.steal_share);
    if system.ticks >= LEAST_TICKS && share > limit {
        invalid.push(InvalidReason::Steal { share, limit });
    }
    if system.throttle_events > 0 {
        invalid.push(InvalidReason::Throttled { events: system.throttle_events });
    }
    invalid
}

pub(super) fn counters(
    device: &DeviceDelta,
    system: &SystemDelta,
) -> impl Iterator<Item = (String, f64)> {
    let counters = [
        ("device_read_bytes", device.read_bytes as f64),
        ("device_written_bytes", device.written_bytes as f64),
        ("device_reads", device.reads as f64),
        ("device_writes", device.writes as f64),
        ("device_merges", device.merges as f64),
        ("device_flushes", device.flushes as f64),
        ("device_busy_ms", device.busy_ms as f64),
        ("device_queue_ms", device.queue_ms as f64),
        ("steal_share", system.steal_share),
        ("cpu_busy_share", system.busy_share),
    ];
    counters.into_iter().map(|(name, value)| (name.to_owned(), value))
}

pub(super) fn curves(measured: &Measured) -> Vec<LatencyCurve> {
    load::latency_curves(measured)
        .into_iter()
        .map(|curve| LatencyCurve {
            op: curve.op.to_owned(),
            count: curve.count,
            points: curve.points,
        })
        .collect()
}

pub(super) fn too_few(measured: &Measured) -> Vec<InvalidReason> {
    let reported = load::metrics(measured);
    METRICS
        .iter()
        .filter(|metric| reported.contains_key(metric.name))
        .filter_map(|metric| {
            let count = match metric.name {
                name if name.starts_with("read_") => measured.reads.count,
                name if name.starts_with("write_") => measured.writes.count,
                _ => measured.ios(),
            };
            let needed = load::needed_for(metric.percentile?);
            let metric = metric.name.to_owned();
            (count < needed).then_some(InvalidReason::TooFewIos { metric, count, needed })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use experiment::plan::Limits;

    use super::*;

    fn invalid(
        measured: &Measured,
        device: DeviceDelta,
        system: SystemDelta,
    ) -> Vec<InvalidReason> {
        let seen = Evidence { measured, device: &device, system: &system };
        seen.invalid(&Allowance::default(), &Limits::default())
    }

    fn issued(read_bytes: u64) -> Measured {
        let mut measured = Measured::default();
        measured.issued.read_bytes = read_bytes;
        measured
    }

    #[test]
    fn a_trial_whose_bytes_the_device_counted_has_nothing_against_it() {
        let device = DeviceDelta { read_bytes: 1000, ..DeviceDelta::default() };
        assert_eq!(invalid(&issued(1000), device, SystemDelta::default()), []);
    }

    #[test]
    fn each_counter_out_of_bounds_is_a_reason_of_its_own() {
        let cached = DeviceDelta { read_bytes: 100, ..DeviceDelta::default() };
        let found = invalid(&issued(1000), cached, SystemDelta::default());
        assert_eq!(found, [InvalidReason::NeverReached { issued_bytes: 1000, device_bytes: 100 }]);

        let shared =
            DeviceDelta { read_bytes: 1000, written_bytes: 1000, ..DeviceDelta::default() };
        let found = invalid(&issued(1000), shared, SystemDelta::default());
        assert_eq!(found, [InvalidReason::ForeignIo { share: 0.5, limit: 0.05 }]);

        let fine = DeviceDelta { read_bytes: 1000, ..DeviceDelta::default() };
        let system = SystemDelta {
            ticks: 100,
            steal_share: 0.5,
            throttle_events: 3,
            ..SystemDelta::default()
        };
        let found = invalid(&issued(1000), fine, system);
        let short = invalid(&issued(1000), fine, SystemDelta { ticks: 20, ..system });
        assert_eq!(
            short,
            [InvalidReason::Throttled { events: 3 }],
            "a share of a few ticks says nothing"
        );
        let steal = InvalidReason::Steal { share: 0.5, limit: Limits::default().steal_share };
        assert_eq!(found, [steal, InvalidReason::Throttled { events: 3 }]);
    }

    #[test]
    fn a_model_that_no_byte_reached_invalidates_the_trial_by_the_same_reason() {
        let of =
            |device_bytes| never_reached(&issued(1000).issued, device_bytes, &Limits::default());
        assert_eq!(
            of(0),
            Some(InvalidReason::NeverReached { issued_bytes: 1000, device_bytes: 0 })
        );
        assert_eq!((of(1000), of(5000)), (None, None));
        assert_eq!(
            never_reached(&Issued::default(), 0, &Limits::default()),
            None,
            "nothing was asked for"
        );
    }

    #[test]
    fn errors_that_only_the_device_counted_invalidate_the_trial_too() {
        let device = DeviceDelta { read_bytes: 1000, device_errors: 2, ..DeviceDelta::default() };
        let found = invalid(&issued(1000), device, SystemDelta::default());
        assert_eq!(
            found,
            [InvalidReason::DeviceErrors { count: 2, first: "counted by the device".to_owned() }]
        );
    }

    #[test]
    fn the_metrics_of_the_engine_are_the_rows_of_the_metric_table_up_to_those_of_the_simulator() {
        let mut table: Vec<&str> = METRICS
            .iter()
            .map(|metric| metric.name)
            .take_while(|name| *name != "fairness_jain")
            .collect();
        let mut engine: Vec<&str> = load::METRIC_NAMES.to_vec();
        table.sort_unstable();
        engine.sort_unstable();
        assert_eq!(table, engine);
    }

    #[test]
    fn every_workload_is_decided_by_a_metric_of_the_table() {
        for kind in sim::workload::WORKLOADS {
            assert!(
                experiment::metric::find(kind.primary).is_some(),
                "{}: {}",
                kind.name,
                kind.primary
            );
        }
    }
}
