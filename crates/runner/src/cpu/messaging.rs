//! The row of messages between many processes or threads.

use cpu_workloads::{Spec, messaging};

use super::{duration_ns, number, own, within};
use crate::kind::{Needs, RunnerKind};
use crate::options::{Form, opt};

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
