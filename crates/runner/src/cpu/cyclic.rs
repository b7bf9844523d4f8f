//! The row of timer latency.

use cpu_workloads::{Spec, cyclic};

use super::{duration_ns, nanoseconds, number, own, within, within_time};
use crate::kind::{Needs, RunnerKind};
use crate::options::{Form, opt};

pub(crate) static CYCLIC: RunnerKind = RunnerKind {
    name: "cyclic",
    help: "threads that sleep until a moment, as cyclictest has them: how late they run (timer slack 1 ns)",
    program: None,
    needs: Needs::Cpus,
    reaches_device: |_| true,
    writes: |_| false,
    primary: |_| "timer_latency_p99_us".to_string(),
    own_metrics: |_| Vec::new(),
    options: &[
        opt("threads", "1", Form::Number, "how many, 1 to 256"),
        opt("interval", "1ms", Form::Time, "between two moments of a thread, 20us to 100ms"),
    ],
    check: |options| {
        within(options, "threads", 1, 256)?;
        within_time(options, "interval", "20us", "100ms")
    },
    make: |options| {
        own("cyclic", options, |options, trial| {
            Spec::Cyclic(cyclic::Spec {
                threads: number(options, "threads"),
                interval_ns: nanoseconds(options, "interval"),
                duration_ns: duration_ns(trial),
            })
        })
    },
};
