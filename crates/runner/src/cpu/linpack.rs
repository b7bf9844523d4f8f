//! The row of LINPACK.

use cpu_workloads::{Spec, linpack};

use super::{number, own};
use crate::kind::{Needs, RunnerKind};
use crate::options::{Form, opt};

pub(crate) static LINPACK: RunnerKind = RunnerKind {
    name: "linpack",
    help: "LINPACK: systems of linear equations in double precision, plain scalar code",
    program: None,
    needs: Needs::Cpus,
    reaches_device: |_| true,
    writes: |_| false,
    primary: |_| "kflops".to_string(),
    own_metrics: |_| Vec::new(),
    options: &[opt("array", "200", Form::Number, "leading dimension; systems have half as many unknowns")],
    check: |options| linpack::check(number(options, "array")),
    make: |options| {
        own("linpack", options, |options, trial| {
            // The last round lasts at least half of a trial, and all rounds together at most two.
            let least_ns = u64::try_from(trial.duration.as_nanos() / 2).unwrap_or(u64::MAX);
            Spec::Linpack(linpack::Spec { array: number(options, "array"), least_ns, reps: None })
        })
    },
};
