//! The row of LINPACK.

use cpuwork::{Order, linpack};

use super::own;
use crate::kind::{Needs, RunnerKind};
use crate::options::{Form, Opt};

/// The row.
pub(crate) static LINPACK: RunnerKind = RunnerKind {
    name: "linpack",
    help: "LINPACK: systems of linear equations in double precision, plain scalar code",
    program: None,
    needs: Needs::Processors,
    reaches_device: |_| true,
    writes: |_| false,
    primary: |_| "kflops".to_string(),
    own_metrics: |_| Vec::new(),
    options: &[Opt {
        name: "array",
        default: "200",
        form: Form::Number,
        help: "leading dimension; systems have half as many unknowns",
    }],
    check: |options| match options.number("array") {
        Some(10..=10_000) => Ok(()),
        _ => Err("array is a number from 10 to 10000".to_string()),
    },
    make: |options| {
        own("linpack", options, |options, trial| {
            let array = options.number("array").and_then(|n| u32::try_from(n).ok()).unwrap_or(200);
            // The last round lasts at least half of a trial, and all rounds together at most two.
            let least_ns = u64::try_from(trial.duration.as_nanos() / 2).unwrap_or(u64::MAX);
            Order::Linpack(linpack::Order { array, least_ns })
        })
    },
};
