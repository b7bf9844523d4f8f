//! The laws of bounds: how many others go first, and how long a request waits.

use std::collections::BTreeMap;

use elevator::{ElevatorKind, Priority, Promise, Time};

use super::super::adversary::torment;
use super::super::drive::directly;
use super::super::input::Input;

/// No request is passed by more later arrivals than promised.
pub(super) fn passed_at_most(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    let bounds = kind.promises.iter().filter_map(|promise| match promise {
        Promise::PassedAtMost { requests } => Some(*requests),
        _ => None,
    });
    for bound in bounds {
        let fate = torment(kind, input, false, |fate| fate.passed_by > bound)?;
        ensure!(fate.passed_by <= bound, "more than {bound} later arrivals went first: {fate:?}");
        let alone = Input { queue_depth: 1, ..input.with_defaults() };
        let log = directly(kind, &plain(&alone));
        for (at, (_, request)) in log.dispatched.iter().enumerate() {
            let passed_by = log.dispatched[..at].iter().filter(|(_, other)| other.seq > request.seq).count() as u64;
            ensure!(passed_by <= bound, "{request:?} was passed by {passed_by}, more than {bound}");
        }
    }
    Ok(())
}

/// No synchronous request waits longer than promised.
pub(super) fn waits_at_most(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    let bounds = kind.promises.iter().filter_map(|promise| match promise {
        Promise::WaitsAtMostMs(ms) => Some(ms * 1_000_000),
        _ => None,
    });
    for bound in bounds {
        let fate = torment(kind, input, true, |fate| fate.waited_ns > bound)?;
        ensure!(fate.waited_ns <= bound, "a synchronous request waits: {fate:?}");
        let few = Input { nr_requests: input.nr_requests.min(64), ..input.with_defaults() };
        let log = directly(kind, &plain(&few));
        let since: BTreeMap<u64, Time> = log.inserted.iter().map(|(at, request)| (request.seq, *at)).collect();
        for (at, request) in log.dispatched.iter().filter(|(_, request)| request.sync) {
            let waited = *at - since[&request.seq];
            ensure!(waited <= bound, "{request:?} waited for {waited} ns");
        }
    }
    Ok(())
}

/// The promises of waits speak of requests of one priority.
fn plain(input: &Input) -> Input {
    let mut plain = input.clone();
    plain.steps.iter_mut().for_each(|step| step.priority = Priority::default());
    plain
}
