//! Bounds on later arrivals dispatched first, and on waiting times.

use std::collections::BTreeMap;

use elevator::{ElevatorKind, Guarantee, Priority, Time};

use crate::adversary::delay_first;
use crate::drive::run_without_queue;
use crate::input::Input;

/// No request is passed by more later arrivals than guaranteed.
pub(crate) fn passed_at_most(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    let bounds = kind.guarantees.iter().filter_map(|guarantee| match guarantee {
        Guarantee::PassedAtMost { requests } => Some(*requests),
        _ => None,
    });
    for bound in bounds {
        let delay = delay_first(kind, input, false, |delay| delay.passed_by > bound)?;
        require!(
            delay.passed_by <= bound,
            "more than {bound} later arrivals were dispatched first: {delay:?}"
        );
        let alone = Input { queue_depth: 1, ..input.with_defaults() };
        let log = run_without_queue(kind, &plain(&alone));
        for (at, (_, request)) in log.dispatched.iter().enumerate() {
            let passed_by =
                log.dispatched[..at].iter().filter(|(_, other)| other.seq > request.seq).count()
                    as u64;
            require!(
                passed_by <= bound,
                "{request:?} was passed by {passed_by}, more than {bound}"
            );
        }
    }
    Ok(())
}

/// No synchronous request waits longer than guaranteed.
pub(crate) fn waits_at_most(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    let bounds = kind.guarantees.iter().filter_map(|guarantee| match guarantee {
        Guarantee::WaitsAtMostMs(ms) => Some(ms * 1_000_000),
        _ => None,
    });
    for bound in bounds {
        let delay = delay_first(kind, input, true, |delay| delay.waited_ns > bound)?;
        require!(delay.waited_ns <= bound, "a synchronous request waits: {delay:?}");
        let few = Input { nr_requests: input.nr_requests.min(64), ..input.with_defaults() };
        let log = run_without_queue(kind, &plain(&few));
        let since: BTreeMap<u64, Time> =
            log.inserted.iter().map(|(at, request)| (request.seq, *at)).collect();
        for (at, request) in log.dispatched.iter().filter(|(_, request)| request.sync) {
            let waited = *at - since[&request.seq];
            require!(waited <= bound, "{request:?} waited for {waited} ns");
        }
    }
    Ok(())
}

/// The guarantees hold among requests of one priority.
fn plain(input: &Input) -> Input {
    let mut plain = input.clone();
    plain.steps.iter_mut().for_each(|step| step.priority = Priority::default());
    plain
}
