//! The row of wake-up latency.

use cpu_workloads::{Spec, wakeup};

use super::{duration_ns, nanoseconds, number, own, within, within_time};
use crate::kind::{Needs, RunnerKind};
use crate::options::{Form, opt};

pub(crate) static WAKEUP: RunnerKind = RunnerKind {
    name: "wakeup",
    help: "threads that wake others, as schbench has them: how long until these run",
    program: None,
    needs: Needs::Cpus,
    reaches_device: |_| true,
    writes: |_| false,
    primary: |_| "wakeup_p99_us".to_string(),
    own_metrics: |_| Vec::new(),
    options: &[
        opt("messengers", "1", Form::Number, "threads that wake others, 1 to 64"),
        opt("workers", "4", Form::Number, "threads that each of them wakes, 1 to 64"),
        opt("work", "100us", Form::Time, "how long a worker computes once woken, at most 50ms"),
    ],
    check: |options| {
        within(options, "messengers", 1, 64)?;
        within(options, "workers", 1, 64)?;
        within_time(options, "work", "0s", "50ms")
    },
    make: |options| {
        own("wakeup", options, |options, trial| {
            Spec::Wakeup(wakeup::Spec {
                messengers: number(options, "messengers"),
                workers: number(options, "workers"),
                work_ns: nanoseconds(options, "work"),
                duration_ns: duration_ns(trial),
            })
        })
    },
};
