//! Bisects the number of streams that a scheduler serves without a missed deadline.
//!
//! One trial of the experiment thus consists of several with different numbers of clients. Only
//! arenas in virtual time support this, because their trials share no state. Bisection assumes
//! monotonicity; where placement violates it, the result is one of several numbers at which misses
//! start.

use anyhow::Result;
use experiment::plan::WorkloadSpec;
use experiment::results::{InvalidReason, Observation};

use crate::failure::usage;
use crate::workloads::Workloads;

const STREAMS: &str = "schedulable_streams";
const MISSES: &str = "deadline_misses";

enum End {
    Interrupted(Box<Observation>),
    Failed(anyhow::Error),
}

/// Searches from 1 to `most` streams with trials by `measure`. Returns the observation for the
/// largest number without a miss (otherwise for one stream), with the number as a metric.
pub(super) fn schedulable(
    most: u32,
    mut measure: impl FnMut(u32) -> Result<Observation>,
) -> Result<Observation> {
    let mut best: Option<(u32, Observation)> = None;
    let found = sim::workload::largest(1, most, |streams| {
        let observation = measure(streams).map_err(End::Failed)?;
        if observation
            .invalid
            .iter()
            .any(|invalid| matches!(invalid, InvalidReason::Interrupted { .. }))
        {
            return Err(End::Interrupted(Box::new(observation)));
        }
        let Some(&misses) = observation.metrics.get(MISSES) else {
            let problem = format!(
                "{streams} streams: no deadline lies within the trial; make it longer than a period"
            );
            return Err(End::Failed(usage(problem)));
        };
        let serves = misses == 0.0;
        if serves && best.as_ref().is_none_or(|(most, _)| streams > *most)
            || !serves && streams == 1
        {
            best = Some((streams, observation));
        }
        Ok(serves)
    });
    let found = match found {
        Ok(found) => found.unwrap_or(0),
        Err(End::Interrupted(observation)) => return Ok(*observation),
        Err(End::Failed(error)) => return Err(error),
    };
    let (_, mut observation) = best.expect("the search ends at a number that was measured");
    observation.metrics.insert(STREAMS.to_owned(), f64::from(found));
    Ok(observation)
}

pub(super) fn check_no_search(workloads: &Workloads) -> Result<()> {
    match workloads.engine().find(|(_, work)| work.params.timed.find_streams) {
        None => Ok(()),
        Some((label, _)) => Err(usage(format!(
            "workload {label}: find_streams requires --arena sim or kernel; on a device, list the numbers of streams as \
             clients"
        ))),
    }
}

/// The streams in an observation of [`schedulable`].
pub(super) fn streams_of(found: &Observation) -> u32 {
    found.metrics.get(STREAMS).map_or(1, |streams| (*streams as u32).max(1))
}

pub(super) fn with_clients(mut workload: WorkloadSpec, clients: Option<u32>) -> WorkloadSpec {
    workload.params.extend(clients.map(|clients| ("clients".to_owned(), clients.to_string())));
    workload
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Streams beyond `limit` miss deadlines; `ios` is their number.
    fn trial(streams: u32, limit: u32) -> Observation {
        let misses = f64::from(streams.saturating_sub(limit));
        let metrics = [(MISSES, misses), ("iops", f64::from(streams))];
        let metrics: BTreeMap<String, f64> =
            metrics.map(|(name, value)| (name.to_owned(), value)).into();
        Observation { metrics, ..Observation::default() }
    }

    #[test]
    fn the_observation_is_that_of_the_largest_number_without_a_miss() {
        for (limit, most) in [(1, 1), (7, 64), (64, 64), (63, 64), (100, 10)] {
            let found = schedulable(most, |streams| Ok(trial(streams, limit))).unwrap();
            let expected = f64::from(limit.min(most));
            assert_eq!(
                (found.metrics[STREAMS], found.metrics["iops"]),
                (expected, expected),
                "{limit} of {most}"
            );
        }
    }

    #[test]
    fn not_even_one_stream_is_0_and_shows_what_one_gets() {
        let found = schedulable(50, |streams| Ok(trial(streams, 0))).unwrap();
        assert_eq!(
            (found.metrics[STREAMS], found.metrics["iops"], found.metrics[MISSES]),
            (0.0, 1.0, 1.0)
        );
    }

    #[test]
    fn a_trial_without_a_deadline_and_one_that_is_interrupted_end_the_search() {
        let error = schedulable(8, |_| Ok(Observation::default())).unwrap_err().to_string();
        assert!(error.contains("no deadline lies within the trial"), "{error}");
        let invalid = InvalidReason::Interrupted { by: "SIGINT".into() };
        let mut asked = 0;
        let found = schedulable(8, |_| {
            asked += 1;
            Ok(Observation { invalid: vec![invalid.clone()], ..Observation::default() })
        });
        assert_eq!((found.unwrap().invalid.len(), asked), (1, 1));
    }
}
