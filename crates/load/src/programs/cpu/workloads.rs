//! The rows of the CPU workloads: a row lists a workload's options and makes its order from them.

use crate::cpu::{Spec, cyclic, linpack, messaging, wakeup};

use super::{duration_ns, nanoseconds, number, own, within, within_time};
use crate::programs::kind::{Needs, RunnerKind};
use crate::programs::options::{Form, opt};

pub(crate) static LINPACK: RunnerKind = RunnerKind {
    name: "linpack",
    help: "LINPACK: systems of linear equations in double precision, plain scalar code",
    program: None,
    needs: Needs::Cpus,
    reaches_device: |_| true,
    writes: |_| false,
    primary: |_| "kflops".to_string(),
    own_metrics: |_| Vec::new(),
    options: &[opt(
        "array",
        "200",
        Form::Number,
        "leading dimension; systems have half as many unknowns",
    )],
    check: |options| linpack::check(number(options, "array")),
    starts: |_| Vec::new(),
    make: |options| {
        own("linpack", options, |options, trial| {
            // The last round lasts at least half of a trial, and all rounds together at most two.
            let least_ns = u64::try_from(trial.duration.as_nanos() / 2).unwrap_or(u64::MAX);
            Spec::Linpack(linpack::Spec { array: number(options, "array"), least_ns, reps: None })
        })
    },
};

pub(crate) static MESSAGING: RunnerKind = RunnerKind {
    name: "messaging",
    help: "messages between groups of senders and receivers, as hackbench has them: waking and switching",
    program: None,
    needs: Needs::Cpus,
    reaches_device: |_| true,
    writes: |_| false,
    primary: |_| "messages_per_s".to_string(),
    own_metrics: |_| Vec::new(),
    options: &[
        opt("groups", "2", Form::Number, "groups that know nothing of each other, 1 to 100"),
        opt("fds", "20", Form::Number, "senders of a group, and as many receivers, 1 to 100"),
        opt("bytes", "100", Form::Number, "length of a message, 1 to 4096"),
        opt("threads", "false", Form::Flag, "threads instead of processes"),
        opt("pipes", "false", Form::Flag, "pipes instead of pairs of sockets"),
    ],
    check: |options| {
        within(options, "groups", 1, 100)?;
        within(options, "fds", 1, 100)?;
        within(options, "bytes", 1, 4096)
    },
    starts: |_| Vec::new(),
    make: |options| {
        own("messaging", options, |options, trial| {
            Spec::Messaging(messaging::Spec {
                groups: number(options, "groups"),
                fds: number(options, "fds"),
                bytes: number(options, "bytes"),
                threads: options.flag("threads"),
                pipes: options.flag("pipes"),
                duration_ns: duration_ns(trial),
            })
        })
    },
};

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
    starts: |_| Vec::new(),
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
    starts: |_| Vec::new(),
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
