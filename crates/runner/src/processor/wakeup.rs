//! The row of wake-up latency.

use cpu_workloads::{Order, wakeup};

use super::{duration_ns, nanoseconds, number, own, within, within_time};
use crate::kind::{Needs, RunnerKind};
use crate::options::{Form, Opt};

/// The row.
pub(crate) static WAKEUP: RunnerKind = RunnerKind {
    name: "wakeup",
    help: "threads that wake others, as schbench has them: how long until these run",
    program: None,
    needs: Needs::Processors,
    reaches_device: |_| true,
    writes: |_| false,
    primary: |_| "wakeup_p99_us".to_string(),
    own_metrics: |_| Vec::new(),
    options: &[
        Opt { name: "messengers", default: "1", form: Form::Number, help: "threads that wake others, 1 to 64" },
        Opt { name: "workers", default: "4", form: Form::Number, help: "threads that each of them wakes, 1 to 64" },
        Opt {
            name: "work",
            default: "100us",
            form: Form::Time,
            help: "how long a worker computes once woken, at most 50ms",
        },
    ],
    check: |options| {
        within(options, "messengers", 1, 64)?;
        within(options, "workers", 1, 64)?;
        within_time(options, "work", "0s", "50ms")
    },
    make: |options| {
        own("wakeup", options, |options, trial| {
            Order::Wakeup(wakeup::Order {
                messengers: number(options, "messengers"),
                workers: number(options, "workers"),
                work_ns: nanoseconds(options, "work"),
                duration_ns: duration_ns(trial),
            })
        })
    },
};
